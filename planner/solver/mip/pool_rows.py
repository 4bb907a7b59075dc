"""The rows of one pool in one period."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from planner.solver.mip.cuts import Cut
from planner.solver.mip.mip import INF, Model
from planner.solver.mip.pools import Pool
from planner.solver.mip.prepared import Prepared

Terms = list[tuple[int, float]]

MOST_LOSSES = 12
"""Losses of replicas up to which every one gets shares of its own; beyond, cuts say what is short."""


Key = tuple[int, int, int]
"""Period, number of the pool in its workload, number of the place in its pool."""


@dataclass
class Block:
    """The columns of one block in a model."""

    work: int
    periods: tuple[int, ...]
    counts: dict[Key, int] = field(default_factory=dict)
    uses: dict[int, Terms] = field(default_factory=dict)
    """By resource."""
    takers: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """Column by period, bucket and API."""
    levels: dict[int, int] = field(default_factory=dict)


@dataclass
class Served:
    """The part of a bucket that one way serves: columns plus a constant."""

    terms: Terms
    constant: float


class PoolWriter:
    """Rows of one pool in one period."""

    def __init__(
        self,
        prepared: Prepared,
        cuts: Iterable[Cut],
        model: Model,
        block: Block,
        period: int,
        number: int,
        pool: Pool,
        active: int | None,
    ) -> None:
        """``active``: the binary of its way, where there is a choice."""
        self.prepared, self.cuts = prepared, cuts
        self.model, self.block, self.period = model, block, period
        self.number, self.pool, self.active = number, pool, active
        self.level = self.prepared.works[block.work].most_level
        self.most: dict[int, int] = {}
        self.of_option: dict[int, Terms] = {}
        self.using: dict[tuple[int, int], int] = {}
        """Binary [replicas of an option >= count] by (option, count)."""
        self.known: set[int] = set()
        """Options whose binary of use is never 1 without replicas."""

    def write(self, served: Mapping[int, Served], allowed: frozenset[tuple[int, int]] | None) -> None:
        """All of them. ``served``: by bucket; ``allowed``: places (pool, place) that may be used."""
        self.begin(served, allowed)
        pool = self.pool
        lost = pool.spares_of("replicas", "servers")
        several = sum(1 for need in pool.demand_f[self.period] if need > 0) > 1  # of one, its cut says all
        options = len(self.of_option)
        losses = math.comb(options + lost - 1, lost) if lost and options and several else 0
        if pool.demand.spares.kind in ("zones", "providers") and pool.spares:
            self._parts(served)
        elif 0 < losses <= MOST_LOSSES:
            self._losses(served, lost)
        else:
            self.shares(served, dict(self.of_option.items()))

    def begin(self, served: Mapping[int, Served], allowed: frozenset[tuple[int, int]] | None) -> None:
        """Replicas, their numbers and the rows known of them; without the shares."""
        self._counts(allowed)
        self._numbers()
        self._cuts(served)

    def _counts(self, allowed: frozenset[tuple[int, int]] | None) -> None:
        prepared, model = self.prepared, self.model
        for index, place in enumerate(self.pool.places):
            if allowed is not None and (self.number, index) not in allowed:
                continue
            most = self.most.setdefault(place.option, self._most_of(place.option))
            column = model.column(0, most, whole=True)
            self.block.counts[self.period, self.number, index] = column
            self.of_option.setdefault(place.option, []).append((column, 1.0))
            uses, option = self.block.uses, self.pool.options[place.option]
            for resource, amount in prepared.replica_uses(self.period, option, place):
                uses.setdefault(resource, []).append((column, amount))

    def _most_of(self, option: int) -> int:
        """Where starts are paid replicas may stay through periods that do without them."""
        if self.prepared.works[self.block.work].pays_starts:
            return self.pool.most_ever(option, self.level)
        return self.pool.most(option, self.period, self.level)

    def _use(self, option: int) -> int:
        """Binary column: the option has replicas."""
        return self.at_least(option, 1)

    def in_use(self) -> list[tuple[int, int]]:
        """Options with the binaries that tell whether they have replicas."""
        return [(option, self._use(option)) for option in self.of_option]

    def really_in_use(self) -> list[tuple[int, int]]:
        """The same binaries, and never 1 without replicas."""
        for option, column in self.in_use():
            if option not in self.known:
                self.known.add(option)
                self.model.row([*self.of_option[option], (column, -1.0)], lower=0)
        return self.in_use()

    def at_least(self, option: int, count: int) -> int:
        """Binary column: the option has so many replicas (it is 1 when it has; it may be 1 without)."""
        if (option, count) not in self.using:
            column = self.model.column(0, 1, whole=True)
            self.using[option, count] = column
            room = max(self._room(option) - count + 1, 1)
            self.model.row([*self.of_option[option], (column, -float(room))], upper=count - 1)
        return self.using[option, count]

    def _room(self, option: int) -> int:
        sites = len(self.of_option[option]) if self.pool.spares_of("zones", "providers") else 1
        return self.most[option] * sites

    def _numbers(self) -> None:
        """Least replicas, one option only, numbers of replicas for which rates hold."""
        model, pool, active = self.model, self.pool, self.active
        every = [term for terms in self.of_option.values() for term in terms]
        if active is None and pool.least:
            model.row(every, lower=pool.least)
        elif active is None:
            pass
        else:
            model.row([*every, (active, -float(pool.least))], lower=0)
            for option, terms in self.of_option.items():
                model.row([*terms, (active, -float(self._room(option)))], upper=0)
        if not pool.demand.mix:
            self._one_configuration()
        if any(option.counted for option in pool.options):
            self._counted(every)

    def _one_configuration(self) -> None:
        groups: dict[str, list[int]] = {}
        for option in self.of_option:
            groups.setdefault(self.pool.options[option].anywhere, []).append(option)
        if len(groups) == len(self.of_option):
            self.model.row([(self._use(option), 1.0) for option in self.of_option], upper=1)
            return
        taken = {name: self.model.column(0, 1, whole=True) for name in groups}
        self.model.row([(column, 1.0) for column in taken.values()], upper=1)
        for name, options in groups.items():
            for option in options:
                self.model.row([(self._use(option), 1.0), (taken[name], -1.0)], upper=0)

    def _counted(self, every: Terms) -> None:
        from planner.solver.counted import pieces  # brings CP-SAT along: only where it is needed

        model, pool = self.model, self.pool
        most = sum(self._room(option) for option in self.of_option)
        parts = [(first, last) for first, last in pieces(pool.options, most) if first <= most]
        taken = [model.column(0, 1, whole=True) for _ in parts]
        model.row([(piece, 1.0) for piece in taken], upper=1)
        model.row([*every, *((p, -float(f)) for p, (f, _) in zip(taken, parts, strict=True))], lower=0)
        model.row([*every, *((p, -float(n)) for p, (_, n) in zip(taken, parts, strict=True))], upper=0)
        for option, terms in self.of_option.items():
            one, room = pool.options[option], self._room(option)
            held = [
                (piece, -float(min(last, room)))
                for piece, (first, last) in zip(taken, parts, strict=True)
                if one.holds_for(first)
            ]
            if len(held) < len(taken):
                model.row([*terms, *held], upper=0)

    def shares(self, served: Mapping[int, Served], left: Mapping[int, Terms], *, spared: bool = True) -> None:
        """Every bucket is served, and no option is overloaded.

        Args:
            served: by bucket.
            left: replicas by option.
            spared: options keep spares of their own free, where there are such.
        """
        model, pool = self.model, self.pool
        needs, rates = pool.demand_f[self.period], pool.rates_f
        own = pool.spares_of("per_option") if spared else 0
        level = float(self.level)
        loads: dict[int, Terms] = {option: [] for option in left}
        for b, need in enumerate(needs):
            if need <= 0:
                continue
            share: Terms = []
            for option in left:
                if rates[option, b] > 0:
                    column = model.column(0, level)
                    share.append((column, 1.0))
                    loads[option].append((column, need / rates[option, b]))
                    if own:
                        model.row([(column, 1.0), (self._use(option), -level)], upper=0)
            part = served[b]
            model.row([*share, *((c, -a) for c, a in part.terms)], part.constant, part.constant)
        for option, load in loads.items():
            kept = [(self._use(option), float(own))] if own else []
            if load or own:
                model.row([*load, *kept, *((c, -a) for c, a in left[option])], upper=0)

    def _parts(self, served: Mapping[int, Served]) -> None:
        """Shares of their own for every loss of as many zones or providers as may go."""
        groups = self.pool.groups()
        for gone in itertools.combinations(groups, min(self.pool.spares, len(groups))):
            lost = {index for group in gone for index in group}
            left: dict[int, Terms] = {}
            for index, place in enumerate(self.pool.places):
                column = self.block.counts.get((self.period, self.number, index))
                if column is not None and index not in lost:
                    left.setdefault(place.option, []).append((column, 1.0))
            self.shares(served, left)

    def _losses(self, served: Mapping[int, Served], lost: int) -> None:
        """Shares of their own for every loss of replicas: exact without any cut."""
        for gone in itertools.combinations_with_replacement(self.of_option, lost):
            self.shares(served, self.without(gone))

    def without(self, gone: Sequence[int]) -> dict[int, Terms]:
        """Replicas by option after the loss of one of each of these."""
        return {
            option: [*terms, *((self.at_least(option, i + 1), -1.0) for i in range(gone.count(option)))]
            for option, terms in self.of_option.items()
        }

    def _cuts(self, served: Mapping[int, Served]) -> None:
        needs = self.pool.demand.demand_rps[self.period]
        # Of buckets that are hours only one has demand.
        live = [b for b, need in enumerate(needs) if need]
        counts = [(c, o, a) for o, terms in self.of_option.items() for c, a in terms]
        for cut in self.cuts:
            if cut.kind == "count":
                if cut.period == self.period:
                    self.model.row([(c, cut.weights_f[o] * a) for c, o, a in counts], lower=cut.least)
                continue
            portions = {b: cut.weights[b] * needs[b] for b in live if cut.weights[b]}
            total = sum(portions.values(), Fraction(0))
            if total > 0:
                self._price_cut(cut, {b: float(p / total) for b, p in portions.items()}, total, served)

    def _price_cut(
        self, cut: Cut, portions: Mapping[int, float], total: Fraction, served: Mapping[int, Served]
    ) -> None:
        """Scaled so that the demand is 1."""
        needs, rates = self.pool.demand.demand_rps[self.period], self.pool.rates
        live = [b for b, need in enumerate(needs) if need > 0]
        weights = {
            option: float(max(cut.weights[b] * rates[option][b] for b in live) / total)
            for option in self.of_option
        }
        terms = [(c, weights[o] * a) for o, ts in self.of_option.items() for c, a in ts]
        right = 0.0
        for b, portion in portions.items():
            terms += [(c, -portion * a) for c, a in served[b].terms]
            right += portion * served[b].constant
        if cut.kind == "price":
            self.model.row([*terms, *self._loss(weights)], lower=right)
        lost = self.pool.spares_of("replicas", "servers")
        if lost and right > 1 - 1e-9:
            # Every mix is a convex mix of options that carry the demand alone with their spares: implied by
            # the whole numbers, and what makes the linear relaxation strong.
            alone = {option: weight / (1 + lost * weight) for option, weight in weights.items()}
            self.model.row([(c, alone[o] * a) for o, ts in self.of_option.items() for c, a in ts], lower=1)

    def _loss(self, weights: Mapping[int, float]) -> Terms:
        """Minus the weight of the heaviest replicas that may be lost.

        With ``[N_o >= i]`` as binaries it is the sum of the n largest of them, weighted: the least of
        n theta + sum of what each is above theta.
        """
        lost, model = self.pool.spares_of("replicas", "servers"), self.model
        if lost == 0:
            return []
        items = [(weights[o], self.at_least(o, i)) for o in self.of_option for i in range(1, lost + 1)]
        theta = model.column(0, INF)
        terms: Terms = [(theta, -float(lost))]
        for weight, binary in items:
            if weight <= 0:
                continue
            if lost == 1:
                model.row([(theta, 1.0), (binary, -weight)], lower=0)
                continue
            above = model.column(0, weight)
            model.row([(above, 1.0), (theta, 1.0), (binary, -weight)], lower=0)
            terms.append((above, -1.0))
        return terms
