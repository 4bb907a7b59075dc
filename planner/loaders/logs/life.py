"""One run of an engine as its log shows it: how far it came, whether it ended, and what it named as why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from planner.schema.log_format import LogLine

Stage = Literal["before-weights", "with-weights", "in-service"]
STAGES: tuple[Stage, ...] = ("before-weights", "with-weights", "in-service")
LONGEST_ERROR = 200


@dataclass
class Life:
    """What is known of the last run of one engine.

    An end stays one only while nothing of the engine follows it: errors that a program logs and survives, and
    runs that a supervisor starts again, are no end.
    """

    begun: bool = False
    """Some line was written by an engine."""
    stage: Stage = "before-weights"
    ended: bool = False
    stopped: bool = False
    """Somebody asked it to end."""
    error: str = ""
    """The first that was named since it started or last served."""

    def passes(self, line: LogLine, error: str, *, of_engine: bool) -> None:
        """Go on by one line.

        Args:
            line: its kind.
            error: the error that it names, if any.
            of_engine: an engine writes such lines, no library.
        """
        self.begun = self.begun or of_engine
        if line.marks == "stopped":
            self.ended, self.stopped = False, True
        elif line.marks in ("end", "error"):
            self.ended = self.ended or (line.marks == "end" and not self.stopped)
            self.error = self.error or error[:LONGEST_ERROR].strip()
        elif of_engine or line.traffic or line.marks:
            self._goes_on(line)

    def _goes_on(self, line: LogLine) -> None:
        serves = line.traffic or line.marks == "ready"
        if self.ended or (line.start and self.stage == "in-service"):
            self.stage, self.error = "before-weights", ""
        self.ended = self.stopped = False
        if serves:
            self.stage, self.error = "in-service", ""
        elif line.marks == "weights" and self.stage == "before-weights":
            self.stage = "with-weights"


def last_of(lives: Iterable[Life]) -> tuple[str, str] | None:
    """How the runs of all servers ended, the earliest stage first, with its error; None: still unknown."""
    known = [one for one in lives if one.begun]
    ended = [one for one in known if one.ended]
    if ended:
        worst = min(ended, key=lambda one: STAGES.index(one.stage))
        return worst.stage, worst.error
    return ("no", "") if any(one.stage == "in-service" for one in known) else None
