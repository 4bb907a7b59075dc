"""Something held against the plan: what the plan uses of it, what the best plan with or without it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from planner import numbers
from planner.explain.threshold import Ask
from planner.explain.variants import using, without_gpu, without_kinds
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Plan

_NOT_FINISHED = "The time limit ended the search before it knew what the best plan with and without it costs."
_SAME = 1e-9
"""Part of a cost up to which two are the same: shares of suppliers are no exact numbers."""


@dataclass(frozen=True, eq=False)
class HeldAgainst:
    """A plan, its question, and how to ask others."""

    plan: Plan
    question: FleetProblem
    ask: Ask

    def gpu(self, gpu: str) -> Iterator[str]:
        """A GPU type that some option runs on."""
        used = list(self.pools(gpu))
        yield from used
        if used:
            yield from self._without(without_gpu(self.question, gpu))
        else:
            yield from self._with(using(self.question, gpu), "that uses it")

    def pools(self, gpu: str) -> Iterator[str]:
        """What the plan has of a GPU type."""
        for pool in self.plan.pools:
            if pool.gpu == gpu:
                yield f"The plan uses it: {pool.id}, {numbers.count(pool.replicas, 'replica')}."

    def line(self, line: str) -> Iterator[str]:
        """A line of the supply."""
        gpu = next(one.gpu for one in self.question.lines if one.id == line)
        others = frozenset(one.id for one in self.question.lines if one.gpu == gpu and one.id != line)
        if not (others or self.plan.supply):
            yield from self.gpu(gpu)  # plans of earlier versions name no lines
            return
        bought = max((taken.gpus for taken in self.plan.supply if taken.line == line), default=0)
        if bought:
            most = "up to " if self.question.periods > 1 else ""
            yield f"The plan buys it: {most}{numbers.count(bought, 'GPU')}."
            yield from self._without(without_kinds(self.question, frozenset(), frozenset({line})))
            return
        alone = using(without_kinds(self.question, frozenset(), others), gpu)
        yield from self._with(alone, f"that buys {gpu} this way alone" if others else "that buys it")

    def api(self, api: str) -> Iterator[str]:
        """An outside supplier."""
        workload = next(one.workload for one in self.question.apis if one.id == api)
        taken = next((one for one in self.plan.api if one.id == api and one.share), None)
        if taken is not None:
            yield f"The plan uses it: {numbers.share(taken.share)} of the requests of {workload}."
            yield from self._without(without_kinds(self.question, frozenset({api}), frozenset()))
            return
        rest = {one.id for one in self.question.apis if one.workload == workload and one.id != api}
        rest |= {option.id for option in self.question.options if option.workload == workload}
        yield from self._alone(without_kinds(self.question, frozenset(rest), frozenset()))

    def option(self, options: Sequence[Option]) -> Iterator[str]:
        """An option, wherever it may stand: what it carries, the best plans without it and of it alone."""
        first, ids = options[0], frozenset(option.id for option in options)
        used = any(pool.option in (first.id, first.anywhere, first.label) for pool in self.plan.pools)
        if used:
            yield "The plan uses it."
        served = max(first.rates_rps, default=Fraction(0))
        yield f"It keeps every limit: one replica carries {numbers.rate(float(served))}."
        if used:
            yield from self._without(without_kinds(self.question, ids, frozenset()))
        kept = self._one_way(first)
        rest = {option.id for option in kept.options if option.pool == first.pool and option.id not in ids}
        rest |= {api.id for api in kept.apis if api.workload == first.workload}
        yield from self._alone(without_kinds(kept, frozenset(rest), frozenset()))

    def _one_way(self, option: Option) -> FleetProblem:
        """The question with the option's workload served in the way of the option."""
        together = option.role == "serve"
        demands = tuple(
            demand
            for demand in self.question.demands
            if demand.workload != option.workload or (demand.role == "serve") == together
        )
        pools = {demand.pool for demand in demands}
        options = tuple(one for one in self.question.options if one.pool in pools)
        return replace(self.question, demands=demands, options=options)

    # -- costs ------------------------------------------------------------------------------------------

    def _with(self, question: FleetProblem, words: str) -> Iterator[str]:
        yield self._told(question, f"The best plan {words}", f"No plan uses it within {self._caps}.")

    def _without(self, question: FleetProblem) -> Iterator[str]:
        yield self._told(question, "Without it the best plan", "Without it there is no plan.")

    def _alone(self, question: FleetProblem) -> Iterator[str]:
        no_plan = f"Alone it cannot carry the demand within {self._caps}."
        yield self._told(question, "The best plan with it alone", no_plan)

    def _told(self, question: FleetProblem, best_plan: str, no_plan: str) -> str:
        choice = self.ask(question, "value")
        if choice.status == "unknown":
            return _NOT_FINISHED
        return no_plan if choice.value is None else f"{best_plan} costs {self._cost(choice)}."

    @property
    def _caps(self) -> str:
        """The limits of the market, in words."""
        limits = self.question.limits
        quotas = any(row.kind == "quota" for row in limits.rows)
        stated = quotas or limits.changes or any(line.max_gpus for line in self.question.lines)
        return f"{'supply, quotas, ' if stated else ''}stock, budget and number of GPUs"

    def _cost(self, choice: FleetChoice) -> str:
        """``45.90 USD per hour, 4.3 % more than the plan``; what a search left open is said."""
        cost = float(choice.cost_usd / self.question.periods)
        words = f"{numbers.usd(cost)} per hour{self._against(cost)}"
        if choice.status != "feasible":
            return words
        return f"{words}, as far as the search came before its limit"

    def _against(self, cost: float) -> str:
        today = self.plan.cost_usd_per_hour
        if not today:
            return ""
        if abs(cost - today) <= _SAME * today:
            return ", as much as the plan"
        word = "more" if cost > today else "less"
        return f", {numbers.share(abs(cost / today - 1))} {word} than the plan"
