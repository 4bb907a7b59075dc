"""Who answers the many questions of a command, and how each is named among answers that are kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.planning.run import Run
from planner.tasks.executor import Where


@dataclass(frozen=True)
class Spread:
    """Who answers, and where answers are kept."""

    where: Where = field(default_factory=Where)
    results: Path | None = None

    def limit_s(self, run: Run, questions: int) -> float | None:
        """What one of so many questions may take of the time that is left; None without a limit."""
        return run.part(max(questions / self.where.processes, 1.0)).time_limit_s


def key_of(*parts: Any) -> str:
    """Of a question: the same for the same inputs and the same version of the program."""
    text = json.dumps([Run().version, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
