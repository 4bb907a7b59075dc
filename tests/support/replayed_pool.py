"""A pool of one configuration in the product's replay, beside the load formulas at the same rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.performance.kv_transfer import KvTransfer
from planner.performance.open_load import measure
from planner.performance.prefill_worker import PrefillWorkers
from planner.performance.traffic import known
from planner.queueing.lengths import quantiles_from_percentiles
from planner.replay.arrivals import RateProfile, arrivals_s
from planner.replay.observed import observed
from planner.replay.pool import PoolPlan
from planner.replay.requests import Requests
from planner.replay.run_plan import RunPlan, ServicePlan
from planner.replay.simulation import simulate
from planner.replay.step_times import step_times
from planner.replay.worker import Worker
from planner.schema.lengths import LengthSide
from planner.schema.routing import Routing
from planner.steptime.build import build_specs
from tests import load_samples as samples

BATCH = 1024
_LOADS = np.geomspace(0.05, 500.0, 240)
_ROWS = np.zeros(_LOADS.size, dtype=np.int64)


class Case:
    """A configuration and the lengths that it serves; step times are those of the formulas."""

    def __init__(self, item, prompt, answer, cached=0.0):
        self.item, self.model, self.chunk = item, samples.replicas_of([item]), item.batched_tokens
        self.sides, self.cached = (prompt, answer), cached
        self.traffic = samples.traffic_of(prompt, answer, prefix_cache_hit=f"{100 * cached:g} %")

    def rate_rps(self, busy):
        """Of a replica whose prompts take such a share of its time."""
        found = self._measured(self.traffic, ("ttft_mean",))
        return float(np.interp(busy, np.maximum.accumulate(found.prefill_utilization), found.rate_rps))

    def slots_rps(self, policy, replicas, batch):
        """Largest rate of a replica at which a batch of so many slots is planned to do."""
        traffic = replace(self.traffic, routing=Routing(policy, replicas))
        found = self._measured(traffic, ())
        return float(np.interp(batch, np.maximum.accumulate(found.slots), found.rate_rps))

    def planned(self, policy, replicas, burstiness, rate_rps, names):
        """Latencies by name."""
        traffic = replace(self.traffic, routing=Routing(policy, replicas), arrival_scv_ratio=burstiness)
        found = self._measured(traffic, names)
        rising = np.concatenate([[True], np.diff(found.rate_rps) > 1e-12])
        return {
            name: float(np.interp(rate_rps, found.rate_rps[rising], found.latency_s[name][rising]))
            for name in names
        }

    def planned_prompts(self, policy, replicas, burstiness, busy, names):
        """First tokens of prefill workers alone at a share of their largest rate, by name; and that rate."""
        traffic = replace(self.traffic, routing=Routing(policy, replicas), arrival_scv_ratio=burstiness)
        link = KvTransfer.of((self.item,), build_specs([self.item]), traffic, 50e12, 0.0)
        workers = PrefillWorkers(self.model, traffic, samples.MEDIANS, link)
        rate = busy * workers.most_rps(_ROWS[:1])
        chosen = workers.taken(_ROWS[:1])
        queue = chosen.queue(rate)
        found = {name: chosen.first_token_s(rate, queue, name.split("_")[1], None) for name in names}
        return {name: float(value[0]) for name, value in found.items()}, float(rate[0])

    def replayed(self, policy, replicas, burstiness, rate_rps, names, count=20_000, seed=1, batch=BATCH):
        """The same of a run."""
        random = np.random.default_rng(seed)
        profile = RateProfile.steady(rate_rps * replicas, count / rate_rps / replicas)
        arrival = arrivals_s(profile, burstiness, random)
        prompt, answer = (_drawn(side, arrival.size, random) for side in self.sides)
        computed = np.maximum(np.round(prompt * (1.0 - self.cached)), 1).astype(int)
        asked = Requests(*(column.tolist() for column in (arrival, prompt, answer, computed)))
        overhead_s = samples.OVERHEAD_S
        pool = PoolPlan("chat/serve/1", self._worker(batch), replicas, policy, overhead_s=overhead_s)
        since_s = float(arrival[arrival.size // 7])
        plan = RunPlan(ServicePlan(serve=(pool,)), asked, since_s, float(arrival[-1]), seed=seed)
        found = observed(plan, simulate(plan), {}).statistics
        return {name: found[name.split("_")[0]][name.split("_")[1]] for name in names}

    def _measured(self, traffic, names):
        batch = np.full(_LOADS.size, float(BATCH))
        return measure(self.model, _ROWS, _LOADS, batch, traffic, samples.MEDIANS, names)

    def _worker(self, batch):
        def step_s(*loads):
            return self.model.step_s(np.zeros(loads[0].size, dtype=np.int64), *loads)

        context = max(self.traffic.decode_context_tokens, 64.0)
        return Worker(step_times(step_s, BATCH, self.chunk, context), self.chunk, batch)


def _drawn(side, count, random):
    """One length of each of ``count`` equal shares, in random order."""
    if isinstance(side, int):
        return np.full(count, side)
    ranks = (random.permutation(count) + 0.5) / count
    tokens = quantiles_from_percentiles(*known(LengthSide(**side)), ranks)
    return np.maximum(np.round(tokens), 1).astype(int)
