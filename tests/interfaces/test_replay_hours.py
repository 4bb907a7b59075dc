"""Hours of a plan replayed one after the other: replicas start ahead of their hour and drain after it."""

import pytest

from planner.interfaces import cli

PROBLEM = """\
name: day-8b
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {hourly_rps: [0.5, 6, 6, 0.5]}
    lengths: {input: {p50: 500, p99: 1500}, output: {p50: 40, p99: 120}}
    slo: {ttft_p99: 800 ms, itl_p99: 40 ms}
    precision: {weights: [bf16], kv: [bf16]}
fleet:
  supply: [{gpu: l40s, term: on_demand, usd_per_gpu_h: 1}]
search: {modes: [aggregated]}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("day")
    (folder / "problem.yaml").write_text(PROBLEM)
    assert cli.run(["plan", str(folder / "problem.yaml"), "--out", str(folder / "plan.json"), "--json"]) == 0
    return str(folder / "plan.json")


@pytest.fixture(autouse=True)
def _quiet(capsys):
    capsys.readouterr()


def test_a_whole_day_is_answered_by_hour(told, plan):
    found = told("replay", plan, "--hours", "all", "--seeds", "1")
    assert [hour["hour"] for hour in found["hours"]] == [0, 1, 2, 3]
    assert found["period"] is None
    assert found["duration_s"] == pytest.approx(4 * 3600.0)
    for hour, rate in zip(found["hours"], (0.5, 6, 6, 0.5), strict=True):
        assert hour["rate_rps"]["chat"] == pytest.approx(rate, rel=0.1)
        assert hour["limits_s"].keys() == {"ttft_p99:chat", "itl_p99:chat"}
    planned = [hour["planned_gpus"] for hour in found["hours"]]
    assert planned[0] < planned[1]
    # What the second hour has more starts in the first: its server is paid from then on.
    assert planned[0] < found["hours"][0]["gpus"] < planned[1]
    assert found["hours"][1]["gpus"] == pytest.approx(planned[1])
    # What the last hour has less drains in it.
    assert planned[3] < found["hours"][3]["gpus"] < planned[3] + 1.0
    assert found["gpu_hours"] == pytest.approx(sum(hour["gpus"] for hour in found["hours"]))


def test_a_limit_that_breaks_in_one_hour_breaks(told, plan, tmp_path, capsys):
    path = tmp_path / "trace.csv"
    rows = [(40.0 * n, 5) for n in range(180)] + [(3_000 + n / 120, 3) for n in range(10_000)]
    path.write_text("time,in,out\n" + "".join(f"{at:.4f},600,{out}\n" for at, out in sorted(rows)))
    words = (
        "--hours",
        "0-2",
        "--seeds",
        "1",
        "--trace",
        str(path),
        "--columns",
        "time=time,input=in,output=out",
    )
    found = told("replay", plan, *words, code=1)
    assert [bool(hour["breaks"]) for hour in found["hours"]] == [True, False]
    assert next(row for row in found["limits"] if row["id"] == "ttft_p99:chat")["hours"] == [0]
    assert any("in hours 0" in reason for reason in found["reasons"])
    assert cli.run(["replay", plan, *words]) == 1
    assert "GPU-hours" in capsys.readouterr().out


def test_a_schedule_is_held_against_autoscalers_and_the_perfect_one(told, plan, capsys):
    words = ("--hours", "0-2", "--seeds", "1", "--scaling")
    found = told("replay", plan, *words, "--cold-start", "30")
    rows = {row["how"]: row for row in found["scaling"]}
    assert list(rows) == ["schedule", "reactive", "predictive", "perfect"]
    assert rows["schedule"]["gpu_hours"] == pytest.approx(found["gpu_hours"])
    assert rows["schedule"]["verdict"] == rows["perfect"]["verdict"] == "holds"
    for row in rows.values():
        assert row["mean_gpus"] <= row["peak_gpus"]
        assert row["gpu_hours"] == pytest.approx(2.0 * row["mean_gpus"])
        assert row["limits_s"].keys() == {"ttft_p99:chat", "itl_p99:chat"}
    # Whatever follows the load needs no more than the perfect one, which knows it.
    assert rows["perfect"]["gpu_hours"] < rows["schedule"]["gpu_hours"]
    # One that only follows is late when the load rises at once, the later the longer a start takes.
    slow = told("replay", plan, *words, "--cold-start", "15 min")
    late = {row["how"]: row["limits_s"]["ttft_p99:chat"] for row in slow["scaling"]}
    assert late["reactive"] > 2 * rows["reactive"]["limits_s"]["ttft_p99:chat"]
    assert late["perfect"] == rows["perfect"]["limits_s"]["ttft_p99:chat"]


def test_warm_replicas_cost_and_help(told, plan):
    words = ("--hours", "0-2", "--seeds", "1", "--scaling", "--cold-start", "10 min")
    few, many = (
        {row["how"]: row for row in told("replay", plan, *words, "--min-replicas", n)["scaling"]}
        for n in ("1", "4")
    )
    assert many["reactive"]["gpu_hours"] > few["reactive"]["gpu_hours"]
    ttft = [one["reactive"]["limits_s"]["ttft_p99:chat"] for one in (few, many)]
    assert ttft[1] < ttft[0]


def test_starts_take_as_long_as_their_storage(told, plan):
    paid = [
        told("replay", plan, "--hours", "0-2", "--seeds", "1", *words)["hours"][0]["gpus"]
        for words in ((), ("--storage", "object-store"))
    ]
    assert paid[1] != paid[0]


def test_one_hour_may_be_named(told, plan):
    quiet = told("replay", plan, "--hours", "3", "--seeds", "1", "--duration", "60")
    assert quiet["period"] == 3
    assert quiet["hours"] == []
    assert quiet["workloads"]["chat"]["rate_rps"] == pytest.approx(0.5, rel=0.6)
    assert told("replay", plan, "--seeds", "1", "--duration", "60")["period"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--hours", "3-9"), "hours from 0 to 4"),
        (("--hours", "2-2"), "hours from 0 to 4"),
        (("--hours", "noon"), "an hour from 0"),
        (("--storage", "tape"), "one of "),
        (("--target", "120 %"), "--target"),
        (("--min-replicas", "0"), "--min-replicas"),
        (("--hours", "all", "--duration", "60"), "--duration"),
    ],
)
def test_hours_that_are_not_there_are_told(plan, refused, words, said):
    refused(said, "replay", plan, *words)
