"""A plan whose quiet hours lack something, with the replicas that they lack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check import broken
from planner.planning.answering.real_sizes import Hour, too_small
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice, Placement, Site
from planner.solver.blocking_limits import gap
from planner.solver.rebuy import with_replicas

_MOST_ADDED = 20
"""Replicas that an hour may lack."""
_NONE = Fraction(0)


def with_idle_gpus(
    case: FleetCase, choice: FleetChoice, short: Mapping[Hour, Fraction]
) -> FleetChoice | None:
    """The same purchases with one replica more in every hour that needs it; None where no GPUs are idle.

    It costs the same, so what was proved of the cost holds.
    """
    if case.question.limits.objective != "cost":
        return None
    options, periods = {option.id: option for option in case.question.options}, list(choice.periods)
    for workload, role, t in short:
        counts = dict(periods[t].counts)
        mine = [at for at, n in counts.items() if n and options[at[0]].pool == (workload, role)]
        at = max(mine, key=lambda one: (counts[one], one))
        periods[t] = replace(periods[t], counts=counts | {at: counts[at] + 1})
    filled = replace(choice, periods=tuple(periods))
    return None if broken(case.question, filled) or too_small(case, filled) else filled


def with_more_replicas(case: FleetCase, choice: FleetChoice) -> FleetChoice | None:
    """The same layouts with replicas added one by one until every hour is carried, bought anew.

    What bounds the plan from below bounds this one too: no replica carries more than was planned with.
    """
    if not choice.periods:
        return None
    grown, room = choice, Room(case.question)
    for _ in range(_MOST_ADDED):
        short = too_small(case, grown)
        if not short:
            break
        periods = list(grown.periods)
        for workload, role, t in short:
            at = room.cheapest_more((workload, role), t, periods)
            if at is None:
                return None
            counts = periods[t].counts
            periods[t] = replace(periods[t], counts=counts | {at: counts.get(at, 0) + 1})
        grown = replace(grown, periods=tuple(periods))
    bought = with_replicas(case.question, [period.counts for period in grown.periods])
    if bought is None or bought.value is None or too_small(case, bought):
        return None
    bound = choice.lower_bound
    return replace(
        bought,
        lower_bound=bound,
        gap=gap(bought.value, bound),
        trace=choice.trace,
        interrupted=choice.interrupted,
        timed=choice.timed,
        trouble=choice.trouble,
        mixed_value=choice.mixed_value,
        least_by_place=choice.least_by_place,
    )


class Room:
    """What the lines of the supply still sell beside the replicas of an hour."""

    def __init__(self, question: FleetProblem) -> None:
        """Add up the lines of a question by GPU and site."""
        self.question = question
        hosts = {host.id: host for host in question.hosts}
        self.options = {option.id: option for option in question.options}
        self.gpus = {
            option.id: Fraction(hosts[option.supply].room_gpus(option)) for option in question.options
        }
        self.usd: dict[tuple[str, Site], Fraction] = {}
        """Of a GPU and hour, on the cheapest line."""
        self.sold: dict[tuple[str, Site], int | None] = {}
        """GPUs at most; None: any number."""
        for line in question.lines:
            stand = (line.host, line.site)
            # What is reserved for one hour is paid in all of them.
            usd = line.usd_per_gpu_h * (question.periods if line.term == "reserved" else 1)
            self.usd[stand] = min(self.usd.get(stand, usd), usd)
            most = self.sold.get(stand, 0)
            self.sold[stand] = None if most is None or line.max_gpus is None else most + line.max_gpus

    def cheapest_more(
        self, pool: tuple[str, str], period: int, periods: Sequence[PeriodChoice]
    ) -> Placement | None:
        """Where one replica more costs least: of layouts of the hour, else of other hours; None: nowhere.

        A layout may stand on any line of its place. Of equals that which serves most hours: none lives longer
        or shorter for it.
        """
        hours: dict[Placement, int] = defaultdict(int)
        for one in periods:
            for name, site in {(at[0], at[1].place) for at, count in one.counts.items() if count}:
                hours[name, site] += self.options[name].pool == pool
        counts = periods[period].counts
        here = {(at[0], at[1].place) for at, count in counts.items() if count}
        mine = [
            (name, site)
            for (name, place), used in hours.items()
            if used
            for site in self.question.sites_of(self.options[name])
            if site.place == place and self._fits((name, site), counts)
        ]
        return min(
            [at for at in mine if (at[0], at[1].place) in here] or mine,
            key=lambda at: (self.usd[self._stand(at)] * self.gpus[at[0]], -hours[at[0], at[1].place], at),
            default=None,
        )

    def _stand(self, placement: Placement) -> tuple[str, Site]:
        return (self.options[placement[0]].supply, placement[1])

    def _fits(self, placement: Placement, counts: Mapping[Placement, int]) -> bool:
        stand = self._stand(placement)
        most = self.sold[stand]
        taken = sum((n * self.gpus[at[0]] for at, n in counts.items() if self._stand(at) == stand), _NONE)
        return most is None or taken + self.gpus[placement[0]] <= most
