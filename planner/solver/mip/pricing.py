"""One block alone at given prices: its proved least and a plan; rows of replica spares found as needed.

Every solution that breaks such a row is mended by adding replicas, so that there is a plan however few rows
are known; in the end the few options that the solutions used are chosen anew with every loss written out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planner.solver.mip.cheaper import worth_pricing
from planner.solver.mip.cuts import Cut
from planner.solver.mip.mip import INF, Answer, Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, read_block, uses
from planner.solver.mip.pool_rows import MOST_LOSSES, Block
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.repair import repaired
from planner.solver.mip.state import State
from planner.solver.work import Limit, Timer

Places = frozenset[tuple[int, int]]

_ROUNDS = 6
"""Solutions in a row that break a row of replica spares."""
_FIRST_GAPS = (0.03, 0.01)
"""Good enough for the first of them: they mostly show which rows are missing."""
_LEAST_S = 0.1
"""A solution gets so long at least."""
_POLISH_PART = 0.5
"""Of the time of one solution: for the last choice among the options seen."""


@dataclass
class Priced:
    """The least of ``sum price * use`` of one block."""

    number: int
    value: float
    bound: float
    plan: BlockPlan | None
    cuts: list[Cut] = field(default_factory=list)


def price(
    state: State,
    number: int,
    prices: Floats,
    gap: float,
    limit: Limit,
    *,
    whole: bool = True,
    allowed: Places | None = None,
) -> Priced:
    """Solve one block alone at these prices per resource. An infeasible one has the bound infinity.

    Args:
        state: of the process.
        number: of the block.
        prices: by resource.
        gap: that is good enough.
        limit: for all of it, but that it takes one solution at least.
        whole: False: only the bound of the linear relaxation, which takes a twentieth of the time.
        allowed: places (pool, place) that may be used; the bound holds for these.
    """
    pricing = _Pricing(state, number, prices, gap, limit)
    if allowed is not None:
        pricing.allowed = allowed
    return pricing.whole() if whole else pricing.relaxed()


class _Pricing:
    """One block at one set of prices."""

    def __init__(self, state: State, number: int, prices: Floats, gap: float, limit: Limit) -> None:
        self.state, self.number, self.prices, self.gap, self.limit = state, number, prices, gap, limit
        self.prepared: Prepared = state.prepared
        self.allowed = worth_pricing(state.prepared, number, prices)
        pools = state.prepared.works[state.prepared.blocks[number][0]].pools
        self.spared = any(pool.spares_of("replicas", "servers") for pool in pools)
        self.best: BlockPlan | None = None
        self.value, self.bound = INF, -INF
        self.cuts: list[Cut] = []
        self.seen: set[tuple[int, int]] = set()

    def relaxed(self) -> Priced:
        """The bound of the linear relaxation."""
        answer = solve(self._model(self.allowed)[0], whole=False)
        return Priced(self.number, INF, answer.value if answer.status == "optimal" else -INF, None)

    def whole(self) -> Priced:
        """Solutions until none breaks a row, or until there is no time."""
        timer = Timer(self.limit)
        for turn in range(_ROUNDS):
            near = max(self.gap, _FIRST_GAPS[turn]) if self.spared and turn < len(_FIRST_GAPS) else self.gap
            model, block = self._model(self.allowed)
            answer = self._solved(model, block, near, timer.left(least_s=_LEAST_S))
            if answer.status == "infeasible":
                sure = solve(model, limit=self.limit, presolve=False).status == "infeasible"
                return Priced(self.number, INF, INF if sure else self.bound, None, self.cuts)
            self.bound = max(self.bound, answer.bound)
            if answer.columns is None:
                break
            settled = self._take(read_block(self.number, block, answer.columns))
            if self._good or (near == self.gap and settled) or timer.left_s < 0:
                break
        if self.best is not None and not self._good and self.seen:
            self._polish()
        return Priced(self.number, self.value, self.bound, self.best, self.cuts)

    @property
    def _good(self) -> bool:
        return self.value - self.bound <= self.gap * abs(self.value)

    def _model(self, allowed: Places | None) -> tuple[Model, Block]:
        model = Model()
        block = self.state.writer.write(model, self.number, allowed)
        for resource, terms in block.uses.items():
            for column, entry in terms:
                model.cost[column] += float(self.prices[resource]) * entry
        return model, block

    def _solved(self, model: Model, block: Block, gap: float, limit: Limit) -> Answer:
        start = None
        if self.best is not None:
            start = {c: float(self.best.counts.get(key, 0)) for key, c in block.counts.items()}
        return solve(model, limit=limit, gap=gap, seed=self.state.seed, hint=start)

    def _take(self, plan: BlockPlan) -> bool:
        """Learn from a solution; whether another one would teach nothing."""
        new, fine = self.state.short([plan])
        self.cuts += new
        mended = [plan] if fine else repaired(self.prepared, [plan], self.prices)
        for one in (plan, *(mended or ())):
            self.seen |= {key[1:] for key in one.counts}
        if mended is not None and self._propose(mended[0]) and self.spared:
            self.cuts += self.state.short(_one_less(mended[0]))[0]
        return fine or not new

    def _propose(self, plan: BlockPlan) -> bool:
        used = uses(self.prepared, plan)
        value = float(sum(self.prices[resource] * amount for resource, amount in used.items()))
        if value >= self.value:
            return False
        self.best, self.value = plan, value
        return True

    def _polish(self) -> None:
        """The best plan of the few options that the solutions so far use: with so few, losses are exact."""
        if not self.spared or self.best is None:
            return
        mine = {key[1:] for key in self.best.counts}
        few = frozenset(sorted(self.seen, key=lambda key: (key not in mine, key))[:MOST_LOSSES])
        model, block = self._model(few)
        limit = replace(self.limit, seconds=_POLISH_PART * self.limit.seconds)
        answer = self._solved(model, block, self.gap, limit)
        if answer.columns is None:
            return
        mended = repaired(self.prepared, [read_block(self.number, block, answer.columns)], self.prices)
        if mended is not None:
            self._propose(mended[0])


def _one_less(plan: BlockPlan) -> list[BlockPlan]:
    """The plan without one of its replicas, each in turn: what these lack shows which rows matter near it."""
    found = []
    for key, count in plan.counts.items():
        others = {other: n for other, n in plan.counts.items() if other != key}
        found.append(replace(plan, counts={**others, key: count - 1} if count > 1 else others))
    return found
