"""Configurations at the traffic of a pool that serves several length classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from planner.candidates.options import MICRO, micro_rps
from planner.candidates.subset import subset
from planner.performance.pool_sizes import routed
from planner.planning.documents.pools import FleetPool
from planner.planning.formulation.length_class import LengthClasses
from planner.planning.formulation.study import Formulation
from planner.planning.workload.case import Enumerated, Evaluated
from planner.planning.workload.evaluate import evaluated, selected
from planner.schema.choice import Option

_NONE = Fraction(0)


def mixed_part(
    formulation: Formulation,
    classes: LengthClasses,
    workload: str,
    kept: Mapping[str, Fraction],
    replicas: int,
    configuration: int | None = None,
) -> Evaluated:
    """The configurations of a workload evaluated at a mix of its classes, in a pool of so many replicas.

    Args:
        formulation: the problem with classes.
        classes: of the workload.
        workload: its name.
        kept: share of each class's requests that comes; of an absent class none.
        replicas: of the pool.
        configuration: the only one meant; default: all, in their order.
    """
    part = formulation.evaluated[workload]
    assert part is not None, "there are options, which come from candidates"
    candidates = part.evaluation.candidates
    if configuration is not None:
        candidates = subset(candidates, np.arange(len(candidates)) == configuration)
    every = Enumerated(candidates, {}, part.refused_gpus)
    traffic = classes.prompts.traffic([float(kept.get(name, 0)) for name in classes.names])
    # The traffic is that of the pool itself: no other number of replicas is looked at.
    case = replace(part.case, traffic=routed(traffic, part.case.routing, replicas), need_rps=0.0)
    ready = selected(every, np.ones(len(candidates), dtype=bool))
    return evaluated(case, every, ready, formulation.problem.search, formulation.rules)


def carries_rps(part: Evaluated, configuration: int = 0) -> Fraction:
    """Largest rate of a candidate of `mixed_part`."""
    return Fraction(micro_rps(part.evaluation.capacities.rate_rps[configuration]), MICRO)


def capacity_rps(pool: FleetPool, period: int) -> Fraction:
    """Largest rate of one replica at the mix of a period: rates of the classes added up by what they take."""
    return added_up_rps(pool.option, pool, period, pool.shares[period]) or max(pool.option.rates_rps)


def added_up_rps(option: Option, pool: FleetPool, period: int, shares: Mapping[str, Fraction]) -> Fraction:
    """Rate of an option at such shares of the pool's demand; 0 where it cannot serve a class of it."""
    whole = busy = _NONE
    needs = zip(pool.demand.buckets, pool.demand.demand_rps[period], option.rates_rps, strict=True)
    for bucket, need, rate in needs:
        share = shares.get(bucket, _NONE)
        if share and not rate:
            return _NONE
        if share:
            whole, busy = whole + share * need, busy + share * need / rate
    return whole / busy if busy else _NONE
