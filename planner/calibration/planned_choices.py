"""Choices as plans make them, with the margin of their confidence, and the choice of a GPU type by price."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.calibration.choice_loss import (
    LIMITS_MS,
    Choice,
    choice_losses,
    fitted_choices,
    left_out_choices,
)
from planner.calibration.fit_reference import ReferenceFit
from planner.calibration.fit_summary import observed, sigma_of
from planner.loaders.catalog import load_catalog
from planner.physics.arrays import FloatArray
from planner.queueing.lengths import normal_score
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.validation import ChoiceReport, GpuWinners


def choice_report(
    found: ReferenceFit, calibration: Calibration, overlays: tuple[Path, ...] = ()
) -> ChoiceReport:
    """Losses of choices: of the calibration, each pair left out, and the same with the planned margin."""
    catalog = load_catalog(overlays)
    planning = catalog.find("judgment", "planning").parameters
    margin = margins(found, float(planning["default_confidence_fraction"].value))
    planned = left_out_choices(found, margin)
    return ChoiceReport(
        fit=choice_losses(fitted_choices(found, calibration)),
        left_out=choice_losses(left_out_choices(found)),
        planned=choice_losses(planned),
        gpus=gpu_winners([*_limited(planned, catalog), *_offline(found)], cheapest_usd_per_gpu_h(catalog)),
    )


def margins(found: ReferenceFit, confidence: float) -> FloatArray:
    """Logarithm of the factor on TPOT by observation: ``z sigma``, as plans multiply step times.

    Sigma is that of rows that were left out, of the same kind of model and of other pairs alone: what one
    knows before a pair has rows.
    """
    items = [found.rows.configurations[row] for row in found.observations.row]
    pair = np.array([f"{item.model.id}|{item.accelerator.id}" for item in items])
    moe = np.array([item.model.experts > 0 for item in items])
    seen, logs = observed(found, "tpot"), found.left_out["pair"]
    result = np.zeros(len(found.observations))
    for name in sorted(set(pair[seen].tolist())):
        mine = seen & (pair == name)
        others = seen & (pair != name) & (moe == moe[mine][0])
        if others.any():
            result[mine] = normal_score(confidence) * sigma_of(logs[others])
    return result


# -- GPU types ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GpuRate:
    """What one measured configuration gives per GPU; 0 where it does not keep the limit of its group."""

    group: Hashable
    """A model, lengths and a limit: GPU types of one group stand against each other."""
    gpu: str
    predicted_rate: float
    measured_rate: float


def gpu_winners(rates: Iterable[GpuRate], usd_per_gpu_h: Mapping[str, float]) -> GpuWinners:
    """How often the GPU type that seems cheapest per token is, and what it costs beyond that.

    Each type stands with its best configuration. Groups need two types with a price and a measured
    configuration within the limit; where none seems to keep it, the dearest type counts as picked.
    """
    best: dict[Hashable, dict[str, tuple[float, float]]] = defaultdict(dict)
    for one in rates:
        if one.gpu in usd_per_gpu_h:
            predicted, measured = best[one.group].get(one.gpu, (0.0, 0.0))
            pair = max(predicted, one.predicted_rate), max(measured, one.measured_rate)
            best[one.group][one.gpu] = pair
    right, losses = 0, []
    for types in best.values():
        costs = {gpu: usd_per_gpu_h[gpu] / measured for gpu, (_, measured) in types.items() if measured > 0.0}
        if len(costs) < 2:
            continue
        seeming = {gpu: usd_per_gpu_h[gpu] / types[gpu][0] for gpu in costs if types[gpu][0] > 0.0}
        pick = min(seeming, key=seeming.__getitem__) if seeming else max(costs, key=costs.__getitem__)
        losses.append(costs[pick] / min(costs.values()) - 1.0)
        right += losses[-1] == 0.0
    count = max(len(losses), 1)
    return GpuWinners(len(losses), right / count, sum(losses) / count)


def cheapest_usd_per_gpu_h(catalog: Catalog) -> dict[str, float]:
    """The cheapest offer on demand of every accelerator that has one."""
    found: dict[str, float] = {}
    for _, offer in catalog.offers():
        accelerator = catalog.accelerator(offer.accelerator)
        if accelerator is not None and offer.usable:
            price = float(offer.on_demand) / offer.gpus
            found[accelerator.id] = min(price, found.get(accelerator.id, price))
    return found


def _limited(choices: Iterable[Choice], catalog: Catalog) -> Iterable[GpuRate]:
    for choice in choices:
        accelerator = catalog.accelerator(choice.gpu)
        gpu = choice.gpu if accelerator is None else accelerator.id
        for limit_ms in LIMITS_MS:
            predicted = choice.predicted_rate if choice.predicted_tpot_ms <= limit_ms else 0.0
            measured = choice.measured_rate if choice.measured_tpot_ms <= limit_ms else 0.0
            yield GpuRate((choice.load, limit_ms), gpu, predicted, measured)


def _offline(found: ReferenceFit) -> Iterable[GpuRate]:
    """Configurations at full load, which have no limit."""
    seen, logs = found.observations, found.left_out["pair"]
    for place in np.flatnonzero(observed(found, "throughput")).tolist():
        row, item = found.rows.measurements[seen.row[place]], found.rows.configurations[seen.row[place]]
        if row.kind == "offline" and row.gpus:
            measured = float(seen.measured[place]) / row.gpus
            group = (item.model.id, row.input_tokens, row.output_tokens, row.source)
            yield GpuRate(group, item.accelerator.id, measured * float(np.exp(-logs[place])), measured)
