"""A problem small enough to look at every plan: an asker for explanations, and answers by enumeration."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from planner.schema.choice import Choice
from planner.schema.reasons import NamedLimit

F = Fraction
CARRIED = ("demand", "headroom", "utilization", "redundancy")


@dataclass(frozen=True)
class Row:
    """One plan: what it costs, and the least that every limit has to allow for it."""

    usd: int
    gpus: dict[str, int]
    needs: dict[str, Fraction | int]
    """By limit id; a limit that is a yes or no is in the way where it is named."""
    carries: tuple[int, ...] = (10**9,)
    """Requests/s after the loss of 0, 1, … replicas."""
    replicas: int = 1


class PlanTable:
    """An `Asker` over a list of plans, each looked at for every question."""

    def __init__(self, rows, limits, objective="cost", silent=()):
        """``silent``: sets of limit ids; no answer comes when just these are changed."""
        self.rows, self.limits, self.objective = rows, tuple(limits), objective
        self.silent = {frozenset(names) for names in silent}
        self.asked = []
        self.by_id = {limit.id: limit for limit in self.limits}
        self.places = {limit.id: _places(limit, rows) for limit in self.limits if limit.kind not in CARRIED}
        lost = max(len(row.carries) for row in rows)
        carries = [[*row.carries, *[0] * (lost - len(row.carries))] for row in rows]
        self.carries = np.array(carries, dtype=float)
        self.orders = {
            by: sorted(range(len(rows)), key=lambda place: keys(rows[place], by)) for by in ("cost", "gpus")
        }

    def today(self):
        return {limit.id: limit.value if limit.value is not None else True for limit in self.limits}

    def ask(self, changes, goal="value", objective=None):
        self.asked.append(dict(changes))
        if frozenset(changes) in self.silent:
            return Choice("unknown")
        fine = self.fine(changes)
        if not fine.any():
            return Choice("infeasible")
        by = objective or self.objective
        if goal == "any":
            return self.choice(self.rows[int(np.flatnonzero(fine)[fine.sum() // 2])], "feasible", None)
        return self.choice(self.rows[next(place for place in self.orders[by] if fine[place])], "optimal", by)

    def choice(self, row, status, by):
        value = None if by is None else F(keys(row, by)[0])
        gpus = {gpu: count for gpu, count in row.gpus.items() if count}
        return Choice(status, counts={"row": 1}, gpus=gpus, cost_usd_per_h=F(row.usd), value=value,
                      lower_bound=value, gap=None if by is None else F(0))  # fmt: skip

    def fine(self, changes):
        """Which plans keep every limit after changes."""
        standing = self.today() | dict(changes)
        fine = self.carried(standing)
        for limit in self.limits:
            if limit.kind not in CARRIED:
                fine = fine & self.allowed(limit, standing[limit.id])
        return fine

    def allowed(self, limit, value):
        """Which plans one limit lets through: exact, by the place of its value among what plans need."""
        distinct, places = self.places[limit.id]
        if value is None:
            return np.ones(len(self.rows), dtype=bool)
        if limit.value is None:
            return places == 0
        if limit.falls:
            return places >= bisect_left(distinct, value)
        return places < bisect_right(distinct, value)

    def carried(self, standing):
        value = {limit.kind: standing[limit.id] for limit in self.limits if limit.kind in CARRIED}
        if value.get("demand") is None:
            return np.ones(len(self.rows), dtype=bool)
        lost = int(value.get("redundancy") or 0)
        share = value["utilization"] if value.get("utilization") is not None else F(1)
        least = math.ceil(value["demand"] * (1 + (value.get("headroom") or 0)) / share)
        return self.left(lost) >= least

    def left(self, lost):
        return self.carries[:, lost] if lost < self.carries.shape[1] else np.zeros(len(self.rows))

    # -- answers by enumeration ---------------------------------------------------------------------------

    def feasible(self, changes):
        return bool(self.fine(changes).any())

    def conflicts(self):
        """Every subset of the grantable limits, with the others taken away; minimal ones only."""
        names = sorted(limit.id for limit in self.limits if limit.grantable)
        given = self.fine(dict.fromkeys(names))
        broken = [
            {names[place] for place in np.flatnonzero(row)}
            for row in np.array(
                [given & ~self.allowed(self.by_id[name], self.today()[name]) for name in names]
            ).T[given]
        ]
        found = []
        for size in range(len(names) + 1):
            for subset in map(set, itertools.combinations(names, size)):
                if all(row & subset for row in broken) and not any(known <= subset for known in found):
                    found.append(subset)
        return tuple(tuple(sorted(subset)) for subset in found)

    def smallest_alone(self, name):
        """The exact smallest sufficient value of one limit alone; False where none is."""
        limit = self.by_id[name]
        fine = np.flatnonzero(self.fine({name: None}))
        if not fine.size:
            return False
        if limit.value is None:
            return None
        if limit.kind in CARRIED:
            return self._smallest_carried(limit, fine)
        distinct, places = self.places[name]
        return distinct[int((max if limit.falls else min)(places[fine]))]

    def _smallest_carried(self, limit, fine):
        value = {one.kind: one.value for one in self.limits if one.kind in CARRIED}
        lost, share = int(value.get("redundancy", 0)), value.get("utilization", F(1))
        demand, headroom = value["demand"], value.get("headroom", F(0))
        if limit.kind == "redundancy":
            ways = [n for n in range(lost) if self.feasible({limit.id: F(n)})]
            return F(max(ways)) if ways else False
        left = F(int(self.left(lost)[fine].max()))
        if limit.kind == "demand":
            return left * share / (1 + headroom) or False
        if limit.kind == "headroom":
            return left * share / demand - 1 if left * share >= demand else False
        least = demand * (1 + headroom) / left if left else F(2)
        return least if least <= 1 else False

    def best(self, changes):
        """(cost, GPUs) of the optimum after changes, or None."""
        fine = self.fine(changes)
        rows = [row for row, kept in zip(self.rows, fine, strict=True) if kept]
        best = min(rows, key=lambda row: keys(row, self.objective), default=None)
        return None if best is None else (F(best.usd), sum(best.gpus.values()))


def need(limit, row):
    """The tightest value of a limit that lets a plan through; for a yes or no, 1 where it is in the way."""
    if limit.kind == "budget":
        return F(row.usd)
    if limit.kind == "max-gpus":
        return F(sum(row.gpus.values()))
    if limit.kind == "stock":
        return F(row.gpus.get(limit.id.removeprefix("stock:"), 0))
    if limit.kind == "replicas":
        return F(row.replicas)
    return F(row.needs.get(limit.id, 0))


def _places(limit, rows):
    """What plans need, each once and ascending, and the place of every plan in it; bits for a yes or no."""
    needs = [need(limit, row) for row in rows]
    if limit.value is None:
        return [], np.array([int(one > 0) for one in needs])
    distinct = sorted(set(needs))
    return distinct, np.array([bisect_left(distinct, one) for one in needs])


def keys(row, by):
    cost, gpus = row.usd, sum(row.gpus.values())
    return (gpus, cost) if by == "gpus" else (cost, gpus)


# -- random problems ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """One kind of replica of a random problem."""

    rate: int
    usd: int
    gpus: int
    gpu: str
    ttft_ms: int
    itl_ms: int
    memory: Fraction
    marks: frozenset


def random_table(rng, smooth=True, tight=True):
    """Plans that buy up to a few replicas of up to four kinds, and limits that are usually too tight.

    ``smooth``: some limits may take every value. Not ``tight``: half the limits are wide.
    """
    kinds = [
        Kind(
            rng.randint(1, 9), rng.randint(1, 12), rng.choice([1, 2, 4]), rng.choice(["g0", "g1"]),
            rng.choice([100, 200, 350, 500, 800]), rng.choice([10, 20, 35, 50]),
            F(rng.choice([70, 85, 92, 97]), 100),
            frozenset(name for name in ("precision:w", "rule-a", "rule-b") if rng.random() < 0.3),
        )
        for _ in range(rng.randint(1, 4))
    ]  # fmt: skip
    most = {1: 8, 2: 6, 3: 4, 4: 3}[len(kinds)]
    rows = [
        _row(kinds, counts) for counts in itertools.product(range(most + 1), repeat=len(kinds)) if any(counts)
    ]
    return PlanTable(
        rows, random_limits(rng, rows, kinds, smooth, tight), rng.choice(["cost", "cost", "gpus"])
    )


def _row(kinds, counts):
    used = [(kind, count) for kind, count in zip(kinds, counts, strict=True) if count]
    rates = sorted((kind.rate for kind, count in used for _ in range(count)), reverse=True)
    gpus = {}
    for kind, count in used:
        gpus[kind.gpu] = gpus.get(kind.gpu, 0) + kind.gpus * count
    needs = {
        "ttft:w": F(max(kind.ttft_ms for kind, _ in used), 1000),
        "itl:w": F(max(kind.itl_ms for kind, _ in used), 1000),
        "vram:w": max(kind.memory for kind, _ in used),
    }
    needs |= {mark: 1 for kind, _ in used for mark in kind.marks}
    usd = sum(kind.usd * count for kind, count in used)
    return Row(usd, gpus, needs, tuple(sum(rates[lost:]) for lost in range(4)), len(rates))


def random_limits(rng, rows, kinds, smooth, tight):
    granted = [*_random_replica_limits(rng, rows, kinds, smooth, tight), *_random_market(rng, tight)]
    return tuple(limit for limit in [*granted, *_random_given(rng, tight)] if limit is not None)


def _random_replica_limits(rng, rows, kinds, smooth, tight):
    """Latency and memory, with the values that matter or with every value; rules and formats."""
    steps = rng.random() < 0.5 or not smooth

    def one(chance, name, kind, unit, *values):
        known = tuple(sorted({row.needs[name] for row in rows})) if steps else ()
        value = rng.choice(values)
        return NamedLimit(name, kind, "", unit, value, values=known) if rng.random() < chance else None

    yield one(0.8, "ttft:w", "latency", "s", F(3, 10), F(1, 2), *([F(6, 100), F(15, 100)] if tight else []))
    yield one(
        0.7, "itl:w", "latency", "s", F(3, 100), F(1, 20), *([F(8, 1000), F(15, 1000)] if tight else [])
    )
    yield one(0.5, "vram:w", "memory", "fraction", F(9, 10))
    for name in ("precision:w", "rule-a", "rule-b"):
        if any(name in kind.marks for kind in kinds):
            yield NamedLimit(name, "precision" if ":" in name else "rule", "")


def _random_market(rng, tight):
    def one(chance, name, kind, unit, most, whole=True):
        value = F(rng.randint(0 if kind == "stock" else 2, most if tight else 3 * most))
        return NamedLimit(name, kind, "", unit, value, whole=whole) if rng.random() < chance else None

    yield one(0.4, "stock:g0", "stock", "GPUs", 8)
    yield one(0.4, "stock:g1", "stock", "GPUs", 8)
    yield one(0.6, "budget", "budget", "USD/h", 40, whole=False)
    yield one(0.4, "max-gpus", "max-gpus", "GPUs", 12)


def _random_given(rng, tight):
    def one(chance, name, kind, value, most=None, falls=True, whole=True):
        limit = NamedLimit(name, kind, "", "replicas", F(value), False, falls, whole, most=most)
        return limit if rng.random() < chance else None

    demand = F(rng.randint(1, 40 if tight else 15), rng.choice([1, 1, 3]))
    yield one(1, "demand:w", "demand", demand, whole=False)
    yield one(0.5, "headroom", "headroom", F(1, 5), F(0), whole=False)
    yield one(0.4, "redundancy", "redundancy", rng.randint(1, 3 if tight else 1), F(0))
    yield one(0.3, "min_replicas", "replicas", rng.randint(2, 9 if tight else 3), F(1))
    yield one(0.3, "max_utilization", "utilization", F(9, 10), F(1), falls=False, whole=False)
