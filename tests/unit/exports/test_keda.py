"""ScaledObjects: the hours of the plan as windows, the planned load as a threshold."""

import re

import pytest
import yaml
from export_samples import case_of, workload
from manifest_schemas import problems

from planner.errors import CannotExpressError
from planner.exports.keda import keda


@pytest.fixture
def scaled(make_plan, tmp_path):
    """Specs of the pools; ``hours``: replicas of the first pool."""

    def scaled(*pools, hours=(), **keys):
        periods = [
            {"period": t, "replicas": {"chat/serve/1": n}, "gpus": {"h100-sxm": 2 * n}, "usd": 5.0 * n}
            for t, n in enumerate(hours)
        ]
        made = keda(case_of(make_plan, tmp_path, pools or [{}], periods=periods, **keys))
        documents = [yaml.safe_load(item.content) for item in made.files]
        for document in documents:
            assert not problems(document)
            values = [value for one in document["spec"]["triggers"] for value in one["metadata"].values()]
            assert all(isinstance(value, str) for value in values)
        return [document["spec"] for document in documents]

    return scaled


def windows(spec):
    cron = [one["metadata"] for one in spec["triggers"] if one["type"] == "cron"]
    return [(one["start"], one["end"], one["desiredReplicas"]) for one in cron]


def asked_at(spec, minute):
    """Replicas that the clock asks for at a minute of the day."""

    def time(text):
        at, hour, *_ = text.split()
        return int(hour) * 60 + int(at)

    def inside(start, end):
        return start <= minute < end if start < end else minute >= start or minute < end

    found = [int(n) for start, end, n in windows(spec) if inside(time(start), time(end))]
    return max([spec["minReplicaCount"], *found])


def test_hours_of_a_day(scaled):
    hours = [2] * 7 + [5] * 3 + [8] * 8 + [5] * 2 + [2] * 4
    (spec,) = scaled(hours=hours)
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 8)
    # A cold start of 94 s and 71.2 GB from the hub at 0.75 GB/s: four minutes earlier.
    assert windows(spec) == [
        ("56 6 * * *", "0 10 * * *", "5"),
        ("56 9 * * *", "0 18 * * *", "8"),
        ("56 17 * * *", "0 20 * * *", "5"),
    ]
    assert [asked_at(spec, 60 * hour) for hour in range(24)] == hours


def test_windows_over_midnight_begin_the_day_before(scaled):
    hours = [4] * 6 + [1] * 18
    (spec,) = scaled(hours=hours)
    assert windows(spec) == [("56 23 * * *", "0 6 * * *", "4")]
    assert [asked_at(spec, 60 * hour) for hour in range(24)] == hours


def test_days_of_a_week(scaled):
    (spec,) = scaled(hours=[*[1] * 24, *[3] * 24, *[1] * 96, *[2] * 24])
    assert windows(spec) == [("56 23 * * 1", "0 0 * * 3", "3"), ("56 23 * * 6", "0 0 * * 1", "2")]


def test_hours_that_no_clock_has(scaled):
    with pytest.raises(CannotExpressError) as no:
        scaled(hours=[1, 2, 3, 4, 5])
    assert no.value.reasons == (
        "The plan has 5 hours: cron triggers repeat every day or week, not in 5 hours.",
    )


@pytest.mark.parametrize(
    ("fleet", "more", "least"),
    [
        ({}, {}, 1),
        ({"min_replicas": 3}, {}, 3),
        ({"redundancy": 2}, {}, 3),
        ({"redundancy": {"replicas": 9}}, {}, 8),
        ({"redundancy": {"zones": 1}}, {}, 8),
        ({"min_replicas": 3}, {"min_replicas": 2}, 2),
    ],
)
def test_what_stays_up_whatever_the_load(scaled, fleet, more, least):
    (spec,) = scaled(fleet=fleet, workloads=[workload(**more)])
    assert windows(spec) == []
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (least, 8)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_load_in_the_words_of_the_engine(scaled, engine):
    serve, prefill = scaled({"engine": engine}, {"engine": engine, "role": "prefill"})
    (load,) = (one["metadata"] for one in serve["triggers"])
    assert load["threshold"] == "41.300000"
    assert re.search(r"running.* \+ .*(waiting|queue)", load["query"])
    (rate,) = (one["metadata"] for one in prefill["triggers"])
    assert rate["threshold"] == "6.000000"
    assert rate["query"].startswith("sum(")
    assert 'pool="chat-prefill-2"' in rate["query"]


def test_replicas_of_several_servers(scaled):
    big = {"model": "deepseek-v3", "weights": "fp8", "kv": "bf16", "tp": 8, "pp": 2, "replicas": 3}
    (spec,) = scaled(big, workloads=[workload(model="deepseek-v3")])
    assert spec["scaleTargetRef"] == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "chat-serve-1",
    }  # fmt: skip
