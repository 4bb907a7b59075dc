"""A step of the rate in a replay, from the command line: how far TTFT rises, and when it is back."""

import pytest

from planner.interfaces import cli

LOAD = (
    "--model",
    "llama-3.1-8b",
    "--rps",
    "20",
    "--isl",
    "900",
    "--osl",
    "100",
    "--ttft",
    "1s",
    "--gpu",
    "l40s",
)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("burst") / "plan.json"
    assert cli.run(["plan", *LOAD, "--out", str(path), "--json"]) == 0
    return str(path)


@pytest.fixture(autouse=True)
def _quiet(capsys):
    capsys.readouterr()


def _burst(told, plan, text, code):
    found = told(
        "replay", plan, "--seeds", "2", "--duration", "90", "--no-change", "--burst", text, code=code
    )
    (burst,) = found["bursts"].values()
    return burst, found


def test_a_larger_burst_is_felt_longer(told, plan):
    mild, _ = _burst(told, plan, "1.2@20+5", 0)
    large, found = _burst(told, plan, "4@20+10", 1)
    assert (large["ratio"], large["at_s"], large["for_s"]) == (4.0, 20.0, 10.0)
    assert mild["ttft_before_s"] == pytest.approx(large["ttft_before_s"])
    assert mild["ttft_worst_s"] < large["ttft_worst_s"]
    assert mild["recovery_s"] <= 2.0 < large["recovery_s"] < 60.0
    rates = next(iter(found["timeline"]["workloads"].values()))["rate_rps"]
    assert max(rates) > 3.0 * rates[0]
    assert found["timeline"]["at_s"][rates.index(max(rates))] == pytest.approx(25.0, abs=6.0)


def test_a_burst_that_is_still_felt_when_the_period_ends(told, plan, capsys):
    burst, _ = _burst(told, plan, "10@60+29", 1)
    assert burst["recovery_s"] is None
    words = ["replay", plan, "--seeds", "1", "--duration", "90", "--no-change", "--burst", "10@60+29"]
    assert cli.run(words) == 1
    assert "not as before when the period ends" in " ".join(capsys.readouterr().out.split())


def test_a_replay_without_one_says_nothing_of_it(told, plan):
    found = told("replay", plan, "--seeds", "1", "--duration", "30", "--no-change")
    assert found["bursts"] == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--burst", "3@20"), "such as 3@60+10"),
        (("--burst", "3@2 moons+1"), "seconds above zero"),
        (("--burst", "0.5@20+10"), "more than 1 and at most 100 times the rate"),
        (("--burst", "3@50+20", "--duration", "60"), "a burst until 70 s of a period of 60 s"),
        (("--burst", "3@5+5", "--scaling"), "it without --trace, --scaling and several --hours"),
    ],
)
def test_bursts_that_mean_nothing_are_refused(refused, plan, words, said):
    refused(said, "replay", plan, *words)
