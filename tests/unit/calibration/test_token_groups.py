"""Runs whose tokens came in groups: a mean gap above the mean time per token."""

from __future__ import annotations

import pytest

from planner.calibration.token_groups import IN_GROUPS, SERVER_IN_GROUPS, with_groups
from planner.loaders.percentile_rows import read_percentiles

HEADER = (
    "id,source,model,gpu,n_gpus,tp,replicas,engine,engine_version,dataset,isl_mean,isl_kind,osl_mean,osl_kind,"
    "load_kind,request_rate_rps,n_requests,request_throughput_rps,ttft_p50_ms,tpot_mean_ms,itl_mean_ms,quality"
)


@pytest.fixture
def doubts(tmp_path):
    def doubts(*runs):
        path = tmp_path / "runs.csv"
        lines = [
            f"R{row},a@1,Llama-3.1-8B,H100,{gpus},{gpus},1,vLLM,0.8.5,ShareGPT,205,sharegpt,201,sharegpt,"
            f"rate,{row + 1},200,{row + 1},30,{tpot},{itl},A"
            for row, (gpus, tpot, itl) in enumerate(runs)
        ]
        path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
        return [row.doubt for row in with_groups(read_percentiles(path))]

    return doubts


def test_gaps_longer_than_the_time_per_token_hold_several_tokens(doubts):
    assert doubts((1, 10, 10.9), (1, 10, 11.1), (1, 10, 6)) == ["", IN_GROUPS, ""]


def test_a_third_of_a_server_and_three_put_all_of_it_in_doubt(doubts):
    shown = [(2, 10, 15)] * 3
    assert doubts(*shown, *[(2, 10, 10)] * 6) == [IN_GROUPS] * 3 + [SERVER_IN_GROUPS] * 6
    assert doubts(*shown, *[(2, 10, 10)] * 7) == [IN_GROUPS] * 3 + [""] * 7
    assert doubts(*shown[:2], (2, 10, 10)) == [IN_GROUPS] * 2 + [""]
    assert doubts(*shown, (4, 10, 10)) == [IN_GROUPS] * 3 + [""]


def test_runs_that_state_no_means_are_left_alone(doubts):
    assert doubts((1, "", 15), (1, 10, "")) == ["", ""]
