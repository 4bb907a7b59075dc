"""The finding "size anew": production departs from the plan by more than a plan may be wrong.

It compares with a plan and not with thresholds of its own, so it is no file among the rules: its numbers are
alarms of ``catalog/judgment/monitoring.yaml``, and its words stand here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.schema.conditions import Reference
from planner.schema.diagnosis import ActionAdvised, EvidenceSeen, Finding, Ranking
from planner.schema.known import Known
from planner.schema.policy import Alarms
from planner.schema.readings import Reading

RULE, SYMPTOM, LAYER = "re-size", "departs-from-plan", "L4a"
TITLE = "Production departs from the plan: size anew"
CAUSE = "The traffic or the fleet is not what the plan was made for."
BECAUSE = (
    "A plan is a prediction. Where TTFT is far above it, or GPUs are far less used than it says at the same "
    "rate, the lengths, the arrivals or the speed of a replica differ from those it was made with."
)
SOURCE = Reference(document="Sizing LLM Inference for Production", section="9.1, step 13; 9.3")
_FLEET, _GPU, _TTFT = "fleet_utilization_ratio", "gpu_utilization_ratio", "ttft_p99_s"
ACTION = ActionAdvised.model_validate(
    {
        "id": "plan-again",
        "text": "Plan again with the rate, the lengths and the prefix hits that were observed",
        "knob": "replicas",
        "direction": "set",
        "effect": "a fleet that fits the traffic that is there",
        "cost": "hardware",
        "safe": False,
    }
)


@dataclass(frozen=True)
class Planned:
    """What a plan predicts for the observed workload."""

    ttft_p99_s: float | None
    utilization: float
    """Load over capacity, at the observed rate; at the planned peak where no rate was observed."""
    mean_utilization: float | None
    """Of the whole plan, over the day."""
    rate_is_observed: bool


def finding(known: Known, planned: Planned, alarms: Alarms, others: tuple[str, ...] = ()) -> Finding | None:
    """The finding, where the evidence is there.

    A share of busy GPUs below the planned load over capacity is only evidence at the same rate; where no
    rate was observed the finding is in doubt.

    Args:
        known: what was observed.
        planned: what the plan says.
        alarms: how far a plan may be off.
        others: findings that explain a departure: they come first.
    """
    seen = tuple(_evidence(known, planned, alarms))
    if not seen:
        return None
    doubt = not planned.rate_is_observed and all(one.metric == _GPU for one in seen)
    return Finding(
        rule=RULE,
        title=TITLE,
        layer=LAYER,
        symptom=SYMPTOM,
        cause=CAUSE,
        because=BECAUSE,
        evidence=seen,
        actions=(_after(others),),
        path=(f"symptom:{SYMPTOM}", f"evidence:{RULE}", f"cause:{RULE}", f"action:{RULE}/{ACTION.id}"),
        next=(),
        stop="TTFT and utilization are within the alarms of the new plan.",
        ranking=Ranking(
            strength="suggestive",
            supports=0,
            against=0,
            in_doubt=doubt,
            severity="degraded" if any(one.metric == _TTFT for one in seen) else "waste",
            explained_by=others,
        ),
        source=SOURCE,
    )


def _after(others: tuple[str, ...]) -> ActionAdvised:
    """Whoever plans anew while a fault is there plans for the fault."""
    text = f"Once {', '.join(others)} no longer hold: {ACTION.text[:1].lower()}{ACTION.text[1:]}"
    return ACTION.model_copy(update={"text": text}) if others else ACTION


def needs(found: Finding | None) -> tuple[str, ...]:
    """The metric that would settle a finding in doubt."""
    return ("request_rate_rps",) if found is not None and found.ranking.in_doubt else ()


def document(alarms: Alarms) -> dict[str, Any]:
    """The rule as ``planner rules show`` explains it."""
    excess, drop = alarms.ttft_excess_fraction, alarms.utilization_drop_fraction
    source = SOURCE.model_dump(mode="json")
    low = {"op": "<", "of": "planned utilization - utilization_drop_fraction"}
    high = {"metric": _TTFT, "op": ">", "of": "planned TTFT P99", "times": "(1 + ttft_excess_fraction)"}
    when = {"any": [high, {"metric": _FLEET, **low}, {"metric": _GPU, **low}]}
    seen_as = {"id": SYMPTOM, "title": TITLE, "severity": "degraded", "when": when, "thresholds": {}}
    return {
        "id": RULE,
        "kind": "debugger",
        "title": TITLE,
        "layer": LAYER,
        "built_in": "compares with the plan that --plan names",
        "symptom": SYMPTOM,
        "when": when,
        "strength": "suggestive",
        "supports": [],
        "against": [],
        "explains": [],
        "cause": CAUSE,
        "because": BECAUSE,
        "then": [_action()],
        "next": [],
        "thresholds": {
            "ttft_excess_fraction": _threshold(
                excess, "TTFT P99 above the plan by more than this share", source
            ),
            "utilization_drop_fraction": _threshold(
                drop, "utilization below the plan at the same rate by more than these points", source
            ),
        },
        "source": source,
        "symptoms": [seen_as],
    }


def _threshold(value: float, meaning: str, source: dict[str, Any]) -> dict[str, Any]:
    return {"value": str(value), "meaning": meaning, "source": source}


def _action() -> dict[str, Any]:
    keys = ("text", "knob", "direction", "cost", "safe")
    return {"action": ACTION.id, "expect": ACTION.effect, **{key: getattr(ACTION, key) for key in keys}}


def _evidence(known: Known, planned: Planned, alarms: Alarms) -> Iterator[EvidenceSeen]:
    ttft = known.get(_TTFT)
    if isinstance(ttft, Reading) and planned.ttft_p99_s is not None:
        limit_s = planned.ttft_p99_s * (1 + alarms.ttft_excess_fraction)
        if ttft.low > limit_s:
            yield _seen(_TTFT, ttft, ">", limit_s, planned.ttft_p99_s, "ttft_excess_fraction")
    for metric, plan_says in ((_FLEET, planned.mean_utilization), (_GPU, planned.utilization)):
        reading = known.get(metric)
        if isinstance(reading, Reading) and plan_says is not None:
            limit = plan_says - alarms.utilization_drop_fraction
            if reading.high < limit:
                yield _seen(metric, reading, "<", limit, plan_says, "utilization_drop_fraction")


def _seen(metric: str, reading: Reading, op: str, limit: float, planned: float, alarm: str) -> EvidenceSeen:
    return EvidenceSeen(
        metric=metric,
        value=reading.value,
        between=None if reading.exact else (reading.low, reading.high),
        op=op,
        threshold=limit,
        basis=f"{alarm} from the plan",
        role="condition",
        planned=planned,
    )
