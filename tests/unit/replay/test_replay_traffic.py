"""Who comes, when, with what lengths, and to which pool."""

import numpy as np
import pytest

from planner.planning.replaying.traffic import Arriving, Source, came
from planner.replay.arrivals import RateProfile, arrivals_s, at_rate
from planner.replay.gaps import Gaps
from planner.replay.lengths import Atoms, Pairs, Percentiles
from planner.replay.pool import PoolPlan
from planner.replay.run_plan import RunPlan, ServicePlan
from planner.replay.simulation import simulate
from tests.replay_samples import requests, worker


@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0, 2.0, 4.0])
def test_gaps_have_the_rate_and_the_burstiness_that_were_asked_for(scv):
    found = arrivals_s(RateProfile.steady(20.0, 5_000.0), scv, np.random.default_rng(1))
    gaps = np.diff(found)
    assert found.size == pytest.approx(100_000, rel=0.02)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(scv, rel=0.08, abs=1e-6)
    assert (gaps >= 0).all()
    assert found[-1] <= 5_000.0


def test_rates_follow_a_profile_and_nothing_comes_in_its_gaps():
    profile = RateProfile((100.0, 50.0, 200.0), (30.0, 0.0, 5.0))
    found = arrivals_s(profile, 1.0, np.random.default_rng(3))
    counts = [((found >= low) & (found < high)).sum() for low, high in ((0, 100), (100, 150), (150, 350))]
    assert counts[0] == pytest.approx(3_000, rel=0.06)
    assert counts[1] == 0
    assert counts[2] == pytest.approx(1_000, rel=0.1)


def test_a_trace_is_stretched_to_a_rate():
    found = at_rate(np.array([0.0, 1.0, 3.0]), 4.0)
    assert found == pytest.approx([0.0, 1 / 6, 0.5])


def test_lengths_have_the_percentiles_that_are_stated():
    known = np.array([0.5, 0.99])
    source = Source(Percentiles(known, np.array([900.0, 4_000.0])), Atoms(np.ones(1), np.array([80.0])), None)
    found = came(source, Arriving(50.0, 1.0, 10.0, 900.0), (), 0.25, ("all",), 5)
    prompts = np.array(found.requests.prompt)
    assert np.median(prompts) == pytest.approx(900, rel=0.02)
    assert np.quantile(prompts, 0.99) == pytest.approx(4_000, rel=0.05)
    assert set(found.requests.answer) == {80}
    assert np.sum(found.requests.computed) == pytest.approx(0.75 * prompts.sum(), rel=1e-3)
    assert found.class_of == []


@pytest.mark.parametrize("names", [("prompt<=500", "prompt>500"), ("prompt>500", "prompt<=500")])
def test_requests_are_put_into_the_classes_of_a_plan(names):
    pairs = Pairs(np.array([0.3, 0.7]), np.array([400.0, 600.0]), np.array([5.0, 6.0]))
    found = came(Source(None, None, pairs), Arriving(50.0, 1.0, 10.0, 100.0), (), 0.0, names, 5)
    for prompt, number in zip(found.requests.prompt, found.class_of, strict=True):
        assert names[number] == ("prompt<=500" if prompt <= 500 else "prompt>500")
    buckets = came(
        Source(None, None, pairs, ("b", "a")), Arriving(50.0, 1.0, 1.0, 100.0), (), 0.0, ("a", "b"), 5
    )
    for prompt, number in zip(buckets.requests.prompt, buckets.class_of, strict=True):
        assert ("a", "b")[number] == ("b" if prompt == 400 else "a")


def test_pools_get_their_shares_of_every_class():
    asked = requests(np.arange(1_000) * 0.2, np.full(1_000, 200), np.full(1_000, 3))
    pools = tuple(
        PoolPlan(f"w/serve/{place}", worker(), 2, "least-loaded", classes=tuple(shares.items()))
        for place, shares in enumerate(({"short": 0.75}, {"short": 0.25, "long": 1.0}))
    )
    classes = [1 if place % 5 == 0 else 0 for place in range(1_000)]
    plan = RunPlan(ServicePlan(serve=pools), asked, 0.0, 1e9, class_of=classes, class_names=("short", "long"))
    found = simulate(plan)
    places, of = np.array(found.places), np.array(classes)
    assert (places[of == 1] == 1).all()
    assert (places[of == 0] == 0).sum() == pytest.approx(600, abs=2)


def test_gaps_are_counted_to_a_thousandth():
    random = np.random.default_rng(1)
    values, gaps = random.lognormal(-3.0, 0.7, 20_000), Gaps()
    for value in values:
        gaps.add(float(value), 2.0)
    assert gaps.mean_s() == pytest.approx(values.mean())
    for share in (0.5, 0.95, 0.99, 0.999):
        assert gaps.quantile_s(share) == pytest.approx(np.quantile(values, share), rel=5e-3)
    assert gaps.within(0.1) == pytest.approx((values <= 0.1).mean(), abs=2e-3)
