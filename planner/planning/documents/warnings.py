"""What to mind about a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from planner import numbers
from planner.planning.documents import busiest
from planner.planning.documents.chosen import chosen_of
from planner.planning.documents.pool_warnings import not_considered, pool_warnings
from planner.planning.documents.pools import FleetPool
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.pool import Pool


def fleet_warnings(
    case: FleetCase, choice: FleetChoice, pools: Sequence[FleetPool], documents: Sequence[Pool]
) -> tuple[str, ...]:
    """What to mind, in sentences."""
    lines = [] if case.formulation is None or documents else not_considered(case.formulation.aside)
    if choice.status == "unknown":
        by = "the time limit" if choice.timed else "its work was done"
        ended = "; ".join(choice.trouble) or by
        return (*lines, f"the search ended before there was an answer: {ended}")
    lines += _cut(choice)
    if case.formulation is not None and documents:
        stated = case.problem.fleet.network is not None
        for formulation in (case.formulation, *case.linked.values()):
            mine = [d for p, d in zip(pools, documents, strict=True)
                    if case.linked.get(p.option.place, case.formulation) is formulation]  # fmt: skip
            more = pool_warnings(formulation.cases, mine, chosen_of(formulation), stated) if mine else []
            lines += [line for line in more if line not in lines]
    lines += [text for text in (busiest.remark(choice),) if text]
    lines += _mixed(case.question, choice)
    lines += _idle(case.question, choice)
    lines += _leads(case.question, choice)
    lines += _unpaid(case, choice)
    lines += _padded(case.question, pools)
    return tuple(lines)


def _cut(choice: FleetChoice) -> Iterator[str]:
    if choice.status == "feasible":
        if choice.timed or choice.interrupted:
            by = "the time limit" if choice.timed and not choice.interrupted else "you"
            yield f"{by} ended the search before the proof: another run may give another plan of this quality"
        else:
            yield (
                "the search did its work without a proof: every run gives this plan; --time-limit lets it "
                "search for as long as you say"
            )
    yield from choice.trouble


def _mixed(problem: FleetProblem, choice: FleetChoice) -> Iterator[str]:
    """What several places for one workload would save, where one is the limit."""
    if choice.mixed_value is not None and choice.value and problem.limits.objective == "cost":
        saved = choice.value - choice.mixed_value
        share = numbers.share(float(saved / choice.value))
        most = "at most " if problem.periods > 1 else ""
        yield (
            f"every workload is with one provider in one region: mixing places would save {most}{share} "
            f"({numbers.usd(float(saved / problem.periods))}/h, fleet.mix_places: true)"
        )


def _idle(problem: FleetProblem, choice: FleetChoice) -> Iterator[str]:
    """GPUs that are paid and stand idle."""
    hosts = {host.id: host for host in problem.hosts}
    options = {option.id: option for option in problem.options}
    bought, room = 0, Fraction(0)
    for period in choice.periods:
        bought += sum(period.bought.values())
        for (name, _), count in period.counts.items():
            room += hosts[options[name].supply].room_gpus(options[name]) * count
    if bought and (bought - room) / bought > Fraction(1, 20):
        share = numbers.share(float((bought - room) / bought))
        yield f"{share} of the paid GPU-hours stand empty: reserved through quiet hours, or left in servers"


def _unpaid(case: FleetCase, choice: FleetChoice) -> Iterator[str]:
    """Owned GPUs that run for nothing, and why."""
    priced = bool(case.problem.fleet.electricity)
    for line in case.question.lines:
        used = any(period.bought.get(line.id, 0) for period in choice.periods)
        if used and line.gpu in case.problem.fleet.owned and line.term == "owned" and not line.usd_per_gpu_h:
            why = (
                "the catalog knows no rated power of it" if priced else "state fleet.electricity to count it"
            )
            yield f"{line.gpu} is owned and counts as free, electricity too: {why}"


def _leads(problem: FleetProblem, choice: FleetChoice) -> Iterator[str]:
    """What ordering ahead costs, which the optimum does not count."""
    usd, most = 0.0, 0.0
    for line in problem.lines:
        if line.lead_h and problem.periods > 1:
            rises = sum(
                max(0, p.bought.get(line.id, 0) - choice.periods[t - 1].bought.get(line.id, 0))
                for t, p in enumerate(choice.periods)
            )
            usd += float(rises * line.lead_h * line.usd_per_gpu_h)
            most = max(most, float(line.lead_h) * 3600.0 if rises else 0.0)
    if usd > 0.0:
        per_day = numbers.usd(usd * 24 / problem.periods)
        yield (
            f"GPUs have to be ordered up to {numbers.seconds(most)} before they are needed; if that time is "
            f"billed, it adds {per_day} a day (fleet.start_cost puts it into the optimum)"
        )


def _padded(problem: FleetProblem, pools: Sequence[FleetPool]) -> Iterator[str]:
    hosts = {host.id: host for host in problem.hosts}
    for pool in pools:
        room = hosts[pool.option.supply].room_gpus(pool.option)
        if room > pool.option.gpus:
            size = numbers.count(pool.option.gpus, "GPU")
            yield f"{pool.id}: a replica of {size} takes whole servers, {room} GPUs"
