"""Questions to Prometheus about one pool, as they stand in rules, dashboards and autoscalers.

``of`` are matchers of labels, those of a pool (`of_pool`) or the user's own; empty, they select everything.
Names are matched with ``:`` and with ``_``, as servers and scrapers write either. A series that had several
names is asked for under its newest one alone: the image of the pool is pinned, and functions over two names
at once fail where a server exports both.

Source: prometheus.io, querying (selectors, functions, operators).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from planner.schema.exporter import Exporter, Rule, WireSeries

POOL = "pool"
"""Label with the pool's name."""
WINDOW_S = 300
"""Of rates: 20 scrapes at the usual 15 s; Prometheus asks for four at least."""
WINDOW = f"{WINDOW_S}s"
_COUNTED = ("requests", "sequences")
"""Units of gauges that add up over the engines of one server."""


def reading(exporter: Exporter, rule: Rule, of: str) -> str | None:
    """One observed value, by the rule that reads it from a metrics page; None: not a number."""
    keys, to = rule.of, rule.to
    match rule.take:
        case "value" | "growth":
            return _sum(_gauge(exporter, key, of, rule) for key in keys)
        case "rate":
            return _sum(rate(exporter, key, of) for key in keys)
        case "share":
            return f"({_sum(rate(exporter, key, of) for key in keys)}) / ({_total(exporter, to, of)})"
        case "ratio":
            return f"({_total(exporter, keys, of)}) / ({_total(exporter, to, of)})"
        case "quantile":
            return quantile(exporter, keys[0], of, rule.quantile or 0.5)
        case "mean":
            return mean(exporter, keys[0], of)
        case "idle":
            series = selector(exporter, keys[0], of)
            return f"(count({series} == 0) or vector(0)) / count({series})"
    return None


def quantile(exporter: Exporter, key: str, of: str, share: float) -> str:
    """A percentile of a histogram over `WINDOW`."""
    buckets = f"rate({selector(exporter, key, of, '_bucket')}[{WINDOW}])"
    return _scaled(exporter, key, f"histogram_quantile({share:g}, sum by (le) ({buckets}))")


def mean(exporter: Exporter, key: str, of: str) -> str:
    """The mean of a histogram over `WINDOW`."""
    total, count = (
        f"sum(rate({selector(exporter, key, of, part)}[{WINDOW}]))" for part in ("_sum", "_count")
    )
    return _scaled(exporter, key, f"{total} / {count}")


def rate(exporter: Exporter, key: str, of: str) -> str:
    """A counter of all replicas, per second."""
    series = _no_copies(exporter, f"rate({selector(exporter, key, of, '(_total)?')}[{WINDOW}])")
    return _scaled(exporter, key, f"sum({series})")


def total(exporter: Exporter, key: str, of: str) -> str:
    """A gauge over all replicas."""
    return _scaled(exporter, key, f"sum({_no_copies(exporter, selector(exporter, key, of))})")


def of_pool(name: str) -> str:
    """The matcher of a pool's series."""
    return f"{POOL}={quoted(name)}"


def constant(value: float) -> str:
    """A number as a series without labels."""
    return f"vector({value:.10g})"


def replicas_up(pool: str) -> str:
    """Replicas of a pool that Prometheus reaches."""
    return f"(sum(up{{{POOL}={quoted(pool)}}}) or vector(0))"


def selector(exporter: Exporter, key: str, of: str, part: str = "") -> str:
    """The series that ``of`` selects; ``part`` ends the name, as a regular expression."""
    series = exporter.series[key]
    prefix = re.sub(r":$", "[:_]", exporter.prefix)
    matchers = [f'__name__=~"{prefix}{series.names[0]}{part}"', *([of] if of else [])]
    return "{" + ", ".join([*matchers, *_where(series)]) + "}"


def quoted(text: str) -> str:
    """A text in PromQL, whose strings escape as those of JSON."""
    return json.dumps(text)


def _where(series: WireSeries) -> Iterable[str]:
    for label, values in series.where.items():
        if len(values) == 1:
            yield f"{label}={quoted(values[0])}"
        else:
            yield f"{label}=~{quoted('|'.join(re.escape(value) for value in values))}"


def _gauge(exporter: Exporter, key: str, of: str, rule: Rule) -> str:
    series = selector(exporter, key, of)
    if rule.take == "growth":
        series = f"deriv({series}[{WINDOW}])"
    copies = _no_copies(exporter, series)
    if rule.replicas == "mean" and exporter.series[key].unit.split()[0] in _COUNTED:
        copies = f"sum by (instance) ({copies})"
    combined = {"mean": "avg", "max": "max", "sum": "sum"}[rule.replicas or "sum"]
    return _scaled(exporter, key, f"{combined}({copies})")


def _no_copies(exporter: Exporter, series: str) -> str:
    """Ranks that export one number each count once."""
    return f"max without ({', '.join(exporter.ranks)}) ({series})" if exporter.ranks else series


def _total(exporter: Exporter, keys: Iterable[str], of: str) -> str:
    return _sum(
        (rate if exporter.series[key].type == "counter" else total)(exporter, key, of) for key in keys
    )


def _sum(parts: Iterable[str]) -> str:
    return " + ".join(parts)


def _scaled(exporter: Exporter, key: str, expression: str) -> str:
    scale = exporter.series[key].scale
    return expression if scale == 1.0 else f"{expression} * {scale:g}"
