"""Commands that size one configuration without a problem file: the hardware router and the estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from planner.interfaces import faults
from planner.interfaces.before_option import Before, parsed_before
from planner.interfaces.options import (
    Checks,
    EngineName,
    JsonFlag,
    KvFormat,
    ModelName,
    OutFile,
    Overlays,
    WeightsFormat,
)
from planner.interfaces.output import Answer
from planner.interfaces.picture import Picture, SvgFile

if TYPE_CHECKING:
    from planner.schema.service_load import Conventions


def fit(
    model: ModelName,
    context: Annotated[str, Option(metavar="TOKENS", help="Tokens of each sequence.")] = "8192",
    concurrency: Annotated[str, Option(metavar="N", help="Sequences held at once.")] = "1",
    weights: WeightsFormat = None,
    kv: KvFormat = None,
    engine: EngineName = "vllm",
    gpu: Annotated[list[str] | None, Option(metavar="G", help="Only these accelerators. May repeat.")] = None,
    limit: Annotated[str, Option(metavar="N", help="Configurations to show.")] = "10",
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """Find the cheapest hardware that holds a model."""
    checks = Checks("planner fit")
    context_tokens = checks.whole("--context", context, unit="tokens")
    sequences = checks.whole("--concurrency", concurrency, unit="sequences")
    rows = checks.whole("--limit", limit)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.app import fit as fit_case
    from planner.report import fit_text, json_document

    found = fit_case.fit(
        model,
        context_tokens=context_tokens,
        concurrency=sequences,
        weights=weights,
        kv=kv,
        engine=engine,
        accelerators=tuple(gpu or ()),
        limit=rows,
        overlays=overlays,
    )
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: fit_text.view(found))
    raise Exit(faults.ANSWERED if found.rows else faults.NO)


StartBurst = Annotated[
    str, Option(metavar="WORD", help="Whether what all clients send at the start counts: included, excluded.")
]
EqualLengths = Annotated[
    bool, Option("--equal-lengths", help="All requests are equally long, so that clients keep in step.")
]
Burstiness = Annotated[
    str | None, Option(metavar="X", help="Of arrivals: variance over squared mean of the gaps; default 1.")
]


def _conventions(
    checks: Checks, start_burst: str, equal_lengths: bool, burstiness: str | None
) -> Conventions:
    """How a load is to be understood, as a benchmark of it would be."""
    from planner.schema.service_load import Conventions

    scv = checks.positive("--burstiness", burstiness, "variance over squared mean")
    word = checks.word("--start-burst", start_burst, ("included", "excluded"))
    return Conventions(word == "included", equal_lengths, 1.0 if scv is None else scv)


def estimate(
    model: ModelName,
    gpu: Annotated[str, Option(metavar="G", help="Accelerator.")],
    isl: Annotated[str, Option(metavar="TOKENS", help="Input tokens of a request.")],
    osl: Annotated[str, Option(metavar="TOKENS", help="Output tokens of a request.")],
    tp: Annotated[str, Option(metavar="N", help="Tensor-parallel degree.")] = "1",
    pp: Annotated[str, Option(metavar="N", help="Pipeline-parallel degree.")] = "1",
    ep: Annotated[str, Option(metavar="N", help="Expert-parallel degree.")] = "1",
    attention_dp: Annotated[str, Option(metavar="N", help="Attention data-parallel degree.")] = "1",
    weights: WeightsFormat = None,
    kv: KvFormat = None,
    engine: EngineName = "vllm",
    concurrency: Annotated[str | None, Option(metavar="N", help="Requests in flight.")] = None,
    rps: Annotated[str | None, Option(metavar="X", help="Requests per second, or --concurrency.")] = None,
    requests: Annotated[
        str | None, Option(metavar="N", help="A finite run of so many requests; default: without end.")
    ] = None,
    start_burst: StartBurst = "included",
    equal_lengths: EqualLengths = False,
    burstiness: Burstiness = None,
    replicas: Annotated[
        str, Option(metavar="N", help="Replicas that share the load; the answer is of one of them.")
    ] = "1",
    router: Annotated[
        str, Option(metavar="POLICY", help="What spreads requests over replicas, such as round-robin.")
    ] = "least-loaded",
    context: Annotated[
        str | None, Option(metavar="TOKENS", help="Longest sequence; default isl + osl.")
    ] = None,
    memory_utilization: Annotated[
        str | None, Option(metavar="SHARE", help="Memory that the engine may use, such as '90 %'.")
    ] = None,
    max_batch: Annotated[str | None, Option(metavar="N", help="Sequences in one step at most.")] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """Predict memory, speed and cost of one configuration."""
    checks = Checks("planner estimate")
    checks.at_most_one(concurrency=concurrency, rps=rps)
    asked = {
        "isl": checks.whole("--isl", isl, unit="tokens"),
        "osl": checks.whole("--osl", osl, unit="tokens"),
        "tp": checks.whole("--tp", tp, high=4096),
        "pp": checks.whole("--pp", pp, high=4096),
        "ep": checks.whole("--ep", ep, high=4096),
        "attention_dp": checks.whole("--attention-dp", attention_dp, high=4096),
    }
    in_flight = checks.maybe_whole("--concurrency", concurrency, unit="requests")
    arriving_rps = checks.positive("--rps", rps, "requests per second")
    finite = checks.maybe_whole("--requests", requests, unit="requests")
    conventions = _conventions(checks, start_burst, equal_lengths, burstiness)
    count = checks.whole("--replicas", replicas, high=4096)
    from planner.schema.routing import POLICIES

    policy = checks.word("--router", router, POLICIES)
    context_tokens = checks.maybe_whole("--context", context, unit="tokens")
    batch = checks.maybe_whole("--max-batch", max_batch, unit="sequences")
    utilization = checks.fraction("--memory-utilization", memory_utilization)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.app import estimate as estimate_case
    from planner.report import estimate_text, json_document

    found = estimate_case.estimate(
        model=model,
        gpu=gpu,
        weights=weights,
        kv=kv,
        engine=engine,
        concurrency=in_flight,
        rps=arriving_rps,
        requests=finite or 0,
        replicas=count,
        routing=policy,
        context=context_tokens,
        memory_utilization=utilization,
        max_batch=batch,
        overlays=overlays,
        conventions=conventions,
        **asked,
    )
    answer.give(
        lambda: json_document.encode(json_document.of_estimate(found)), lambda: estimate_text.view(found)
    )
    raise Exit(faults.NO if found.cannot_run else faults.ANSWERED)


def curve(
    model: ModelName,
    gpu: Annotated[str, Option(metavar="G", help="Accelerator.")],
    isl: Annotated[str, Option(metavar="TOKENS", help="Input tokens of a request.")],
    osl: Annotated[str, Option(metavar="TOKENS", help="Output tokens of a request.")],
    tp: Annotated[str, Option(metavar="N", help="Tensor-parallel degree.")] = "1",
    pp: Annotated[str, Option(metavar="N", help="Pipeline-parallel degree.")] = "1",
    ep: Annotated[str, Option(metavar="N", help="Expert-parallel degree.")] = "1",
    attention_dp: Annotated[str, Option(metavar="N", help="Attention data-parallel degree.")] = "1",
    weights: WeightsFormat = None,
    kv: KvFormat = None,
    engine: EngineName = "vllm",
    concurrency: Annotated[
        str | None, Option(metavar="N", help="A number of requests in flight to mark on the curve.")
    ] = None,
    rps: Annotated[
        str | None, Option(metavar="X", help="Vary the rate instead, and mark this one on the curve.")
    ] = None,
    concurrency_max: Annotated[
        str | None, Option(metavar="N", help="Largest number of requests in flight; default: what fits.")
    ] = None,
    rps_max: Annotated[
        str | None, Option(metavar="X", help="Vary the rate of random arrivals up to this instead.")
    ] = None,
    start_burst: StartBurst = "included",
    equal_lengths: EqualLengths = False,
    burstiness: Burstiness = None,
    slo: Annotated[
        str | None, Option(metavar="LIMITS", help="Limits, such as ttft_p99=1500ms,itl_p99=60ms.")
    ] = None,
    context: Annotated[
        str | None, Option(metavar="TOKENS", help="Longest sequence; default isl + osl.")
    ] = None,
    memory_utilization: Annotated[
        str | None, Option(metavar="SHARE", help="Memory that the engine may use, such as '90 %'.")
    ] = None,
    max_batch: Annotated[str | None, Option(metavar="N", help="Sequences in one step at most.")] = None,
    before: Before = None,
    svg: SvgFile = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """Predict latency and throughput of one configuration over a range of loads."""
    checks = Checks("planner curve")
    for one in ({"concurrency": concurrency}, {"concurrency_max": concurrency_max}):
        for other in ({"rps": rps}, {"rps_max": rps_max}):
            checks.at_most_one(**one, **other)
    asked: dict[str, Any] = {
        "isl": checks.whole("--isl", isl, unit="tokens"),
        "osl": checks.whole("--osl", osl, unit="tokens"),
        "tp": checks.whole("--tp", tp, high=4096),
        "pp": checks.whole("--pp", pp, high=4096),
        "ep": checks.whole("--ep", ep, high=4096),
        "attention_dp": checks.whole("--attention-dp", attention_dp, high=4096),
    }
    size = checks.maybe_whole("--concurrency", concurrency, unit="requests")
    size_rps = checks.positive("--rps", rps, "requests per second")
    most = checks.maybe_whole("--concurrency-max", concurrency_max, unit="requests")
    most_rps = checks.positive("--rps-max", rps_max, "requests per second")
    conventions = _conventions(checks, start_burst, equal_lengths, burstiness)
    limits_s = checks.limits("--slo", slo)
    context_tokens = checks.maybe_whole("--context", context, unit="tokens")
    batch = checks.maybe_whole("--max-batch", max_batch, unit="sequences")
    utilization = checks.fraction("--memory-utilization", memory_utilization)
    overlays = checks.folders("--catalog", catalog)
    changed = parsed_before(checks, before)
    checks.done()
    picture = Picture("planner curve", svg)
    answer = Answer(as_json=as_json, out=out)
    from planner.app import curve as curve_case
    from planner.report import curve_text, json_document

    given = asked | {
        "model": model,
        "gpu": gpu,
        "weights": weights,
        "kv": kv,
        "engine": engine,
        "concurrency": size,
        "rps": size_rps,
        "concurrency_max": most,
        "rps_max": most_rps,
        "slo_s": limits_s,
        "context": context_tokens,
        "memory_utilization": utilization,
        "max_batch": batch,
        "overlays": overlays,
        "conventions": conventions,
    }
    found = curve_case.curve(**given)
    if changed:
        found = found.model_copy(update={"before": curve_case.curve(**(given | changed))})
    picture.draw(lambda _: [] if found.cannot_run else [curve_text.chart(found)])
    answer.give(
        lambda: json_document.encode(json_document.of_estimate(found)), lambda: curve_text.view(found)
    )
    raise Exit(faults.NO if found.cannot_run else faults.ANSWERED)
