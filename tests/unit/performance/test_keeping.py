"""Ways to keep KV: the rows hold the best of every room, as exhaustive search finds it."""

from __future__ import annotations

import dataclasses

import load_samples as samples
import numpy as np
import pytest

from planner.candidates.counted import best_by_number
from planner.performance import residency
from planner.performance.capacity import capacities
from planner.performance.contenders import Rooms
from planner.performance.keeping_by_load import kept_by_load
from planner.performance.keeping_by_number import kept_by_number
from planner.performance.kept_rows import Capacity
from planner.performance.kv_retention import fetching, kv_retentions, outside
from planner.performance.memory_fit import memory_fit
from planner.performance.residency import LEVELS, numbers, runs
from planner.performance.reuse import traffic_at
from planner.performance.traffic import traffic
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.reuse import KvOffload, PrefixCache
from planner.schema.workload import Workload
from planner.steptime.build import build_specs
from planner.steptime.memory import sequence_bytes
from tests import step_samples

ITEMS = [
    samples.configuration(tp=tp, kv=kv, batched_tokens=512)
    for tp in (4, 8)
    for kv in (step_samples.FP8, step_samples.BF16)
]
"""Two rooms: eight GPUs and four."""
SPECS = build_specs(ITEMS)
EVERY = np.arange(len(ITEMS))
GPUS = np.array([item.gpus for item in ITEMS])
ROOMS = Rooms(EVERY, (GPUS == 4).astype(np.int64), 2)
LIMITS_S = {"ttft_p99": 3.0, "itl_p99": 0.08}
LENGTHS = Lengths(
    input=LengthSide.model_validate({"p50": 8000, "p99": 24_000}),
    output=LengthSide.model_validate({"p50": 150, "p99": 600}),
)
OFFLOAD = KvOffload(capacity_per_gpu="150 GB", bandwidth="50 GB/s")


def prefixes(**cache):
    return traffic(
        samples.workload(LENGTHS, prefix_cache=PrefixCache(**({"hit": "60 %"} | cache))),
        LENGTHS,
        None,
        0,
        0.95,
        0.25,
    )


def sessions(**changes):
    values = {
        "per_hour": 3600,
        "turns": 8,
        "growth": 900,
        "think_time": "60 s",
        "first_input": 5000,
        "output": 300,
    }
    cache = changes.pop("prefix_cache", None)
    made = Workload.model_validate(
        {"name": "w", "model": "m", "demand": {"sessions": values | changes}, "prefix_cache": cache}
    )
    return traffic(made, None, None, 0, 0.95, 0.25)


def built(part, offload=None):
    """Ways and the capacity that evaluates them."""
    workers = samples.replicas_of(ITEMS)
    second = None
    if offload is not None:
        second = outside(offload, ITEMS, SPECS, workers, part, 0.8, 0.0)
        workers = workers.with_fetching(fetching(SPECS, second.fetch_s_per_token))
    retentions = kv_retentions(part, SPECS, samples.DENSE_70B, 0.1, 0.25, samples.FILL, 8.0, second, LIMITS_S)
    return retentions, Capacity(workers, part, samples.MEDIANS, LIMITS_S)


def rows_of(part, keep, offload=None):
    retentions, capacity = built(part, offload)
    none = memory_fit(SPECS, part, 0.1, np.zeros(len(ITEMS)), samples.FILL).max_sequences
    fetch_s = np.zeros(len(ITEMS))
    return keep(capacity, none, retentions, ROOMS, np.ones(len(ITEMS), dtype=bool), fetch_s)


def best_rates(rows, room):
    """Largest rate of a room for each group of numbers."""
    variants, found = rows.variants, []
    mine = [row for row, item in enumerate(variants.candidate) if (GPUS[item] == 4) == room]
    for number in numbers().first:
        holds = [
            rows.capacities.rate_rps[row]
            for row in mine
            if variants.replicas_from[row] <= number
            and (not variants.replicas_to[row] or number <= variants.replicas_to[row])
        ]
        found.append(max(holds))
    return np.array(found)


def exhaustive_by_number(part, room, offload=None):
    """The same from every candidate, way and level."""
    retentions, capacity = built(part, offload)
    none = memory_fit(SPECS, part, 0.1, np.zeros(len(ITEMS)), samples.FILL).max_sequences
    mine = np.flatnonzero((GPUS == 4) == room)
    rate = capacity.at(mine, [(0, 0, False)] * mine.size, none[mine]).rate_rps
    best = np.full(numbers().first.size, rate.max())
    for retention in retentions:
        known = {}
        for group in range(best.size):
            cache, fetched = retention.held.cache[mine, group], retention.held.fetched[mine, group]
            levels = tuple((a, b, True) for a, b in zip(cache.tolist(), fetched.tolist(), strict=True))
            if levels not in known:
                rate = capacity.at(mine, levels, retention.max_sequences[mine]).rate_rps
                known[levels] = rate[retention.usable[mine]].max(initial=0.0)
            best[group] = max(best[group], known[levels])
    return best


NUMBERED = {
    "round-robin": prefixes(routing="round-robin"),
    "round-robin with reuse": prefixes(routing="round-robin", reuse=8),
    "a working set": prefixes(working_set="3 TB"),
    "prefixes": prefixes(prefixes=900, prefix_tokens=8000, share="50 %"),
    "sessions anywhere": sessions(prefix_cache={"routing": "round-robin", "share": "50 %"}),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_rows_by_number_hold_the_best_of_every_room(name, monkeypatch):
    monkeypatch.setattr(residency, "MOST_REPLICAS", 12)
    part = NUMBERED[name]
    rows = rows_of(part, kept_by_number)
    for room in (0, 1):
        found = best_rates(rows, room)
        assert found == pytest.approx(exhaustive_by_number(part, room), rel=1e-9)
        assert found.max() > found.min()


def test_rows_by_number_with_a_second_level(monkeypatch):
    monkeypatch.setattr(residency, "MOST_REPLICAS", 12)
    part = prefixes(working_set="20 TB", share="50 %")
    found = best_rates(rows_of(part, kept_by_number, OFFLOAD), 1)
    assert found == pytest.approx(exhaustive_by_number(part, 1, OFFLOAD), rel=1e-9)


@pytest.mark.parametrize(("offload", "room"), [(None, 0), (OFFLOAD, 1)])
def test_rows_by_load_hold_the_best_of_every_room(offload, room):
    part = sessions(prefix_cache={"share": "50 %"} if offload else None)
    rows = rows_of(part, kept_by_load, offload)
    retentions, capacity = built(part, offload)
    none = memory_fit(SPECS, part, 0.1, np.zeros(len(ITEMS)), samples.FILL).max_sequences
    mine = np.flatnonzero((GPUS == 4) == room)
    best = float(capacity.at(mine, [(0, 0, False)] * mine.size, none[mine]).rate_rps.max())
    for retention in retentions:
        for parts in range(LEVELS + 1):
            inside = np.full(mine.size, parts)
            if retention.outside:
                inside = np.floor(parts * retention.held.inside_fraction[mine] / 5).astype(int) * 5
            levels = [(int(a), parts - int(a), True) for a in inside]
            rate = capacity.at(mine, levels, retention.max_sequences[mine]).rate_rps
            most = retention.held.full_rps[mine] * LEVELS / max(parts, 1e-9)
            best = max(best, float(np.minimum(rate, most)[retention.usable[mine]].max(initial=0.0)))
    kept = [row for row, item in enumerate(rows.variants.candidate) if (GPUS[item] == 4) == room]
    assert rows.capacities.rate_rps[kept].max() == pytest.approx(best, rel=1e-9)
    assert (rows.variants.replicas_from == 1).all()
    assert (rows.variants.replicas_to == 0).all()


def test_a_replica_at_its_capacity_finds_what_the_row_says():
    """The fixed point by hand: room for the sessions of that load, and the rate with those hits."""
    part = sessions(think_time="400 s")
    rows = rows_of(part, kept_by_load)
    variants, reuse = rows.variants, part.reuse
    one = sequence_bytes(SPECS, EVERY, reuse.entry_tokens)
    kept = np.flatnonzero(variants.cache_share > 0.0)
    assert kept.size
    for row in kept:
        item, share, load = variants.candidate[row], variants.cache_share[row], rows.capacities.rate_rps[row]
        account = memory_fit(SPECS, part, 0.1, np.full(len(ITEMS), share), samples.FILL).account
        room = account.kv_cache_bytes[item] * share / (1.0 + share) / one[item]
        assert variants.held_fraction[row] <= room / (reuse.entries_per_rps * load) + 1e-9
        workers = samples.replicas_of([ITEMS[item]])
        ceiling = rows.max_sequences[row : row + 1]
        part_traffic = traffic_at(part, variants.held_fraction[row])
        able = capacities(workers, ceiling, part_traffic, samples.MEDIANS, LIMITS_S).rate_rps[0]
        assert load <= able * (1.0 + 1e-9)
    assert 0.0 < variants.held_fraction[kept].max() <= 1.0


def test_a_slow_tier_is_not_used():
    part = sessions()
    slow = KvOffload(capacity_per_gpu="1 TB", bandwidth="0.01 GB/s")
    second = outside(slow, ITEMS, SPECS, samples.replicas_of(ITEMS), part, 0.8, 0.0)
    assert not second.pays.any()
    rows = rows_of(part, kept_by_load, slow)
    assert (rows.variants.fetched_fraction == 0.0).all()


def test_the_tier_is_as_fast_as_its_link():
    part, workers = sessions(), samples.replicas_of(ITEMS)
    host = dataclasses.replace(ITEMS[0], node_gpus=8)
    tokens = part.reuse.entry_tokens
    one = float(sequence_bytes(build_specs([host]), np.zeros(1, dtype=np.int64), tokens)[0])
    stated = outside(OFFLOAD, ITEMS, SPECS, workers, part, 0.8, 0.0)
    assert stated.fetch_s_per_token[0] == pytest.approx(one / tokens / 50e9)
    assert host.accelerator.host.pcie_one_way is not None
    link = float(host.accelerator.host.pcie_one_way)
    default = outside(KvOffload(capacity_per_gpu="1 TB"), ITEMS, SPECS, workers, part, 0.8, 7e9)
    assert default.fetch_s_per_token[0] == pytest.approx(one / tokens / (0.8 * link))
    drives = outside(KvOffload(tier="nvme", capacity_per_gpu="1 TB"), ITEMS, SPECS, workers, part, 0.8, 7e9)
    assert drives.fetch_s_per_token[0] == pytest.approx(one / tokens / (7e9 / host.node_gpus))


def test_running_requests_are_set_aside_only_without_limits():
    part = samples.traffic_of(*samples.RETRIEVAL)
    second = outside(OFFLOAD, ITEMS, SPECS, samples.replicas_of(ITEMS), part, 0.8, 0.0)
    facts = samples.DENSE_70B
    assert kv_retentions(part, SPECS, facts, 0.1, 0.25, samples.FILL, 8.0, second, LIMITS_S) == []
    (retention,) = kv_retentions(part, SPECS, facts, 0.1, 0.25, samples.FILL, 8.0, second, {})
    strict = memory_fit(SPECS, part, 0.1, 0.0, samples.FILL).max_sequences
    assert retention.pauses
    open_ = retention.usable & (strict < SPECS.max_running * SPECS.attention_dp)
    assert open_.any()
    assert (retention.max_sequences[open_] > strict[open_]).all()
    tiny = KvOffload(capacity_per_gpu="1 MB", bandwidth="50 GB/s")
    small = outside(tiny, ITEMS, SPECS, samples.replicas_of(ITEMS), part, 0.8, 0.0)
    (retention,) = kv_retentions(part, SPECS, facts, 0.1, 0.25, samples.FILL, 8.0, small, {})
    assert not retention.usable.any()


def test_numbers_are_single_then_an_eighth_wide():
    found = numbers()
    assert found.first[:17].tolist() == list(range(1, 18))
    assert (found.last[:16] == found.first[:16]).all()
    assert found.last[-1] == 0
    assert (found.first[1:] == found.last[:-1] + 1).all()
    width = (found.last - found.first + 1)[16:-1]
    assert (width <= found.first[16:-1] / 8.0).all()


def test_runs_of_equal_values():
    values = np.array([[1, 1, 2, 2, 2], [3, 3, 3, 3, 3], [1, 2, 3, 4, 4]])
    keep = np.array([[1, 1, 0, 1, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]], dtype=bool)
    assert [part.tolist() for part in runs([values], keep)] == [[0, 0, 1, 2], [0, 3, 0, 4], [1, 4, 4, 4]]


def test_the_best_candidate_number_by_number():
    variants = dataclasses.replace(
        rows_of(prefixes(), kept_by_number).variants,
        replicas_from=np.array([1, 3, 1, 6]),
        replicas_to=np.array([0, 4, 2, 0]),
        after_losses=False,
    )
    order = [3, 1, 2, 0]  # the best first; the first candidate holds for any number
    found = best_by_number(variants, order, 0)
    assert [(one.candidate, one.first, one.last) for one in found] == [
        (2, 1, 2), (1, 3, 4), (0, 5, 5), (3, 6, None),
    ]  # fmt: skip
    later = best_by_number(dataclasses.replace(variants, after_losses=True), order, 1)
    assert [(one.candidate, one.first, one.last) for one in later] == [
        (2, 1, 3), (1, 4, 5), (0, 6, 6), (3, 7, None),
    ]  # fmt: skip


def test_one_candidate_twice_has_two_names():
    variants = dataclasses.replace(
        rows_of(prefixes(), kept_by_number).variants,
        replicas_from=np.array([1, 3]),
        replicas_to=np.array([0, 4]),
        after_losses=False,
    )
    found = best_by_number(variants, [1, 0], 0)
    assert [(one.candidate, one.first, one.last, one.part) for one in found] == [
        (0, 1, 2, ""), (1, 3, 4, ""), (0, 5, None, " from5"),
    ]  # fmt: skip
