"""The production debugger: ``diagnose``, and ``rules graph`` beside it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, get_args

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.baseline_sources import against, held_against
from planner.interfaces.observed_sources import MAX_SAMPLES, Given, Sources, checked
from planner.interfaces.options import Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress, message, on_stdout
from planner.interfaces.severity_option import at_least, checked_severity
from planner.loaders.files_out import check_target, write_whole

if TYPE_CHECKING:
    from planner.app.follow import Asked
    from planner.schema.diagnosis import Diagnosis

FORMATS = ("text", "json", "md")


def diagnose(
    more: Annotated[
        list[str] | None,
        Argument(metavar="[FILE…]", help="More files or addresses of the flag before."),
    ] = None,
    observed: Annotated[
        list[Path] | None,
        Option(
            "--observed",
            metavar="FILE",
            help="What was observed (YAML or JSON; planner schema observation). With --follow several.",
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        Option(
            "--metrics",
            metavar="URL-or-FILE",
            help="Page of metrics of an engine, router or GPU exporter; - for standard input. May repeat.",
        ),
    ] = None,
    prometheus: Annotated[
        str | None, Option("--prometheus", metavar="URL", help="Prometheus server to ask.")
    ] = None,
    logs: Annotated[
        list[Path] | None,
        Option(
            "--logs",
            metavar="FILE",
            help="Log of an engine, plain or gzip, - for standard input. May repeat; beside other sources.",
        ),
    ] = None,
    results: Annotated[
        list[Path] | None,
        Option("--results", metavar="FILE", help="Result file of a benchmark tool. May repeat."),
    ] = None,
    engine_args: Annotated[
        str | None,
        Option(
            "--engine-args",
            metavar="TEXT-or-FILE",
            help="Command line such as 'vllm serve M …', or a file of command lines or manifests.",
        ),
    ] = None,
    interval: Annotated[
        str | None,
        Option(
            "--interval",
            metavar="S",
            help="Fetch --metrics twice, so many seconds apart, for rates; with --follow the pace.",
        ),
    ] = None,
    range_: Annotated[
        str | None,
        Option(
            "--range",
            metavar="TIME",
            help="Window of --prometheus (default 5m), and stretch at the end of --logs (15m).",
        ),
    ] = None,
    since: Annotated[
        str | None,
        Option(
            "--since",
            metavar="T",
            help="With --prometheus: from this moment (14:00, 2h) until now, against a week before.",
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        Option(
            "--compare",
            metavar="A B",
            help="Diagnose B and say what changed since A: files, addresses, or ranges of --prometheus "
            "such as 13:00/14:00.",
        ),
    ] = None,
    selector: Annotated[
        str | None, Option("--selector", metavar="LABELS", help="""Only series such as 'model_name="m"'.""")
    ] = None,
    plan: Annotated[
        Path | None,
        Option("--plan", metavar="PLAN", help="Plan document: price every action on it, and compare."),
    ] = None,
    workload: Annotated[
        str | None, Option("--workload", metavar="W", help="The workload of the plan that was observed.")
    ] = None,
    slo: Annotated[
        str | None, Option("--slo", metavar="LIMITS", help="Limits such as ttft_p99=1500ms,itl_p99=60ms.")
    ] = None,
    follow: Annotated[
        bool,
        Option(
            "--follow",
            help="Diagnose sample after sample and say what moved. Files: in their order, one document. "
            "Addresses: until Ctrl-C; with --json one line for each sample.",
        ),
    ] = False,
    samples: Annotated[
        str | None, Option("--samples", metavar="N", help="End --follow after so many samples.")
    ] = None,
    details: Annotated[
        bool, Option("--details", help="Everything: all findings, evidence, actions, what is undecided.")
    ] = False,
    svg: Annotated[
        Path | None,
        Option("--svg", metavar="FILE", help="Draw the walk: what was seen, shown, undecided and excluded."),
    ] = None,
    fail_on: Annotated[
        str | None,
        Option(
            "--fail-on",
            metavar="SEVERITY",
            help="Exit 1 at this severity or worse: unknown, warning, degraded or down.",
        ),
    ] = None,
    format_: Annotated[
        str, Option("--format", metavar="F", help="text, json, or md (everything, to put into a ticket).")
    ] = "text",
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """Find the layer, the cause and the next action behind what production shows."""
    checks = Checks("planner diagnose")
    from planner.app import follow as follow_case
    from planner.app.against_plan import PlanFile
    from planner.loaders.http import is_url

    overlays = checks.folders("--catalog", catalog)
    given = Given(
        observed=observed or [],
        metrics=metrics or [],
        prometheus=prometheus,
        logs=logs or [],
        results=results or [],
        engine_args=engine_args,
        more=more or [],
        interval=interval,
        range=range_,
        selector=selector,
    )
    source = checked(
        checks, given, follow=follow, is_url=is_url, overlays=overlays, compared=compare is not None
    )
    source = against(checks, source, given, since, compare)
    if follow and (since is not None or compare is not None):
        checks.refuse("--follow", "--since or --compare", "one way to look at several times")
    if workload is not None and plan is None:
        checks.refuse("--workload", f'"{workload}"', "it with --plan PLAN")
    if samples is not None and not follow:
        checks.refuse("--samples", f'"{samples}"', "it with --follow")
    if out is not None and follow and source.endless:
        checks.refuse("--out", f'"{out}"', "no file for an endless answer: redirect standard output")
    most = None if samples is None else checks.whole("--samples", samples, high=MAX_SAMPLES)
    limits_s = {f"{name}_s": value for name, value in checks.limits("--slo", slo).items()}
    worst = checked_severity(checks, fail_on)
    shown = checks.word("--format", format_, FORMATS)
    if shown == "md" and (as_json or follow):
        checks.refuse("--format", f'"md" beside {"--json" if as_json else "--follow"}', "one of them")
    if follow and (svg is not None or fail_on is not None):
        checks.refuse("--follow", "--svg or --fail-on", "them without --follow: they speak of one sample")
    checks.done()
    if svg is not None:
        check_target("--svg", svg)
    file = None if plan is None else PlanFile(plan, overlays, workload)
    asked = follow_case.Asked(overlays, file, limits_s)
    answer = Answer(as_json=as_json or shown == "json", out=out)
    if follow:
        _follow(answer, source, asked, most)
    from planner.app import diagnose as diagnose_case
    from planner.report import diagnosis_brief, json_document

    with Progress() as progress:
        progress("diagnose")
        readout, baseline = held_against(source)
        found = diagnose_case.diagnose_readout(readout, overlays, plan=file, slo_s=limits_s)
        found = found if baseline is None else found.model_copy(update={"baseline": baseline})
    answer.give(
        lambda: json_document.encode(json_document.of(found)),
        lambda: diagnosis_brief.page(found, details=details),
        page=(lambda: _ticket(found)) if shown == "md" else None,
    )
    if svg is not None:
        from planner.report import diagnosis_svg

        write_whole(svg, diagnosis_svg.draw(found).encode("utf-8"))
        message(f"planner: wrote {svg}")
    raise Exit(faults.NO if worst is not None and at_least(found.severity, worst) else faults.ANSWERED)


def _ticket(found: Diagnosis) -> bytes:
    """Everything as Markdown."""
    from planner.report.diagnosis_report import report_of
    from planner.report.renderers.registry import RENDERERS

    return RENDERERS[".md"].render(report_of(found))


def _follow(answer: Answer, source: Sources, asked: Asked, most: int | None) -> NoReturn:
    """Files as one document; servers sample by sample, so that each is seen at once."""
    from planner.app.follow import follow
    from planner.report import follow_text, json_document
    from planner.schema.diagnosis import Steps

    steps = follow(source.samples(most), asked)
    if not source.endless:
        found = Steps(steps=tuple(steps))
        answer.give(lambda: json_document.encode(json_document.of(found)), lambda: follow_text.view(found))
        raise Exit(faults.ANSWERED)
    for number, step in enumerate(steps, start=1):
        line, page = partial(json_document.line, step), partial(follow_text.page, number, step)
        if not answer.give(line, page):
            break
    raise Exit(faults.ANSWERED)


def rules_graph(
    form: Annotated[str, Option("--format", metavar="F", help="dot, mermaid, graphml or svg.")] = "svg",
    symptom: Annotated[str | None, Option(metavar="ID", help="Only what this symptom leads to.")] = None,
    layer: Annotated[str | None, Option(metavar="L", help="Only rules of this layer, such as L4b.")] = None,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write the graph to this file.")] = None,
    catalog: Overlays = None,
) -> None:
    """Draw the debugger's decision graph."""
    checks = Checks("planner rules graph")
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    if out is not None:
        check_target("--out", out)
    from planner.app.rule_graph import Format
    from planner.app.rule_graph import rules_graph as use_case

    for known in get_args(Format):
        if form == known:
            text = use_case(known, overlays, symptom=symptom, layer=layer)
            break
    else:
        raise faults.choice_fault("planner rules graph", "--format", form, list(get_args(Format)))
    if out is not None:
        write_whole(out, text.encode("utf-8"))
        message(f"planner: wrote {out}")
    else:
        with on_stdout():
            sys.stdout.buffer.write(text.encode("utf-8"))
            sys.stdout.flush()
    raise Exit(faults.ANSWERED)
