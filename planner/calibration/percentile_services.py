"""Rows with percentiles -> services under their loads: what tables leave out, and what is not scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.calibration.held_prompts import with_held_prompts
from planner.calibration.ladders import sent_before, with_in_flight, with_start_up
from planner.calibration.measured_rows import LEGACY, measured_rows
from planner.calibration.token_groups import with_groups
from planner.performance.finite_run import Repeats
from planner.performance.row_loads import Service, row_loads
from planner.performance.rows import fitting_sequences
from planner.planning.requests import with_utilization
from planner.schema.catalog import Calibration, Parameter
from planner.schema.catalog_index import Catalog
from planner.schema.configuration import Configuration
from planner.schema.measurement import Measurement
from planner.schema.percentiles import PercentileRow
from planner.schema.routing import Routing
from planner.schema.service_load import Burst, ClosedLoop, OpenArrivals, ServiceLoad
from planner.steptime.build import build_specs

LARGEST_SHARE = 0.95
"""Of memory that an engine is given where less holds no request."""
KEPT_UP = 0.95
"""Completed over offered rate from which on a run kept up."""
LONG_RUN = 5_000
"""Requests from which on a run that kept up is long against its start."""


@dataclass(frozen=True, eq=False)
class PercentileServices:
    """Rows that can be predicted, with the reasons of those that cannot."""

    rows: tuple[PercentileRow, ...]
    services: tuple[Service, ...]
    families: tuple[str, ...]
    skipped: dict[str, str]
    """Id -> why not."""


def percentile_services(
    rows: Sequence[PercentileRow], catalog: Catalog, calibration: Calibration
) -> PercentileServices:
    """Resolve every row."""
    rows = with_in_flight(with_groups(with_start_up(rows)))
    found = measured_rows([row.measured for row in rows], catalog, calibration)
    by_id = {row.measured.id: row for row in rows}
    judgment = catalog.find("judgment", "measurements").parameters
    before = sent_before(rows)
    kept = tuple(by_id[row.id] for row in found.measurements)
    services = tuple(
        _service(row, complete, service, judgment, before.get(row.measured.id))
        for row, complete, service in zip(kept, found.measurements, found.services, strict=True)
    )
    kept = with_held_prompts(kept, services)
    return PercentileServices(kept, _with_room(kept, services), found.families, found.skipped)


def _with_room(rows: Sequence[PercentileRow], services: tuple[Service, ...]) -> tuple[Service, ...]:
    """A run with more in flight than the engine's own share of memory has room for was given a larger one."""
    loads, specs = row_loads(services), build_specs([service.item for service in services])
    fitting = fitting_sequences(specs, np.arange(len(services)), loads)
    return tuple(
        service
        if fits >= max(row.measured.in_flight / service.replicas, 1.0)
        else replace(service, item=_larger(service.item))
        for row, service, fits in zip(rows, services, fitting.tolist(), strict=True)
    )


def _larger(item: Configuration) -> Configuration:
    share = max(LARGEST_SHARE, float(item.engine.memory.utilization))
    return replace(item, engine=with_utilization(item.engine, share))


def _service(
    row: PercentileRow,
    measured: Measurement,
    service: Service,
    judgment: dict[str, Parameter],
    before: Repeats | None,
) -> Service:
    replicas = row.replicas or service.replicas
    return replace(
        service,
        load=_load(row, measured, Routing(row.policy or "round-robin", replicas)),
        replicas=replicas,
        input_log_sigma=_sigma(judgment, "input", row.input_kind, row, service),
        output_log_sigma=_sigma(judgment, "output", row.output_kind, row, service),
        most_input_tokens=_most(judgment, "input", row.input_kind, service.input_tokens),
        most_output_tokens=_most(judgment, "output", row.output_kind, service.output_tokens),
        repeats=_repeats(row, service, before),
    )


def _sigma(
    judgment: dict[str, Parameter], side: str, kind: str, row: PercentileRow, service: Service
) -> float:
    """By the kind of the distribution; of audited benchmarks, whose tables state no prompts, by data set."""
    known = judgment.get(f"{side}_log_sigma.{service.item.model.id}")
    if known is not None and not row.measured.input_tokens:
        return float(known.value)
    return float(judgment[f"{side}_log_sigma.{kind}"].value)


def _most(judgment: dict[str, Parameter], side: str, kind: str, mean_tokens: float) -> float:
    """The longest that clients of benchmarks keep of a data set, where a run's mean says that they did."""
    known = judgment.get(f"most_{side}_tokens.{kind}")
    return float(known.value) if known is not None and mean_tokens < known.value / 2.0 else math.inf


def _load(row: PercentileRow, measured: Measurement, routing: Routing) -> ServiceLoad:
    requests = int(measured.run_requests)
    if measured.kind == "open-loop":
        # A long run that kept up has a steady state, whatever the model says of its capacity.
        return OpenArrivals(
            measured.rate_rps, row.burstiness, routing, requests, kept_up=_is_steady(row, requests)
        )
    if measured.kind == "burst":
        return Burst(int(measured.requests), routing)
    return ClosedLoop(measured.requests, requests, equal_lengths=False, routing=routing)


def _is_steady(row: PercentileRow, requests: int) -> bool:
    kept_up = row.completed_rps >= KEPT_UP * row.measured.rate_rps
    return requests >= LONG_RUN and kept_up


def _repeats(row: PercentileRow, service: Service, before: Repeats | None) -> Repeats | None:
    """What prompts have in common, where a prefix cache finds it; legacy engines have none by default."""
    if not row.prefix_cache:
        return None
    if row.prompts is not None and row.prompts.groups:
        return Repeats(row.prompts.share, row.prompts.groups, row.prompts.prompts_per_group)
    return None if service.item.engine.id.endswith(LEGACY) else before
