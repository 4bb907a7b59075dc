"""A diagnosis as a message of Slack.

Source: api.slack.com, Block Kit (header, section, context) and mrkdwn, in which & < > are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from planner.characters import spelled
from planner.report.diagnosis_brief import headline
from planner.report.diagnosis_text import OPERATORS, words
from planner.schema.diagnosis import Diagnosis, Finding
from planner.schema.metrics import METRICS

MOST_HEADER, MOST_TEXT = 150, 3000
"""Characters that Slack takes in a header, and in a section."""
_MARKS = {"down": ":red_circle:", "degraded": ":large_orange_circle:", "warning": ":large_yellow_circle:"}
_PROOFS = 3


def message(diagnosis: Diagnosis, alerts: Sequence[str] = ()) -> tuple[str, list[dict[str, Any]]]:
    """The text for notifications, and the blocks: verdict, proof, what to do, what else it could be."""
    told = headline(diagnosis)
    mark = _MARKS.get(diagnosis.severity, ":white_circle:")
    header = spelled(f"{diagnosis.severity}: {', '.join(dict.fromkeys(filter(None, alerts))) or 'diagnosis'}")
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": _cut(header, MOST_HEADER)}},
        _section(f"{mark} *{_safe(told)}*"),
    ]
    if diagnosis.findings:
        blocks += [_section(text) for text in _parts(diagnosis.findings[0]) if text]
    others = [f"{one.layer} {one.title}" for one in diagnosis.findings[1:3]]
    judged = f"{len(diagnosis.judged)} of {diagnosis.measures} measures observed"
    rest = [f"also: {'; '.join(others)}" if others else "", judged]
    texts = {"type": "mrkdwn", "text": _cut(_safe(". ".join(filter(None, rest))), MOST_TEXT)}
    return spelled(told), [*blocks, {"type": "context", "elements": [texts]}]


def _parts(finding: Finding) -> Iterable[str]:
    proofs = [one for one in finding.evidence if one.role != "against"][:_PROOFS]
    yield "\n".join(
        f"• `{one.metric}` {_safe(words(one.value, METRICS[one.metric].unit))}, "
        f"{OPERATORS.get(one.op, one.op)} {_safe(words(one.threshold, METRICS[one.metric].unit))}"
        for one in proofs
    )
    if finding.actions:
        first = finding.actions[0]
        setting = first.command or next(iter([*first.commands.values(), *first.flags.values()]), "")
        code = f"\n```{_safe(setting)}```" if setting else ""
        undo = f"\nUndo: {_safe(first.undo)}" if first.undo else ""
        yield f"*Do:* {_safe(first.text)}{code}{undo}"
    if finding.alternatives:
        yield f"*Or:* {_safe('; '.join(finding.alternatives))}"


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, MOST_TEXT)}}


def _safe(text: str) -> str:
    """Words that mention nobody and link nowhere, and that end no code."""
    escaped = spelled(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("`", "\u02cb")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
