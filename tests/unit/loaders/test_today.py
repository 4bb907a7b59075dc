"""The file of today's fleet in all its forms, and all that is wrong with one at once."""

import json

import pytest

from planner.errors import InputError
from planner.loaders.today import load_today, today_of
from planner.schema.fleet_answers import RatedPool, Today

NAMES = ("h100-sxm", "a100-sxm", "l40s")


def load(tmp_path, text, name="today.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_today(path, NAMES.__contains__, NAMES)


def faults(tmp_path, text, name="today.yaml"):
    with pytest.raises(InputError) as caught:
        load(tmp_path, text, name)
    return [str(fault).removeprefix(f"{tmp_path}/") for fault in caught.value.faults]


POOLS = Today(
    pools=(
        RatedPool(gpu="h100-sxm", replicas=4, gpus_per_replica=2, workload="chat", capacity_rps=6.5),
        RatedPool(gpu="l40s", replicas=3),
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "- {gpu: h100-sxm, replicas: 4, gpus_per_replica: 2, workload: chat, capacity_rps: 6.5}\n"
        "- {gpu: l40s, replicas: 3}\n",
        "# today\n---\n-\n  gpu: h100-sxm\n  replicas: 4\n  gpus_per_replica: 2\n  workload: chat\n"
        "  capacity_rps: 6.5\n- {gpu: l40s, replicas: 3}\n",
        '[{"gpu": "h100-sxm", "replicas": 4, "gpus_per_replica": 2, "workload": "chat",'
        ' "capacity_rps": 6.5},\n {"gpu": "l40s", "replicas": 3}]',
        "pools:\n- {gpu: h100-sxm, replicas: 4, gpus_per_replica: 2, workload: chat, capacity_rps: 6.5}\n"
        "- {gpu: l40s, replicas: 3}\n",
    ],
)
def test_lists_of_pools(tmp_path, text):
    found = load(tmp_path, text)
    assert found == POOLS
    assert found.gpu_counts == {"h100-sxm": 8, "l40s": 3}


@pytest.mark.parametrize("text", ["gpus: {h100-sxm: 16, l40s: 0}", '{"gpus": {"h100-sxm": 16, "l40s": 0}}'])
def test_gpus_alone(tmp_path, text):
    found = load(tmp_path, text)
    assert found.pools == ()
    assert found.gpu_counts == {"h100-sxm": 16}


def test_idle_gpus_beside_pools(tmp_path):
    found = load(
        tmp_path, "gpus: {h100-sxm: 16}\npools: [{gpu: h100-sxm, replicas: 3, gpus_per_replica: 4}]\n"
    )
    assert found.gpu_counts == {"h100-sxm": 16}
    (fault,) = faults(
        tmp_path, "gpus: {h100-sxm: 8}\npools: [{gpu: h100-sxm, replicas: 3, gpus_per_replica: 4}]"
    )
    assert "found 8 h100-sxm for pools that take 12, expected at least 12" in fault


def test_a_plan_is_todays_fleet(tmp_path, chat_plan):
    text = json.dumps(chat_plan.model_dump(mode="json", by_alias=True))
    found = load(tmp_path, text, "plan.json")
    assert found == today_of(chat_plan)
    (pool,) = found.pools
    assert (pool.gpu, pool.replicas, pool.gpus_per_replica, pool.capacity_rps) == ("h100-sxm", 8, 2, 6.37)
    assert (pool.role, pool.workload) == ("serve", "chat")
    assert found.gpu_counts == chat_plan.gpus


def test_all_faults_at_once_with_their_lines(tmp_path):
    text = (
        "- {gpu: h100-smx, replicas: 4}\n"
        "- {gpu: l40s, replicas: -1}\n"
        "- {gpu: l40s, replica: 2}\n"
        "- {replicas: 2}\n"
        "- {gpu: l40s, replicas: 2.5, capacity_rps: 0}\n"
    )
    found = faults(tmp_path, text)
    assert [fault.partition(": ")[0] for fault in found] == [
        "today.yaml:1",
        "today.yaml:2",
        "today.yaml:3",
        "today.yaml:4",
        "today.yaml:5",
        "today.yaml:5",
    ]
    assert 'pools.0.gpu: found "h100-smx", expected a known GPU. Maybe "h100-sxm"?' in found[0]
    assert 'Maybe "replicas"?' in found[2]


def test_unknown_gpus_by_type(tmp_path):
    (fault,) = faults(tmp_path, "gpus:\n  h100-sxm: 8\n  a100: 4\n")
    assert fault == 'today.yaml:3: gpus.a100: found "a100", expected a known GPU. Maybe "a100-sxm"?'


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "- 5\n", "just words", "gpus: {h100-sxm: -1}", "- [\n", "pools: 3"]
)
def test_no_fleet_at_all(tmp_path, text):
    assert faults(tmp_path, text)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_today(tmp_path / "none.yaml")
