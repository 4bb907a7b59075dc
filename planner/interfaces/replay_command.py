"""The command that replays a plan request by request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.observed_sources import long_duration
from planner.interfaces.options import MAX_SEED, Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress
from planner.interfaces.picture import Picture, SvgFile
from planner.interfaces.spread_options import Processes, Results, Scheduler, spread_of
from planner.interfaces.trace_command import EXAMPLE, parsed_columns

if TYPE_CHECKING:
    from planner.schema.replay import Router

COMMAND = "planner replay"
_MOST_SEEDS = 1_000
_TOKENS = 10_000_000
_MOST_TIMES = 100.0
_STEP = re.compile(r"([0-9.]+)@([^@+]+)\+([^@+]+)")
"""Of ``--burst``."""


def replay(
    plan: Annotated[
        list[Path],
        Argument(metavar="PLAN", help='Plan document of "planner plan --out", or several.'),
    ],
    trace: Annotated[
        list[Path] | None,
        Option(
            "--trace",
            metavar="FILE",
            help="Recorded requests to replay; default: the plan's own peak. May repeat.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        Option("--columns", metavar="KEY=COLUMN,…", help=f"Columns of --trace, such as {EXAMPLE}."),
    ] = None,
    rate: Annotated[
        str | None,
        Option("--rate", metavar="RPS", help="Requests per second: the trace, or the demand, at this rate."),
    ] = None,
    duration: Annotated[
        str | None, Option("--duration", metavar="S", help="Length of the period, after the warm-up.")
    ] = None,
    hours: Annotated[
        str | None,
        Option(
            "--hours",
            metavar="H|H-H|all",
            help="Of a plan over hours: one, several in a row (7-12), or all; default: the busiest.",
        ),
    ] = None,
    seeds: Annotated[
        str, Option("--seeds", metavar="N", help="Independent runs, for the interval of every number.")
    ] = "3",
    seed: Annotated[str, Option("--seed", metavar="N", help="Where the random numbers begin.")] = "0",
    router: Annotated[
        str | None,
        Option("--router", metavar="POLICY", help="Another router than the plan's in front of every pool."),
    ] = None,
    overflow: Annotated[
        str | None,
        Option(
            "--overflow",
            metavar="RATIO",
            help="Of routers by prefix, key or length: load over the mean beyond which others take over.",
        ),
    ] = None,
    batching: Annotated[
        str | None,
        Option(
            "--batching",
            metavar="POLICY",
            help="How engines schedule: fcfs, prefill-first, decode-first or slo-aware; default: as they do.",
        ),
    ] = None,
    preemption: Annotated[
        str,
        Option("--preemption", metavar="HOW", help="Of what outgrows the KV cache: recompute, or swap."),
    ] = "recompute",
    eviction: Annotated[
        str,
        Option(
            "--eviction",
            metavar="HOW",
            help="Of prefix blocks: lru, lfu (least often used) or priority (priority= of --columns).",
        ),
    ] = "lru",
    adapter_skew: Annotated[
        str | None,
        Option(
            "--adapter-skew",
            metavar="S",
            help="Page LoRA adapters, the n-th asked for in proportion to n^-S; 0: all alike.",
        ),
    ] = None,
    scaling: Annotated[
        bool,
        Option("--scaling", help="Hold the plan's schedule against autoscalers and the least that would do."),
    ] = False,
    target: Annotated[
        str | None,
        Option(
            "--target",
            metavar="P",
            help="Of autoscalers: a replica's rate over its planned capacity; default: as at the peak.",
        ),
    ] = None,
    min_replicas: Annotated[
        str, Option("--min-replicas", metavar="N", help="Of every pool, that autoscalers keep warm.")
    ] = "1",
    cold_start: Annotated[
        str | None,
        Option("--cold-start", metavar="S", help="What a replica takes to start; default: as planned."),
    ] = None,
    storage: Annotated[
        str | None,
        Option("--storage", metavar="ID", help="Where starting replicas load from; default: as planned."),
    ] = None,
    fail: Annotated[
        list[str] | None,
        Option(
            "--fail",
            metavar="POOL@S",
            help="Lose the busiest replica of a pool so many seconds into the period; one started anew takes "
            "its place. May repeat.",
        ),
    ] = None,
    burst: Annotated[
        str | None,
        Option(
            "--burst",
            metavar="X@S+S",
            help="X times the rate from a second on, for so long (3@60+10): how long is it felt?",
        ),
    ] = None,
    fill: Annotated[
        str | None,
        Option("--fill", metavar="IN/OUT", help="Batch work of so many tokens in what requests leave."),
    ] = None,
    workload: Annotated[
        str | None, Option("--workload", metavar="W", help="This workload alone; default: all of them.")
    ] = None,
    confidence: Annotated[
        str | None,
        Option(
            "--confidence",
            metavar="P",
            help="Probability with which step times hold; default: the plan's; 50 % is the median.",
        ),
    ] = None,
    no_change: Annotated[
        bool, Option("--no-change", help="Do not look for the smallest change that holds.")
    ] = False,
    processes: Processes = None,
    scheduler: Scheduler = None,
    results: Results = None,
    svg: SvgFile = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """Replay a plan request by request, step by step: does it keep its limits, and where not, why."""
    from planner.schema.replay import EVICTIONS, PREEMPTIONS, ROUTERS, SCHEDULERS

    checks = Checks(COMMAND)
    named = None if columns is None else parsed_columns(checks, columns)
    if columns is not None and trace is None:
        checks.refuse("--columns", f'"{columns}"', "it with --trace")
    rate_rps = checks.positive("--rate", rate, "requests per second")
    duration_s = checks.seconds("--duration", long_duration(duration))
    span = _hours(checks, hours)
    if hours is not None and duration is not None and span is not None and span[1] - span[0] != 1:
        checks.refuse("--duration", f'"{duration}"', "it without several --hours, which say how long")
    runs = checks.whole("--seeds", seeds, high=_MOST_SEEDS)
    first = checks.whole("--seed", seed, low=0, high=MAX_SEED)
    policy = None if router is None else checks.word("--router", router, ROUTERS)
    bound = _overflow(checks, overflow, policy)
    failures = tuple(one for text in fail or () if (one := _failure(checks, text)) is not None)
    batch = _tokens(checks, fill)
    step = _burst(checks, burst)
    if burst is not None and (trace or (span is not None and span[1] - span[0] != 1) or scaling):
        checks.refuse("--burst", f'"{burst}"', "it without --trace, --scaling and several --hours")
    share = _share(checks, "--confidence", confidence, 0.01, 0.99)
    aim = _share(checks, "--target", target, 0.01, 1.0)
    warm = checks.whole("--min-replicas", min_replicas, high=10_000)
    start_s = checks.seconds("--cold-start", long_duration(cold_start))
    policy_of_steps = None if batching is None else checks.word("--batching", batching, SCHEDULERS)
    preempts = checks.word("--preemption", preemption, PREEMPTIONS)
    evicts = checks.word("--eviction", eviction, EVICTIONS)
    even = adapter_skew == "0"
    skew = 0.0 if even else checks.positive("--adapter-skew", adapter_skew, "the exponent (or 0)")
    overlays = checks.folders("--catalog", catalog)
    given = any(value is not None for value in (processes, scheduler, results))
    spread = spread_of(checks, processes, scheduler, results) if given else None
    traces = trace or []
    several = len(plan) > 1 or len(traces) > 1
    if several and svg is not None:
        checks.refuse("--svg", f'"{svg}"', "it for one plan on one trace")
    checks.done()
    picture = Picture(COMMAND, svg)
    answer = Answer(as_json=as_json, out=out)
    from planner.app import replay as replay_case
    from planner.planning.replaying.burst import Burst
    from planner.planning.replaying.pools import EngineAsked
    from planner.planning.replaying.scaling import ScalersAsked
    from planner.report import json_document, replay_pictures, replay_text

    asked = replay_case.Asked(
        trace=traces[0] if traces else None,
        columns=named,
        rate_rps=rate_rps,
        duration_s=duration_s,
        hours=span,
        engine=EngineAsked(policy_of_steps, preempts, evicts),
        adapter_skew=skew,
        scaling=scaling,
        scalers=ScalersAsked(aim, warm, start_s),
        storage=storage,
        seeds=runs,
        seed=first,
        router=policy,
        overflow=bound,
        failures=failures,
        fill=batch,
        burst=None if step is None else Burst(*step),
        workload=workload,
        confidence=share,
        change=not no_change,
    )
    if several or spread is not None:
        from planner.app import many
        from planner.app.spread import Spread

        with Progress() as progress:
            rows = many.replays(plan, traces, asked, spread or Spread(), overlays=overlays, progress=progress)
        answer.give(lambda: json_document.encode(json_document.of(rows)), lambda: replay_text.rows(rows))
        broken = any(row.replay.verdict == "breaks" for row in rows.rows)
        raise Exit(faults.NO if broken else faults.ANSWERED)
    with Progress() as progress:
        found = replay_case.replay(plan[0], asked, overlays=overlays, progress=progress)
    answer.give(
        lambda: json_document.encode(json_document.of(found)),
        lambda: replay_text.view(found),
    )
    picture.draw(lambda _: replay_pictures.of_replay(found))
    raise Exit(faults.NO if found.verdict == "breaks" else faults.ANSWERED)


def _overflow(checks: Checks, text: str | None, policy: Router | None) -> float | None:
    from planner.schema.replay import OVERFLOWING

    value = checks.positive("--overflow", text, "a ratio above 1")
    if value is not None and value <= 1.0:
        checks.refuse("--overflow", f'"{text}"', "a ratio above 1, such as 1.25")
    if value is not None and policy not in OVERFLOWING:
        checks.refuse("--overflow", f'"{text}"', f"it with --router {', '.join(OVERFLOWING)}")
    return value


def _hours(checks: Checks, text: str | None) -> tuple[int, int] | None:
    """First hour, and the one after the last; -1 for the end of the plan."""
    if text is None:
        return None
    if text == "all":
        return 0, -1
    first, mark, last = text.partition("-")
    if not first.isdecimal() or (mark and not last.isdecimal()):
        checks.refuse("--hours", f'"{text}"', 'an hour from 0, several such as "7-12", or "all"')
        return None
    return int(first), int(last) if mark else int(first) + 1


def _failure(checks: Checks, text: str) -> tuple[str, float] | None:
    pool, mark, when = text.rpartition("@")
    at_s = checks.seconds("--fail", long_duration(when) if mark else None)
    if not mark or not pool:
        checks.refuse("--fail", f'"{text}"', 'a pool and a time, such as "chat/serve/1@120"')
    return (pool, at_s) if mark and pool and at_s is not None else None


def _burst(checks: Checks, text: str | None) -> tuple[float, float, float] | None:
    """Times the rate, since when, for how long."""
    if text is None:
        return None
    match = _STEP.fullmatch(text)
    if match is None:
        checks.refuse("--burst", f'"{text}"', "times the rate, a time and a length, such as 3@60+10")
        return None
    ratio = checks.positive("--burst", match[1], "times the rate")
    at_s, for_s = (checks.seconds("--burst", long_duration(match[place])) for place in (2, 3))
    if ratio is not None and not 1.0 < ratio <= _MOST_TIMES:
        checks.refuse("--burst", f'"{text}"', f"more than 1 and at most {_MOST_TIMES:g} times the rate")
    return None if ratio is None or at_s is None or for_s is None else (ratio, at_s, for_s)


def _tokens(checks: Checks, text: str | None) -> tuple[int, int] | None:
    """Of prompt and answer."""
    if text is None:
        return None
    told = [int(part) if part.isdecimal() else 0 for part in text.split("/")]
    if len(told) == 2 and 1 <= told[0] <= _TOKENS and 2 <= told[1] <= _TOKENS:
        return told[0], told[1]
    checks.refuse("--fill", f'"{text}"', "tokens of a prompt and of an answer of two or more, as 2000/500")
    return None


def _share(checks: Checks, flag: str, text: str | None, low: float, high: float) -> float | None:
    told = checks.fraction(flag, text)
    if told is None:
        return None
    from planner import units

    value = float(units.parse(told, units.FRACTION))
    if not low <= value <= high:
        checks.refuse(flag, f'"{text}"', f"a share from {low:.0%} to {high:.0%}".replace("%", " %"))
        return None
    return value
