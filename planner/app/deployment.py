"""The fleet of a plan as it runs: its options, with the settings and the traffic that were observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from planner import units
from planner.app.explain_plan import session_of
from planner.app.loaded_problem import LoadedProblem
from planner.errors import InputError, input_error, nearest
from planner.explain.problem_values import overridable, peak_rps, problem_value, sizing_of, workload_names
from planner.schema.catalog_index import Catalog
from planner.schema.known import Known
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.readings import Reading

Changes = dict[str, Any]
"""Values of the problem by path, as ``planner whatif --set`` takes them."""
LAYOUT = ("tp", "pp", "ep", "attention_dp")
BATCH = ("max_batch", "batched_tokens")
"""Held for replicas that serve prefill and decode together; disaggregated, each role has its own."""
_RUSH_RATIO = 1000
"""Times the rate: so much that the replicas that carry most are the cheapest."""
_ANY_COUNT = 1_000_000
"""More GPUs than anybody has: a stock that does not bind."""


@dataclass(frozen=True)
class Deployment:
    """One workload of a plan, and how it runs now."""

    plan: Plan
    session: LoadedProblem
    """The plan's problem with this workload alone."""
    workload: str
    pools: tuple[Pool, ...]
    rate_rps: float
    rate_is_observed: bool
    """False: the plan's peak; none was observed, or the problem's rate follows from sessions or a trace."""
    known: Known
    present: Mapping[str, int]
    """Replicas by role."""
    changes: Changes
    """The fleet as it is, as changes of the problem."""
    plans: dict[str, Plan | str] = field(default_factory=dict, compare=False)
    """Plans of `solved`, so that equal changes are solved once."""

    @property
    def mode(self) -> str:
        """Aggregated or disaggregated."""
        return self.pools[0].mode

    def path(self, *names: str) -> str:
        """A path below the workload."""
        return ".".join(("workloads", self.workload, *names))

    def stated(self, *names: str) -> Any:
        """What the plan's problem says below the workload; None where it says nothing."""
        return problem_value(self.plan, "workloads", self.workload, *names)


def deployment(
    plan: Plan, path: Path, catalog: Catalog, overlays: tuple[Path, ...], known: Known, named: str | None
) -> Deployment:
    """The workload that was observed, as it runs.

    Without a name: the only workload, else the first that is slower than its plan by what was observed.

    Raises:
        InputError: a plan without pools or an unknown workload; a problem that no longer fits the catalog.
    """
    workload = _workload(plan, path, known, named)
    pools = tuple(pool for pool in plan.pools if pool.workload == workload)
    inputs = plan.inputs.model_copy(update={"problem": _alone(plan, workload)})
    session = session_of(plan.model_copy(update={"inputs": inputs}), path, catalog, overlays)
    rate = observed_rate_rps(known)
    peak = peak_rps(plan, workload) or sum(
        one.load_rps * one.replicas for one in pools if one.role != "decode"
    )
    present = replicas_by_role(plan.model_copy(update={"pools": pools}))
    bare = Deployment(plan, session, workload, pools, peak, False, known, present, {})
    if rate is not None and demand(bare, rate):
        bare = replace(bare, rate_rps=rate, rate_is_observed=True)
    seen = replace(bare, changes=_options(bare) | _margins(bare) | _observed(bare))
    return replace(seen, changes=seen.changes | _batch(seen))


def _alone(plan: Plan, workload: str) -> dict[str, Any]:
    """The plan's problem with one workload, without what is said about others."""
    problem = {**plan.inputs.problem, "workloads": [problem_value(plan, "workloads", workload)]}
    problem.pop("tiers", None)
    problem["api"] = [one for one in problem.get("api", ()) if one["workload"] == workload]
    return problem


def observed_rate_rps(known: Known) -> float | None:
    """Requests per second, where any were seen."""
    rate = known.get("request_rate_rps")
    return rate.value if isinstance(rate, Reading) and rate.value > 0 else None


def planned_p99_s(pools: Iterable[Pool], metric: str) -> float | None:
    """The largest P99 that the plan predicts for a latency of these pools."""
    found = [getattr(pool, metric).get("p99") for pool in pools]
    return max((value for value in found if value is not None), default=None)


def _workload(plan: Plan, path: Path, known: Known, named: str | None) -> str:
    names = [name for name in workload_names(plan) if any(pool.workload == name for pool in plan.pools)]
    if not names:
        raise input_error(str(path), "pools", f"none: the plan is {plan.status}", "a plan with a fleet")
    if named is not None:
        if named not in names:
            expected = f"one of {', '.join(names)}"
            raise input_error("planner diagnose", "--workload", f'"{named}"', expected, nearest(named, names))
        return named
    return next((name for name in names if _is_slower(plan, name, known)), names[0])


def _is_slower(plan: Plan, workload: str, known: Known) -> bool:
    pools = [pool for pool in plan.pools if pool.workload == workload]
    for metric in ("ttft", "itl"):
        seen, planned = known.get(f"{metric}_p99_s"), planned_p99_s(pools, f"{metric}_s")
        if isinstance(seen, Reading) and planned is not None and seen.low > planned:
            return True
    return False


def _options(at: Deployment) -> Changes:
    """Every choice of the plan, so that the search finds this fleet and no other."""
    pools = at.pools
    held: Changes = {
        "fleet.accelerators": _each(pools, lambda pool: pool.gpu),
        "search.modes": [at.mode],
        at.path("precision", "weights"): _each(pools, lambda pool: pool.weights),
        at.path("precision", "kv"): _each(pools, lambda pool: pool.kv),
    }
    for name in (*LAYOUT, *(BATCH if at.mode == "aggregated" else ())):
        held[f"search.{name}"] = sorted({getattr(pool, name) for pool in pools})
    if at.stated("speculation") is not None and all(pool.speculation is None for pool in pools):
        held[at.path("speculation")] = None
    return held


def _each(pools: tuple[Pool, ...], value: Callable[[Pool], str]) -> list[str]:
    return sorted({value(pool) for pool in pools})


def _margins(at: Deployment) -> Changes:
    """The replicas that are there, without room to spare: what they carry is asked, not what is prudent."""
    found: Changes = {"fleet.budget": None, "fleet.max_gpus": None}
    stock = problem_value(at.plan, "fleet", "stock")
    if stock:
        found["fleet.stock"] = dict.fromkeys(stock, _ANY_COUNT)
    if set(at.present) == {"serve"}:
        headroom = overridable(at.plan, at.workload, "headroom") or {}
        found["fleet.max_utilization"] = "100 %"
        found[at.path("headroom")] = {**headroom, "capacity": "0 %"}
        found[at.path("redundancy")] = 0
        found[at.path("min_replicas")] = at.present["serve"]
    return found


def _observed(at: Deployment) -> Changes:
    """Settings and traffic that were observed, where the problem has a place for them."""
    found: Changes = demand(at, at.rate_rps) | lengths(at)
    kv, hit = at.known.get("kv_precision"), hits(at)
    if isinstance(kv, str) and at.session.catalog.number_format(kv) is not None:
        found[at.path("precision", "kv")] = [kv]
    for name, value in at.known.items():
        if name.startswith("slo.") and isinstance(value, Reading):
            metric = name.removeprefix("slo.").removesuffix("_s")
            found[at.path("slo", metric)] = f"{value.value:.12g} s"
    if at.known.get("chunked_prefill") is False and at.mode == "aggregated":
        found["search.batched_tokens"] = [_whole_prompt(at)]
    if at.known.get("prefix_caching") is False:
        return found | hit_changes(at, 0.0)
    return found if hit is None else found | hit_changes(at, hit)


def _whole_prompt(at: Deployment) -> int:
    """A step that takes the longest prompt in one piece: how an engine works without chunks."""
    guard = at.plan.guardrails_of(at.workload)
    longest = guard.max_input_tokens if guard is not None else 0
    seen = at.known.get("input_tokens_p99")
    tail = math.ceil(seen.value) if isinstance(seen, Reading) else 0
    return max(longest, tail, *(pool.batched_tokens for pool in at.pools))


def _batch(at: Deployment) -> Changes:
    """The observed batch limit, as far as memory holds it: what does not fit waits, whatever the limit says.

    What memory holds is the batch that carries most where no latency is limited.
    """
    if at.mode != "aggregated":
        return {}
    batch = at.known.get("max_batch")
    wanted = [round(batch.value)] if isinstance(batch, Reading) else at.changes["search.max_batch"]
    rush = demand(at, at.rate_rps * _RUSH_RATIO)
    free = solved(at, {**rush, **no_limits(at), "search.max_batch": None})
    if isinstance(free, str) or not free.pools:
        return {"search.max_batch": wanted}
    held = max(pool.max_batch for pool in free.pools)
    return {"search.max_batch": sorted({min(value, held) for value in wanted})}


def no_limits(at: Deployment) -> Changes:
    """No limit on any latency, neither the plan's nor an observed one."""
    below = at.path("slo")
    return {below: None} | {path: None for path in at.changes if path.startswith(f"{below}.")}


def demand(at: Deployment, rate_rps: float) -> Changes:
    """The rate, where the problem states one; rates of sessions and traces belong to their lengths."""
    stated = at.stated("demand") or {}
    if "sessions" in stated or ("trace" in stated and at.stated("lengths") is None):
        return {}
    burst = {"burstiness": stated["burstiness"]} if "burstiness" in stated else {}
    return {at.path("demand"): {"peak_rps": f"{rate_rps:.12g}", **burst}}


def lengths(at: Deployment) -> Changes:
    """The observed prompts, where they are surely not those of the plan."""
    sizing = sizing_of(at.plan, at.workload)
    middle, tail = at.known.get("input_tokens_p50"), at.known.get("input_tokens_p99")
    if sizing is None or not isinstance(at.stated("lengths", "input"), Mapping):
        return {}
    if (
        not isinstance(middle, Reading)
        or not isinstance(tail, Reading)
        or not 1 <= middle.value <= tail.value
    ):
        return {}
    planned = sizing.input_tokens.get("p99", sizing.input_tokens["mean"])
    if tail.low <= planned <= tail.high:
        return {}
    return {at.path("lengths", "input"): {"p50": round(middle.value), "p99": round(tail.value)}}


def hits(at: Deployment) -> float | None:
    """The observed share of prompt tokens found in the prefix cache."""
    seen = at.known.get("prefix_hit_ratio")
    return min(seen.value, 1.0) if isinstance(seen, Reading) else None


def planned_hit(at: Deployment) -> float:
    """The share that the plan counts on, of one instance; 0 where it counts on none."""
    for path in (("prefix_cache", "hit"), ("prefix_cache_hit",)):
        try:
            return float(units.parse(at.stated(*path), units.FRACTION))
        except units.UnitError:
            continue
    return 0.0


def hit_changes(at: Deployment, share: float) -> Changes:
    """Another share of hits; nothing where it follows from sessions."""
    if "sessions" in (at.stated("demand") or {}):
        return {}
    if at.stated("prefix_cache") is not None:
        return {at.path("prefix_cache", "hit"): f"{share * 100:.12g} %"}
    return {at.path("prefix_cache_hit"): f"{share * 100:.12g} %"}


def solved(at: Deployment, changes: Changes) -> Plan | str:
    """The plan after changes of the fleet as it is; in words what makes the changed problem impossible."""
    every = {**at.changes, **changes}
    key = repr(sorted(every.items()))
    if key not in at.plans:
        try:
            at.plans[key] = at.session.changed(every).solve()
        except InputError as problem:
            at.plans[key] = "; ".join(f"{fault.found}, expected {fault.expected}" for fault in problem.faults)
    return at.plans[key]


def replicas_by_role(plan: Plan) -> dict[str, int]:
    """Replicas of a plan of one workload, all pools of a role counted."""
    roles = dict.fromkeys(pool.role for pool in plan.pools)
    return {role: sum(pool.replicas for pool in plan.pools if pool.role == role) for role in roles}


def capacity_by_role_rps(plan: Plan, replicas: Mapping[str, int]) -> dict[str, float]:
    """What so many replicas of each role carry within every limit, laid out as in a plan."""
    planned = replicas_by_role(plan)
    total = dict.fromkeys(planned, 0.0)
    for pool in plan.pools:
        total[pool.role] += pool.capacity_rps * pool.replicas
    return {role: total[role] / planned[role] * replicas[role] for role in planned}
