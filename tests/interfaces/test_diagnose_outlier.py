"""One replica that stands out from the others is named first; a fleet that is alike never so."""

import json

import pytest

from planner.interfaces.cli import run

PAGE = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m"}} {running}
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{engine="0",model_name="m"}} {waiting}
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} {kv}
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{{engine="0",model_name="m"}} {preempted}
# TYPE vllm:request_success counter
vllm:request_success_total{{engine="0",model_name="m",finished_reason="stop"}} {done}
vllm:request_success_total{{engine="0",model_name="m",finished_reason="error"}} {failed}
# TYPE process_start_time_seconds gauge
process_start_time_seconds {born}
"""
WELL = {"running": 20, "waiting": 0, "kv": 0.45, "preempted": 0, "done": 2000, "failed": 0}
HOT = WELL | {"waiting": 12, "kv": 0.99, "preempted": 300}
BROKEN = WELL | {"running": 5, "kv": 0.2, "done": 1000, "failed": 1000}


@pytest.fixture
def first(capsys, tmp_path):
    """The first finding about replicas, each given by its numbers; None: all is well."""

    def first(*replicas):
        words = ["diagnose", "--json"]
        for number, values in enumerate(replicas):
            path = tmp_path / f"{number}.prom"
            path.write_text(PAGE.format(born=1_700_000_000 + number, **values))
            words += ["--metrics", str(path)]
        assert run(words) == 0
        findings = json.loads(capsys.readouterr().out)["findings"]
        return findings[0]["rule"] if findings else None

    return first


@pytest.mark.parametrize("others", [1, 2, 3, 7])
def test_one_hot_cache_is_work_that_is_not_shared(first, others):
    assert first(*[WELL] * others, HOT) == "replicas-unevenly-loaded"


@pytest.mark.parametrize("others", [1, 3, 7])
def test_one_replica_with_errors_is_broken(first, others):
    assert first(*[WELL] * others, BROKEN) == "one-replica-fails"


def test_replicas_that_are_alike_have_another_cause(first):
    assert first(*[WELL] * 4) is None
    assert first(*[HOT] * 4) == "kv-eviction-early"
    assert first(*[BROKEN] * 4) == "requests-end-in-errors"
    assert first(HOT) == "kv-eviction-early"
    assert first(BROKEN) == "requests-end-in-errors"
