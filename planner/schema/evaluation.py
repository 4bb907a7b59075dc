"""One workload with everything that was computed about its candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.schema.candidates import BoolArray, Candidates, Capacities, FloatArray, IntArray
from planner.schema.facts import ModelFacts
from planner.schema.problem import Workload
from planner.schema.traffic import Traffic


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Candidates of one workload with their memory, capacity and rule verdicts."""

    workload: Workload
    model: ModelFacts
    traffic: Traffic
    candidates: Candidates
    limits_s: Mapping[str, float]
    """Latency limits by name of `Slo`."""
    needed_bytes: FloatArray
    """Memory of one GPU with one sequence of the planned length."""
    usable_bytes: FloatArray
    """Memory of one GPU that the plan may fill."""
    load_peak_bytes: FloatArray
    """Memory of one GPU while weights are loaded."""
    device_bytes: FloatArray
    """All memory of one GPU."""
    max_sequences: IntArray
    capacities: Capacities
    refusals: Mapping[str, BoolArray]
    """Violation bits of the planning rules, by rule id."""
    penalties: IntArray
    """Departures from preferences."""
