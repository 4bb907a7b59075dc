"""What percentiles add to the spread of their means: which rows count, and the estimate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from planner.calibration.accuracy import SCORE
from planner.calibration.percentile_spread import is_steady, percentile_sigmas
from planner.loaders.percentile_rows import read_percentiles
from planner.schema.percentiles import PredictedPercentiles

HEADER = (
    "id,source,model,gpu,n_gpus,tp,replicas,engine,engine_version,dataset,isl_mean,isl_kind,osl_mean,osl_kind,"
    "load_kind,request_rate_rps,n_requests,request_throughput_rps,ttft_p50_ms,ttft_p90_ms,ttft_p99_ms,quality"
)
MEAN = 0.3


@pytest.fixture
def predicted(tmp_path):
    """Rows whose logs of predicted over measured are given for P50, P90 and P99; one model a server."""

    def predicted(servers, **changes):
        lines = []
        for server, logs in enumerate(servers):
            for row, triple in enumerate(logs):
                told = ",".join(f"{100.0 * math.exp(-log):.9g}" for log in triple)
                lines.append(
                    f"R{server}-{row},a@1,Llama-{server},H100 80GB,1,1,1,vLLM,0.8.5,ShareGPT,205,sharegpt,"
                    f"201,sharegpt,rate,{row + 1},200,{row + 1},{told},A"
                )
        path = tmp_path / "runs.csv"
        path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
        ms = {"ttft_p50": 100.0, "ttft_p90": 100.0, "ttft_p99": 100.0}
        common = {"utilization": 0.5, "sigma_log": {"ttft": MEAN, "tpot": 0.1}} | changes
        return [PredictedPercentiles(row, "", (), "", ms, **common) for row in read_percentiles(path)]

    return predicted


def normal(count, sigma):
    """One draw of each of equal shares: the interval of 80 % holds exactly 80 %."""
    shares = (np.arange(count) + 0.5) / count
    from planner.queueing.lengths import normal_scores

    return sigma * normal_scores(shares)


def values(rows):
    return {name.partition("_beyond")[0]: item.value for name, item in percentile_sigmas(rows).items()}


def test_a_percentile_adds_what_its_errors_are_wider_by(predicted):
    one, two = normal(200, MEAN), normal(200, 0.5)
    found = values(predicted([[(a, b, b) for a, b in zip(one, two, strict=True)]]))
    assert found["ttft_p50"] == pytest.approx(0.0, abs=0.05)
    assert found["ttft_p90"] == pytest.approx(0.4, abs=0.02)
    assert set(found) == {"ttft_p50", "ttft_p90", "ttft_p99"}


def test_what_falls_shares_its_mean(predicted):
    low, high = normal(200, 0.5), normal(200, 0.7)
    found = values(predicted([[(a, b, a) for a, b in zip(low, high, strict=True)]]))
    both = math.sqrt((found["ttft_p50"] ** 2 + 0.7**2 - MEAN**2) / 2.0)
    assert found["ttft_p90"] == found["ttft_p99"] == pytest.approx(both, abs=0.02)
    assert found["ttft_p50"] < found["ttft_p90"]


def test_a_server_counts_once_however_many_rates_it_was_run_at(predicted):
    calm = [[(0.0, 0.0, 0.0)] for _ in range(9)]
    wild = [(2.0, 2.0, 2.0)] * 50
    assert values(predicted([*calm, wild]))["ttft_p99"] == 0.0


def test_few_rows_have_no_spread(predicted):
    assert values(predicted([[(0.1, 0.1, 0.1)] * 19])) == {}


@pytest.mark.parametrize(
    "changed", [{"utilization": 0.91}, {"utilization": None}, {"skipped": "no room"}, {"kind": "closed-loop"}]
)
def test_rows_that_say_nothing_of_plans_do_not_count(predicted, changed):
    (row,) = predicted([[(1.0, 1.0, 1.0)]])
    assert is_steady(row)
    if kind := changed.get("kind"):
        measured = replace(row.row.measured, kind=kind)
        assert not is_steady(replace(row, row=replace(row.row, measured=measured)))
    else:
        assert not is_steady(replace(row, **changed))


def test_recalled_prompts_and_doubts_do_not_count(predicted):
    (row,) = predicted([[(1.0, 1.0, 1.0)]])
    recalled = replace(row.row, measured=replace(row.row.measured, input_tokens=0.0))
    assert not is_steady(replace(row, row=recalled))
    assert not is_steady(replace(row, row=replace(row.row, doubt="some")))


def test_the_interval_is_that_of_eighty_percent():
    assert pytest.approx(1.2816, abs=1e-3) == SCORE
