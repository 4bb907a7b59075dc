"""A plan replayed request by request: what was seen, beside what the plan predicts."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from planner.schema.answer import Answer
from planner.schema.base import Noun
from planner.schema.pool import Statistic
from planner.schema.routing import POLICIES, RoutingPolicy

Scheduler = Literal["fcfs", "prefill-first", "decode-first", "slo-aware"]
"""First come, first served beside decoding; prompts in steps of their own while decoding waits; whole
batches to their longest answer; by time left to the limit on TTFT, with prompts as large as that on ITL
allows."""
SCHEDULERS: tuple[Scheduler, ...] = get_args(Scheduler)
Preemption = Literal["recompute", "swap"]
PREEMPTIONS: tuple[Preemption, ...] = get_args(Preemption)
EVICTIONS: tuple[Literal["lru", "lfu", "priority"], ...] = ("lru", "lfu", "priority")


Router = RoutingPolicy | Literal["consistent-hash", "by-length"]
"""Those that plans know; to the replica that the adapter or the prefix of a request belongs to; replicas for
short and for long prompts."""
OVERFLOWING: tuple[Router, ...] = ("cache-aware", "consistent-hash", "by-length")
"""Those that know where a request belongs; what is too much for that replica may go to the next."""
ROUTERS: tuple[Router, ...] = (*POLICIES, "consistent-hash", "by-length")


class WorkloadReplayed(Noun):
    """What the requests of one workload experience; seconds."""

    requests: int
    """Answered in the period, over all seeds."""
    refused: int = 0
    """That no replica can hold, as engines refuse them."""
    sent_again: int = 0
    """Because their replica failed."""
    rate_rps: float
    """Mean over the period."""
    ttft_s: Statistic
    itl_s: Statistic
    tpot_s: Statistic
    e2e_s: Statistic
    attainment: dict[str, float] = {}
    """Share of requests (of ITL: of gaps) within each limit of the workload, by its name."""
    goodput_rps: float
    """Requests a second that keep every limit on a request."""
    hit_ratio: float
    """Share of prompt tokens that were not computed."""


class TierReplayed(Noun):
    """What the requests of a tier experience, from its entrance to the answer that counts; seconds.

    Those that were escalated or misplaced have waited for an answer that does not count before.
    """

    requests: int
    """Answered in the period, over all seeds."""
    ended: dict[str, float]
    """Share of them whose answer that counts is of each stage."""
    ttft_s: Statistic
    e2e_s: Statistic


class Predicted(Noun):
    """What the plan says of the same workload: of its slowest pool; seconds."""

    ttft_s: Statistic = {}
    itl_s: Statistic = {}
    tpot_s: Statistic = {}
    e2e_s: Statistic = {}


class BatchReplayed(Noun):
    """Batch work that filled what the requests of a pool left."""

    requests_per_s: float
    """That ended in the period."""
    output_tokens_per_s: float
    gave_way: int
    """How often one was set back for a request, over all seeds."""


class PoolReplayed(Noun):
    """What the replicas of one pool do; means over the period and all seeds."""

    replicas: int
    utilization: float
    """Replayed rate over the capacity that the plan states."""
    busy: float
    """Share of the time in which a step runs."""
    concurrency: float
    """Requests decoding in one replica."""
    kv_usage: float
    kv_peak: float
    """Largest share of the cache in use, of any replica and seed."""
    preemptions: int
    """Over all seeds."""
    swaps: int = 0
    """Preemptions of which the KV cache went to the memory of the host and back."""
    adapter_loads: int = 0
    """LoRA adapters that were loaded into a slot, over all seeds."""
    hit_ratio: float
    policy: Router
    batch: BatchReplayed | None = None
    """Where batch work fills the pool."""


class LimitReplayed(Noun):
    """One limit and what the replay shows of it."""

    id: str
    """``ttft_p99:chat``."""
    limit_s: float
    predicted_s: float | None = None
    replayed_s: float
    """Mean over the seeds."""
    low_s: float | None = None
    high_s: float | None = None
    """95 % interval of that mean; null with one seed."""
    difference: float | None = None
    """Replayed over predicted, less 1."""
    holds: bool
    hours: tuple[int, ...] = ()
    """Hours of the plan in which it breaks, where several are replayed: a plan keeps its limits in each."""


class HourReplayed(Noun):
    """One hour of a plan, over all seeds."""

    hour: int
    """Of the plan, from 0."""
    rate_rps: dict[str, float]
    """By workload."""
    limits_s: dict[str, float]
    """What was replayed, by limit; 0 where nothing came."""
    breaks: tuple[str, ...] = ()
    """Limits that do not hold in it."""
    planned_gpus: int
    """Of the replicas that the plan has in it."""
    gpus: float
    """Replayed, with those of replicas that start or drain; the mean over the hour."""


class ScalingReplayed(Noun):
    """One way of having as many replicas as there is work for, over the same requests."""

    how: Literal["schedule", "reactive", "predictive", "perfect"]
    """The plan's own; an autoscaler by the rate of the last minute, or by where that leads to; the fewest
    replicas in every window with which its requests keep the limits, there at once when they are needed."""
    verdict: Literal["holds", "breaks"]
    gpu_hours: float
    mean_gpus: float
    peak_gpus: float
    """In the window with most, on average."""
    limits_s: dict[str, float]
    """What was replayed, by limit."""
    breaks: tuple[str, ...] = ()


class WorkloadOverTime(Noun):
    """One workload by part of the period; seconds, null where nothing came."""

    rate_rps: tuple[float, ...]
    waiting: tuple[float, ...]
    """Mean number of requests without a first token."""
    ttft_p50_s: tuple[float | None, ...]
    ttft_p99_s: tuple[float | None, ...]
    itl_p50_s: tuple[float | None, ...]
    itl_p99_s: tuple[float | None, ...]


class PoolOverTime(Noun):
    """One pool by part of the period, means over its replicas."""

    replicas: tuple[float, ...]
    """With those that start or drain."""
    busy: tuple[float, ...]
    decoding: tuple[float, ...]
    kv_usage: tuple[float, ...]


class Timeline(Noun):
    """Equal parts of the period, one value a part; the mean over the seeds."""

    at_s: tuple[float, ...]
    """The middle of each part, since the period began."""
    workloads: dict[str, WorkloadOverTime]
    pools: dict[str, PoolOverTime]


class BurstReplayed(Noun):
    """A burst of one workload, and how long it is felt; means over the seeds."""

    ratio: float
    """Rate over the one before."""
    at_s: float
    """Since the period began."""
    for_s: float
    ttft_before_s: float | None
    """P95 of the requests before it; null where none came."""
    ttft_worst_s: float | None
    """Largest median of a second (or of 20 requests) since it began."""
    recovery_s: float | None
    """From its end until such a median is at most ``ttft_before_s``; null where the period ends first."""


class SmallestChange(Noun):
    """The fewest replicas more with which every limit holds."""

    replicas: dict[str, int]
    """More, by pool."""
    usd_per_hour: float
    text: str


class Replay(Answer):
    """The answer of ``planner replay``."""

    problem: str
    verdict: Literal["holds", "breaks"]
    margin: float | None = None
    """Smallest room below a limit, as a share of it; below zero where it breaks. Null without limits."""
    reasons: tuple[str, ...] = ()
    """What breaks, when and why; or how it holds."""
    limits: tuple[LimitReplayed, ...] = ()
    workloads: dict[str, WorkloadReplayed]
    predicted: dict[str, Predicted]
    pools: dict[str, PoolReplayed]
    tiers: dict[str, TierReplayed] = {}
    """Where all stages of a tier are replayed."""
    change: SmallestChange | None = None
    """Null where the plan holds, or no such change was found."""
    cost_usd_per_million_good_tokens: float | None = None
    """Output tokens of requests that keep their limits; null without any."""
    seeds: int
    duration_s: float
    """Of the period that is looked at."""
    warm_up_s: float
    confidence: float
    """Step times hold with this probability."""
    trace: str | None = None
    period: int | None = None
    """Hour of the plan that is replayed; null for plans of one hour, and where several are."""
    hours: tuple[HourReplayed, ...] = ()
    """Where several hours are replayed one after the other."""
    gpu_hours: float | None = None
    """Of all hours that are replayed one after the other."""
    timeline: Timeline
    scaling: tuple[ScalingReplayed, ...] = ()
    """Where asked for: the plan's schedule beside autoscalers and the perfect one."""
    bursts: dict[str, BurstReplayed] = {}
    """Where one was asked for, by workload."""
    failures: tuple[str, ...] = ()
    iterations: int
    """Steps of all engines, over all seeds."""
    warnings: tuple[str, ...] = ()


class ReplayRow(Noun):
    """One plan on one trace, or on its own demand."""

    plan: str
    trace: str | None
    replay: Replay


class Replays(Answer):
    """Several plans, or several traces."""

    ROWS: ClassVar[str] = "rows"

    rows: tuple[ReplayRow, ...]


class ProofRound(Noun):
    """One plan and its replay."""

    headroom: dict[str, float]
    """Capacity over demand that the solver was asked for, by workload."""
    cost_usd_per_hour: float
    gpus: int
    verdict: Literal["holds", "breaks"]
    nearest: str = ""
    """The limit with the least room, with what was replayed."""


class Proof(Noun):
    """A plan that was replayed, and planned again with more capacity until it held."""

    verdict: Literal["holds", "breaks"]
    rounds: tuple[ProofRound, ...]
    costs_usd_per_hour: float
    """More than the plan that was not replayed."""
    text: str
