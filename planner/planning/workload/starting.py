"""What a replica takes to start and to end: memory of its role, storage path, requests that still run."""

from __future__ import annotations

import math
from fractions import Fraction

from planner.performance.evaluate import row_fit
from planner.performance.memory_fit import Fill, MemoryFit
from planner.performance.replica import cold_start_seconds
from planner.planning.workload.case import DRIVE, Evaluated
from planner.schema.catalog import Storage
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Role

_HOUR_S = 3600


def storage_of(named: str | None, catalog: Catalog) -> Storage:
    """Where weights are loaded from: as the workload says, else one drive of the server."""
    found = catalog.storage(named or DRIVE)
    assert found is not None, "the loader checks names of storages"
    return found


def fit_in_role(part: Evaluated, role: Role) -> MemoryFit:
    """Memory of all candidates of a workload in one role, each told its planned batch."""
    case, found = part.case, part.evaluation
    fill = case.fill if role != "prefill" else Fill(case.policy.kv_overflow_fraction)
    share, planned = case.policy.prefix_cache_share, found.capacities.max_batch
    headroom = case.memory_headroom_fraction
    return row_fit(part.specs, found.traffic, headroom, share, fill, found.variants, planned)


def start_h(part: Evaluated, fit: MemoryFit, index: int, storage: Storage) -> Fraction:
    """From an empty server to the first request, rounded up to whole seconds."""
    item = part.evaluation.candidates.configurations[index]
    return Fraction(math.ceil(cold_start_seconds(item, fit.account, index, storage)), _HOUR_S)


def drain_h(part: Evaluated, role: Role, index: int) -> Fraction:
    """Until the last requests of a replica have ended, rounded up to whole seconds.

    Equation: full batch / rate = mean stay of a request (Little's law), times P99 over mean of the answer;
    of a prefill worker one prompt, times P99 over mean of the prompt.
    Assumes: requests that run longer than the P99 are cut off or sent again.
    """
    found, traffic = part.evaluation.capacities, part.evaluation.traffic_of(index)
    if role == "prefill":
        batch, longest = 1.0, traffic.input_p99_tokens / max(traffic.input_mean_tokens, 1.0)
    else:
        batch = float(found.max_batch[index])
        longest = traffic.output_p99_tokens / max(traffic.output_mean_tokens, 1.0)
    stay_s = batch / float(found.rate_rps[index]) * max(longest, 1.0)
    return Fraction(math.ceil(stay_s), _HOUR_S)
