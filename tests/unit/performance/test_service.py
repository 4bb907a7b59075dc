"""One service model: kinds of load against each other, against simulation, and what they are called."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from planner.app.asked_service import service_of
from planner.app.one_configuration import ask, build
from planner.performance.closed_spread import first_token_percentiles
from planner.performance.service import serve
from planner.schema.routing import Routing
from planner.schema.service_load import Burst, ClosedLoop, OpenArrivals

NONE = float("inf")


@pytest.fixture(scope="module")
def served():
    asked = ask("test", model="llama-3.1-8b", gpu="h100", isl=1000, osl=200)
    built = build(asked, ())

    def served(*loads, with_percentiles=True):
        return serve(
            [service_of(asked, built.told(asked, None), load, NONE) for load in loads], with_percentiles
        )

    return served


def test_means_do_not_depend_on_what_else_is_asked(served):
    loads = (ClosedLoop(32.0), ClosedLoop(32.0, 320), OpenArrivals(4.0), OpenArrivals(4.0, requests=200))
    one, other = served(*loads), served(*loads, with_percentiles=False)
    for name in ("ttft_mean", "tpot_mean", "e2e_mean"):
        np.testing.assert_allclose(one.latency_s[name], other.latency_s[name], rtol=1e-9)
    np.testing.assert_allclose(one.rate_rps, other.rate_rps)


def test_services_do_not_depend_on_their_company(served):
    loads = (ClosedLoop(8.0), OpenArrivals(2.0), Burst(100))
    together = served(*loads)
    for row, load in enumerate(loads):
        alone = served(load)
        for name, values in together.latency_s.items():
            np.testing.assert_allclose(values[row], alone.latency_s[name][0], rtol=1e-9)


def test_percentiles_are_in_order(served):
    found = served(ClosedLoop(64.0), ClosedLoop(64.0, 640), OpenArrivals(8.0), Burst(300))
    for metric in ("ttft", "itl", "tpot", "e2e"):
        columns = [found.latency_s[f"{metric}_{name}"] for name in ("p50", "p90", "p95", "p99", "p99.9")]
        for lower, higher in pairwise(columns):
            assert (lower <= higher * (1.0 + 1e-9)).all(), metric


def test_without_the_start_first_tokens_come_sooner(served):
    found = served(ClosedLoop(64.0), ClosedLoop(64.0, start_burst=False))
    assert found.latency_s["ttft_mean"][1] < found.latency_s["ttft_mean"][0]
    assert found.latency_s["ttft_p99"][1] < found.latency_s["ttft_p99"][0] / 2


def test_a_longer_run_has_less_of_its_start(served):
    found = served(*(ClosedLoop(64.0, requests) for requests in (128, 640, 6400)))
    means = found.latency_s["ttft_mean"]
    assert means[0] > means[1] > means[2]


def test_a_long_run_has_the_percentiles_of_no_end(served):
    steady, run = served(OpenArrivals(6.0)), served(OpenArrivals(6.0, requests=4000))
    for name in ("ttft_mean", "tpot_mean", "tpot_p50", "itl_p50", "e2e_mean"):
        assert run.latency_s[name][0] == pytest.approx(steady.latency_s[name][0], rel=0.10), name
    assert run.latency_s["ttft_p99"][0] == pytest.approx(steady.latency_s["ttft_p99"][0], rel=0.35)


def test_utilization_is_the_rate_over_the_largest(served):
    endless = served(ClosedLoop(1e5)).rate_rps[0]
    found = served(ClosedLoop(16.0), ClosedLoop(1e5))
    assert found.utilization[0] == pytest.approx(found.rate_rps[0] / endless, rel=1e-6)
    assert found.utilization[1] == pytest.approx(1.0)
    assert 0.0 < served(OpenArrivals(2.0)).utilization[0] < served(OpenArrivals(8.0)).utilization[0] <= 1.0


def test_more_than_a_service_carries_uses_all_of_it(served):
    """Long tails of lengths keep room in the batch: what is carried is less than a full batch would carry."""
    asked = ask("test", model="qwen3-32b", gpu="h100", isl=7200, osl=1000, tp=2)
    built = build(asked, ())
    loads = (OpenArrivals(0.5), OpenArrivals(50.0), OpenArrivals(50.0, requests=400))
    below, *beyond = serve(
        [service_of(asked, built.told(asked, None), load, NONE) for load in loads]
    ).utilization
    assert below < 0.9
    assert beyond == [1.0, 1.0]


def test_replicas_behind_a_better_router_wait_less(served):
    waits = {
        policy: served(OpenArrivals(60.0, routing=Routing(policy, 4), requests=2000)).latency_s["ttft_p99"][0]
        for policy in ("random", "round-robin", "least-loaded")
    }
    assert max(waits["least-loaded"], waits["round-robin"]) < waits["random"] / 1.1


def test_the_spread_of_a_closed_loop_has_its_mean():
    mean, first, others, share = (np.array([value]) for value in (0.30, 0.05, 2.0, 0.1))
    found = first_token_percentiles(mean, first, others, share)
    assert found["p50"] < mean < found["p95"] < found["p99"] <= first + others
    # P99 lies in the start: nine tenths of the way through it, and what the rest adds there.
    assert found["p99"][0] == pytest.approx(0.05 + 0.9 * 2.0, rel=0.1)


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (ClosedLoop(32.0, start_burst=False), "closed loop of 32 clients, start burst excluded"),
        (
            ClosedLoop(1.0, 20, equal_lengths=True),
            "closed loop of 1 client, start burst included, equal lengths, run of 20 requests",
        ),
        (OpenArrivals(2.5), "random arrivals at 2.5 requests/s"),
        (
            OpenArrivals(9.0, 0.0, Routing("round-robin", 3)),
            "even arrivals at 9 requests/s over 3 replicas, round-robin",
        ),
        (Burst(1000), "1,000 requests at once"),
    ],
)
def test_loads_in_words(load, words):
    assert load.text == words
