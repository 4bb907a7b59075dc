"""Admitted candidates on their lots, as options for the solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from planner.candidates.counted import Ranged, best_by_number
from planner.schema.candidates import BoolArray, Candidates, Lot
from planner.schema.choice import NO_SPARES, Option, Role, Spares, Supply
from planner.schema.configuration import Configuration
from planner.schema.evaluation import Evaluation

MICRO = 1_000_000
"""Parts of a request per second that rates are rounded down to."""


@dataclass(frozen=True)
class Placed:
    """Where an option of the solver comes from."""

    workload: str
    configuration: int
    """Index into the workload's candidates."""
    lot: int
    role: Role = "serve"
    side: int = 0
    """Of a prefill or decode option, the place of its `SideEvaluation`."""


def supplies(lots: Sequence[Lot]) -> tuple[Supply, ...]:
    """What the solver buys: one supply a lot."""
    return tuple(
        Supply(
            id=lot.id,
            gpu=lot.name,
            purchase=lot.purchase,
            unit_gpus=lot.unit_gpus,
            usd_per_unit_h=Fraction(lot.usd_per_unit_h),
        )
        for lot in lots
    )


def options(
    evaluation: Evaluation,
    lots: Sequence[Lot],
    admitted: BoolArray,
    whole_servers: bool,
    every: bool = False,
    spares: Spares = NO_SPARES,
) -> dict[str, tuple[Option, Placed]]:
    """The options of one workload, by id.

    Of configurations that take the same room on the same lot, with the same share of memory, only the one
    with the largest rate stays: every limit already holds for it, so nothing else distinguishes them. Equal
    rates are told apart by departures from preferences, then by name. Rates are rounded down to a millionth
    of a request per second; what is then zero is no option. Where candidates are repeated because hits
    depend on the number of replicas, the largest rate is taken number by number.

    Args:
        evaluation: candidates with capacities.
        lots: what can be bought.
        admitted: candidates that no constraint excludes.
        whole_servers: a replica larger than one server takes whole servers.
        every: keep those too that a better one in the same room stands for (to explain, not to solve).
        spares: what may be lost.
    """
    rooms: dict[tuple[int, int, int, int, float], list[int]] = {}
    candidates = evaluation.candidates
    rank = _ranks(evaluation, admitted)
    triples = zip(
        candidates.placed_configuration.tolist(),
        candidates.placed_lot.tolist(),
        candidates.placed_units.tolist(),
        strict=True,
    )
    for configuration, lot, units in triples:
        if configuration not in rank:
            continue
        item = candidates.configurations[configuration]
        room = (lot, item.gpus, units, configuration if every else -1, item.memory_utilization)
        rooms.setdefault(room, []).append(configuration)
    found = {}
    for (lot, gpus, units, _, _), members in rooms.items():
        variants = evaluation.variants
        if variants is None:
            ranged = [Ranged(min(members, key=rank.__getitem__))]
        else:
            lost = _lost(spares, lots[lot], gpus)
            ranged = best_by_number(variants, sorted(members, key=rank.__getitem__), lost)
        for taken in ranged:
            option = _option(evaluation, lots[lot], taken, units, whole_servers)
            found[option.id] = (option, Placed(evaluation.workload.name, taken.candidate, lot))
    return dict(sorted(found.items()))


def _lost(spares: Spares, lot: Lot, gpus: int) -> int:
    """Replicas of one option that may be lost; of zones and providers nobody knows how many."""
    full = max(1, lot.unit_gpus // gpus) if spares.kind == "servers" else 1
    return spares.count * full


def _ranks(evaluation: Evaluation, admitted: BoolArray) -> dict[int, int]:
    """Place of every usable candidate, the best first."""
    usable = admitted & (evaluation.capacities.max_batch > 0) & (evaluation.capacities.rate_rps > 0.0)
    rates = {
        index: micro_rps(evaluation.capacities.rate_rps[index]) for index in np.flatnonzero(usable).tolist()
    }
    order = sorted(
        (index for index, rate in rates.items() if rate > 0),
        key=lambda index: (-rates[index], evaluation.penalties[index], evaluation.candidates.names[index]),
    )
    return {index: position for position, index in enumerate(order)}


def micro_rps(rate_rps: float) -> int:
    """Millionths of a request per second, rounded down exactly."""
    above, below = float(rate_rps).as_integer_ratio()
    return above * MICRO // below


def _option(evaluation: Evaluation, lot: Lot, taken: Ranged, units: int, whole_servers: bool) -> Option:
    index = taken.candidate
    alone = replica_option(
        evaluation.workload.name,
        evaluation.candidates,
        index,
        lot,
        units,
        whole_servers,
        (Fraction(micro_rps(evaluation.capacities.rate_rps[index]), MICRO),),
        f"{taken.part} batch{int(evaluation.capacities.max_batch[index])}",
        -float(evaluation.penalties[index]),
    )
    return alone.but(replicas_from=taken.first, replicas_to=taken.last)


def replica_option(
    workload: str,
    candidates: Candidates,
    index: int,
    lot: Lot,
    units: int,
    whole_servers: bool,
    rates_rps: tuple[Fraction, ...],
    suffix: str,
    slack: float,
) -> Option:
    """One configuration on one lot, serving prompts and answers.

    Args:
        workload: its name.
        candidates: configurations.
        index: the one meant.
        lot: where it runs.
        units: whole units that it takes; 0: a part of one.
        whole_servers: a replica larger than one server takes whole servers.
        rates_rps: largest rates by bucket.
        suffix: what the id says beside the name of the configuration.
        slack: what tells equal options apart, the larger the better.
    """
    configuration, name = candidates.configurations[index], candidates.names[index]
    whole = units if units and whole_servers else None
    return Option(
        id=f"{workload}: {name}{suffix} @ {lot.id}",
        workload=workload,
        role="serve",
        supply=lot.id,
        gpu=lot.name,
        gpus=units * lot.unit_gpus if whole is not None else configuration.gpus,
        rates_rps=rates_rps,
        power_w=rated_w(configuration) * configuration.gpus,
        units_per_replica=whole if lot.purchase == "unit" else None,
        slack=slack,
        label=name,
    )


def rated_w(configuration: Configuration) -> Fraction:
    """Rated power of one GPU; 0 where none is known: where power counts, such GPUs are not considered."""
    power = configuration.accelerator.power
    return Fraction(power.tdp) if power else Fraction(0)
