"""Problem files that are valid by the schema and extreme in some or all of their keys; the seed decides."""

import random

from planner.schema.slo import METRICS, STATISTICS

BILLION = 10**9
LENGTHS = [1, 10, 100, 300, 1000, 8000, 30_000, 128_000, 10**6, 10**8]
RATES = [1e-6, 0.001, 0.1, 1, 1000, 10**6, BILLION]
PRICES = ["0 USD/h", "0.000001 USD/h", "3.333333333 USD/h", "1000000000 USD/h"]
NETWORKS = ["1 B/s", "50 GB/s", "100 TB/s"]


class Source(random.Random):
    """A source of which `wild` says how often a value is extreme."""

    def __init__(self, seed):
        super().__init__(seed)
        self.wild = self.choice([0.05, 0.15, 0.4, 1.0])

    def pick(self, usual, extreme):
        return self.choice(extreme if self.random() < self.wild else usual)

    def maybe(self, make, share=0.4):
        """A key that most problems do without."""
        return make() if self.random() < share * (0.2 + self.wild) else None


def extreme_problem(seed, catalog):
    """Plain values of a problem file."""
    source = Source(seed)
    names = [f"w{number}" for number in range(source.choice([1, 1, 1, 1, 2, 3]))]
    return given(
        name=f"extreme-{seed}",
        workloads=[_workload(source, catalog, name) for name in names],
        fleet=_fleet(source, catalog),
        search=_search(source),
        objective=source.choice(["cost", "cost", "cost_per_token", "gpus", "power"]),
        confidence=source.maybe(lambda: source.choice(["50 %", "80 %", "99 %", "99.9999 %"])),
    )


def given(**values):
    return {key: value for key, value in values.items() if value is not None}


def ids(catalog, kind):
    return sorted(catalog.by_folder[kind])


def _workload(r, catalog, name):
    archetype = r.maybe(lambda: r.choice(ids(catalog, "workloads")), 0.2)
    sessions = r.maybe(lambda: _sessions(r), 0.15)
    demand = {"sessions": sessions} if sessions else _demand(r)
    cache = r.maybe(lambda: _prefix_cache(r, bool(sessions)), 0.2)
    return given(
        name=name,
        model=r.choice(ids(catalog, "models")),
        archetype=archetype,
        demand=demand,
        lengths=None if sessions or (archetype and r.random() < 0.8) else _lengths(r),
        slo=_slo(r) if r.random() < 0.8 else None,
        precision=r.maybe(lambda: _precision(r)),
        prefix_cache_hit=None if sessions or cache else _hit(r),
        prefix_cache=cache,
        kv_offload=r.maybe(lambda: _offload(r), 0.2),
        kv_eviction=r.maybe(lambda: {"keep": r.choice(["1 %", "50 %", "100 %"])}, 0.1),
        trim=r.maybe(lambda: _trim(r), 0.2),
        engine=r.maybe(lambda: r.choice(ids(catalog, "engines")), 0.7),
        lora=r.maybe(lambda: _lora(r), 0.3),
        images=r.maybe(lambda: _images(r), 0.3),
        min_replicas=r.maybe(lambda: r.pick([1, 2], [1000, 10**6, BILLION]), 0.2),
        redundancy=r.maybe(lambda: _redundancy(r), 0.2),
        headroom=r.maybe(lambda: _headroom(r), 0.2),
        storage=r.maybe(lambda: r.choice(ids(catalog, "storage"))),
    )


def _hit(r):
    return r.maybe(lambda: r.choice(["0 %", "30 %", "99.9 %", "100 %"]))


def _prefix_cache(r, sessions):
    routing = r.choice(["cache-aware", "round-robin"])
    share = r.maybe(lambda: r.choice(["0 %", "1 %", "30 %", "1000 %"]))
    if sessions:
        return given(routing=routing, share=share)
    hit = r.choice(["0 %", "30 %", "99.9 %", "100 %"])
    held = r.choice([{}, {"working_set": r.choice(["1 B", "40 GB", "900 TB"])}, {}])
    if r.random() < 0.2:
        held = {"prefixes": r.choice([1, 100, BILLION]), "prefix_tokens": r.choice([1, 3000, 10**8])}
    return (
        given(hit=hit, routing=routing, share=share, reuse=r.maybe(lambda: r.choice([0.001, 5, BILLION])))
        | held
    )


def _sessions(r):
    first = r.pick([100, 1000, 6000], LENGTHS)
    return given(
        per_hour=r.pick([60, 1200, 40_000], [1e-6, 10**9]),
        turns=r.pick([1, 3, 8, {"p50": 4, "p95": 30}], [1, 10_000, {"p50": 1, "p99": 10**8}]),
        growth=r.pick([0, 100, 900], [0, 10**8]),
        think_time=r.pick(["1 s", "20 s", "5 min"], ["1 us", "1000 h"]),
        first_input=r.choice([first, {"p50": first, "p99": min(10**8, 3 * first)}]),
        output=r.pick([50, 300], [1, 10**6, {"p50": 10}]),
        shared_input=r.maybe(lambda: r.choice([0, first // 2, first])),
    )


def _offload(r):
    return given(
        tier=r.choice(["host", "nvme"]),
        capacity_per_gpu=r.pick(["64 GB", "1 TB"], ["1 B", "900 TB"]),
        bandwidth=r.maybe(lambda: r.choice(["1 B/s", "5 GB/s", "100 TB/s"])),
    )


def _trim(r):
    return given(
        input=r.maybe(lambda: r.choice(["0 %", "30 %", "99.99 %"]), 0.8),
        output_cap=r.maybe(lambda: r.choice([1, 200, 10**8]), 0.8),
    )


def _demand(r):
    rate = r.pick([0.1, 1, 3, 10, 40], RATES)
    burstiness = r.maybe(lambda: r.choice([0, 0.01, 1, 4, 1000]))
    if r.random() < 0.15:
        hours = [r.pick([rate, 0.5], [0, *RATES]) for _ in range(r.choice([0, 23, 167]))]
        return given(hourly_rps=[*hours, rate], burstiness=burstiness)
    mean = r.maybe(lambda: rate * r.choice([1e-6, 0.3, 1]))
    return given(peak_rps=rate, mean_rps=mean, burstiness=burstiness)


def _lengths(r):
    if r.random() < 0.15:
        return {"buckets": _buckets(r, r.choice([1, 2, 4]))}
    return {"input": _side(r), "output": _side(r)}


def _buckets(r, count):
    scale = lambda: r.pick([100, 300, 1000, 8000], LENGTHS)  # noqa: E731
    return [
        {"name": f"b{number}", "share": 1 / count, "input": scale(), "output": scale()}
        for number in range(count)
    ]


def _side(r):
    middle = r.pick([100, 300, 1000, 4000], LENGTHS)
    if r.random() < 0.3:
        return {"fixed": middle}
    growth = r.pick([1.0, 1.2, 1.5], [1.0, 4.0, 1000.0])
    side, value = {"p50": middle}, middle
    for name in ("p90", "p95", "p99"):
        value = min(10**8, int(value * growth))
        if r.random() < 0.7:
            side[name] = value
    return side


def _slo(r):
    names = [f"{metric}_{statistic}" for metric in METRICS for statistic in STATISTICS]
    count = r.pick([1, 2, 3], [0, 20])
    extreme = ["1 us", "1 ms", "20 ms", "60 ms", "200 ms", "10000000 h"]
    return {name: r.pick(["1.5 s", "5 s", "60 s"], extreme) for name in r.sample(names, count)}


def _precision(r):
    weights = ["bf16", "fp8", "int8", "int4", "nvfp4", "mxfp4", "w8a16"]
    return given(
        weights=r.sample(weights, r.choice([1, 2, 7])) if r.random() < 0.8 else None,
        kv=r.sample(["bf16", "fp8"], r.choice([1, 2])) if r.random() < 0.6 else None,
    )


def _lora(r):
    adapters = r.pick([1, 8, 100], [1000, BILLION])
    return {
        "adapters": adapters,
        "active": r.choice([1, adapters]),
        "rank": r.pick([16, 64], [1, 256, BILLION]),
    }


def _images(r):
    tokens = r.maybe(lambda: r.choice([1, 256, 10**6, BILLION]))
    return given(per_request=r.pick([1, 2], [0.01, 10, 10000]), tokens_per_image=tokens)


def _redundancy(r):
    count = r.pick([0, 1, 3], [30, 100])
    form = r.choice(["number", "number", "replicas", "per_option", "servers"])
    return count if form == "number" else {form: count}


def _headroom(r):
    return {
        "memory": r.pick(["0 %", "10 %"], ["50 %", "99 %", "100 %"]),
        "capacity": r.pick(["0 %", "20 %"], ["1000 %", "1000000 %"]),
    }


def _fleet(r, catalog):
    known = ids(catalog, "accelerators")
    named = r.sample(known, r.choice([1, 2, 5]))
    regions = sorted({offer.region for _, offer in catalog.offers()})
    return given(
        accelerators=named if r.random() < 0.4 else None,
        prices=r.maybe(lambda: {name: r.pick(["2.5 USD/h", "1 USD/h"], PRICES) for name in named}, 0.7),
        stock=r.maybe(lambda: {name: r.pick([64, 1000], [0, 1, 7, BILLION]) for name in named}, 0.4),
        budget=r.maybe(lambda: r.pick(["500 USD/h"], [*PRICES, "20 USD/h"]), 0.3),
        max_gpus=r.maybe(lambda: r.pick([64, 1000], [0, 1, 8, BILLION]), 0.3),
        purchase=r.maybe(lambda: r.choice(["gpu", "node"]), 0.7),
        node_size=r.maybe(lambda: r.pick([4, 8], [1, 3, 72, 10**6, BILLION]), 0.4),
        network=r.maybe(lambda: r.choice([*NETWORKS, *ids(catalog, "networks")])),
        headroom=r.maybe(lambda: _headroom(r)),
        max_utilization=r.maybe(lambda: r.pick(["70 %", "100 %"], ["0.000001 %", "1 %"])),
        min_replicas=r.maybe(lambda: r.pick([1, 2], [7, 10**6, BILLION]), 0.3),
        redundancy=r.maybe(lambda: _redundancy(r)),
        providers=r.maybe(lambda: r.sample(ids(catalog, "prices"), 1), 0.2),
        regions=r.maybe(lambda: r.sample(regions, 2), 0.1),
    )


def _search(r):
    modes = [["aggregated"], ["disaggregated"], ["aggregated", "disaggregated"]]
    huge = [BILLION]
    return given(
        modes=r.maybe(lambda: r.choice(modes), 0.2),
        tp=r.maybe(lambda: r.pick([[1], [8], [1, 2, 4, 8]], [[3], [1, 16, 72], huge]), 0.3),
        pp=r.maybe(lambda: r.pick([[1], [1, 2, 4]], [[64], [7], huge]), 0.3),
        ep=r.maybe(lambda: r.pick([[1], [1, 8]], [[3], [64], huge]), 0.3),
        attention_dp=r.maybe(lambda: r.pick([[1], [1, 2, 8]], [[3], [64], huge]), 0.3),
        max_batch=r.maybe(lambda: r.pick([[32], [256]], [[1], [1, 10, 100, 1000], huge]), 0.3),
        batched_tokens=r.maybe(lambda: r.pick([[2048], [8192]], [[1], [16], huge]), 0.3),
        mix=r.maybe(lambda: r.choice([True, False])),
        rules_off=r.maybe(lambda: r.choice([["whole-servers"], ["pipeline-within-server"]]), 0.3),
    )
