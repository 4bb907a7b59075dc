"""Options that some optimal plan never needs, dropped before the search: exact, ties included.

Option ``k`` replaces option ``l`` of the same pool when some number ``m`` of its replicas carries at least
what one replica of ``l`` carries on every bucket, fits where that one fitted, and costs, draws and waits no
more. Every replica of ``l`` can then be exchanged for ``m`` of ``k``: cover, spares (a loss takes no more),
minimum replicas, stock, budget and packing stay valid.

To replace is transitive, so an option need only be compared with those that are kept. Options come in an
order in which whatever replaces an option stands before it; comparisons run in floats, many at once, and
every hit is confirmed exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from planner.schema.choice import ChoiceProblem, Objective, Option, Supply
from planner.solver.cp.latency_classes import by_partners
from planner.solver.cp.packing import whole_units
from planner.solver.cp.replacement import Judge

_NEAR = 1e-9
"""Room of the comparison in floats."""
_BLOCK = 256
"""Options compared at once with those kept."""

Kind = Callable[[Option], Hashable]
"""What makes two options the same for whoever asks for different plans."""


def pruned(
    problem: ChoiceProblem,
    axes: Collection[Objective] = (),
    kind: Kind | None = None,
    counted: Mapping[str, Sequence[Fraction]] | None = None,
) -> tuple[Option, ...]:
    """The options worth searching, in the order of their ids.

    Args:
        problem: what is asked.
        axes: quantities that matter besides the objective.
        kind: options of different kinds do not replace one another.
        counted: by option id, what one replica counts for limits on replicas.
    """
    judge = Judge(problem, axes, counted)
    name = kind or (lambda _: "")
    groups: dict[Hashable, list[Option]] = defaultdict(list)
    for option in by_partners(problem):
        if judge.useful(option):
            packed = judge.supplies[option.supply].purchase == "unit"
            groups[option.pool, name(option), option.supply if packed else ""].append(option)
    kept = [option for group in groups.values() for option in _undominated(group, judge)]
    gone = _dominated_supplies(problem, judge, kept, name)
    left = {option.id for option in kept if option.supply not in gone}
    return tuple(sorted((o for o in problem.options if o.id in left), key=lambda option: option.id))


# -- many at once -------------------------------------------------------------------------------------------


class _Table:
    """Options of one pool, bought alike, as columns of floats; their order lets dominance run forward."""

    def __init__(self, options: Sequence[Option], judge: Judge) -> None:
        supply = judge.supplies[options[0].supply]
        self.judge, self.room = judge, supply.unit_gpus if supply.purchase == "unit" else None
        self.options = list(options)
        whole = [0 if self.room is None else whole_units(o, judge.supplies[o.supply]) for o in options]
        kinds = {kv: code for code, kv in enumerate(sorted({o.kv for o in options if o.kv is not None}), 1)}
        names = {gpu: code for code, gpu in enumerate(sorted({o.gpu for o in options}))}
        self.rates = np.array([[float(rate) for rate in o.rates_rps] for o in options], dtype=float)
        self.price = np.array([float(judge.price(o)) for o in options])
        self.gpus = np.array([o.gpus for o in options], dtype=float)
        self.whole = np.array(whole, dtype=float)
        self.power = np.array([float(o.power_w) if judge.power else 0.0 for o in options])
        self.weights = np.array([float(sum(judge.weights.get(o.id, ()))) for o in options])
        # None waits no time at all for whoever has it, and is all that may replace None.
        self.ttft = np.array([-1.0 if o.ttft_s is None else float(o.ttft_s) for o in options])
        self.transfer = np.array([-1.0 if o.transfer_s is None else float(o.transfer_s) for o in options])
        self.kv = np.array([0 if o.kv is None else kinds[o.kv] for o in options])
        self.gpu = np.array([names[o.gpu] for o in options])
        self.stocked = np.array([o.gpu in judge.stock for o in options])
        self.needed = np.array([o.gpu in judge.must_use for o in options])
        self.counted = options[0].pool in judge.counted
        self.first = np.array([o.replicas_from for o in options], dtype=float)
        self.last = np.array([np.inf if o.replicas_to is None else o.replicas_to for o in options])
        self.slack = np.array([o.slack for o in options])

    def order(self) -> list[int]:
        """Rows such that whatever replaces a row stands before it; of equals, the one with more slack."""
        by_id = np.argsort(np.argsort(np.array([o.id for o in self.options])))
        small = np.where(self.whole > 0, 0.0, self.gpus)
        keys = (
            by_id, -self.slack, ~self.needed, self.stocked, -self.last, self.first, self.kv > 0,
            self.transfer, self.ttft, self.weights, self.power, -self.rates.sum(axis=1), small, self.price,
            self.whole,
        )  # fmt: skip
        return [int(row) for row in np.lexsort(keys)]

    def hits(self, mine: NDArray[np.intp], theirs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether row ``mine[i]`` may replace row ``theirs[j]``, with room for rounding: [j, i]."""
        k, l = mine[None, :], theirs[:, None]  # noqa: E741
        copies = np.ones((len(theirs), len(mine)))
        with np.errstate(divide="ignore", invalid="ignore"):
            for rate in self.rates.T:
                ratio = np.where(rate[l] > 0, rate[l] / rate[k], 0.0)
                np.maximum(copies, np.ceil(ratio * (1 - _NEAR)), out=copies)
            found = np.isfinite(copies) & self._fits(k, l, copies)
            found &= copies * self.power[k] <= self.power[l] * (1 + _NEAR)
        for wait in (self.ttft, self.transfer):
            found &= (wait[k] < 0) | (wait[k] <= wait[l] * (1 + _NEAR))
        found &= (self.kv[k] == 0) | (self.kv[k] == self.kv[l])
        found &= (self.gpu[k] == self.gpu[l]) | ~(self.stocked[k] | self.needed[l])
        if self.counted:
            found &= (copies == 1) & (self.first[k] <= self.first[l]) & (self.last[k] >= self.last[l])
        return found

    def _fits(
        self,
        k: NDArray[np.intp],
        l: NDArray[np.intp],  # noqa: E741
        copies: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        if self.room is None:
            price, other = copies * self.price[k], self.price[l]
            counts = self.judge.gpus_count | self.stocked[k] | (price > other * (1 - _NEAR))
            fewer = copies * self.gpus[k] <= self.gpus[l]
            return np.asarray((price <= other * (1 + _NEAR)) & (fewer | ~counts))
        slots = np.floor(self.room / self.gpus[k])
        small = np.where(
            self.whole[l] > 0, copies <= self.whole[l] * slots, copies * self.gpus[k] <= self.gpus[l]
        )
        return np.asarray(np.where(self.whole[k] > 0, copies * self.whole[k] <= self.whole[l], small))


def _undominated(group: Sequence[Option], judge: Judge) -> Iterable[Option]:
    """The options that no other of the group replaces."""
    table = _Table(group, judge)
    rows = table.order()
    kept: list[int] = []
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        before = [*kept, *block]
        hits = table.hits(np.array(before, dtype=np.intp), np.array(block, dtype=np.intp))
        stays = np.arange(len(before)) < len(kept)
        for index, row in enumerate(block):
            mine = np.flatnonzero(hits[index] & stays).tolist()
            stays[len(kept) + index] = not any(judge.replaces(group[before[k]], group[row]) for k in mine)
        kept = [row for row, stay in zip(before, stays.tolist(), strict=True) if stay]
    return [group[row] for row in kept]


# -- offers -------------------------------------------------------------------------------------------------


def _dominated_supplies(problem: ChoiceProblem, judge: Judge, kept: Sequence[Option], kind: Kind) -> set[str]:
    """Server offers for which another one of the same GPU and size is no dearer and offers as much."""
    if judge.servers:
        return set()
    offered: dict[str, list[Option]] = defaultdict(list)
    for option in kept:
        offered[option.supply].append(option)
    alike: dict[tuple[str, int], list[Supply]] = defaultdict(list)
    for supply in problem.supplies:
        if supply.purchase == "unit" and offered[supply.id]:
            alike[(supply.gpu, supply.unit_gpus)].append(supply)
    gone: set[str] = set()
    for group in alike.values():
        better: list[Supply] = []
        for supply in sorted(group, key=lambda one: (one.usd_per_unit_h, one.id)):
            if any(_offers_as_much(judge, offered[other.id], offered[supply.id], kind) for other in better):
                gone.add(supply.id)
            else:
                better.append(supply)
    return gone


def _offers_as_much(judge: Judge, mine: Sequence[Option], theirs: Sequence[Option], kind: Kind) -> bool:
    exact = {(kind(option), _attributes(option)) for option in mine}
    rest = [option for option in theirs if (kind(option), _attributes(option)) not in exact]
    return all(
        any(k.pool == other.pool and kind(k) == kind(other) and judge.replaces(k, other) for k in mine)
        for other in rest
    )


def _attributes(option: Option) -> tuple[object, ...]:
    return (
        option.pool, option.gpus, option.units_per_replica, option.rates_rps, option.power_w,
        option.ttft_s, option.transfer_s, option.kv, option.replicas_from, option.replicas_to,
    )  # fmt: skip
