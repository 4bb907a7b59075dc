"""What a replay shows over time: load, latency, batch, KV and replicas, the mean over the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.planning.replaying.answer import Answered
from planner.replay.by_part import arrived, statistic_by_part, waiting
from planner.schema.replay import PoolOverTime, Timeline, WorkloadOverTime


def timeline(answers: Sequence[Answered]) -> Timeline:
    """All workloads and pools over the parts of the period."""
    parts = answers[0].question.parts
    length_s = max(run.period_s for answer in answers for run in answer.runs)
    return Timeline(
        at_s=tuple(length_s * (place + 0.5) / parts for place in range(parts)),
        workloads={answer.question.service.workload: _workload(answer, parts) for answer in answers},
        pools={name: one for answer in answers for name, one in _pools(answer).items()},
    )


def _workload(answer: Answered, parts: int) -> WorkloadOverTime:
    def of(metric: str, probability: float) -> tuple[float | None, ...]:
        return _means([statistic_by_part(run, metric, probability, parts) for run in answer.runs])

    rates = [[one * parts / run.period_s for one in arrived(run, parts)] for run in answer.runs]
    return WorkloadOverTime(
        rate_rps=_known(_means(rates)),
        waiting=_known(_means([waiting(run, parts) for run in answer.runs])),
        ttft_p50_s=of("ttft", 0.5),
        ttft_p99_s=of("ttft", 0.99),
        itl_p50_s=of("itl", 0.5),
        itl_p99_s=of("itl", 0.99),
    )


def _pools(answer: Answered) -> dict[str, PoolOverTime]:
    found = {}
    for plan in answer.question.service.plan.pools:
        uses = [run.pools[plan.id] for run in answer.runs]
        found[plan.id] = PoolOverTime(
            replicas=_known(_means([use.paid for use in uses])),
            busy=_known(_means([use.busy_by_part for use in uses])),
            decoding=_known(_means([use.decoding for use in uses])),
            kv_usage=_known(_means([use.kv_by_part for use in uses])),
        )
    return found


def _means(runs: Sequence[Sequence[float]]) -> tuple[float | None, ...]:
    """By part; None where no run has anything."""
    columns = ([value for value in column if math.isfinite(value)] for column in zip(*runs, strict=True))
    return tuple(math.fsum(known) / len(known) if known else None for known in columns)


def _known(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(value or 0.0 for value in values)
