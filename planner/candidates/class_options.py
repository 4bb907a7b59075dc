"""Configurations that were evaluated for several length classes, as options with one rate for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from planner.candidates.options import MICRO, Placed, micro_rps, rated_w, replica_option
from planner.candidates.subset import joined, subset
from planner.schema.candidates import BoolArray, Candidates, FloatArray, IntArray, Lot
from planner.schema.choice import Objective, Option
from planner.schema.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class ClassRates:
    """Configurations that can serve at least one class."""

    candidates: Candidates
    micro_rps: IntArray
    """[configuration, class]: largest rate in millionths of a request per second; 0 = cannot serve it."""
    penalties: IntArray
    """Departures from preferences."""

    def served(self) -> BoolArray:
        """Classes that some configuration can serve."""
        return np.asarray((self.micro_rps > 0).any(axis=0))


def class_rates(evaluations: Sequence[Evaluation | None], admitted: Sequence[BoolArray]) -> ClassRates | None:
    """Evaluations of the classes joined by the names of configurations; None where nothing serves anything.

    Args:
        evaluations: one a class; None: no candidate.
        admitted: of each, the candidates that no constraint excludes.
    """
    place: dict[str, int] = {}
    parts: list[tuple[Candidates, BoolArray]] = []
    columns: list[tuple[IntArray, IntArray]] = []
    penalties: list[IntArray] = []
    for evaluation, allowed in zip(evaluations, admitted, strict=True):
        if evaluation is None:
            columns.append((np.zeros(0, dtype=np.int64),) * 2)
            continue
        found = evaluation.capacities
        usable = np.flatnonzero(allowed & (found.max_batch > 0) & (found.rate_rps > 0.0))
        rates = np.array([micro_rps(rate) for rate in found.rate_rps[usable]], dtype=np.int64)
        usable, rates = usable[rates > 0], rates[rates > 0]
        names = [evaluation.candidates.names[index] for index in usable]
        new = np.zeros(len(evaluation.candidates), dtype=bool)
        new[[index for index, name in zip(usable, names, strict=True) if name not in place]] = True
        for index in np.flatnonzero(new):
            place[evaluation.candidates.names[index]] = len(place)
        if new.any():
            parts.append((evaluation.candidates, new))
            penalties.append(evaluation.penalties[new])
        rows = np.array([place[name] for name in names], dtype=np.int64)
        columns.append((rows, rates))
    if not place:
        return None
    micro = np.zeros((len(place), len(columns)), dtype=np.int64)
    for number, (rows, rates) in enumerate(columns):
        micro[rows, number] = rates
    candidates = joined([subset(whole, keep) for whole, keep in parts])
    return ClassRates(candidates, micro, np.concatenate(penalties))


def charged(
    candidates: Candidates, lots: Sequence[Lot], whole_servers: bool, objective: Objective
) -> FloatArray:
    """What one replica costs at least, on any lot: USD per hour, GPUs or watts.

    Where everything is free, GPUs are counted.
    """
    gpus = np.array([item.gpus for item in candidates.configurations], dtype=np.float64)
    unit = np.array([lot.unit_gpus for lot in lots])[candidates.placed_lot]
    price = np.array([float(lot.usd_per_gpu_h) for lot in lots])[candidates.placed_lot]
    taken = gpus[candidates.placed_configuration]
    if whole_servers:
        taken = np.where(candidates.placed_units > 0, candidates.placed_units * unit, taken)
    if objective == "gpus" or not price.any():
        price = np.ones_like(price)
    cost = np.full(len(candidates), np.inf)
    np.minimum.at(cost, candidates.placed_configuration, taken * price)
    if objective == "power":
        cost = gpus * np.array([float(rated_w(item)) for item in candidates.configurations])
    return cost


def class_options(
    workload: str, rates: ClassRates, lots: Sequence[Lot], whole_servers: bool
) -> dict[str, tuple[Option, Placed]]:
    """Options with one rate for each class, by id.

    Of configurations that take the same room on the same lot, and the same share of memory, one goes when
    another is at least as fast in
    every class; equal ones are told apart by departures from preferences, then by name. Which option is
    dominated depends on the configurations alone, so every lot is looked at on its own.
    """
    candidates = rates.candidates
    # The fastest in total first: only an earlier one can be at least as fast in every class.
    order = sorted(
        range(len(candidates)),
        key=lambda i: (-int(rates.micro_rps[i].sum()), int(rates.penalties[i]), candidates.names[i]),
    )
    rank = np.empty(len(candidates), dtype=np.int64)
    rank[order] = np.arange(len(candidates))
    gpus = np.array([item.gpus for item in candidates.configurations])
    shares = np.array([round(item.memory_utilization * MICRO) for item in candidates.configurations])
    at, units = candidates.placed_configuration, candidates.placed_units
    rooms = np.stack((candidates.placed_lot, gpus[at], units, shares[at], rank[at]), axis=1)
    sort = np.lexsort(rooms.T[::-1])
    starts = np.flatnonzero(np.any(np.diff(rooms[sort][:, :4], axis=0, prepend=-1) != 0, axis=1))
    found = {}
    for room in np.split(sort, starts[1:]):
        for row in room[_undominated(rates.micro_rps[at[room]])]:
            index = int(at[row])
            lot = int(candidates.placed_lot[row])
            option = replica_option(
                workload,
                candidates,
                index,
                lots[lot],
                int(units[row]),
                whole_servers,
                tuple(Fraction(int(rate), MICRO) for rate in rates.micro_rps[index]),
                "",  # The batch depends on the classes that a pool serves.
                -float(rates.penalties[index]),
            )
            found[option.id] = (option, Placed(workload, index, lot))
    return dict(sorted(found.items()))


def _undominated(rates: IntArray) -> BoolArray:
    """Rows that no earlier row equals or beats in every column."""
    beats = np.all(rates[:, None, :] >= rates[None, :, :], axis=2)
    return np.asarray(~np.triu(beats, k=1).any(axis=0))
