"""What can go wrong, in words: where, what was found, what was expected, what may be meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong with one place of one input.

    ``where`` is ``file:line`` (or a flag of the command line), ``key`` the dotted path inside it.
    """

    where: str
    key: str
    found: str
    expected: str
    maybe: str = ""

    def __str__(self) -> str:
        """As ``file:line: key: found X, expected Y. Maybe Z?``."""
        place = f"{self.where}: {self.key}" if self.key else self.where
        hint = f" Maybe {self.maybe}?" if self.maybe else ""
        return f"{place}: found {self.found}, expected {self.expected}.{hint}"


class PlannerError(Exception):
    """Anything a user can cause. The command line prints it and exits with ``exit_code``."""

    exit_code = 2


class InputError(PlannerError):
    """Bad input: all faults of the input at once."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Keep the faults in the order of their places."""
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Fault, ...]]]:
        """What another process makes it from."""
        return InputError, (self.faults,)


class CannotExpressError(PlannerError):
    """An honest no: what a plan asks for cannot be said in the words of another program."""

    exit_code = 1

    def __init__(self, reasons: Iterable[str]) -> None:
        """Keep the reasons, each once and as a sentence."""
        self.reasons: tuple[str, ...] = tuple(dict.fromkeys(reasons))
        super().__init__("\n".join(self.reasons))


class StoppedError(PlannerError):
    """A limit (time) ended the work before there was an answer."""

    exit_code = 3


def time_is_up(limit_s: float) -> StoppedError:
    """The end of a time limit before there was an answer."""
    return StoppedError(f"planner: the time limit of {limit_s:g} s ended the work before there was an answer")


class SearchInterrupted(KeyboardInterrupt):
    """The user ended a search. Who can tell its best answer does; everybody else lets this pass."""

    def __init__(self, best: Any = None) -> None:
        """``best``: the best answer so far, marked as such; None: there is none."""
        super().__init__()
        self.best = best


def input_error(where: str, key: str, found: str, expected: str, maybe: str = "") -> InputError:
    """An `InputError` of a single fault."""
    return InputError([Fault(where, key, found, expected, maybe)])


def nearest(word: str, known: Sequence[str], cutoff: float = 0.6) -> str:
    """The known name nearest to ``word`` in quotes, or an empty text when none is near."""
    if len(word) > 100:  # no name, and the comparison would take long
        return ""
    lower = {name.lower(): name for name in reversed(known)}
    close = get_close_matches(word.lower(), list(lower), n=1, cutoff=cutoff)
    return f'"{lower[close[0]]}"' if close else ""
