"""A plan replayed: runs of every workload over all seeds, and what they say of its limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.performance.load import PERCENTILE
from planner.planning.replaying.filling import batch_replayed, filled
from planner.planning.replaying.pools import later
from planner.planning.replaying.service import Service, predicted_statistics
from planner.planning.replaying.tiers import Handed, Stayed
from planner.planning.replaying.traffic import Arriving, Came, came
from planner.replay.by_part import statistic_by_part
from planner.replay.observed import WINDOWS, Observed, experienced, observed
from planner.replay.run_plan import Failure, RunPlan, ServicePlan
from planner.replay.simulation import RunResult, simulate
from planner.schema.replay import LimitReplayed, PoolReplayed, Predicted, WorkloadReplayed

Progress = Callable[[str], None]
_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t at 97.5 % for 1 to 10 degrees of freedom; source: any table of it."""
_T_MANY = 1.96
_CLOSE = 1.0 + 1e-9
_PARTS_OF_HOUR = 4


@dataclass(frozen=True, eq=False)
class Question:
    """One workload, who comes, and how often it is asked."""

    service: Service
    arriving: Arriving
    seeds: int
    seed: int = 0
    failures: tuple[Failure, ...] = ()
    hours: tuple[int, ...] = ()
    """Hours of the plan that are replayed one after the other; empty: one hour, or less of it."""
    handed: tuple[Handed, ...] = ()
    """By seed, what the stage of a tier before this one sends on."""
    fill: tuple[int, int] | None = None
    """Tokens of prompts and answers of batch work that fills what requests leave; None: none."""

    @property
    def parts(self) -> int:
        """Of the period, looked at one by one: quarters of hours, or shares of what is shorter."""
        return _PARTS_OF_HOUR * len(self.hours) if self.hours else WINDOWS

    @property
    def limits_s(self) -> Mapping[str, float]:
        """Limits of the workload by name."""
        return self.service.case.limits_s


@dataclass(eq=False)
class Answered:
    """Runs of one workload."""

    question: Question
    runs: list[Observed] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    """By seed, what goes on to the next stage of a tier."""
    stayed: list[Stayed] = field(default_factory=list)
    """By seed, what ends at this one."""

    def values(self, metric: str, statistic: str) -> list[float]:
        """A statistic of every run."""
        return [run.statistics[metric][statistic] for run in self.runs]


def answered(
    question: Question, progress: Progress | None = None, plan: ServicePlan | None = None
) -> Answered:
    """Every seed of one workload; ``plan``: other pools than the plan's."""
    found = Answered(question)
    for number in range(question.seeds):
        who = _who(question, number)
        asked = _run_plan(question, number, who, plan or question.service.plan)
        ended = simulate(asked, _teller(question, number, len(who.requests), progress))
        found.runs.append(observed(asked, ended, question.limits_s))
        if question.arriving.stage is not None:
            _pass_on(found, number, who, asked, ended)
    return found


def run_plan(question: Question, number: int) -> RunPlan:
    """One seed of a workload."""
    return _run_plan(question, number, _who(question, number), question.service.plan)


def _seed(question: Question, number: int) -> int:
    return question.seed + 1_000 * number


def _who(question: Question, number: int) -> Came:
    service, seed = question.service, _seed(question, number)
    handed = question.handed[number] if question.handed else None
    return came(
        service.source, question.arriving, service.pools, service.cached, service.classes, seed, handed
    )


def _run_plan(question: Question, number: int, who: Came, plan: ServicePlan) -> RunPlan:
    requests, plan = filled(who.requests, plan, question.fill)
    return RunPlan(
        service=later(plan, who.since_s),
        requests=requests,
        batch=len(requests) - len(who.requests),
        since_s=who.since_s,
        until_s=who.until_s,
        seed=_seed(question, number),
        class_of=who.class_of,
        class_names=question.service.classes,
        failures=tuple(replace(one, at_s=who.since_s + one.at_s) for one in question.failures),
        parts=question.parts,
    )


def _teller(
    question: Question, number: int, requests: int, progress: Progress | None
) -> Callable[[float], None]:
    def tell(share: float) -> None:
        if progress is not None:
            progress(
                f"replaying {question.service.workload}, seed {number + 1} of {question.seeds}: "
                f"{share:.0%} of {requests:,} requests"
            )

    tell(0.0)
    return tell


def _pass_on(found: Answered, number: int, who: Came, asked: RunPlan, ended: RunResult) -> None:
    """Requests of a stage that go on when they have ended, and those that stay."""
    stage = found.question.arriving.stage
    assert stage is not None, "of a tier"
    ttft, e2e = experienced(asked, ended)
    arrival = np.array(asked.requests.arrival_s)
    known = np.isfinite(e2e)
    on = known & stage.goes(arrival.size, _seed(found.question, number))
    order = np.flatnonzero(on)[np.argsort((arrival + e2e)[on], kind="stable")]
    rows = None if who.rows is None else who.rows[order]
    found.handed.append(Handed((arrival + e2e)[order], who.entered_s[order], rows))
    stays = known & ~on & (who.entered_s >= who.since_s) & (who.entered_s <= who.until_s)
    before = (arrival - who.entered_s + stage.router_s)[stays]
    found.stayed.append(Stayed(before + ttft[stays], before + e2e[stays]))


def limits(answer: Answered) -> list[LimitReplayed]:
    """Every limit of a workload."""
    predicted = predicted_statistics(answer.question.service.pools)
    found = []
    for name, limit in answer.question.limits_s.items():
        metric, statistic = name.split("_")
        values = answer.values(metric, statistic)
        mean, low, high = interval(values)
        hours = _over(answer, metric, statistic, limit)
        told = predicted[f"{metric}_s"].get(statistic)
        found.append(
            LimitReplayed(
                id=f"{name}:{answer.question.service.workload}",
                limit_s=limit,
                predicted_s=told,
                replayed_s=mean,
                low_s=low,
                high_s=high,
                difference=mean / told - 1.0 if told and math.isfinite(mean) else None,
                holds=not hours and not mean > limit * _CLOSE,
                hours=hours,
            )
        )
    return found


def _over(answer: Answered, metric: str, statistic: str, limit_s: float) -> tuple[int, ...]:
    """Hours in which a limit breaks, by the mean over the seeds."""
    hours = answer.question.hours
    by_hour = hour_values(answer, metric, statistic) if hours else []
    return tuple(hour for hour, value in zip(hours, by_hour, strict=True) if value > limit_s * _CLOSE)


def hour_values(answer: Answered, metric: str, statistic: str) -> list[float]:
    """A statistic by hour, the mean over the seeds; 0 where nothing came."""
    hours, probability = len(answer.question.hours), None if statistic == "mean" else PERCENTILE[statistic]
    runs = [statistic_by_part(run, metric, probability, hours) for run in answer.runs]
    return [_mean(values) for values in zip(*runs, strict=True)]


def interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Mean of independent runs and its 95 % interval by Student's t; no interval of one run."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return 0.0, None, None
    mean = math.fsum(known) / len(known)
    if len(known) < 2:
        return mean, None, None
    freedom = len(known) - 1
    times = _T_95[freedom - 1] if freedom <= len(_T_95) else _T_MANY
    half = times * float(np.std(known, ddof=1)) / math.sqrt(len(known))
    return mean, mean - half, mean + half


def workload_document(answer: Answered) -> WorkloadReplayed:
    """What the requests of a workload experience, over all seeds."""
    runs = answer.runs
    metrics = {
        f"{metric}_s": _means([run.statistics[metric] for run in runs]) for metric in runs[0].statistics
    }
    rate = _mean([run.requests / run.period_s for run in runs])
    return WorkloadReplayed(
        requests=sum(run.requests for run in runs),
        refused=sum(run.refused for run in runs),
        sent_again=sum(run.lost for run in runs),
        rate_rps=rate,
        attainment=_means([run.attainment for run in runs]),
        goodput_rps=_mean([run.good * run.requests / run.period_s for run in runs if run.requests]),
        hit_ratio=_mean([run.hit_ratio for run in runs]),
        **metrics,
    )


def predicted_document(answer: Answered) -> Predicted:
    """What the plan says of them."""
    return Predicted.model_validate(predicted_statistics(answer.question.service.pools))


def pool_documents(answer: Answered) -> dict[str, PoolReplayed]:
    """What the replicas of every pool do."""
    stated = {pool.id: pool for pool in answer.question.service.pools}
    found = {}
    for plan in answer.question.service.plan.pools:
        uses = [run.pools[plan.id] for run in answer.runs]
        capacity = stated[plan.id].capacity_rps
        found[plan.id] = PoolReplayed(
            replicas=max([plan.replicas, *(turn.replicas for turn in plan.turns)]),
            utilization=_mean([use.rate_rps for use in uses]) / capacity,
            busy=_mean([use.busy for use in uses]),
            concurrency=_mean([use.concurrency for use in uses]),
            kv_usage=_mean([use.kv_usage for use in uses]),
            kv_peak=max(use.kv_peak for use in uses),
            preemptions=sum(use.preemptions for use in uses),
            swaps=sum(use.swaps for use in uses),
            adapter_loads=sum(use.adapter_loads for use in uses),
            hit_ratio=_mean([run.hit_ratio for run in answer.runs]),
            policy=plan.policy,
            batch=batch_replayed(answer.question.fill, answer.runs, plan.id),
        )
    return found


def _mean(values: Sequence[float]) -> float:
    """Of the runs in which there is anything; 0 where there is in none."""
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else 0.0


def _means(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """By name; what no run knows is left out."""
    return {
        name: _mean([run[name] for run in runs])
        for name in runs[0]
        if any(math.isfinite(run[name]) for run in runs)
    }
