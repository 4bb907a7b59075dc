"""A diagnosis as a page: what is seen, each cause with its evidence and actions, what to measure next."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.effect_text import expectation
from planner.report.parts import bullets, pairs, section, table
from planner.schema.debugger_words import LAYERS
from planner.schema.diagnosis import ActionAdvised, Diagnosis, EvidenceSeen, Finding, Ranking, Shown
from planner.schema.metrics import METRICS

_ROLES = {
    "symptom": "seen",
    "condition": "shows it",
    "supports": "supports it",
    "against": "speaks against it",
}
OPERATORS = {"==": "is", "!=": "is not", ">=": "≥", "<=": "≤", "in": "is one of", "not-in": "is none of"}


def view(diagnosis: Diagnosis) -> RenderableType:
    """The whole page, below its first screen."""
    parts: list[RenderableType] = []
    for number, finding in enumerate(diagnosis.findings, start=1):
        parts.append(_finding(number, finding))
    if diagnosis.need:
        parts.append(section("Measure next", bullets(_needs(diagnosis))))
    if diagnosis.open:
        rows = [[one.layer, one.title, ", ".join(one.unknown)] for one in diagnosis.open]
        parts.append(section("Not decided", table(["layer", "cause", "unknown"], rows)))
    if diagnosis.excluded:
        rows = [[one.layer, one.title] for one in diagnosis.excluded]
        parts.append(section("Excluded", table(["layer", "cause"], rows)))
    if diagnosis.unjudged:
        words = "Nothing was observed that would show: " + ", ".join(diagnosis.unjudged) + "."
        parts.append(section("Not looked at", Text(words)))
    if diagnosis.notes:
        parts.append(section("About the numbers", bullets(_notes(diagnosis))))
    return Group(*parts)


def _notes(diagnosis: Diagnosis) -> Iterator[str]:
    """Notes with the same words in one line."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for note in diagnosis.notes:
        metrics.setdefault((note.kind, note.text), []).append(note.metric)
    for (kind, text), names in metrics.items():
        of = ", ".join(name for name in names if name)
        yield f"{kind}, {of}: {text}" if of else f"{kind}: {text}"


def _finding(number: int, finding: Finding) -> RenderableType:
    facts = [
        *(
            [("possible", f"not shown; to decide look at {', '.join(finding.look_at)}")]
            if finding.look_at
            else []
        ),
        ("layer", f"{finding.layer} {LAYERS[finding.layer].title}: {LAYERS[finding.layer].authority}"),
        ("cause", finding.cause),
        ("why", finding.because),
        ("rank", _rank(finding.ranking)),
        ("rule", f"{finding.rule}, from symptom {finding.symptom}"),
        ("source", _source(finding)),
    ]
    facts += [("or", one) for one in finding.alternatives]
    if finding.disagreement:
        facts.append(("sources", finding.disagreement))
    after = [("next", ", ".join(finding.next))] if finding.next else []
    if finding.stop:
        after.append(("stop", finding.stop))
    evidence = [_evidence(one) for one in finding.evidence]
    actions = [_action(place, one) for place, one in enumerate(finding.actions, start=1)]
    return section(
        f"{number}. {finding.title}",
        pairs(facts),
        section("Evidence", table(["metric", "value", "", "compared with", ""], evidence)),
        section("Do, in this order", table(["", "action", "turn", "expect", "takes"], actions)),
        pairs(after),
    )


def _possible(finding: Finding) -> Iterator[tuple[str, str]]:
    if finding.look_at:
        yield "possible", f"not shown; to decide look at {', '.join(finding.look_at)}"


def _rank(ranking: Ranking) -> str:
    words = f"{ranking.strength} evidence, {ranking.supports} more for it, {ranking.against} against it"
    if ranking.in_doubt:
        words += ", and what would rule it out is unknown"
    if ranking.explained_by:
        return f"{words}; a consequence of {', '.join(ranking.explained_by)}"
    return f"{words}; {ranking.severity}"


def _source(finding: Finding) -> str:
    return "; ".join(f"{one.document}, {one.section}" for one in (finding.source, *finding.more_sources))


def _evidence(one: EvidenceSeen) -> list[str]:
    unit = METRICS[one.metric].unit
    value = words(one.value, unit)
    if one.between is not None:
        low, high = (None if bound is None else numbers.quantity(bound, unit) for bound in one.between)
        value += f" ({low} to {high})" if high else f" ({low} or more)"
    right = words(one.threshold, unit)
    if one.planned is not None:
        right += f" (the plan: {words(one.planned, unit)})"
    elif one.basis != "value":
        right += f" ({one.basis})"
    return [one.metric, value, OPERATORS.get(one.op, one.op), right, _ROLES[one.role]]


def _action(place: int, one: ActionAdvised) -> list[str]:
    turn = f"{one.knob}: {one.direction}"
    unit = METRICS[one.knob].unit if one.knob in METRICS else ""
    if one.from_value is not None:
        turn += f" from {words(one.from_value, unit)}"
    if one.to is not None:
        turn += f" to {words(one.to, unit)}"
    flags = "; ".join(f"{engine} {flag}" for engine, flag in one.flags.items())
    return [str(place), one.text, f"{turn} ({flags})" if flags else turn, expectation(one), _takes(one)]


def _takes(one: ActionAdvised) -> str:
    return one.cost if one.safe else f"{one.cost}, with care"


def _needs(diagnosis: Diagnosis) -> Iterator[str]:
    for name in diagnosis.need:
        meaning = METRICS[name].meaning
        yield f"{name}: {meaning}" if meaning else name


def words(value: Shown, unit: str) -> str:
    """A value with its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, str):
        return value
    return numbers.quantity(float(value), unit)
