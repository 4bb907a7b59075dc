"""Spreads out of errors: what predictions err by near measured rows, and what each distance adds.

Near: the logarithm of ``base f`` is the 80 % quantile of log(|error| / 1.28) of rows whose pair was left out,
less what their distances add: quantile regression on what a row is, with a ridge that keeps factors of few
rows near 1. Rows in the fit say how much nearer a model is that was measured on the GPU. Away: each c_k is
the smallest with which 80 % of the rows that were left out at that distance lie inside their intervals, each
group of them counted less than its rows, and never below a floor: published rows lie close together and
cannot say what a new architecture may do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.calibration.accuracy import CONFIDENCE, SCORE
from planner.calibration.spread_errors import DISTANCES, IN_FIT, Errors, Factor, SpreadErrors
from planner.performance.spread import DISAGGREGATED, EVIDENCE_ROWS, QUANTITIES
from planner.physics.arrays import FloatArray
from planner.schema.spread import Distance, Property, SpreadModel

Picked = np.ndarray[tuple[int], np.dtype[np.bool_]]
SMOOTH = 0.1
"""Logarithms over which the loss bends."""
GROUPS = (("throughput", "tpot"), ("ttft",))
"""Numbers whose distances are one: steps make the first two."""
RIDGE = 4.0
"""Rows that a factor of e is worth."""
ROUNDS = 5
"""Factors and distances in turn."""
_SMALLEST_LOG = 1e-4
_MOST = 400.0
_DIGITS = 3
NEW_ARCHITECTURE = 2.0
"""An architecture without rows has at least so many times the spread of the one with most rows."""
_ORDER: tuple[tuple[Distance, tuple[str, ...]], ...] = (
    ("model", ("pair",)),
    ("family", ("family", "model")),
    ("disaggregated", (DISAGGREGATED,)),
    ("gpu", ("GPU", DISAGGREGATED)),
    ("hardware", ("GPU",)),
    ("engine", ("engine", "pair")),
    ("format", ("format", "pair")),
    ("layout", ("layout", "pair")),
    ("degree", (DISAGGREGATED,)),
    ("batch", ("batch", "pair")),
    ("context", ("context", "pair")),
    ("architecture", ("architecture",)),
)
"""Distance -> ways of leaving out that show it, the nearest first."""
FLOORS: Mapping[Distance, float] = {
    "model": 0.1,
    "family": 0.1,
    "gpu": 0.25,
    "hardware": 1.5,
    "engine": 0.1,
    "format": 0.1,
    "layout": 0.1,
    "degree": 0.1,
    "batch": 0.1,
    "context": 0.05,
    "disaggregated": 0.1,
    "architecture": NEW_ARCHITECTURE**2 - 1.0,
}
"""Judgment. Shares of peak carry over within an architecture within 2 points, across architectures they are
off by 8 to 21 %: a doubling of the hardware, about one generation, adds one and a half times what
measured rows scatter; an eightfold batch about as much, an eightfold context half of that."""


@dataclass(frozen=True, eq=False)
class Near:
    """``log(base f)`` by number: a constant and one term a factor."""

    terms: dict[str, FloatArray]

    def logs(self, errors: Errors) -> FloatArray:
        """Of every row; what is quiet must be earned together (`planner.performance.spread`)."""
        found = np.zeros(len(errors))
        for number, terms in self.terms.items():
            picked = errors.number == number
            factors = errors.has[picked] @ terms[1:]
            share = np.where(factors < 0.0, _quiet_share(errors.evidence[picked]), 1.0)
            found[picked] = terms[0] + factors * share
        return found


def _quiet_share(rows: FloatArray) -> FloatArray:
    """Share of what is quiet that counts."""
    return np.asarray(rows / (rows + EVIDENCE_ROWS))


def fitted_spread(errors: SpreadErrors, source: str) -> SpreadModel:
    """Factors and distances in turn; the model on the GPU is the first of the distances."""
    base: dict[str, float] = {}
    factors: dict[str, dict[Property, dict[str, float]]] = {}
    distances: dict[str, dict[Distance, float]] = {}
    for numbers in GROUPS:
        part, added = errors.of_numbers(numbers), at_floors()
        rows = part.by_way["pair"].with_(part.by_way[DISAGGREGATED])
        if not len(rows):
            continue
        near = near_spread(rows, added)
        for _ in range(ROUNDS):
            added = _added(part, near, added)
            near = near_spread(rows, added)
        for number, terms in near.terms.items():
            base[number] = _short(float(np.exp(terms[0])))
            factors[number] = _factors(errors.factors, terms[1:])
            distances[number] = {
                name: _short(value) for name, value in zip(DISTANCES, added, strict=True) if value > 0.0
            }
    return SpreadModel(base=base, factors=factors, distances=distances, source=source)


def at_floors() -> FloatArray:
    """What distances add at least."""
    return np.array([FLOORS.get(name, 0.0) for name in DISTANCES])


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _factors(names: tuple[Factor, ...], terms: FloatArray) -> dict[Property, dict[str, float]]:
    found: dict[Property, dict[str, float]] = {}
    for (kind, name), term in zip(names, terms, strict=True):
        if term != 0.0:
            found.setdefault(kind, {})[name] = _short(float(np.exp(term)))
    return found


# -- near measured rows -------------------------------------------------------------------------------------


def near_spread(near: Errors, added: FloatArray, kept: Picked | None = None) -> Near:
    """Terms of every number from rows near others, less what distances add; from some rows where told."""
    rows = np.ones(len(near), dtype=bool) if kept is None else kept
    wider = 0.5 * np.log1p(near.distances**2 @ added)
    weights = near.balanced()
    terms = {}
    for number in QUANTITIES:
        picked = rows & (near.number == number)
        if picked.any():
            logs = np.log(np.maximum(np.abs(near.logs[picked]), _SMALLEST_LOG) / SCORE) - wider[picked]
            share = weights[picked] / weights[picked].mean()
            design = np.column_stack([np.ones(logs.size), near.has[picked]])
            terms[number] = quantile_terms(design, logs, share, _quiet_share(near.evidence[picked]))
    return Near(terms)


def quantile_terms(
    design: FloatArray, logs: FloatArray, weights: FloatArray, quiet_share: FloatArray | float = 1.0
) -> FloatArray:
    """Terms t that minimise sum w rho(y - t_0 - e x) + ridge |t|^2 / 2, without the first term in the ridge.

    The first column of the design is 1; x is what the others sum up to. Below 0 the share e of it counts
    (``quiet_share``), above all of it.
    rho(u) = 0.8 u + h log(1 + exp(-u / h)), the smoothed loss of the 80 % quantile; damped Newton steps.
    """
    terms = np.zeros(design.shape[1])
    terms[0] = np.quantile(logs, CONFIDENCE)
    stiffness = np.full(terms.shape, RIDGE)
    stiffness[0] = 1e-9

    def counted(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the terms say of every row, and its slopes; the bend at 0 is as smooth as the loss."""
        x, loud = design[:, 1:] @ at[1:], 1.0 - np.asarray(quiet_share)
        said = at[0] + x + loud * SMOOTH * np.logaddexp(0.0, -x / SMOOTH)
        share = 1.0 - loud / (1.0 + np.exp(np.clip(x / SMOOTH, -60.0, 60.0)))
        return said, np.column_stack([np.ones(logs.size), design[:, 1:] * share[:, None]])

    def loss(at: FloatArray) -> float:
        rest = logs - counted(at)[0]
        rho = CONFIDENCE * rest + SMOOTH * np.logaddexp(0.0, -rest / SMOOTH)
        return float((weights * rho).sum() + 0.5 * (stiffness * at * at).sum())

    cost = loss(terms)
    for _ in range(200):
        said, columns = counted(terms)
        rest = logs - said
        below = 1.0 / (1.0 + np.exp(np.clip(rest / SMOOTH, -60.0, 60.0)))
        gradient = stiffness * terms - columns.T @ (weights * (CONFIDENCE - below))
        bend = weights * below * (1.0 - below) / SMOOTH
        curvature = (columns * bend[:, None]).T @ columns + np.diag(stiffness + 1e-6)
        move, length = -np.linalg.solve(curvature, gradient), 1.0
        while length > 1e-4 and loss(terms + length * move) > cost:
            length /= 2.0
        if length <= 1e-4:
            break
        terms = terms + length * move
        fall, cost = cost - loss(terms), loss(terms)
        if fall < 1e-9 * max(cost, 1.0):
            break
    return terms


# -- away from them -----------------------------------------------------------------------------------------


def _added(errors: SpreadErrors, near: Near, before: FloatArray) -> FloatArray:
    """What every distance adds, the nearer ones first; those that follow count as they did before."""
    added = before.copy()
    for name, ways in _ORDER:
        column, floor = DISTANCES.index(name), FLOORS.get(name, 0.0)
        if name == "architecture":
            # Both of a model that is measured on neither.
            floor = _of_new_architecture(errors, near) * (1.0 + added[DISTANCES.index("model")])
        if name == "model":
            least = _of_new_model(errors.by_way[IN_FIT], near, before[column])
        else:
            added[column] = 0.0
            least = _least([errors.by_way[way] for way in ways], near, added, column)
        added[column] = max(least, floor)
    return added


def _of_new_model(known: Errors, near: Near, before: float) -> float:
    """What a model adds that has no rows on the GPU: ``(1 + c) / r^2 - 1`` with c as it was.

    ``near`` is that of left-out pairs, less c; rows in the fit know their model and need r times as much.
    """
    ratios = np.abs(known.logs) / SCORE / np.exp(near.logs(known))
    return float(min((1.0 + before) / _quantile(ratios, known.balanced()) ** 2 - 1.0, _MOST))


def _least(found: list[Errors], near: Near, added: FloatArray, column: int) -> float:
    """The smallest c of a distance with which 80 % of the rows at it lie inside."""
    missed, scale, weights = [], [], []
    for part in found:
        at = part.distances[:, column] > 0.0
        variance = np.exp(2.0 * near.logs(part))[at]
        others = 1.0 + part.distances[at] ** 2 @ added
        missed.append((part.logs[at] / SCORE) ** 2 / variance - others)
        scale.append(part.distances[at, column] ** 2)
        weights.append(part.balanced()[at])
    # Row i lies inside from c_i = (e_i^2 / (1.28 s_i)^2 - others) / x_i^2 on.
    enough, weight = np.concatenate(missed) / np.concatenate(scale), np.concatenate(weights)
    if not enough.size:
        return 0.0
    return float(np.clip(_quantile(enough, weight), 0.0, _MOST))


def _quantile(values: FloatArray, weights: FloatArray) -> float:
    """The value that 80 % of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(share, CONFIDENCE)), values.size - 1)])


def _of_new_architecture(errors: SpreadErrors, near: Near) -> float:
    """At least twice the spread of the architecture with most rows, in every number."""
    in_fit = errors.by_way[IN_FIT]
    names = [(kind, name) for kind, name in errors.factors if kind == "architecture"]
    rows = [in_fit.has[:, errors.factors.index(name)].sum() for name in names]
    most = errors.factors.index(names[int(np.argmax(rows))])
    widest = max(float(np.exp(terms[1 + most])) for terms in near.terms.values())
    return max((NEW_ARCHITECTURE * widest) ** 2 - 1.0, FLOORS["architecture"])
