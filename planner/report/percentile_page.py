"""Percentiles in ``docs/accuracy.md``: errors by class with pictures, spreads, the order of routers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from planner.report.accuracy_page import scatter
from planner.schema.catalog import Parameter
from planner.schema.percentiles import (
    METRICS,
    PERCENTILES,
    PercentileValidation,
    PredictedPercentiles,
    RouterOrder,
)
from planner.schema.spread import BEYOND_MEAN
from planner.schema.validation import ErrorLine

_METRICS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e": "E2E"}
_PICTURES = ("ttft_p50", "ttft_p99", "tpot_p99", "itl_p99")
_SCALE = {"ttft": ("s", 1e-3), "e2e": ("s", 1e-3), "tpot": ("ms", 1.0), "itl": ("ms", 1.0)}
_BAD_MEDIAN = 0.5
_FEWEST = 5
_HOW = (
    "Published runs that state percentiles, each simulated as the run that it was: its arrivals or clients, "
    "its number of requests, its replicas behind its router, the prompts that its prefix caches find again; "
    "runs without a number of requests are predicted in their steady state, and of longer ones a part "
    "without its start. None of these rows was fitted but for the numbers named below."
)
_SPREADS = (
    "Log-standard deviation that a percentile adds, in quadrature, to that of the mean of the same "
    "configuration (of TTFT, of TPOT for the others): 80 % of the steady rows differ by no more than 1.28 "
    "times that between the error of the percentile and the error of the mean of the same run. Plans, "
    "`estimate` and `curve` draw the margin of every limit from it. Steady are scored rows under a stated "
    "rate whose table states the prompts, which the model puts at 90 % of what the service carries at most: "
    "beyond, an error of step times moves what is carried, for which plans hold a margin on step times. A "
    "model on a GPU counts once, however many rates it was run at; the quantile is smooth (Harrell and "
    "Davis), so that no single one of them decides it; neighbors that fall share their mean. A percentile "
    "with fewer than 20 rows takes that of its neighbor below, end-to-end times the larger one of TTFT and "
    "TPOT."
)
_CAVEATS = (
    "Set with these rows in view: `request_overhead_s` and `token_overhead_s`; `through_host_efficiency` and "
    "`through_host_latency_s` of GPUs without peer access; that the power of a board sets its clocks, with "
    "the exponent of the middle of what is possible (`power_exponent`); the spreads of lengths by "
    "kind and where ShareGPT ends (`catalog/judgment/measurements.yaml`); the weight of prefixes against"
    " loads in a router that looks at both (`AFFINITY`); how long a part of a long run is, what of it "
    "counts as its start and the load at which a run beyond capacity is shown (`LIVES`, `START`, "
    "`NEARLY_FULL`); that the highest rate of a ladder ran first; and the rules for doubt: a start-up "
    "that shows in a ladder, prompts that a cache must have held, notes of several tokens in one call or "
    "chunk, a mean gap above the mean time per token, software marked as experimental.",
    "Runs of one server with the same number of requests and the same measured mean of their prompts drew"
    " the same prompts: all but the one at the highest rate find them in prefix caches that hold them. "
    "Other ladders of shared prompts start with warm caches.",
    "An H100 or H200 without a form factor is taken as SXM. By Little's law a run had its throughput "
    "times its median end-to-end time in flight, which is read from the row itself: one that had more in "
    "flight than the engine's default limit is given the next power of two, one that had more than its "
    "share of memory holds (or that fits no request) is given 95 %, and a layout that is not stated holds"
    " them. A link that is sold apart (a bridge) is there where the row says so.",
    "First tokens and end-to-end times of bursts, and of closed loops of several clients that state no "
    "number of requests, are not compared: they are places in the queue of the start, and nobody can tell "
    "how much of such a run the start was.",
    "A run that kept up and that the model takes to be beyond capacity is shown at the largest load that "
    "it carries.",
    "Audited runs are offered within a few percent of what they carry, where ten percent of step time "
    "double the requests in flight: their times per token come out low by a quarter (v5.1) and by three "
    "fifths (v4.1), and first tokens with them.",
    "Power limits below a card's own and the generation of its slots are not in the tables.",
    "Not in the simulation: preemption (tried: no gain on these rows), stalls of the host, compilation of"
    " the first steps, the client.",
)


def section(
    validation: PercentileValidation,
    lines: Sequence[ErrorLine],
    order: RouterOrder,
    spreads: Mapping[str, Parameter],
) -> list[str]:
    """Lines of the page."""
    scored = sum(row.scored for row in validation.rows)
    return [
        "",
        "## Percentiles",
        "",
        _HOW,
        "",
        f"{scored:,} of {len(validation.rows):,} rows are scored.",
        "",
        *(f"![{_title(name)}]({picture_name(name)})\n" for name in _PICTURES),
        "Median of the errors, and number of rows.",
        "",
        *_table(lines),
        "",
        f"Order of routers: right in {order.right} of {order.pairs} pairs of runs of one source that differ "
        "in the router alone, and whose TTFT differs by more than a tenth.",
        "",
        "### What each percentile adds to the spread of its mean",
        "",
        f"| | {' | '.join(name.upper() for name in PERCENTILES)} |",
        "| --- |" + " ---: |" * len(PERCENTILES),
        *(_spread_row(metric, spreads) for metric in METRICS),
        "",
        _SPREADS,
        "",
        "### Bad classes of percentiles",
        "",
        *_bad(lines),
        "",
        "### Rows that are not scored",
        "",
        *_left(validation.rows),
        "",
        "### What these figures leave out",
        "",
        *(f"- {line}" for line in _CAVEATS),
    ]


def picture_name(number: str) -> str:
    """The file beside the page."""
    return f"accuracy-{number.replace('_', '-')}.svg"


def pictures(validation: PercentileValidation) -> dict[str, bytes]:
    """Predicted against measured, one picture a percentile, by file name."""
    found = {}
    for number in _PICTURES:
        scale = _SCALE[number.split("_")[0]][1]
        points = [
            (row.row.observed_ms[number] * scale, row.ms[number] * scale, row.classes[0] == "moe")
            for row in validation.rows
            if row.scored
            and number in row.ms
            and number in row.row.observed_ms
            and not row.row.is_place_in_queue(number)
        ]
        if points:
            found[picture_name(number)] = (scatter(_title(number), points) + "\n").encode()
    return found


def _title(number: str) -> str:
    metric, percentile = number.split("_")
    return f"{_METRICS[metric]} {percentile.upper()}, {_SCALE[metric][0]}"


def _table(lines: Sequence[ErrorLine]) -> list[str]:
    """One row a class: median error and rows of each percentile."""
    numbers = [f"{metric}_{name}" for metric in METRICS for name in PERCENTILES]
    found = {(line.group, line.number): line for line in lines}
    groups = list(dict.fromkeys(line.group for line in lines))
    groups.sort(key=lambda group: (group != "all", group.startswith("doubtful")))
    heads = [f"{_METRICS[number.split('_')[0]]} {number.split('_')[1].upper()}" for number in numbers]
    rows = [f"| class | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(numbers)]
    for group in groups:
        cells = [
            f"{line.median:.0%} ({line.rows})" if (line := found.get((group, number))) else ""
            for number in numbers
        ]
        rows.append(f"| {group} | {' | '.join(cells)} |")
    return rows


def _spread_row(metric: str, spreads: Mapping[str, Parameter]) -> str:
    cells = [
        f"{item.value:.2f}" if (item := spreads.get(f"{metric}_{name}{BEYOND_MEAN}")) else ""
        for name in PERCENTILES
    ]
    return f"| {_METRICS[metric]} | {' | '.join(cells)} |"


def _bad(lines: Sequence[ErrorLine]) -> list[str]:
    return [
        f"- {_title(line.number).split(',')[0]}, {line.group}: median {line.median:.0%}, "
        f"bias {line.bias:+.0%}, P90 {line.p90:.0%} over {line.rows} rows."
        for line in lines
        if line.median > _BAD_MEDIAN and line.rows >= _FEWEST and not line.group.startswith("doubtful")
    ] or ["- None beyond a median of 50 %."]


def _left(rows: Sequence[PredictedPercentiles]) -> list[str]:
    skipped = Counter(row.skipped for row in rows if row.skipped)
    doubtful = Counter(row.row.doubt for row in rows if not row.skipped and row.row.doubt)
    return [
        *(f"- {count} rows: {reason}." for reason, count in sorted(skipped.items())),
        *(f"- {count} rows, predicted all the same: {reason}." for reason, count in sorted(doubtful.items())),
    ]
