"""Turns plain values into nouns, and the refusals of pydantic into faults with their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from planner.errors import Fault, InputError, nearest
from planner.loaders import messages, out_of_scope
from planner.loaders.annotations import elsewhere, keys_at
from planner.loaders.places import Key, dotted, short
from planner.loaders.rest import UNKNOWN, Rest, value_at
from planner.loaders.yaml_source import Document

LONGEST = 300
"""Characters of one part of a message at most."""

MOST_NAMES = 1000
"""Characters of known keys at most."""
MAX_REFUSALS = 200
"""Faults of one file that are told one by one: each needs the nearest of many names."""

NounT = TypeVar("NounT", bound=BaseModel)


def validated(model: type[NounT], document: Document, more: Iterable[Fault] = ()) -> NounT:
    """The noun in a document.

    Args:
        model: The noun's class.
        document: The parsed file.
        more: Faults found in other ways, shown together with the rest.

    Raises:
        InputError: all faults of the file, by line.
    """
    noun, faults = attempt(model, document)
    faults = merged([*document.faults, *faults, *more])
    if noun is None or faults:
        raise InputError(faults)
    return noun


def attempt(model: type[NounT], document: Document) -> tuple[NounT | None, tuple[Fault, ...]]:
    """The noun, or the reasons why there is none.

    What keys say together is looked at only where every key alone is right. So what was refused is taken
    away, and the rest is looked at again: no fault waits for the next run.
    """
    try:
        return model.model_validate(document.value), ()
    except ValidationError as problem:
        found, left = _refusals(problem, document.value)
    faults = list(_told(found, model, document))
    rest = Rest(document.value)
    while found and not left and len(faults) < MAX_REFUSALS:
        rest.without((refusal.path, refusal.kind, _meant(refusal, model)) for refusal in _close(found))
        try:
            model.model_validate(rest.value)
            break
        except ValidationError as problem:
            found, left = _refusals(problem, rest.value)
        found = [refusal for refusal in found if not rest.is_echo(refusal.path, refusal.kind)]
        faults += _told(found, model, document)
    return None, merged([*faults, *_left(document, left)])


def merged(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """The faults by file and line; of several at one place the first alone."""
    first: dict[tuple[str, str], Fault] = {}
    for fault in faults:
        first.setdefault((fault.where, fault.key), fault)
    return tuple(sorted(first.values(), key=_order))


def _order(fault: Fault) -> tuple[str, int]:
    name, _, line = fault.where.rpartition(":")
    return (name, int(line)) if line.isdigit() else (fault.where, 0)


@dataclass(frozen=True)
class _Refusal:
    """One line of a ValidationError with the path it stands at."""

    kind: str
    path: Key
    union: Key | None
    """Where the alternatives part, if the refusal belongs to one of several."""
    branch: str
    value: Any
    context: dict[str, Any]
    text: str

    @property
    def is_wrong_type(self) -> bool:
        """The value is of another kind altogether than this alternative reads."""
        word = self.kind == "literal_error" and not isinstance(self.value, str)
        strange = word or self.kind.endswith(("_type", "_parsing", "is_instance_of"))
        return self.path == self.union and strange


def faults_of(problem: ValidationError, model: type[BaseModel], document: Document) -> tuple[Fault, ...]:
    """Every refusal as a fault; the alternatives of one union give one answer."""
    found, left = _refusals(problem, document.value)
    return merged([*_told(found, model, document), *_left(document, left)])


def _refusals(problem: ValidationError, value: Any) -> tuple[list[_Refusal], int]:
    """What is refused, and how much more of it there is."""
    errors = problem.errors(include_url=False)
    found = [_refusal(error, value) for error in errors[:MAX_REFUSALS]]
    return [one for one in found if not _is_short_only(one, value)], max(0, len(errors) - MAX_REFUSALS)


def _told(refusals: Sequence[_Refusal], model: type[BaseModel], document: Document) -> Iterator[Fault]:
    groups: dict[Key | int, list[_Refusal]] = {}
    for number, refusal in enumerate(refusals):
        groups.setdefault(number if refusal.union is None else refusal.union, []).append(refusal)
    for key, group in groups.items():
        if isinstance(key, tuple):
            yield from _union_faults(group, model, document)
        else:
            yield _fault(group[0], model, document)


def _close(refusals: Sequence[_Refusal]) -> list[_Refusal]:
    """Without the alternatives of a union that the value is not like, where it is like another."""
    like = {refusal.union for refusal in refusals if not refusal.is_wrong_type}
    return [one for one in refusals if one.union is None or one.union not in like or not one.is_wrong_type]


def _meant(refusal: _Refusal, model: type[BaseModel]) -> str:
    """The known key that an unknown one probably is; empty where it is like none."""
    known = keys_at(model, refusal.path[:-1]) if refusal.kind == UNKNOWN else ()
    return nearest(str(refusal.path[-1]), known).strip('"') if known else ""


def _left(document: Document, count: int) -> list[Fault]:
    """What is not told one by one, at the end of the file."""
    if not count:
        return []
    last = document.data.count(b"\n") + 1
    where = f"{document.name}:{last}" if document.data else document.name
    return [Fault(where, "", f"{count:,} more faults", "those above mended first")]


def _is_short_only(refusal: _Refusal, root: Any) -> bool:
    """A list called too short only because all its items were refused."""
    value = value_at(root, refusal.path)
    is_long = isinstance(value, list | tuple) and len(value) >= refusal.context.get("min_length", 0)
    return refusal.kind == "too_short" and is_long


def _refusal(error: ErrorDetails, root: Any) -> _Refusal:
    path: list[str | int] = []
    union: Key | None = None
    branch = ""
    value: Any = root
    steps = error["loc"]
    for number, step in enumerate(steps):
        inside = _step(value, step)
        if inside is not None:
            path.append(step)
            value = inside[0]
        elif number == len(steps) - 1 and error["type"] == "missing":
            path.append(step)
        elif step != "[key]" and union is None:
            union, branch = tuple(path), str(step)
    context = dict(error.get("ctx") or {})
    path += context.pop("at", ())
    return _Refusal(error["type"], tuple(path), union, branch, error["input"], context, error["msg"])


def _step(value: Any, step: str | int) -> tuple[Any] | None:
    if isinstance(value, dict) and step in value:
        return (value[step],)
    if isinstance(value, list | tuple) and isinstance(step, int) and 0 <= step < len(value):
        return (value[step],)
    return None


def _union_faults(refusals: Sequence[_Refusal], model: type[BaseModel], document: Document) -> list[Fault]:
    """The alternative that the value comes closest to; all of them where it is like none."""
    close = [refusal for refusal in refusals if not refusal.is_wrong_type]
    if close:
        return [_fault(r, model, document) for r in close if r.branch == close[0].branch]
    faults = [_fault(refusal, model, document) for refusal in refusals]
    expected = " or ".join(dict.fromkeys(fault.expected for fault in faults))
    maybe = next((fault.maybe for fault in faults if fault.maybe), "")
    return [Fault(faults[0].where, faults[0].key, faults[0].found, expected, maybe)]


def _fault(refusal: _Refusal, model: type[BaseModel], document: Document) -> Fault:
    where, key = document.where(refusal.path), dotted(document.value, refusal.path)
    if refusal.kind == UNKNOWN:
        if out_of_scope.is_training(refusal.path[-1]) or out_of_scope.is_training(refusal.value):
            return Fault(where, key, out_of_scope.TRAINING, out_of_scope.EXPECTED)
        known = keys_at(model, refusal.path[:-1])
        name = str(refusal.path[-1])
        maybe = nearest(name, known) or _elsewhere(model, name)
        return Fault(where, key, "an unknown key", _one_of(known), maybe)
    expected = short(messages.expected(refusal.kind, refusal.context, refusal.text), LONGEST)
    maybe = short(messages.maybe(refusal.kind, refusal.context, refusal.value), LONGEST)
    return Fault(where, key, _found(refusal), expected, maybe)


def _elsewhere(model: type[BaseModel], name: str) -> str:
    place = elsewhere(model, name)
    if place == name:
        return f'"{name}" at the top level'
    return f'"{place}"' if place else ""


def _one_of(names: Sequence[str]) -> str:
    text = f"one of {', '.join(names)}"
    return text if len(text) <= MOST_NAMES else f"{short(text, MOST_NAMES)} ({len(names)} in all)"


def _found(refusal: _Refusal) -> str:
    if refusal.kind == "missing":
        return "no such key"
    if "found" in refusal.context and refusal.kind != "quantity":
        return short(str(refusal.context["found"]), LONGEST)
    return messages.show(refusal.value)
