"""Hours of a plan that are replayed one after the other, as the answer shows them."""

from __future__ import annotations

from collections.abc import Sequence

from planner.errors import input_error
from planner.planning.replaying.answer import Answered, hour_values
from planner.replay.by_part import arrived
from planner.schema.plan import Plan
from planner.schema.replay import HourReplayed, LimitReplayed

HOUR_S = 3600.0


def hours_of(plan: Plan, asked: tuple[int, int] | None, where: str, flag: str) -> tuple[int | None, ...]:
    """The hours of a plan from one up to another one; by default the one with most GPUs in its replicas.

    Raises:
        InputError: the plan does not have these hours.
    """
    count = len(plan.periods)
    if asked is None:
        return (busiest_period(plan),)
    first, last = asked
    if last < 0:
        last = count
    if count <= 1:
        raise input_error(where, flag, "a plan of one hour", "a plan of several hours (hourly_rps)")
    if not first < last <= count:
        raise input_error(where, flag, f"hours {first} to {last}", f"hours from 0 to {count}, such as 7-12")
    return tuple(range(first, last))


def busiest_period(plan: Plan) -> int | None:
    """The hour with most GPUs in replicas; None for plans of one hour."""
    if len(plan.periods) <= 1:
        return None
    sizes = [_gpus(plan, hour) for hour in range(len(plan.periods))]
    return sizes.index(max(sizes))


def _gpus(plan: Plan, hour: int) -> int:
    each = {pool.id: pool.gpus_per_replica for pool in plan.pools}
    return sum(number * each.get(name, 1) for name, number in plan.periods[hour].replicas.items())


def hour_documents(
    plan: Plan, answers: Sequence[Answered], found: Sequence[LimitReplayed]
) -> tuple[HourReplayed, ...]:
    """What every hour came to; none where only one is replayed."""
    hours = answers[0].question.hours
    if not hours:
        return ()
    named = {limit.id: limit for limit in found}
    values = {
        f"{name}:{answer.question.service.workload}": hour_values(answer, *name.split("_"))
        for answer in answers
        for name in answer.question.limits_s
    }
    rates = {answer.question.service.workload: _rates(answer) for answer in answers}
    mine = {pool.id for answer in answers for pool in answer.question.service.pools}
    paid = _paid(plan, answers)
    return tuple(
        HourReplayed(
            hour=hour,
            rate_rps={name: one[place] for name, one in rates.items()},
            limits_s={name: one[place] for name, one in values.items()},
            breaks=tuple(name for name, limit in named.items() if hour in limit.hours),
            planned_gpus=sum(
                pool.gpus_per_replica * plan.periods[hour].replicas.get(pool.id, 0)
                for pool in plan.pools
                if pool.id in mine
            ),
            gpus=paid[place],
        )
        for place, hour in enumerate(hours)
    )


def _rates(answer: Answered) -> list[float]:
    hours = len(answer.question.hours)
    counts = [arrived(run, hours) for run in answer.runs]
    return [sum(column) / len(counts) / HOUR_S for column in zip(*counts, strict=True)]


def _paid(plan: Plan, answers: Sequence[Answered]) -> list[float]:
    """GPUs of replicas that are there, by hour, the mean over the seeds."""
    each = {pool.id: pool.gpus_per_replica for pool in plan.pools}
    hours = len(answers[0].question.hours)
    total = [0.0] * hours
    for answer in answers:
        for run in answer.runs:
            for name, use in run.pools.items():
                parts = len(use.paid) // hours
                for place in range(hours):
                    mean = sum(use.paid[place * parts : (place + 1) * parts]) / parts
                    total[place] += mean * each[name] / len(answer.runs)
    return total
