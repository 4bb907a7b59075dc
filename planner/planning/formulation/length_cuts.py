"""Where the requests of a workload are cut into length classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner import numbers
from planner.candidates.class_cuts import best_merges, cheapest, groups, merged_costs
from planner.candidates.class_options import ClassRates, charged, class_rates
from planner.performance.prompts import Prompts, prompts
from planner.planning.formulation.demands import roles
from planner.planning.formulation.length_class import LengthClasses, cut_classes, stated_classes
from planner.planning.formulation.study import Formulation, Granted, Study
from planner.planning.workload.case import Case, Evaluated, lengths_of, tokens_of_image
from planner.schema.candidates import FloatArray
from planner.schema.lengths import Lengths
from planner.schema.problem import Problem

FINEST = 16
"""Classes of the finest cut that is looked at."""
_MOST = 8
_ERROR = 0.01
_TOLD = 5e-4
"""What one class would save is told from here on."""


Cut = tuple[float, tuple[int, ...], ClassRates]
"""Cost at the cheapest rates, longest prompts of all classes but the last, rates."""


@dataclass(frozen=True, eq=False)
class Found:
    """What came of a workload; without classes all its requests stay in one."""

    classes: LengthClasses | None = None
    rates: ClassRates | None = None
    remarks: tuple[str, ...] = ()


class Cutter:
    """Cuts the requests of one workload."""

    def __init__(
        self, study: Study, problem: Problem, formulation: Formulation, case: Case, granted: Granted
    ) -> None:
        """``formulation`` is the problem with one class; ``case`` is of the workload that is cut."""
        self.study, self.problem, self.formulation, self.case, self.granted = (
            study,
            problem,
            formulation,
            case,
            granted,
        )
        self.lengths, trace = lengths_of(case.workload, study.folder, study.catalog)
        self.prompts: Prompts | None = None
        if self.lengths is not None and case.traffic.reuse is None:
            images = case.workload.images
            per_image = tokens_of_image(case.workload, case.facts)
            self.prompts = prompts(
                case.workload,
                self.lengths,
                trace,
                case.traffic,
                float(images.per_request) * per_image if images else 0.0,
                case.policy.longest_request_fraction,
            )

    def classes(self) -> Found:
        """The classes that the problem asks for (see `length_classes.by_class`)."""
        wanted = self.problem.search.length_classes
        if "serve" not in roles(self.problem):
            return Found(remarks=("one length class, since only disaggregated serving is searched",))
        if self.prompts is None:
            return Found(
                remarks=(
                    "one length class, since what a cache finds depends on which requests come together",
                )
            )
        if wanted == "stated":
            return self._stated(self.lengths)
        if wanted == "auto":
            return self._auto()
        assert isinstance(wanted, int), "the schema knows no other word"
        tops, rates = self._servable(self._all.tops(wanted))
        if not tops or rates is None:
            return Found(remarks=self._fewer(1, wanted))
        classes = cut_classes(self._all, tops)
        return Found(classes, rates, (*self._fewer(len(tops) + 1, wanted), *self._one(classes, rates)))

    def _fewer(self, number: int, wanted: int) -> tuple[str, ...]:
        if number == wanted:
            return ()
        return (
            f"{_classes(number)} in place of {wanted}: equal lengths stay together, and so does with shorter "
            "ones what no configuration serves alone within the limits",
        )

    def _stated(self, lengths: Lengths | None) -> Found:
        buckets = lengths.buckets if lengths is not None else None
        if not buckets:
            return Found(remarks=("one length class, since it states no buckets",))
        if len(buckets) == 1:
            return Found()
        classes = stated_classes(self._all, buckets)
        rates = self._rates(classes)
        if rates is None:
            return Found()
        lost = [name for name, served in zip(classes.names, rates.served(), strict=True) if not served]
        alone = "no configuration keeps the limits for its requests alone"
        return Found(
            classes,
            rates,
            tuple(f"bucket {name}: {alone}" for name in lost) or self._one(classes, rates),
        )

    def _one(self, classes: LengthClasses, rates: ClassRates) -> tuple[str, ...]:
        """What one class would save, since in classes each keeps the percentiles alone."""
        whole = self._rates(cut_classes(self._all, ()))
        if whole is None:
            return ()
        one, mine = self._cheapest(whole, np.ones(1)), self._cheapest(rates, classes.part)
        if one >= mine * (1.0 - _TOLD):
            return ()
        return (
            f"one length class would cost about {numbers.share(1.0 - one / mine)} less at the cheapest "
            "rates: in classes the limits hold for the requests of every class alone",
        )

    def _auto(self) -> Found:
        """The fewest classes whose cost at the cheapest rates is close to that of the finest cut.

        And to that of the most classes of equal work, which need not be joined from the finest ones.
        """
        tops, finest = self._servable(self._all.tops(FINEST))
        if not tops or finest is None:
            return Found()
        shares = cut_classes(self._all, tops).part
        least = self._cheapest(finest, shares)
        most = self._most()
        if most is not None:
            least = min(least, most[0])
        merges = best_merges(merged_costs(self._cost(finest), finest.micro_rps, shares), _MOST)
        taken: Cut | None = None
        for _, ends in merges:
            mine = tuple(tops[group[-1]] for group in groups(ends)[:-1])
            classes = cut_classes(self._all, mine)
            rates = self._rates(classes)
            if rates is None or not rates.served().all():
                continue
            value = self._cheapest(rates, classes.part)
            if taken is None or value < taken[0]:
                taken = (value, mine, rates)
            if taken[0] <= least * (1.0 + _ERROR):
                break
        else:
            taken = min(
                (one for one in (taken, most) if one is not None), key=lambda one: one[0], default=None
            )
        if taken is None:
            return Found()
        value, mine, rates = taken
        saves = max(0.0, 1.0 - least / value) if value else 0.0
        remark = (
            f"{_classes(len(mine) + 1)}: at the cheapest rates a cut into {len(tops) + 1} would save at most "
            f"{numbers.share(saves)}"
        )
        return Found(cut_classes(self._all, mine) if mine else None, rates, (remark,))

    def _most(self) -> Cut | None:
        """Cost, cuts and rates of the most classes of equal work; None where nothing serves one of them."""
        tops, rates = self._servable(self._all.tops(_MOST))
        if not tops or rates is None:
            return None
        return self._cheapest(rates, cut_classes(self._all, tops).part), tops, rates

    def _cost(self, rates: ClassRates) -> FloatArray:
        whole = self.study.takes_whole_servers(self.case, self.problem, self.granted)
        return charged(
            rates.candidates, self.formulation.lots, whole, self.formulation.question.limits.objective
        )

    def _cheapest(self, rates: ClassRates, shares: FloatArray) -> float:
        return cheapest(self._cost(rates), rates.micro_rps, shares)

    def _servable(self, tops: tuple[int, ...]) -> tuple[tuple[int, ...], ClassRates | None]:
        """The cut without the classes that nobody serves alone: they join their shorter neighbor."""
        while True:
            rates = self._rates(cut_classes(self._all, tops)) if tops else None
            if rates is None:
                return (), None
            lost = np.flatnonzero(~rates.served())
            if not lost.size:
                return tops, rates
            # The shortest class has no shorter neighbor and joins the next one.
            gone = max(int(lost[-1]) - 1, 0)
            tops = tops[:gone] + tops[gone + 1 :]

    @property
    def _all(self) -> Prompts:
        assert self.prompts is not None, "only asked where requests can be cut"
        return self.prompts

    def _rates(self, classes: LengthClasses) -> ClassRates | None:
        """Every class evaluated like a workload of its own, in a pool that carries all of it."""
        parts: list[Evaluated | None] = []
        for number, name in enumerate(classes.names):
            before = classes.names[number - 1] if number else ""
            case = replace(
                self.case,
                traffic=classes.prompts.traffic(classes.only(number)),
                need_rps=self.case.need_rps * float(classes.shares[number]),
                length_class=f"{before} {name}" if len(classes.names) > 1 else "",
            )
            parts.append(self.study.evaluated(case, self.problem, self.formulation.lots, self.granted))
        return class_rates(
            [None if part is None else part.evaluation for part in parts],
            [
                np.zeros(0, dtype=bool)
                if part is None
                else self.study.admitted(part, self.problem, self.granted)
                for part in parts
            ],
        )


def _classes(number: int) -> str:
    return numbers.count(number, "length class")
