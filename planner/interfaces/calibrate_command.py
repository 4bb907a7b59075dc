"""The command that fits: to benchmark files of one's own, or (``--reference``) to published tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from planner.interfaces import accuracy_commands, faults
from planner.interfaces.options import Checks, JsonFlag, KvFormat, Overlays, WeightsFormat
from planner.interfaces.output import Answer, message

Degree = Annotated[str | None, Option(metavar="N", help="Where the file does not say; default 1.")]
Tokens = Annotated[str | None, Option(metavar="TOKENS", help="Mean length, where the file does not say.")]


def calibrate(
    benchmarks: Annotated[
        list[Path] | None,
        Argument(
            metavar="BENCHMARK",
            help="Results of vLLM bench, SGLang bench_serving, AIPerf, GenAI-Perf, GuideLLM, inference-perf.",
            show_default=False,
        ),
    ] = None,
    gpu: Annotated[str | None, Option(metavar="G", help="Accelerator, where the file does not say.")] = None,
    model: Annotated[str | None, Option(metavar="M", help="Model, where the file does not say.")] = None,
    tp: Degree = None,
    pp: Degree = None,
    ep: Degree = None,
    attention_dp: Degree = None,
    weights: WeightsFormat = None,
    kv: KvFormat = None,
    engine: Annotated[str | None, Option(metavar="E", help="Engine, where the file does not say.")] = None,
    isl: Tokens = None,
    osl: Tokens = None,
    reference: Annotated[
        bool, Option("--reference", help="Fit the reference calibration to tables of measurements.")
    ] = False,
    measurements: Annotated[
        Path | None, Option("--measurements", metavar="DIR", help="With --reference: folder with the tables.")
    ] = None,
    operators: Annotated[
        Path | None,
        Option("--operators", metavar="DIR", help="With --reference: folder with tables of operator times."),
    ] = None,
    docs: Annotated[
        Path | None, Option("--docs", metavar="FILE", help="With --reference: write the accuracy page.")
    ] = None,
    date: Annotated[
        str | None, Option("--date", metavar="DATE", help="With --reference: date of the fit.")
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", metavar="FILE", help="Catalog entry (YAML) to write, or a folder for it."),
    ] = None,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Fit a few factors to your own benchmark files."""
    if reference:
        own = Checks("planner calibrate")
        if benchmarks:
            own.refuse(
                "--reference", f'"{benchmarks[0]}" beside it', "it alone, or benchmark files without it"
            )
        own.done()
        accuracy_commands.calibrate(
            reference=True,
            measurements=measurements,
            out=out,
            docs=docs,
            date=date,
            operators=operators,
            catalog=catalog,
        )
        return
    checks = Checks("planner calibrate")
    if not benchmarks:
        checks.refuse("BENCHMARK", "nothing", "at least one benchmark file")
    if out is None:
        checks.refuse("--out", "nothing", "the file to write, such as mine.yaml")
    for flag, given in (
        ("--measurements", measurements),
        ("--operators", operators),
        ("--docs", docs),
        ("--date", date),
    ):
        if given is not None:
            checks.refuse(flag, f'"{given}"', "it with --reference")
    degrees = {
        "tp": _degree(checks, "--tp", tp),
        "pp": _degree(checks, "--pp", pp),
        "ep": _degree(checks, "--ep", ep),
        "attention_dp": _degree(checks, "--attention-dp", attention_dp),
    }
    lengths = {
        "isl": checks.maybe_whole("--isl", isl, unit="tokens"),
        "osl": checks.maybe_whole("--osl", osl, unit="tokens"),
    }
    if out is not None and not out.parent.is_dir():
        found = f"{out}, in a folder that does not exist"
        checks.refuse("--out", found, "a folder that exists", f'"mkdir -p {out.parent}"')
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    assert benchmarks is not None
    assert out is not None
    answer = Answer(as_json=as_json)
    from planner.app import calibrate as calibrate_case
    from planner.calibration import benchmark_runs as benchmark_runs_case
    from planner.report import calibrate_text, json_document

    flags = benchmark_runs_case.Flags(
        model=model, gpu=gpu, engine=engine, weights=weights, kv=kv, **degrees, **lengths
    )
    found_factors = calibrate_case.calibrate(benchmarks, flags, out=out, overlays=overlays)
    message(f"planner: wrote {found_factors.path}")
    answer.give(
        lambda: json_document.encode(json_document.of(found_factors)),
        lambda: calibrate_text.view(found_factors),
    )
    raise Exit(faults.ANSWERED)


def _degree(checks: Checks, flag: str, text: str | None) -> int | None:
    return None if text is None else checks.whole(flag, text, high=4096)
