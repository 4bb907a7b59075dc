"""The ways to take one number from the series of an exporter, one function each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planner.loaders import histogram
from planner.loaders.board import Board, Group
from planner.loaders.over_replicas import over_replicas
from planner.schema.exporter import Replicas, Rule, Take
from planner.schema.readings import Note, NoteKind, Reading, Series

Taken = Reading | str | bool | None
"""A number with its interval, a name, a flag; None: nothing is known."""


@dataclass(frozen=True)
class Taking:
    """One value to be taken."""

    board: Board
    rule: Rule
    name: str
    """Field of the observation."""
    notes: list[Note] = field(default_factory=list)

    def say(self, kind: NoteKind, text: str) -> None:
        """Note something about the value."""
        self.notes.append(Note(kind, text, self.name))


def _value(at: Taking) -> Taken:
    return _over(at.rule.replicas, _sums(at, at.rule.of, lambda one: one.value))


def _growth(at: Taking) -> Taken:
    grown = _sums(at, at.rule.of, _per_second(lambda one: one.change))
    if not grown:
        at.say("lifetime", "its change needs two samples and the time between them")
    return _over(at.rule.replicas, grown)


def _rates(at: Taking) -> Mapping[Group, float]:
    """Events per second by replica; none since the start is none per second, whatever the time."""
    rates = _sums(at, at.rule.of, _per_second(lambda one: one.increase))
    if rates:
        return rates
    counts = _sums(at, at.rule.of, lambda one: one.increase)
    if counts and not any(counts.values()):
        return counts
    at.say("lifetime", "a rate needs two samples and the time between them")
    return {}


def _rate(at: Taking) -> Taken:
    return _over(at.rule.replicas, _rates(at))


def _share(at: Taking) -> Taken:
    rates = _rates(at)
    if not rates:
        return None
    events, active = sum(rates.values()), sum(_sums(at, at.rule.to, lambda one: one.value).values())
    if active <= 0:
        if events > 0:
            at.say("empty", "nothing is active now")
        return None if events > 0 else Reading.exactly(0.0)
    return Reading.exactly(events / active)


def _ratio(at: Taking) -> Taken:
    counting = at.board.exporter.series[at.rule.of[0]].type == "counter"

    def get(one: Series) -> float | None:
        return one.increase if counting else one.value

    above, below = _sums(at, at.rule.of, get), _sums(at, at.rule.to, get, whole=True)
    if at.rule.replicas is None:
        above, below = {(): sum(above.values())}, {(): sum(below.values())}
    else:
        above, below = _alike(at, above, below)
    ratios = {group: above.get(group, 0.0) / below[group] for group in below if below[group] > 0}
    if not ratios:
        at.say("empty", "nothing was counted in the window")
    elif counting:
        _say_lifetime(at)
    left = {group: 1 - ratio for group, ratio in ratios.items()} if at.rule.complement else ratios
    return _over(at.rule.replicas or "mean", left)


def _alike(
    at: Taking, above: Mapping[Group, float], below: Mapping[Group, float]
) -> tuple[dict[Group, float], dict[Group, float]]:
    """Both sides by the labels that every series of them has and that name no kind of event: by replica."""
    kinds = {label for wire in at.board.exporter.series.values() for label in wire.where}
    names = [{name for name, _ in group} for group in (*above, *below)]
    shared = set.intersection(*names) - kinds if names else set()

    def added(values: Mapping[Group, float]) -> dict[Group, float]:
        found: dict[Group, float] = {}
        for group, number in values.items():
            own = tuple(pair for pair in group if pair[0] in shared)
            found[own] = found.get(own, 0.0) + number
        return found

    return added(above), added(below)


def _quantile(at: Taking) -> Taken:
    buckets = histogram.added(at.board.buckets(at.rule.of[0]))
    reading = histogram.quantile(buckets, at.rule.quantile or 0.0)
    if reading is None:
        at.say("empty", "its histogram counted nothing in the window")
        return None
    _say_lifetime(at)
    if math.isinf(reading.high):
        at.say("bucket", f"at least {reading.low:g}: beyond the last edge of its histogram")
    else:
        at.say("bucket", f"between {reading.low:g} and {reading.high:g}, the edges of its bucket")
    return reading


def _mean(at: Taking) -> Taken:
    total, count = at.board.totals(at.rule.of[0])
    if count <= 0:
        at.say("empty", "its histogram counted nothing in the window")
        return None
    _say_lifetime(at)
    return Reading.exactly(total / count)


def _part(at: Taking) -> Taken:
    """Means of what follows one another over the mean of the whole; the requests behind them may differ."""
    whole = _mean_of(at, at.rule.to)
    parts = [_mean_of(at, (key,)) for key in at.rule.of if at.board.has(key)]
    if not whole or None in parts:
        at.say("empty", "a histogram of it counted nothing in the window")
        return None
    _say_lifetime(at)
    share = min(1.0, math.fsum(part or 0.0 for part in parts) / whole)
    return Reading.exactly(1 - share if at.rule.complement else share)


def _mean_of(at: Taking, keys: Sequence[str]) -> float | None:
    totals = [at.board.totals(key) for key in keys]
    total, count = (math.fsum(one[place] for one in totals) for place in (0, 1))
    return total / count if count > 0 else None


def _spread(at: Taking) -> Taken:
    replicas = _sums(at, at.rule.of, lambda one: one.value)
    total = math.fsum(replicas.values())
    if len(replicas) < 2 or total <= 0:
        at.say("empty", "there is one replica only" if len(replicas) < 2 else "nothing runs")
        return None
    return Reading.exactly(max(replicas.values()) * len(replicas) / total)


def _flag(at: Taking) -> Taken:
    """A counter tells of the window only, not of the life of a server."""
    series = [one for key in at.rule.of for one in at.board.series(key)]
    if at.board.exporter.series[at.rule.of[0]].type == "gauge":
        values = [one.value for one in series if math.isfinite(one.value)]
    else:
        values = [one.increase for one in series if one.increase is not None and not one.lifetime]
        if not values and any(one.increase for one in series):
            at.say("lifetime", "whether it rises needs two samples")
            return None
        values = values or [0.0]
    return any(value > 0 for value in values) if values else None


def _ever(at: Taking) -> Taken:
    return any(one.value > 0 or (one.increase or 0) > 0 for one in at.board.series(at.rule.of[0])) or None


def _bits(at: Taking) -> Taken:
    values = [
        int(one.value) for key in at.rule.of for one in at.board.series(key) if math.isfinite(one.value)
    ]
    if not values:
        return None
    found = (word for bit, word in at.rule.words.items() if any(value & int(bit) for value in values))
    return next(found, "none")


def _idle(at: Taking) -> Taken:
    replicas = _sums(at, at.rule.of, lambda one: one.value)
    if len(replicas) < 2:
        at.say("empty", "there is one replica only")
        return None
    return Reading.exactly(sum(value == 0 for value in replicas.values()) / len(replicas))


def _label(at: Taking) -> Taken:
    written = {one.labels.get(at.rule.label or "", "") for one in at.board.series(at.rule.of[0])} - {""}
    meant: set[str | bool | None] = {at.rule.words.get(word) if at.rule.words else word for word in written}
    if at.rule.times is not None:
        meant = set(_products(at, at.rule.times))
    if len(meant) > 1:
        at.say("mixed", f"replicas differ: {', '.join(sorted(written))}")
        return None
    return next(iter(meant), None)


def _products(at: Taking, other: str) -> Iterator[str]:
    """The label times another one, of each series where both are numbers."""
    for one in at.board.series(at.rule.of[0]):
        first, second = one.labels.get(at.rule.label or "", ""), one.labels.get(other, "")
        if first.isdecimal() and second.isdecimal():
            yield str(int(first) * int(second))


def _say_lifetime(at: Taking) -> None:
    if any(one.lifetime for one in at.board.series(at.rule.of[0])):
        at.say("lifetime", "over the life of the server, not of now: only one sample was there")


def _per_second(get: Callable[[Series], float | None]) -> Callable[[Series], float | None]:
    def rate(one: Series) -> float | None:
        number = get(one)
        return None if number is None or not one.seconds else number / one.seconds

    return rate


def _sums(
    at: Taking, keys: Sequence[str], get: Callable[[Series], float | None], *, whole: bool = False
) -> dict[Group, float]:
    """Sum of several series by replica; ``whole``: only of replicas that have all of them."""
    parts = [at.board.by_replica(key, get) for key in keys]
    groups = dict.fromkeys(group for part in parts for group in part)
    if whole and parts:
        groups = {group: None for group in groups if all(group in part for part in parts)}
    return {group: sum(part.get(group, 0.0) for part in parts) for group in groups}


def _over(replicas: Replicas | None, values: Mapping[Group, float]) -> Reading | None:
    """One number of all replicas."""
    if not values:
        return None
    number = over_replicas(replicas or "mean", list(values.values()))
    return None if number is None else Reading.exactly(number)


TAKES: Mapping[Take, Callable[[Taking], Taken]] = {
    "value": _value,
    "growth": _growth,
    "rate": _rate,
    "share": _share,
    "ratio": _ratio,
    "quantile": _quantile,
    "mean": _mean,
    "part": _part,
    "idle": _idle,
    "spread": _spread,
    "label": _label,
    "flag": _flag,
    "ever": _ever,
    "bits": _bits,
}
