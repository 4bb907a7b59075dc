"""What every sizing step reads of a plan, and how it tells about several workloads and pools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner import numbers
from planner.constraints.plan.registry import PLAN_LIMITS
from planner.explain.in_the_way import blocking, in_the_way
from planner.explain.phrases import is_answered, listing
from planner.explain.problem_values import sizing_of, workload_names
from planner.schema.explanation import Figure, Step
from planner.schema.limits_told import Removal
from planner.schema.plan import Plan
from planner.schema.policy import Alarms, RulesOfThumb
from planner.schema.pool import Pool
from planner.schema.sizing import WorkloadSizing
from planner.schema.slo import METRICS

Value = float | int | str | None

_PLACE = {"vram": 4, "precision": 5, "max-quality-loss": 5, "unservable": 11}
_PLACE |= {limit.kind: 12 if limit.kind == "budget" else 11 for limit in PLAN_LIMITS}
_PLACE |= dict.fromkeys(METRICS, 10)
_RULES_AT = 6
"""Layouts, links and planning rules."""


@dataclass(frozen=True)
class Asked:
    """The fixed words of one step."""

    number: int
    title: str
    asks: str
    section: str


@dataclass(frozen=True)
class Context:
    """A plan with the rules of thumb that its steps are held against."""

    plan: Plan
    rules: RulesOfThumb
    alarms: Alarms

    @property
    def answered(self) -> bool:
        """There is a plan."""
        return is_answered(self.plan)

    @property
    def workloads(self) -> tuple[str, ...]:
        """All workloads, in the order of the problem."""
        return workload_names(self.plan)

    def sizing(self, workload: str) -> WorkloadSizing | None:
        """Traffic and memory of a workload."""
        return sizing_of(self.plan, workload)

    def pools(self, workload: str) -> list[Pool]:
        """Pools of a workload."""
        return [pool for pool in self.plan.pools if pool.workload == workload]

    def of_workload(self, name: str) -> str:
        """The name, where there are several."""
        return name if len(self.workloads) > 1 else ""

    def of_pool(self, pool: Pool) -> str:
        """The id, where there are several."""
        return pool.id if len(self.plan.pools) > 1 else ""

    def removals(self, number: int) -> list[Removal]:
        """What removes candidates at a step, where there is no plan."""
        return [item for item in self.plan.removed if _place(item.id) == number]

    def step(
        self, asked: Asked, figures: Sequence[Figure], verdict: Sequence[str], open_: bool = False
    ) -> Step:
        """A step; without a plan its verdict is what stands in the way here."""
        figures, verdict = list(figures), list(verdict)
        if not self.answered:
            stuck = self.removals(asked.number)
            mine = [item for item in blocking(self.plan) if item in stuck]
            figures += [figure(f"{item.id} removes", _removed(item)) for item in stuck]
            verdict += [in_the_way(item) for item in mine]
            verdict = verdict or [_NOTHING_HERE]
            open_ |= bool(mine)
        verdict = verdict or [_NO_MORE]
        return Step(
            number=asked.number,
            title=asked.title,
            asks=asked.asks,
            section=asked.section,
            figures=tuple(item for item in figures if item.value is not None),
            verdict=tuple(verdict),
            open=open_,
        )


_NOTHING_HERE = "Nothing here stands in the way of a plan."
_NO_MORE = "Measured workers: their table says no more."


def figure(name: str, value: Value, unit: str = "", of: str = "") -> Figure:
    """One number with its name; those without a value are left out of the step."""
    return Figure(name=name, value=value, unit=unit, of=of)


def told(parts: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each workload or pool with all its sentences; equal lines once, with all their names."""
    by_name: dict[str, list[str]] = {}
    for who, sentence in parts:
        by_name.setdefault(who, []).append(sentence)
    by_line: dict[str, list[str]] = {}
    for who, sentences in by_name.items():
        by_line.setdefault(" ".join(sentences), []).append(who)
    return [line if names == [""] else f"{listing(names)}: {line}" for line, names in by_line.items()]


def _place(constraint_id: str) -> int:
    return _PLACE.get(constraint_id.partition(":")[0], _RULES_AT)


def _removed(item: Removal) -> str | None:
    if not item.total:
        return item.title or None
    return f"{numbers.count(item.total, 'candidate')}, {item.alone:,} of them alone"
