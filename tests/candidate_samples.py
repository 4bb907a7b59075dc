"""Lots, spaces and evaluations made by hand: every number is chosen here, no physics runs."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import numpy as np
from step_samples import BF16, BOX, DENSE, FP8, MOTOR, ROUND, configuration

from planner.candidates.attributes import configuration_name
from planner.candidates.layouts import Space
from planner.schema.candidates import AllowedFormat, Candidates, Capacities, Lot, Verdict
from planner.schema.demand import Demand
from planner.schema.evaluation import Evaluation
from planner.schema.search import Search
from planner.schema.slo import METRICS
from planner.schema.traffic import Traffic
from planner.schema.workload import Workload

FORMATS = {item.id: item for item in (BF16, FP8)}
STRUCTURAL = ("precision", "max-quality-loss", "divisibility", "interconnect")
ONE = np.ones(1)
TRAFFIC = Traffic(ONE, ONE * 100, ONE, ONE * 10, 100.0, 10.0, 100.0, 10.0, 100.0, 10.0, 110, 0.0, 1.0)


def lot(name="box", unit=8, limit=None, link=None, purchase="gpu", usd="2", accelerator=BOX) -> Lot:
    """Servers of a user, or an instance; by default eight boxes on one link."""
    link = min(accelerator.link.domain, unit) if link is None else link
    return Lot(
        id=f"fleet/{name}",
        accelerator=accelerator,
        name=name,
        unit_gpus=unit,
        group_limit_gpus=limit or unit,
        fast_link=link > 1,
        link_gpus=link,
        purchase=purchase,
        usd_per_unit_h=Decimal(usd),
        offer=None,
    )


def space(**changes) -> Space:
    """The tiny dense model in 16 bit; every list is the default."""
    fields = {
        "model": DENSE,
        "engine": MOTOR,
        "calibration": ROUND,
        "weights": (AllowedFormat(BF16, True),),
        "kv": (AllowedFormat(BF16, True),),
        "find_format": FORMATS.get,
        "search": Search(),
        "network_bytes_per_s": 25e9,
        "network_latency_s": 1e-5,
        "chunks": (2048,),
        "stages_always": False,
    }
    return Space(**(fields | changes))


def holds_at_least(gpus):
    """A memory model: replicas of so many GPUs hold one sequence a GPU."""
    return lambda items: np.array([item.gpus if item.gpus >= gpus else 0 for item in items], dtype=np.int64)


def bits(count, *places):
    """So many bits, set at these places."""
    found = np.zeros(count, dtype=bool)
    found[list(places)] = True
    return found


def evaluation(items=None, rates=None, limits_s=None, name="chat", **changes) -> Evaluation:
    """Candidates that all run at the given rates, each on lot 0; ``changes`` replace any column."""
    items = items or tuple(configuration(tp=tp) for tp in (1, 2, 4))
    count = len(items)
    zeros = np.zeros(count, dtype=np.int64)
    limits_s = limits_s or {}
    candidates = Candidates(
        configurations=tuple(items),
        names=tuple(configuration_name(item) for item in items),
        attributes={},
        structural={key: bits(count) for key in STRUCTURAL},
        placed_configuration=np.arange(count),
        placed_lot=zeros,
        placed_units=zeros,
        placed_part=bits(count),
    )
    capacities = Capacities(
        max_batch=zeros + 8,
        rate_rps=np.array(rates if rates is not None else [1.0] * count),
        latency_s={key: np.full(count, 0.5 * limit) for key, limit in limits_s.items()},
        latency_violated={metric: bits(count) for metric in METRICS},
        limited_by=("memory",) * count,
        evaluations=count,
    )
    fields = {
        "workload": Workload(name=name, model="m", demand=Demand(peak_rps=1), archetype="chat"),
        "model": DENSE,
        "traffic": TRAFFIC,
        "candidates": candidates,
        "limits_s": limits_s,
        "needed_bytes": np.full(count, 40e9),
        "usable_bytes": np.full(count, 72e9),
        "load_peak_bytes": np.full(count, 50e9),
        "device_bytes": np.full(count, 80e9),
        "max_sequences": zeros + 8,
        "capacities": capacities,
        "refusals": {},
        "penalties": zeros,
    }
    within = {key: changes.pop(key) for key in tuple(changes) if key in Capacities.__dataclass_fields__}
    inside = {key: changes.pop(key) for key in tuple(changes) if key in Candidates.__dataclass_fields__}
    fields["capacities"] = dataclasses.replace(capacities, **within)
    fields["candidates"] = dataclasses.replace(candidates, **inside)
    return Evaluation(**(fields | changes))


def verdict(name, value, limit, unit="", violated=None, texts=None) -> Verdict:
    """A verdict over columns of numbers."""
    value, limit = np.array(value, dtype=float), np.broadcast_to(np.array(limit, dtype=float), len(value))
    over = value > limit if violated is None else np.array(violated, dtype=bool)
    return Verdict(name, f"title of {name}", unit, value, limit, over, texts)
