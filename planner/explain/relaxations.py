"""What would have to give: the smallest changes of limits that make an infeasible problem feasible."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from planner.explain.axis import Axis, Value, axes_of
from planner.explain.conflicts import Conflicts
from planner.explain.mixed import Mixed, MixedSearch, settled
from planner.explain.oracle import Oracle
from planner.explain.regions import all_needed, corrections, pairs
from planner.explain.smallest import Found, smallest
from planner.explain.steps import switch_words
from planner.schema.choice import Choice
from planner.schema.limits_told import Change, Relaxation
from planner.schema.reasons import Asker, NamedLimit

Kind = Literal["single", "together", "mixed"]

_REACHES = (Fraction(3, 4), Fraction(19, 20))
"""How near to the change that suffices alone a mixture may come: nearer, it is that change again."""
_MOST_ASKS = 24
_MOST_SETS = 3


def relaxations(
    asker: Asker,
    conflicts: Conflicts,
    weights: Mapping[str, Fraction] | None = None,
    most_asks: int = _MOST_ASKS,
) -> tuple[Relaxation, ...]:
    """The smallest changes that make the problem feasible: of one limit, then of several together.

    Of these the smallest sum of relative changes comes first.

    - ``single``: for every limit, granted or given, that suffices alone: its smallest sufficient change.
    - ``together``: where no limit that somebody could grant suffices alone, sets of which each must change.
    - ``mixed``: of the most promising pairs that change together, neither as far as it would have to alone,
      and of those sets, the change with the smallest sum.

    Each is solved again as stated, and no change in it can be made 1 % smaller, that of a whole number by
    one. `Axis.size` says how large a change is. Singles ask as `smallest` says; the mixed one asks at most
    ``most_asks`` times, and then as often as it takes to make each of its changes minimal.

    Args:
        asker: the problem; an `Oracle` remembers what the conflicts showed.
        conflicts: its minimal conflicts.
        weights: how much a relative change of a limit counts, by id; default 1.
        most_asks: questions for a mixed change at most.
    """
    if conflicts.feasible:
        return ()
    oracle = Oracle.of(asker)
    _remember(oracle, conflicts)
    axes = axes_of({limit.id: limit for limit in oracle.limits}, weights)
    singles = _singles(oracle, axes, conflicts)
    found: list[tuple[Kind, Mixed]] = [
        ("single", Mixed({name: item.value}, axes[name].size(item.value))) for name, item in singles.items()
    ]
    mixture = _mixture(oracle, axes, singles, conflicts, most_asks)
    alone = bool(singles) if conflicts.given else any(axes[name].limit.grantable for name in singles)
    if mixture is None or not alone:
        sets = itertools.islice(corrections(oracle, axes, conflicts), 1 if alone else _MOST_SETS)
        found += [("together", mixed) for mixed in _together(oracle, axes, sets, most_asks // 3)]
    return _shown(oracle, axes, _with_mixed(found, mixture))


def foremost(oracle: Oracle) -> None:
    """Ask first what is answered at once and helps most: linear limits that suffice alone, and how far.

    Budget, stock and the like leave the options as they are, and without them there usually is a plan. Asked
    before the conflicts, they are known whatever time cuts; the answers stay in the oracle.
    """
    for limit in oracle.limits:
        if limit.grantable and limit.row is not None and oracle.feasible({limit.id: None}):
            smallest(oracle, Axis(limit), {})


def _with_mixed(found: Sequence[tuple[Kind, Mixed]], mixture: Mixed | None) -> list[tuple[Kind, Mixed]]:
    """The smallest of several limits that change together is the mixed one."""
    several = [mixed for _, mixed in found if len(mixed.changes) > 1]
    if mixture is not None:
        several.append(mixture)
    if not several:
        return list(found)
    best = min(several, key=lambda mixed: (mixed.size, sorted(mixed.changes)))
    rest = [(kind, mixed) for kind, mixed in found if mixed.changes != best.changes]
    return [*rest, ("mixed", best)]


def _remember(oracle: Oracle, conflicts: Conflicts) -> None:
    """What the conflicts and corrections prove, for an asker that did not see them found."""
    grantable = {limit.id for limit in oracle.limits if limit.grantable}
    for conflict in conflicts.sets:
        oracle.suppose(dict.fromkeys(grantable - set(conflict)), feasible=False)
    for correction in conflicts.corrections:
        oracle.suppose(dict.fromkeys(correction), feasible=True)
    if conflicts.given:
        oracle.suppose(dict.fromkeys(grantable), feasible=False)


def _singles(oracle: Oracle, axes: Mapping[str, Axis], conflicts: Conflicts) -> dict[str, Found]:
    """The smallest change of every limit that suffices alone."""
    alone = {names[0] for names in conflicts.corrections if len(names) == 1}
    found = {}
    # What is known to suffice comes before what has to be asked: time may end amid them.
    for name, axis in sorted(axes.items(), key=lambda item: oracle.known({item[0]: None}) is not True):
        if conflicts.complete and axis.limit.grantable and name not in alone:
            continue
        item = smallest(oracle, axis, {})
        if item is not None and item.needed:
            found[name] = item
    return found


def _mixture(
    oracle: Oracle,
    axes: Mapping[str, Axis],
    singles: Mapping[str, Found],
    conflicts: Conflicts,
    most_asks: int,
) -> Mixed | None:
    for reach in _REACHES:
        best = MixedSearch(oracle, pairs(axes, singles, conflicts, reach), most_asks).run()
        if best is not None:
            best = settled(oracle, axes, best)
            return best if len(best.changes) > 1 else None
    return None


def _together(
    oracle: Oracle, axes: Mapping[str, Axis], sets: Iterable[tuple[Axis, ...]], most_asks: int
) -> Iterator[Mixed]:
    """The smallest change of each set of limits that must all change."""
    for members in sets:
        region = all_needed(oracle, members)
        best = MixedSearch(oracle, [region], most_asks).run() if region is not None else None
        if best is not None:
            yield settled(oracle, axes, best)


def _shown(
    oracle: Oracle, axes: Mapping[str, Axis], found: Iterable[tuple[Kind, Mixed]]
) -> tuple[Relaxation, ...]:
    """Solved again as stated; what then fails, or what a limit of time left open, is not shown."""
    rows = []
    for kind, mixed in found:
        choice = oracle.best(mixed.changes)
        if choice.status in ("optimal", "feasible"):
            order = (len(mixed.changes), mixed.size, choice.cost_usd_per_h, sorted(mixed.changes))
            rows.append((order, _relaxation(kind, mixed, choice, axes)))
    return tuple(row for _, row in sorted(rows, key=lambda pair: pair[0]))


def _relaxation(kind: Kind, mixed: Mixed, choice: Choice, axes: Mapping[str, Axis]) -> Relaxation:
    return Relaxation(
        changes=tuple(_change(axes[name].limit, value) for name, value in mixed.changes.items()),
        cost_usd_per_hour=float(choice.cost_usd_per_h),
        kind=kind,
        relative_change=float(mixed.size),
        gap=None if choice.gap is None else float(choice.gap),
    )


def _change(limit: NamedLimit, value: Value) -> Change:
    on, off = switch_words(limit.kind) if limit.value is None else (None, None)
    return Change.model_validate(
        {
            "id": limit.id,
            "from": on if limit.value is None else float(limit.value),
            "to": off if value is None else float(value),
            "unit": limit.unit,
            "path": limit.path,
        }
    )
