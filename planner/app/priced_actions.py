"""What the debugger's actions would do to the fleet of a plan, as the planner predicts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.app.deployment import (
    Changes,
    Deployment,
    capacity_by_role_rps,
    no_limits,
    planned_p99_s,
    replicas_by_role,
    solved,
)
from planner.app.knob_changes import NotPricedError, turn
from planner.explain.in_the_way import blocking, in_the_way
from planner.schema.diagnosis import ActionAdvised, Finding
from planner.schema.held_plan import PredictedState, PricedEffect, PricedRow
from planner.schema.plan import Plan
from planner.schema.pool import Pool


class Pricing:
    """Prices actions on one fleet."""

    def __init__(self, at: Deployment) -> None:
        """``at`` is the fleet as it is."""
        self.at = at

    def finding(self, one: Finding) -> Finding:
        """A finding with each of its actions priced."""
        return one.model_copy(update={"actions": tuple(self.action(action) for action in one.actions)})

    def table(self, findings: Sequence[Finding]) -> tuple[PricedRow, ...]:
        """The fleet as it is, then each change that an action makes, by itself and once."""
        now = self.state({}, self.at.present)
        rows = [PricedRow(text="now, as predicted", state=now, clears_slo=now.status == "serves")]
        known = set[str]()
        for finding in findings:
            for action in finding.actions:
                effect = action.effect
                if isinstance(effect, str) or effect.set_key in known:
                    continue
                known.add(effect.set_key)
                rows.append(
                    PricedRow(
                        rule=finding.rule,
                        action=action.id,
                        text=_turned(action),
                        state=effect.after,
                        clears_slo=effect.clears_slo,
                    )
                )
        return tuple(rows)

    def action(self, action: ActionAdvised) -> ActionAdvised:
        """An action with its effect; where none can be told, with the reason."""
        text = action.effect if isinstance(action.effect, str) else action.effect.text
        try:
            turned = turn(self.at, action)
        except NotPricedError as reason:
            return action.model_copy(update={"not_priced": str(reason)})
        after = self.state(turned.changes, turned.present)
        fits = after.status == "serves"
        effect = PricedEffect(
            text=text,
            set=turned.changes,
            before=self.state({}, self.at.present),
            after=after,
            clears_slo=fits,
            needs=None if fits else self._enough(turned.changes),
        )
        return action.model_copy(update={"effect": effect})

    def state(self, changes: Changes, present: Mapping[str, int] | None) -> PredictedState:
        """The fleet with so many replicas after changes; None lets the planner choose their number.

        Latency is that of the plan in which every limit holds. Beyond capacity it is asked again without
        limits, where one pool serves everything and its queue still has an end.
        """
        plan = solved(self.at, changes)
        if isinstance(plan, Plan) and plan.pools:
            if present is None or all(
                need <= present.get(role, 0) for role, need in replicas_by_role(plan).items()
            ):
                return state_of(plan, present)
            capacity = _capacity_rps(plan, present)
        elif present is None:
            return PredictedState(status="infeasible", why=why_none(plan))
        else:
            capacity = None
        return self._beyond(changes, present, plan, capacity)

    def _beyond(
        self, changes: Changes, present: Mapping[str, int], plan: Plan | str, capacity: float | None
    ) -> PredictedState:
        """These replicas at a rate, or under limits, that they cannot keep."""
        free = solved(self.at, {**changes, **no_limits(self.at)})
        if isinstance(free, str) or not free.pools:
            if isinstance(plan, str) or not plan.pools:
                return PredictedState(status="infeasible", why=why_none(free))
            free = plan
        stable = all(need <= present.get(role, 0) for role, need in replicas_by_role(free).items())
        found = state_of(free, present)
        late = {} if stable else {"ttft_p99_s": None, "itl_p99_s": None}
        return found.model_copy(update={"status": "overloaded", "capacity_rps": capacity, **late})

    def _enough(self, changes: Changes) -> PredictedState | None:
        plan = solved(self.at, changes)
        return state_of(plan, None) if isinstance(plan, Plan) and plan.pools else None


def _turned(action: ActionAdvised) -> str:
    target = "" if action.to is None or isinstance(action.to, bool) else f" to {action.to}"
    return f"{action.direction} {action.knob}{target}"


def refused(finding: Finding, why: str) -> Finding:
    """A finding without prices, each action with the reason."""
    actions = (one.model_copy(update={"not_priced": why}) for one in finding.actions)
    return finding.model_copy(update={"actions": tuple(actions)})


def state_of(plan: Plan, present: Mapping[str, int] | None) -> PredictedState:
    """A plan as a state, with its cost and GPUs for the replicas that are there."""
    planned = replicas_by_role(plan)
    replicas = planned if present is None else {role: present[role] for role in planned}
    same = replicas == planned
    gpus = sum(pool.gpus_per_replica * _there(pool, planned, replicas) for pool in plan.pools)
    usd = sum(pool.usd_per_hour / pool.replicas * _there(pool, planned, replicas) for pool in plan.pools)
    return PredictedState(
        status="serves",
        replicas=dict(replicas),
        gpus=sum(plan.gpus.values()) if same else round(gpus),
        cost_usd_per_hour=plan.cost_usd_per_hour if same else usd,
        capacity_rps=_capacity_rps(plan, replicas),
        ttft_p99_s=planned_p99_s(plan.pools, "ttft_s"),
        itl_p99_s=planned_p99_s(plan.pools, "itl_s"),
    )


def _there(pool: Pool, planned: Mapping[str, int], replicas: Mapping[str, int]) -> float:
    """Replicas of a pool, where its role has another number of them than the plan."""
    return pool.replicas * replicas[pool.role] / planned[pool.role]


def _capacity_rps(plan: Plan, replicas: Mapping[str, int]) -> float:
    """What the replicas carry within every limit: the least of the roles."""
    return min(capacity_by_role_rps(plan, replicas).values())


def why_none(plan: Plan | str) -> str:
    """Why there is no plan, in a sentence."""
    if isinstance(plan, str):
        return plan
    listed = blocking(plan)
    # Formats are held fast here: that others would do is no reason.
    told = [in_the_way(item) for item in listed if item.id.split(":")[0] != "precision"]
    told += [in_the_way(item) for item in listed]
    return told[0] if told else "no configuration of this kind can run"
