"""The debugger's symptoms as alert rules of Prometheus, for a deployment without a plan.

A symptom is what somebody should be told; its causes are found by ``planner diagnose``, which asks much more
than a rule of Prometheus can. Source: prometheus.io, alerting rules; ``and``, ``or``, ``unless`` of PromQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.exports import promql
from planner.schema.conditions import Condition, Threshold
from planner.schema.debugger import Rulebook, Symptom
from planner.schema.debugger_words import Severity
from planner.schema.exporter import Exporter

SEVERITIES: Mapping[Severity, str] = {
    "failure": "critical",
    "degraded": "warning",
    "warning": "warning",
    "waste": "info",
}
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Asked:
    """What the rules are made for."""

    exporters: Sequence[tuple[Exporter, str]]
    """Of the engine first, then of devices, each with the labels that select its series, such as
    ``model_name="m"``."""
    known: Mapping[str, float] | None = None
    """Limits (``slo.ttft_p99_s``) and predictions for the hardware (``itl_predicted_s``)."""


def symptom_alerts(rulebook: Rulebook, asked: Asked) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The file of rules, and the symptoms that these metrics cannot show."""
    rules, left = [], []
    for symptom in sorted(rulebook.symptoms.values(), key=lambda one: one.id):
        expression = _Expressions(asked, symptom.thresholds).of(symptom.when)
        if expression is None:
            left.append(symptom.id)
            continue
        excuse = _Expressions(asked, symptom.thresholds).of(symptom.unless) if symptom.unless else None
        whole = expression if excuse is None else f"({expression}) unless ({excuse})"
        rules.append(_rule(rulebook, symptom, whole))
    return {"groups": [{"name": "planner-symptoms", "rules": rules}]}, tuple(left)


def _rule(rulebook: Rulebook, symptom: Symptom, expression: str) -> dict[str, Any]:
    causes = [one.title for one in rulebook.rules.values() if symptom.id in one.symptoms]
    return {
        "alert": "Planner" + "".join(word.capitalize() for word in symptom.id.split("-")),
        "expr": expression,
        "for": promql.WINDOW,
        "labels": {"severity": SEVERITIES[symptom.severity], "symptom": symptom.id},
        "annotations": {
            "summary": symptom.title,
            "description": f"planner diagnose --prometheus URL tells which cause it is, of {len(causes)}",
        },
    }


@dataclass(frozen=True)
class _Expressions:
    """Conditions as PromQL; None where a part that is needed is no number of these exporters."""

    asked: Asked
    thresholds: Mapping[str, Threshold]

    def of(self, condition: Condition) -> str | None:
        """The series without labels, that is there where the condition holds."""
        if condition.metric is not None:
            return self._comparison(condition)
        if condition.all_of is not None:
            parts = [self.of(part) for part in condition.all_of]
            return None if None in parts else _joined(" and ", filter(None, parts))
        if condition.any_of is not None:
            found = [text for part in condition.any_of if (text := self.of(part)) is not None]
            return _joined(" or ", found) if found else None
        return None

    def _comparison(self, one: Condition) -> str | None:
        left = self._metric(str(one.metric))
        right = self._right(one)
        if left is None or right is None or one.op not in _OPERATORS:
            return None
        return f"({left}) {one.op} {right}"

    def _metric(self, name: str) -> str | None:
        for exporter, matchers in self.asked.exporters:
            for rule in exporter.readings.get(name, ())[:1]:
                return promql.reading(exporter, rule, matchers)
        return None

    def _right(self, one: Condition) -> str | None:
        known = self.asked.known or {}
        if one.threshold is not None:
            return f"{self._threshold(one.threshold):.10g}"
        if one.of is None:
            number = isinstance(one.value, int | float) and not isinstance(one.value, bool)
            return f"{one.value:.10g}" if number and isinstance(one.value, int | float) else None
        factor = float(self.thresholds[one.times].value) if one.times is not None else 1.0
        if one.of in known:
            return f"{known[one.of] * factor:.10g}"
        if one.otherwise is not None:
            return f"{self._threshold(one.otherwise):.10g}"
        other = self._metric(one.of)
        return None if other is None else f"({other}) * {factor:.10g}"

    def _threshold(self, name: str) -> float:
        """The prediction for the hardware where it is known, else the usual value."""
        found, known = self.thresholds[name], self.asked.known or {}
        if found.of is not None and found.times is not None and found.of in known:
            return known[found.of] * float(found.times)
        return float(found.value)


def _joined(word: str, parts: Iterator[str] | Sequence[str]) -> str:
    return word.join(f"({part})" for part in parts)
