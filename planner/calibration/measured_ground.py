"""What rows of measurement tables measured: the table that ships with the calibration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from planner.calibration.measured_rows import MeasuredRows
from planner.performance.distance import Ground, LoadPoint
from planner.performance.rows import fitting_sequences
from planner.physics.arrays import FloatArray
from planner.schema.configuration import Configuration
from planner.schema.spread import KINDS_OF_PARALLELISM, Measured, MeasuredGpu, MeasuredSetup

SOURCE = "spread"


def load_points(rows: MeasuredRows) -> tuple[LoadPoint, ...]:
    """Of every row: at most as many requests in flight as fit and as the run had, and whole requests."""
    loads = rows.loads
    specs = rows.prepared.specs(rows.configurations[0].calibration)
    fitting = fitting_sequences(specs, np.arange(len(loads)), loads)
    of_run = np.array([row.run_requests or np.inf for row in rows.measurements]) / loads.replicas
    batch = np.maximum(np.minimum(np.minimum(loads.requests, of_run), fitting), 1.0)
    tokens: FloatArray = loads.input_tokens + loads.output_tokens
    return tuple(
        LoadPoint(float(many), float(long), row.disaggregated)
        for many, long, row in zip(batch, tokens, rows.measurements, strict=True)
    )


def ground_of_rows(rows: MeasuredRows, points: tuple[LoadPoint, ...], picked: Iterable[int]) -> Ground:
    """The ground of some rows, one line for each GPU, engine, pair of formats, kind of layout and mode."""
    lines: dict[tuple[object, ...], list[int]] = defaultdict(list)
    families: dict[str, set[str]] = defaultdict(set)
    gpus: dict[str, MeasuredGpu] = {}
    for row in sorted(set(picked)):
        item = rows.configurations[row]
        lines[(*_line(item), points[row].disaggregated)].append(row)
        families[item.accelerator.architecture].add(rows.families[row])
        gpus[item.accelerator.id] = MeasuredGpu(
            architecture=item.accelerator.architecture,
            bandwidth_bytes_per_s=float(item.accelerator.memory.bandwidth),
            flops_per_s=float(item.accelerator.compute.bf16),
        )
    setups = tuple(_setup(rows, points, lines[key]) for key in sorted(lines))
    known = {name: tuple(sorted(families[name])) for name in sorted(families)}
    return Ground(Measured(gpus=dict(sorted(gpus.items())), setups=setups, source=SOURCE), known)


def _line(item: Configuration) -> tuple[object, ...]:
    names = (item.accelerator.id, item.engine.id, item.weights.id, item.kv.id)
    return (*names, *(getattr(item, name) > 1 for name, _ in KINDS_OF_PARALLELISM))


def _setup(rows: MeasuredRows, points: tuple[LoadPoint, ...], members: list[int]) -> MeasuredSetup:
    items = [rows.configurations[row] for row in members]
    one = items[0]
    return MeasuredSetup(
        gpu=one.accelerator.id,
        engine=one.engine.id,
        weights=one.weights.id,
        kv=one.kv.id,
        tp=max(item.tp for item in items),
        pp=max(item.pp for item in items),
        attention_dp=max(item.attention_dp for item in items),
        ep=max(item.ep for item in items),
        rows=len(members),
        batch=float(round(max(points[row].batch for row in members))),
        context=float(round(max(points[row].context for row in members))),
        disaggregated=points[members[0]].disaggregated,
        models=tuple(sorted({item.model.id for item in items})),
    )
