"""An asker over the solver's own question, for problems that are solved by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from one_hour import solve

from planner.schema.choice import Coupling


class QuestionAsker:
    """Latencies of options are kept beside the question; everything else is in it."""

    def __init__(self, question, limits, latencies=None):
        """``latencies``: by option id, then by limit id: the least that the limit has to be."""
        self.question, self.limits, self.latencies = question, tuple(limits), latencies or {}
        self.by_id = {limit.id: limit for limit in self.limits}
        self.asked = 0

    @property
    def objective(self):
        return self.question.limits.objective

    def ask(self, changes, goal="value", objective=None):
        self.asked += 1
        value = {limit.id: limit.value for limit in self.limits} | dict(changes)
        return solve(self.moved(value, objective or self.objective), goal=goal)

    def moved(self, value, objective):
        stock = dict(self.question.limits.stock_gpus)
        for name in value:
            if name.startswith("stock:"):
                gpu = name.removeprefix("stock:")
                stock.pop(gpu, None)
                if value[name] is not None:
                    stock[gpu] = int(value[name])
        limits = replace(
            self.question.limits,
            objective=objective,
            stock_gpus=stock,
            budget_usd_per_h=value.get("budget"),
            max_gpus=None if value.get("max-gpus") is None else int(value["max-gpus"]),
        )
        return replace(
            self.question,
            limits=limits,
            options=tuple(option for option in self.question.options if self.fast(option, value)),
            demands=tuple(self.demand(demand, value) for demand in self.question.demands),
            couplings=tuple(
                Coupling(one.workload, value.get(f"ttft:{one.workload}")) for one in self.question.couplings
            ),
        )

    def fast(self, option, value):
        needs = self.latencies.get(option.id, {})
        return all(value.get(name) is None or need <= value[name] for name, need in needs.items())

    def demand(self, demand, value):
        spares = demand.spares
        if "redundancy" in value:
            spares = replace(spares, count=int(value["redundancy"] or 0))
        name = f"demand:{demand.workload}"
        share = value[name] / self.by_id[name].value if name in value else Fraction(1)
        return replace(demand, spares=spares, demand_rps=tuple(need * share for need in demand.demand_rps))
