"""How far a prediction may be off: the class of a configuration among the measured ones."""

from __future__ import annotations

from typing import Literal

from planner.schema.catalog import Calibration
from planner.schema.configuration import Configuration

SpreadClass = Literal["known", "new", "new_model", "new_gpu"]
IN_WORDS = {
    "new": "no measured rows of this model family on this architecture, but of each with others",
    "new_model": "no measured rows of this model family",
    "new_gpu": "no measured rows of this accelerator architecture",
}
QUANTITIES = ("throughput", "tpot", "ttft")


def spread_class(calibration: Calibration, family: str, architecture: str) -> SpreadClass:
    """Whether rows of this model family on this architecture were in the fit, or what was new.

    ``known``: both together. ``new``: each, but with others. ``new_model``: the family has no rows at
    all. ``new_gpu``: the architecture has none.
    """
    if calibration.knows(family, architecture):
        return "known"
    if architecture not in calibration.known:
        return "new_gpu"
    if not any(family in families for families in calibration.known.values()):
        return "new_model"
    return "new"


def class_sigma_log(item: Configuration) -> dict[str, float]:
    """Log-standard deviation of throughput, TPOT and TTFT by the class of a configuration.

    Source: errors of left-out rows, `docs/accuracy.md`. A mixture of experts has its own where the
    calibration states one.
    """
    return _of_class(item, spread_class(item.calibration, item.model.family, item.accelerator.architecture))


def known_sigma_log(item: Configuration) -> dict[str, float]:
    """The same as if rows of this family on this architecture were in the fit."""
    return _of_class(item, "known")


def _of_class(item: Configuration, name: SpreadClass) -> dict[str, float]:
    sigma = item.calibration.sigma_log
    found = {}
    for quantity in QUANTITIES:
        keys = [f"{quantity}_{name}_moe"] if item.model.moe_layers else []
        keys += [f"{quantity}_{name}", f"{quantity}_new"]
        key = next(key for key in keys if key in sigma)
        found[quantity] = sigma[key].value
    return found


def percentile_sigma_log(item: Configuration, metric: str, percentile: str) -> float:
    """Log-standard deviation of one percentile (``ttft``, ``p99``) of a configuration.

    Never below that of the mean of its class; TPOT stands for ITL, and end-to-end times are as sure as first
    tokens. Where the calibration states none for the percentile, that of the mean.

    Source: errors of published runs with percentiles, `docs/accuracy.md`.
    """
    of_mean = class_sigma_log(item)["tpot" if metric in ("itl", "tpot") else "ttft"]
    stated = item.calibration.sigma_log.get(f"{metric}_{percentile}")
    return of_mean if stated is None else max(of_mean, stated.value)
