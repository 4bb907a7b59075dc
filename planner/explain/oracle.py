"""A problem that is asked as rarely as possible: what tighter or looser limits showed is used."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner.schema.choice import Choice
from planner.schema.reasons import Asker, Changes, Goal, NamedLimit

Looseness = tuple[int, Fraction]
"""The larger, the looser: (0, value, negative where the limit falls), or `OFF` where it is taken away."""
Point = tuple[Looseness, ...]
"""Where every limit stands, in the order of the limits."""

OFF: Looseness = (1, Fraction(0))
_SHUT: Looseness = (0, Fraction(0))


class Oracle:
    """An `Asker` with a memory.

    Loosening never makes a feasible problem infeasible. So what is feasible is feasible at every looser
    point, what is infeasible is infeasible at every tighter one, and a choice that was found is still
    feasible when budget, stock and number of GPUs shrink to what it takes.
    """

    def __init__(self, asker: Asker) -> None:
        """``asker``: stock is named ``stock:GPU`` after the GPUs in its choices; budget is in USD/h.

        Choices that say themselves what they take of each limit (``Choice.taken``) are believed.
        """
        self.asker = asker
        self.limits: tuple[NamedLimit, ...] = asker.limits
        self.objective: str = asker.objective
        self.asks = 0
        """Questions that nothing known answered."""
        self._place = {limit.id: place for place, limit in enumerate(self.limits)}
        self._today = tuple(_looseness(limit, limit.value) for limit in self.limits)
        self._feasible: list[tuple[Point, Choice | None]] = []
        """With a choice that was found there, where one was."""
        self._infeasible: list[Point] = []
        self._unknown: set[frozenset[tuple[int, Looseness]]] = set()
        self._answers: dict[object, Choice] = {}

    @classmethod
    def of(cls, asker: Asker) -> Oracle:
        """The asker itself where it has a memory already."""
        return asker if isinstance(asker, Oracle) else cls(asker)

    def limit(self, name: str) -> NamedLimit:
        """By id."""
        return self.limits[self._place[name]]

    def point(self, changes: Changes) -> Point:
        """Where every limit stands after changes."""
        point = list(self._today)
        for name, value in changes.items():
            limit = self.limit(name)
            point[self._place[name]] = _off(limit) if value is None else _looseness(limit, value)
        return tuple(point)

    def feasible(self, changes: Changes) -> bool | None:
        """Whether anything keeps all limits after the changes; None where a limit of time left it open."""
        known = self.known(changes)
        if known is not None or self._moved(changes) in self._unknown:
            return known
        status = self.ask(changes, "any").status
        return None if status == "unknown" else status != "infeasible"

    def known(self, changes: Changes) -> bool | None:
        """What earlier answers tell about the changes, without a question."""
        point = self.point(changes)
        if any(_looser(point, other) for other, _ in self._feasible):
            return True
        if any(_looser(other, point) for other in self._infeasible):
            return False
        return None

    def ask(self, changes: Changes, goal: Goal = "value", objective: str | None = None) -> Choice:
        """The choice after the changes; the same question is asked once."""
        key = (frozenset(changes.items()), goal, objective)
        if key not in self._answers:
            self.asks += 1
            self._answers[key] = choice = self.asker.ask(changes, goal, objective)
            self._learn(changes, choice)
        return self._answers[key]

    @property
    def by_cost(self) -> bool:
        """Cost is what is minimized."""
        return self.objective in ("cost", "cost_per_token")

    def best(self, changes: Changes) -> Choice:
        """The optimum of the problem's own objective; where that is not cost, the cheapest of the optima."""
        found = self.ask(changes, "value" if self.by_cost else "plan")
        return found if found.status != "unknown" else self._cheapest_known(changes) or found

    @property
    def left_open(self) -> bool:
        """A limit of time or work left a question without an answer."""
        return bool(self._unknown)

    def _cheapest_known(self, changes: Changes) -> Choice | None:
        """Of the choices found at this or tighter points; nothing is proved of it."""
        point = self.point(changes)
        found = [choice for other, choice in self._feasible if choice is not None and _looser(point, other)]
        best = min(found, key=lambda choice: choice.cost_usd_per_h, default=None)
        return None if best is None else replace(best, status="feasible", gap=None)

    def suppose(self, changes: Changes, feasible: bool) -> None:
        """Remember what another search proved."""
        if feasible:
            self._feasible.append((self.point(changes), None))
        else:
            self._infeasible.append(self.point(changes))

    def bracket(self, name: str, changes: Changes) -> tuple[Fraction | None, Fraction | None]:
        """The loosest value of a limit known to be infeasible and the tightest one known to be feasible.

        None where nothing is known, or only that taking the limit away is feasible.
        """
        point, place = self.point(changes), self._place[name]
        shut = [p[place] for p in self._infeasible if _looser(p, point, but=place)]
        open_ = [p[place] for p, _ in self._feasible if _looser(point, p, but=place)]
        limit = self.limits[place]
        return (
            _value(limit, max(shut)) if shut else None,
            _value(limit, min(open_)) if open_ else None,
        )

    def _learn(self, changes: Changes, choice: Choice) -> None:
        if choice.status in ("optimal", "feasible"):
            self._feasible.append((self._tightened(self.point(changes), choice), choice))
        elif choice.status == "infeasible":
            self._infeasible.append(self.point(changes))
        else:
            self._unknown.add(self._moved(changes))

    def _moved(self, changes: Changes) -> frozenset[tuple[int, Looseness]]:
        """Limits that changes move, with where they stand then: a point, without all that stays."""
        places = {self._place[name]: (self.limit(name), value) for name, value in changes.items()}
        found = {p: _off(limit) if v is None else _looseness(limit, v) for p, (limit, v) in places.items()}
        return frozenset((place, at) for place, at in found.items() if at != self._today[place])

    def _tightened(self, point: Point, choice: Choice) -> Point:
        """The market's limits at what the choice takes."""
        used = [_taken(limit, choice) for limit in self.limits]
        return tuple(
            place if amount is None else (0, amount) for place, amount in zip(point, used, strict=True)
        )


def _taken(limit: NamedLimit, choice: Choice) -> Fraction | None:
    """How much of a limit a choice takes; None where it does not say."""
    if choice.taken is not None:
        return choice.taken.get(limit.id)
    if not choice.counts:
        return None
    if limit.kind == "budget" and limit.unit == "USD/h":
        return choice.cost_usd_per_h
    if limit.kind == "max-gpus":
        return Fraction(sum(choice.gpus.values()))
    if limit.kind == "stock":
        return Fraction(choice.gpus.get(limit.id.removeprefix("stock:"), 0))
    return None


def loosest(limit: NamedLimit) -> Fraction | None:
    """The value at which a limit stops mattering, where one is known."""
    assert limit.value is not None
    ends = limit.values[:1] if limit.falls else limit.values[-1:]
    if limit.most is not None:
        ends = (limit.most,)
    if not ends:
        return None
    return min(ends[0], limit.value) if limit.falls else max(ends[0], limit.value)


def _looseness(limit: NamedLimit, value: Fraction | None) -> Looseness:
    if value is None:
        return _SHUT
    end = loosest(limit)
    if end is not None and limit.kind != "demand":
        value = max(value, end) if limit.falls else min(value, end)
    return (0, -value if limit.falls else value)


def _off(limit: NamedLimit) -> Looseness:
    """Taken away; the same as its loosest value where one is known."""
    if limit.value is None or limit.kind == "demand":
        return OFF
    end = loosest(limit)
    return OFF if end is None else _looseness(limit, end)


def _value(limit: NamedLimit, looseness: Looseness) -> Fraction | None:
    if looseness == OFF:
        return None
    return -looseness[1] if limit.falls else looseness[1]


def _looser(one: Point, other: Point, but: int = -1) -> bool:
    """No limit of the first is tighter than in the second."""
    return all(a >= b or place == but for place, (a, b) in enumerate(zip(one, other, strict=True)))
