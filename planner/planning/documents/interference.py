"""What prompts in the steps of answers do to P99 between tokens, which disaggregated serving removes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from planner import numbers
from planner.performance.at_load import at_load
from planner.performance.decode_worker import answer_traffic
from planner.performance.load import IntArray
from planner.performance.replica import replicas
from planner.planning.documents.pool_document import PoolCase
from planner.planning.workload.case import Evaluated
from planner.schema.choice import ServingMode
from planner.schema.configuration import Configuration
from planner.schema.pool import Pool
from planner.schema.traffic import Traffic

Gaps = Callable[[str], tuple[float, float]]
_GAP = "itl_p99"


def interference(
    together: Callable[[str], Evaluated], cases: Sequence[PoolCase], documents: Sequence[Pool]
) -> Gaps:
    """The gaps of predicted plans.

    Args:
        together: candidates of aggregated serving, by workload.
        cases: the options in use.
        documents: their pools.
    """

    def gaps_s(workload: str) -> tuple[float, float]:
        mine = [case for case in cases if case.placed.workload == workload]
        return _gaps_s(together(workload), mine, [pool for pool in documents if pool.workload == workload])

    return gaps_s


def gap_words(taken: ServingMode, aggregated_s: float, disaggregated_s: float) -> str:
    """What prompts in the steps of answers do to P99 between tokens; nothing where it is not known."""
    if not (np.isfinite(aggregated_s) and np.isfinite(disaggregated_s)):
        return ""
    mixed, alone = numbers.seconds(aggregated_s), numbers.seconds(disaggregated_s)
    if taken == "disaggregated":
        return f"P99 between tokens is {alone}; with prompts in the same steps it would be {mixed}."
    return f"P99 between tokens is {mixed}; without prompts in the same steps it would be {alone}."


def _gaps_s(part: Evaluated, cases: Sequence[PoolCase], documents: Sequence[Pool]) -> tuple[float, float]:
    """ITL P99 of the largest answering pool with prompts in its steps, and without.

    The other way is measured on the same layout at the same requests per second and GPU: with the prefill
    chunk that disturbs least, or without prompts.
    """
    places = [place for place, case in enumerate(cases) if case.placed.role != "prefill"]
    place = max(places, key=lambda index: (cases[index].share, -index))
    case, pool = cases[place], documents[place]
    own_s = pool.itl_s.get("p99", np.inf)
    items = part.evaluation.candidates.configurations
    taken = case.evaluated.evaluation.candidates.configurations[case.placed.configuration]
    rows = np.array([row for row, item in enumerate(items) if _alike(item, taken)], dtype=np.int64)
    if not rows.size:
        return (own_s, np.inf) if pool.role == "serve" else (np.inf, own_s)
    if pool.role == "serve":
        rate = float(case.rate_rps)
        return own_s, _quietest_s(part, rows, rate, answer_traffic(part.case.traffic))
    gpus = sum(other.replicas * other.gpus_per_replica for other in documents)
    rate = float(part.case.peak_rps) * taken.gpus / gpus
    return _quietest_s(part, rows, rate, part.case.traffic), own_s


def _quietest_s(part: Evaluated, rows: IntArray, rate_rps: float, traffic: Traffic) -> float:
    """The smallest ITL P99 of some rows at a rate, or beyond what they carry at their full batch."""
    case, evaluation = part.case, part.evaluation
    items = [evaluation.candidates.configurations[row] for row in rows]
    model = replicas(items, part.specs.take(rows), traffic, case.load.margin_z_score)
    batch = np.maximum(evaluation.max_sequences[rows], 1).astype(np.float64)
    own, rate = np.arange(rows.size), np.full(rows.shape, rate_rps)
    load = at_load(model, own, rate, batch, traffic, case.load, (_GAP,))
    return float(load.latency_s[_GAP].min())


def _alike(item: Configuration, other: Configuration) -> bool:
    """The same but for the prefill chunk."""
    return _shape(item) == _shape(other)


def _shape(item: Configuration) -> tuple[object, ...]:
    degrees = (item.tp, item.pp, item.ep, item.attention_dp)
    place = (item.accelerator.id, item.node_gpus, item.fast_link, item.spans_servers)
    return (*place, item.weights.id, item.kv.id, *degrees, item.drafting)
