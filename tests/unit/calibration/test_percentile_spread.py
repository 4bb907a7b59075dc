"""What percentiles add to the spread of their means: which rows count, and the estimate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from planner.calibration.accuracy import SCORE
from planner.calibration.percentile_spread import beyond_mean, is_steady, percentile_sigmas
from planner.loaders.percentile_rows import read_percentiles
from planner.queueing.lengths import normal_scores
from planner.schema.percentiles import PredictedPercentiles

HEADER = (
    "id,source,model,gpu,n_gpus,tp,replicas,engine,engine_version,dataset,isl_mean,isl_kind,osl_mean,osl_kind,"
    "load_kind,request_rate_rps,n_requests,request_throughput_rps,ttft_mean_ms,ttft_p50_ms,ttft_p90_ms,"
    "ttft_p99_ms,quality"
)
MEAN = 0.3


@pytest.fixture
def predicted(tmp_path):
    """Rows whose logs of predicted over measured are given for the mean, P50, P90 and P99, by model."""

    def predicted(models, **changes):
        lines = []
        for model, logs in enumerate(models):
            for row, four in enumerate(logs):
                told = ",".join(f"{100.0 * math.exp(-log):.9g}" for log in four)
                lines.append(
                    f"R{model}-{row},a@1,Llama-{model},H100 80GB,1,1,1,vLLM,0.8.5,ShareGPT,205,sharegpt,"
                    f"201,sharegpt,rate,{row + 1},200,{row + 1},{told},A"
                )
        path = tmp_path / "runs.csv"
        path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
        ms = {"ttft_mean": 100.0, "ttft_p50": 100.0, "ttft_p90": 100.0, "ttft_p99": 100.0}
        common = {"utilization": 0.5, "sigma_log": {"ttft": MEAN, "tpot": 0.1}} | changes
        return [PredictedPercentiles(row, "", (), "", ms, **common) for row in read_percentiles(path)]

    return predicted


def normal(count, sigma):
    """One draw of each of equal shares: the interval of 80 % holds exactly 80 %."""
    return sigma * normal_scores((np.arange(count) + 0.5) / count)


def models(beyond, of_mean=0.0):
    """One row a model; P90 and P99 err by so much beyond the mean."""
    return [[(of_mean, of_mean, of_mean + one, of_mean + one)] for one in beyond]


def values(rows):
    return {name.partition("_beyond")[0]: item.value for name, item in percentile_sigmas(rows).items()}


def test_a_percentile_adds_what_it_errs_by_beyond_its_mean(predicted):
    found = values(predicted(models(normal(200, 0.4))))
    assert found["ttft_p50"] == 0.0
    assert found["ttft_p90"] == found["ttft_p99"] == pytest.approx(0.4, abs=0.02)
    assert set(found) == {"ttft_p50", "ttft_p90", "ttft_p99"}


def test_what_the_mean_errs_by_is_not_counted_again(predicted):
    beyond = normal(60, 0.4)
    near, far = predicted(models(beyond)), predicted(models(beyond, of_mean=1.5))
    assert values(far) == pytest.approx(values(near), rel=1e-6)
    wide = [replace(row, sigma_log={"ttft": 2.0, "tpot": 2.0}) for row in near]
    assert values(wide) == values(near)


def test_what_falls_shares_its_mean(predicted):
    rows = [[(0.0, low, high, low)] for low, high in zip(normal(200, 0.4), normal(200, 0.6), strict=True)]
    found = values(predicted(rows))
    both = math.sqrt((0.4**2 + 0.6**2) / 2.0)
    assert found["ttft_p90"] == found["ttft_p99"] == pytest.approx(both, abs=0.02)
    assert found["ttft_p50"] < found["ttft_p90"]


def test_a_model_counts_once_however_many_rates_it_was_run_at(predicted):
    calm = models([0.0] * 29)
    once, often = ([(0.0, 2.0, 2.0, 2.0)] * count for count in (1, 50))
    assert values(predicted([*calm, often])) == values(predicted([*calm, once]))


def test_no_single_model_decides(predicted):
    """Twelve of fifteen lie near their means: one less on either side would be all of the step between."""
    near, far = [0.02] * 12, [0.9] * 3
    rows = [[(0.0, one, one, one)] * 2 for one in near + far]
    found = values(predicted(rows))["ttft_p99"]
    for left in range(len(rows)):
        moved = values(predicted(rows[:left] + rows[left + 1 :]))["ttft_p99"]
        assert abs(moved - found) < 0.25 * (0.9 - 0.02) / SCORE


def test_few_rows_have_no_spread(predicted):
    assert values(predicted(models([0.1] * 19))) == {}


def test_a_row_without_a_mean_says_nothing(predicted):
    rows = predicted(models([0.1] * 20))
    assert values(rows)
    (first, *_) = rows
    assert beyond_mean(first, "ttft_p99") == pytest.approx(0.1)
    ms = {name: value for name, value in first.ms.items() if name != "ttft_mean"}
    assert beyond_mean(replace(first, ms=ms), "ttft_p99") is None
    observed = {name: value for name, value in first.row.observed_ms.items() if name != "ttft_mean"}
    unstated = [replace(row, row=replace(row.row, observed_ms=observed)) for row in rows]
    assert values(unstated) == {}


@pytest.mark.parametrize(
    "changed", [{"utilization": 0.91}, {"utilization": None}, {"skipped": "no room"}, {"kind": "closed-loop"}]
)
def test_rows_that_say_nothing_of_plans_do_not_count(predicted, changed):
    (row,) = predicted(models([1.0]))
    assert is_steady(row)
    if kind := changed.get("kind"):
        measured = replace(row.row.measured, kind=kind)
        assert not is_steady(replace(row, row=replace(row.row, measured=measured)))
    else:
        assert not is_steady(replace(row, **changed))


def test_recalled_prompts_and_doubts_do_not_count(predicted):
    (row,) = predicted(models([1.0]))
    recalled = replace(row.row, measured=replace(row.row.measured, input_tokens=0.0))
    assert not is_steady(replace(row, row=recalled))
    assert not is_steady(replace(row, row=replace(row.row, doubt="some")))


def test_the_interval_is_that_of_eighty_percent():
    assert pytest.approx(1.2816, abs=1e-3) == SCORE
