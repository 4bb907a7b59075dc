"""What only the service answers: faults of a problem, files of an export, jobs, refusals of requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from planner.errors import Fault
from planner.schema.base import Noun

State = Literal["queued", "running", "done", "failed", "canceled"]
FINISHED: tuple[State, ...] = ("done", "failed", "canceled")


class FaultTold(Noun):
    """One thing wrong with an input."""

    where: str
    key: str
    found: str
    expected: str
    maybe: str = ""

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> tuple[FaultTold, ...]:
        """Faults as documents."""
        return tuple(
            cls(where=one.where, key=one.key, found=one.found, expected=one.expected, maybe=one.maybe)
            for one in faults
        )


class Checked(Noun):
    """What is wrong with a problem; nothing: it can be planned."""

    faults: tuple[FaultTold, ...]
    problem: str = ""
    """The problem file that flags stand for."""


class TextTold(Noun):
    """An answer in the words of the command line."""

    text: str


class SlackTold(Noun):
    """A message as Slack takes it (api.slack.com, Block Kit)."""

    text: str
    """For notifications, where no blocks are shown."""
    blocks: tuple[dict[str, Any], ...]


class ExportTold(Noun):
    """An export with the contents of its files."""

    target: str
    files: tuple[str, ...] = ()
    cannot_express: tuple[str, ...] = ()
    contents: dict[str, str] = Field(default_factory=dict)
    """Text by path."""


class ProblemTold(Noun):
    """Why a request got no answer (RFC 9457, ``application/problem+json``)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    faults: tuple[FaultTold, ...] = ()


class JobTold(Noun):
    """A question that was taken, and how far it is."""

    id: str
    kind: str
    state: State
    name: str = ""
    """Of its problem."""
    summary: str = ""
    """Of a plan: its status and cost."""
    progress: str = ""
    created: str
    finished: str | None = None
    status: int | None = None
    """HTTP status of its answer."""


class JobsTold(Noun):
    """Jobs, the newest first."""

    jobs: tuple[JobTold, ...]
