"""What was read turned into what is known, by metric."""

from __future__ import annotations

import math

from planner.schema.known import Known, Value
from planner.schema.metrics import METRICS
from planner.schema.observation import LIMITS, Observation, ObservedLimits
from planner.schema.readings import Reading, Readout


def known_from(readout: Readout) -> Known:
    """What was observed, by metric: with its interval where one was read, else exactly.

    A limit that is null was observed too: there is none.
    """
    found: dict[str, Value] = {}
    observation = readout.observation
    for name in METRICS:
        value = _value(observation, name)
        if name in readout.readings:
            found[name] = readout.readings[name]
        elif isinstance(value, bool | str):
            found[name] = value
        elif isinstance(value, int | float):
            found[name] = Reading.exactly(float(value))
        elif name in LIMITS and name in observation.model_fields_set:
            found[name] = Reading.exactly(math.inf)
    return found


def _value(observation: Observation, name: str) -> object:
    above, _, inner = name.rpartition(".")
    noun: Observation | ObservedLimits | None = observation.slo if above else observation
    return getattr(noun, inner, None)
