"""Replies: answers, and refusals in the words of the command line as ``application/problem+json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.errors import Fault
from planner.report import json_document
from planner.serve.told import FaultTold, ProblemTold, State

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
CANCELED = 410
"""Gone: what was asked was taken back."""


@dataclass(frozen=True)
class Reply:
    """What is sent for a question."""

    status: int
    body: bytes
    state: State = "done"

    @property
    def media_type(self) -> str:
        """Of the body."""
        return JSON if self.status < 300 else PROBLEM_JSON


def bad(status: int, title: str, faults: Iterable[Fault], state: State = "failed") -> Reply:
    """A refusal with everything that is wrong."""
    faults = tuple(faults)
    told = ProblemTold(
        title=title,
        status=status,
        detail="\n".join(str(fault) for fault in faults),
        faults=FaultTold.of(faults),
    )
    return Reply(status, json_document.encode(json_document.of(told)), state)


def refusal(status: int, title: str, found: str, expected: str, where: str = "request") -> Reply:
    """A refusal of one fault."""
    return bad(status, title, [Fault(where, "", found, expected)])


def canceled() -> Reply:
    """Of a question that was taken back."""
    return bad(CANCELED, "Canceled", [Fault("job", "", "a cancel", "an answer")], "canceled")


def bug(text: str) -> Reply:
    """A fault of the program."""
    expected = "an answer: this is a bug in the planner, please report it with the question"
    return refusal(500, "Bug", text, expected, "planner")


def reply_of(kind: str, told: Mapping[str, Any], limit_s: float, memory_bytes: int) -> Reply:
    """What a worker said, as a reply."""
    if "document" in told:
        return Reply(200, str(told["document"]).encode())
    if "faults" in told:
        faults = [Fault(**fault) for fault in told["faults"]]
        return bad(422, "What was asked cannot be answered", faults)
    if "bug" in told:
        return bug(str(told["bug"]))
    ended = str(told.get("ended"))
    if ended == "canceled":
        return canceled()
    if ended == "time":
        found, expected = f"no answer within {limit_s:g} s", "a smaller question, or time_limit_s below that"
    else:
        found = f"a worker that ended, most likely for want of memory ({memory_bytes / 1e9:g} GB)"
        expected = "a smaller question"
    return bad(422, "Not answered", [Fault(kind, "", found, expected)])


def name_of(asked: Mapping[str, Any]) -> str:
    """Of the problem that is asked about; empty where it has none."""
    for key in ("problem", "stated", "plan"):
        value = asked.get(key)
        if isinstance(value, dict):
            return str(value.get("name") or value.get("problem") or value.get("model") or "")[:200]
        if isinstance(value, str):
            lines = (line.partition("name:")[2].strip() for line in value.splitlines() if line[:5] == "name:")
            return next(lines, "")[:200]
    return ""


def summary_of(reply: Reply) -> str:
    """Status and cost of a plan, in a few words."""
    if reply.status != 200:
        return ""
    document = json.loads(reply.body)
    plan = document.get("after", document)
    status, cost = plan.get("status"), plan.get("cost_usd_per_hour")
    if not isinstance(status, str):
        return ""
    return status if not isinstance(cost, int | float) else f"{status}, {cost:,.2f} USD/h"
