"""How far a prediction may be off: what it is, and how far it lies from what was measured.

Equation: sigma = base f sqrt(1 + sum c_k x_k^2), f the product of the factors of what is predicted and c_k
the variance, in units of that of measured rows, that a distance of x_k adds (`planner.performance.distance`).
A product below 1 must be earned together: of an architecture with n rows of the engine and format it is
f^(n / (n + 10)). What is quiet in one place says little about another.

Source: errors of published rows and of rows left out of the fit, `docs/accuracy.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.performance.distance import LIGHT, Distances, Ground, LoadPoint, layout_kind
from planner.schema.catalog import Calibration
from planner.schema.configuration import Configuration
from planner.schema.spread import BEYOND_MEAN, Property, SpreadModel

QUANTITIES = ("throughput", "tpot", "ttft")
DISAGGREGATED = "disaggregated"
"""The mode that errors are told apart by."""
_SAME_TIMES = {"throughput": "tpot", "tpot": "throughput"}
"""Steps make both: what one knows of an architecture, an engine or a format holds for the other."""
EVIDENCE_ROWS = 10.0
"""Rows of an architecture, engine and format at which half of what is quiet about them counts."""
_MOST_KEPT = 16
RANKS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
_grounds: dict[int, Ground] = {}


def ground_of(calibration: Calibration) -> Ground | None:
    """What the calibration has measured; None where it does not say. Kept by object: it is asked often."""
    measured = calibration.measured
    if measured is None:
        return None
    kept = _grounds.get(id(measured))
    if kept is None or kept.measured is not measured or kept.known is not calibration.known:
        if len(_grounds) >= _MOST_KEPT:
            _grounds.clear()
        kept = _grounds[id(measured)] = Ground(measured, calibration.known)
    return kept


def properties(item: Configuration, load: LoadPoint = LIGHT) -> dict[Property, str]:
    """What the errors of a configuration may differ by."""
    mode: dict[Property, str] = {"mode": DISAGGREGATED} if load.disaggregated else {}
    return mode | {
        "architecture": item.accelerator.architecture,
        "engine": item.engine.id,
        "format": item.weights.id,
        "layout": layout_kind(item),
        "experts": "experts" if item.model.experts else "dense",
    }


def class_sigma_log(item: Configuration, load: LoadPoint = LIGHT) -> dict[str, float]:
    """Log-standard deviation of throughput, TPOT and TTFT of a configuration at a load."""
    ground, model = ground_of(item.calibration), item.calibration.spread
    if ground is None or model is None:
        return _of_all(item.calibration)
    far = ground.distances(item, load)
    known = known_sigma_log(item, load)
    return {number: sigma * widening(model, number, far) for number, sigma in known.items()}


def known_sigma_log(item: Configuration, load: LoadPoint = LIGHT) -> dict[str, float]:
    """The same as if this model were measured on this GPU, and nothing were far."""
    ground, model = ground_of(item.calibration), item.calibration.spread
    if ground is None or model is None:
        return _of_all(item.calibration, "known")
    rows, words = ground.evidence(item), properties(item, load)
    return {number: sigma_log_of(model, words, number, rows) for number in QUANTITIES}


def near_sigma_log(
    model: SpreadModel, item: Configuration, number: str, rows: float, load: LoadPoint = LIGHT
) -> float:
    """Of one number where everything is measured; what was not has the factor 1.

    ``rows``: of the architecture with this engine and format.
    """
    return sigma_log_of(model, properties(item, load), number, rows)


def sigma_log_of(model: SpreadModel, words: Mapping[Property, str], number: str, rows: float) -> float:
    """The same of what has these properties."""
    factors = _factors_of(model, number)
    other = _factors_of(model, _SAME_TIMES.get(number, number))
    found = 1.0
    for kind, name in words.items():
        found *= factors.get(kind, {}).get(name, other.get(kind, {}).get(name, 1.0))
    return model.base[number] * (found if found > 1.0 else found ** (rows / (rows + EVIDENCE_ROWS)))


def _factors_of(model: SpreadModel, number: str) -> Mapping[Property, Mapping[str, float]]:
    return model.factors.get(number, {})


def widening(model: SpreadModel, number: str, distances: Distances) -> float:
    """sqrt(1 + sum c_k x_k^2)."""
    added = model.distances[number]
    return math.sqrt(1.0 + sum(added.get(name, 0.0) * x * x for name, x in distances.items()))


def per_doubling_sigma_log(item: Configuration, load: LoadPoint = LIGHT) -> float:
    """What a doubling of the batch beyond the largest measured adds to TPOT, in quadrature."""
    ground, model = ground_of(item.calibration), item.calibration.spread
    if ground is None or model is None:
        return 0.0
    near = near_sigma_log(model, item, "tpot", ground.evidence(item), load)
    return near * math.sqrt(model.distances["tpot"].get("batch", 0.0))


def _of_all(calibration: Calibration, kind: str = "new") -> dict[str, float]:
    sigma = calibration.sigma_log
    keys = {number: (f"{number}_{kind}", f"{number}_new") for number in QUANTITIES}
    return {number: next(sigma[key].value for key in names if key in sigma) for number, names in keys.items()}


def beyond_mean_sigma_log(calibration: Calibration, name: str) -> float:
    """What a percentile (``ttft_p99``) adds in quadrature to the log-spread of its mean; 0 for means.

    A percentile without one of its own takes that of the percentile below; end-to-end times, which consist of
    both, the larger one of first tokens and of answers.

    Source: steady published runs, see `planner.calibration.percentile_spread`.
    """
    metric, _, percentile = name.partition("_")
    if percentile not in RANKS:
        return 0.0
    below = [key for key in RANKS if RANKS[key] <= RANKS[percentile]]
    parts = (metric,) if metric != "e2e" else ("e2e", "ttft", "tpot")
    found = (calibration.sigma_log.get(f"{part}_{key}{BEYOND_MEAN}") for part in parts for key in below)
    return max((item.value for item in found if item is not None), default=0.0)


def percentile_sigma_log(of_mean: Mapping[str, float], calibration: Calibration, name: str) -> float:
    """Log-standard deviation of one percentile (``ttft_p99``), never below that of its mean.

    Equation: sqrt(s^2 + e^2), s that of the mean of what is predicted (of TPOT for ITL, and for end-to-end
    times, most of which are answers) and e what the percentile adds.

    Args:
        of_mean: of throughput, TPOT and TTFT (`class_sigma_log`).
        calibration: has what percentiles add.
        name: of a limit.
    """
    mean = of_mean["ttft" if name.startswith("ttft") else "tpot"]
    return math.hypot(mean, beyond_mean_sigma_log(calibration, name))
