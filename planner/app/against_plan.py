"""A diagnosis held against a plan: whether production departs from it, and what each action would do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from planner.app.deployment import (
    Changes,
    Deployment,
    demand,
    deployment,
    hit_changes,
    lengths,
    observed_rate_rps,
    planned_hit,
    planned_p99_s,
)
from planner.app.explain_plan import alarms, session_of
from planner.app.fit_to_seen import fitted
from planner.app.priced_actions import Pricing, refused, state_of, why_none
from planner.diagnosis import resize
from planner.errors import InputError
from planner.explain.problem_values import peak_rps, sizing_of
from planner.loaders.catalog import load_catalog
from planner.loaders.plan_file import load_plan
from planner.schema.catalog_index import Catalog
from planner.schema.diagnosis import ActionAdvised, Diagnosis, Finding
from planner.schema.held_plan import PlanUsed, PredictedState, PricedEffect, PricedRow
from planner.schema.known import Known
from planner.schema.observation import ObservedLimits
from planner.schema.plan import Plan
from planner.schema.readings import Reading


@dataclass(frozen=True)
class PlanFile:
    """A plan document to hold diagnoses against; it is read once."""

    path: Path
    overlays: tuple[Path, ...] = ()
    workload: str | None = None
    """The one that was observed; by default the only one, else the first that is slower than planned."""

    @cached_property
    def plan(self) -> Plan:
        """The plan.

        Raises:
            InputError: no such file, or no plan.
        """
        return load_plan(self.path)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog with the overlays."""
        return load_catalog(self.overlays)

    def deployment(self, known: Known) -> Deployment:
        """The workload that was observed, as it runs.

        Raises:
            InputError: a plan without a fleet, an unknown workload, a problem that no longer fits.
        """
        return deployment(self.plan, self.path, self.catalog, self.overlays, known, self.workload)


def limits_s(at: Deployment) -> dict[str, float]:
    """Limits on latency in the plan's problem, under the names of an observation."""
    (workload,) = at.session.problem.workloads
    names = ObservedLimits.model_fields
    return {
        f"{key}_s": float(value) for key, value in workload.slo if value is not None and f"{key}_s" in names
    }


def against(found: Diagnosis, file: PlanFile, at: Deployment) -> Diagnosis:
    """The diagnosis with priced actions, and with the finding that the plan no longer fits."""
    others = tuple(one.rule for one in found.findings)
    anew = resize.finding(at.known, _planned(at), alarms(at.session.catalog), others)
    now, fit = fitted(at)
    if fit is not None and not fit.reproduced:
        why = f"the model of the plan does not reproduce what was seen ({fit.why})"
        findings = [refused(one, why) for one in found.findings]
        table: tuple[PricedRow, ...] = ()
    else:
        pricing = Pricing(now)
        findings = [pricing.finding(one) for one in found.findings]
        table = pricing.table(findings)
    if anew is not None:
        findings.append(_plan_again(file, at, anew))
    more = [name for name in resize.needs(anew) if name not in found.need]
    used = PlanUsed(
        problem=at.plan.problem,
        workload=at.workload,
        rate_rps=now.rate_rps,
        rate_is_observed=at.rate_is_observed,
        set=now.changes,
        fit=fit,
        table=table,
    )
    symptoms = found.symptoms if anew is None else (*found.symptoms, anew.symptom)
    update = {"findings": tuple(findings), "need": (*found.need, *more), "symptoms": symptoms, "plan": used}
    return found.model_copy(update=update)


def _planned(at: Deployment) -> resize.Planned:
    """What the plan predicts for this workload, GPUs of all its pools together."""
    gpus = sum(pool.gpus_per_replica * pool.replicas for pool in at.pools)
    busy = sum(pool.gpus_per_replica * pool.replicas * pool.utilization for pool in at.pools) / max(gpus, 1)
    peak, sizing = peak_rps(at.plan, at.workload) or at.rate_rps, sizing_of(at.plan, at.workload)
    rate = observed_rate_rps(at.known)
    return resize.Planned(
        ttft_p99_s=planned_p99_s(at.pools, "ttft_s"),
        utilization=min(1.0, busy * (peak if rate is None else rate) / peak),
        mean_utilization=None if sizing is None else busy * sizing.mean_rps / peak,
        rate_is_observed=rate is not None,
    )


def _plan_again(file: PlanFile, at: Deployment, anew: Finding) -> Finding:
    """The finding with the plan that the observed traffic would get, all workloads together."""
    (action,) = anew.actions
    changes = _observed(at, anew)
    if not changes:
        why = "nothing that the plan takes as given was observed to differ: measure anew, and calibrate"
        return _with(anew, action.model_copy(update={"not_priced": why}))
    try:
        plan = session_of(at.plan, file.path, file.catalog, file.overlays).changed(changes).solve()
    except InputError as problem:
        return _with(anew, action.model_copy(update={"not_priced": str(problem)}))
    after = PredictedState(status="infeasible", why=why_none(plan)) if not plan.pools else _whole(plan, at)
    effect = PricedEffect(
        text=str(action.effect),
        set=changes,
        before=_whole(at.plan, at),
        after=after,
        clears_slo=after.status == "serves",
    )
    return _with(anew, action.model_copy(update={"effect": effect}))


def _whole(plan: Plan, at: Deployment) -> PredictedState:
    """A plan: cost and GPUs of everything, the rest of this workload."""
    pools = tuple(pool for pool in plan.pools if pool.workload == at.workload)
    return state_of(plan.model_copy(update={"pools": pools}), None)


def _with(finding: Finding, action: ActionAdvised) -> Finding:
    return finding.model_copy(update={"actions": (action,)})


def _observed(at: Deployment, anew: Finding) -> Changes:
    """Rate, lengths and hits that were observed and are not the plan's.

    A fleet that is too slow at a lower rate than planned gets no lower peak.
    """
    changes: Changes = lengths(at)
    peak, slow = peak_rps(at.plan, at.workload), any(one.op == ">" for one in anew.evidence)
    if at.rate_is_observed and peak is not None and (at.rate_rps > peak or not slow):
        for path, value in demand(at, at.rate_rps).items():
            sizing = sizing_of(at.plan, at.workload)
            mean = min(at.rate_rps, sizing.mean_rps) if sizing is not None else at.rate_rps
            changes[path] = {**value, "mean_rps": f"{mean:.12g}"}
    seen = at.known.get("prefix_hit_ratio")
    if isinstance(seen, Reading) and not seen.low <= planned_hit(at) <= seen.high:
        changes |= hit_changes(at, seen.value)
    return changes
