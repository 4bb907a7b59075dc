"""The named constraints of a plan with their values: what binds, and how much room is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.constraints.plan.registry import BY_KIND
from planner.planning.documents.pool_document import PoolCase, fit_of
from planner.planning.workload.case import Case
from planner.schema.limits_told import ConstraintState
from planner.schema.pool import Pool
from planner.schema.slo import METRICS
from planner.steptime.quality import quality_losses

_MARGIN = 1e-9


def service_states(
    cases: Mapping[str, Case], pool_cases: Sequence[PoolCase], documents: Sequence[Pool]
) -> list[ConstraintState]:
    """Latencies, memory and links of every workload."""
    states: list[ConstraintState] = []
    for name, case in cases.items():
        mine = [pool for pool in documents if pool.workload == name]
        states += _latency_states(case, mine)
        states += _memory_state(name, [item for item in pool_cases if item.placed.workload == name])
        states += _link_state(name, mine)
        states += _quality_state(case, [item for item in pool_cases if item.placed.workload == name])
    return states


def _latency_states(case: Case, pools: Sequence[Pool]) -> list[ConstraintState]:
    """One state a metric: the statistic and pool nearest to its limit."""
    states = []
    for metric in METRICS:
        named = {name: limit for name, limit in case.limits_s.items() if name.startswith(metric)}
        stated = {pool.id: getattr(pool, f"{metric}_s") for pool in pools}
        values = [
            (stated[pool.id].get(name.split("_")[1], float("inf")), limit, name)
            for pool in pools
            for name, limit in named.items()
            # Prefill pools write no answers.
            if pool.role != "prefill" or stated[pool.id]
        ]
        if not values:
            continue
        value, limit, name = max(values, key=lambda item: item[0] / item[1])
        states.append(
            ConstraintState(
                id=f"{metric}:{case.workload.name}",
                value=value,
                limit=limit,
                unit="s",
                slack=limit - value,
                binding=any(pool.limited_by == metric for pool in pools),
                text=f"{metric.upper()} {name.split('_')[1]}",
            )
        )
    return states


def _memory_state(name: str, mine: Sequence[PoolCase]) -> list[ConstraintState]:
    """Memory of the fullest GPU with the whole batch at its planned length."""
    worst: tuple[float, float, bool] | None = None
    for item in mine:
        part, index = item.evaluated, item.placed.configuration
        fit = fit_of(item)
        ranks = float(part.specs.attention_dp[index])
        batch = float(part.evaluation.capacities.max_batch[index])
        full = float(fit.need.bytes_of(-(-batch // ranks))[index])
        value = float(fit.account.resident_bytes[index]) + full
        limit = float(fit.account.resident_bytes[index] + fit.account.kv_cache_bytes[index])
        bound = part.evaluation.capacities.limited_by[index] == "memory"
        if worst is None or value / limit > worst[0] / worst[1]:
            worst = (value, limit, bound)
    if worst is None:
        return []
    value, limit, bound = worst
    return [
        ConstraintState(
            id=f"vram:{name}",
            value=value,
            limit=limit,
            unit="B",
            slack=limit - value,
            binding=bound,
            text="memory of the fullest GPU with the KV of a full batch",
        )
    ]


def _quality_state(case: Case, mine: Sequence[PoolCase]) -> list[ConstraintState]:
    """The largest published loss of the formats in use."""
    most = case.workload.max_quality_loss
    if most is None or not mine:
        return []
    items = [item.evaluated.evaluation.candidates.configurations[item.placed.configuration] for item in mine]
    value = max(1.0 if loss is None else float(loss) for loss in quality_losses(items))
    return [
        ConstraintState(
            id=f"max-quality-loss:{case.workload.name}",
            value=value,
            limit=float(most),
            unit="fraction",
            slack=float(most) - value,
            binding=False,  # it leaves options out, and sets no capacity
            text="published loss of quality by number formats",
        )
    ]


def _link_state(name: str, pools: Sequence[Pool]) -> list[ConstraintState]:
    """Links between prefill and decode workers carry every KV cache."""
    loads = [pool.link_load for pool in pools if pool.link_load is not None]
    if not loads:
        return []
    return [
        ConstraintState(
            id=f"kv-transfer:{name}",
            value=max(loads),
            limit=1.0,
            unit="fraction",
            slack=1.0 - max(loads),
            binding=any(pool.limited_by == "kv-transfer" for pool in pools),
            text="share of the links that KV transfers of KV caches take",
        )
    ]


def limit_state(
    name: str, value: Fraction, limit: Fraction, unit: str, step: Fraction | int
) -> ConstraintState:
    """A market limit binds when less than one more step fits under it."""
    return ConstraintState(
        id=name,
        value=float(value),
        limit=float(limit),
        unit=unit,
        slack=float(limit - value),
        binding=bool(limit - value < step),
        text=_title(name.partition(":")[0]),
    )


def _title(kind: str) -> str:
    """What the limit counts, where its id does not say so."""
    known = BY_KIND.get(kind)
    return "" if known is None or known.plain else known.title
