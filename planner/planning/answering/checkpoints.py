"""Checkpoints that a plan loads, and what it would cost to serve the 16-bit one instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner import numbers
from planner.loaders.hub import is_id
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.catalog import Model
from planner.schema.catalog_index import Catalog, folded
from planner.schema.checkpoint_taken import CheckpointTaken
from planner.schema.number_format import NumberFormat
from planner.schema.pool import Pool
from planner.schema.problem import Problem

SIXTEEN = 16
_WIDE = "bf16"


def checkpoints_taken(
    case: FleetCase,
    cost_usd_per_h: float,
    pools: Sequence[Pool],
    catalog: Catalog,
    ask: Callable[[str, str | None], float | None] | None,
) -> Iterator[CheckpointTaken]:
    """One entry for each format of weights of each workload; none for plans over a table of workers.

    Args:
        case: the question that was answered.
        cost_usd_per_h: of the plan.
        pools: its pools.
        catalog: published checkpoints.
        ask: the cost of the cheapest plan with 16-bit weights of a workload, or of another model in 16 bit;
            None where there is none. None: nothing is asked.
    """
    if case.formulation is None:
        return
    for workload, weights in dict.fromkeys((pool.workload, pool.weights) for pool in pools):
        asked = case.formulation.cases[workload]
        form = catalog.number_format(weights)
        assert form is not None, "pools have formats of the catalog"
        named = str(asked.workload.model)
        base = asked.model if asked.own_model else catalog.base_model(asked.model)
        wide, cost = form.nominal_bits >= SIXTEEN, None
        ids, originals = _ids(base, named, asked.model, weights), _ids(base, named, asked.model, _WIDE)
        if not wide and ask is not None and _has_wide(catalog, base):
            cost = ask(workload, base.id if asked.model.quantized_from else None)
        yield CheckpointTaken(
            workload=workload,
            model=asked.model.id,
            weights=weights,
            ids=ids,
            sixteen_bit_ids=originals,
            sixteen_bit_cost_usd_per_hour=cost,
            text=_text(form, ids, originals, cost, cost_usd_per_h),
        )


def _has_wide(catalog: Catalog, base: Model) -> bool:
    """Whether the model itself has 16 bits: some are trained in fewer."""
    form = catalog.number_format(base.native_format)
    return form is not None and form.nominal_bits >= SIXTEEN


def _ids(base: Model, named: str, asked: Model, weights: str) -> tuple[str, ...]:
    """Published ids in a format: the one that the problem names first, then those with its name in theirs."""
    found = [name for item in base.checkpoints if item.format == weights for name in item.ids]
    if base.native_format == weights:
        found = [*base.aliases, *found]
    own = [named] if asked.native_format == weights else []
    last = folded(named).rpartition("/")[2]
    near = sorted(found, key=lambda name: last not in folded(name))
    return tuple(dict.fromkeys(name for name in (*own, *near) if is_id(name)))


def original(problem: Problem, workload: str, model: str) -> Problem:
    """The problem with the 16-bit model in place of a checkpoint that somebody made narrower."""
    workloads = tuple(
        item.model_copy(
            update={"model": model, "precision": item.precision.model_copy(update={"weights": (_WIDE,)})}
        )
        if item.name == workload
        else item
        for item in problem.workloads
    )
    return problem.model_copy(update={"workloads": workloads})


def _text(
    form: NumberFormat, ids: Sequence[str], originals: Sequence[str], cost: float | None, own: float
) -> str:
    wide = form.nominal_bits >= SIXTEEN
    if ids:
        words = ids[0] + (f" (or {', '.join(ids[1:3])})" if len(ids) > 1 else "")
    elif wide:
        words = "the checkpoint of the configuration"
    else:
        words = "none is known: quantize the 16-bit one ahead, or let the engine do it while loading"
    if wide or cost is None:
        return f"weights in {form.name}: {words}"
    more = f" ({numbers.signed_share(cost / own - 1.0)})" if own else ""
    original = f" ({originals[0]})" if originals else ""
    return f"weights in {form.name}: {words}; in 16 bit{original} the fleet costs {numbers.usd(cost)}/h{more}"
