"""Ladders of rates: start-up, requests in flight, and prompts that an earlier run had sent."""

from __future__ import annotations

import pytest

from planner.calibration.ladders import START_UP, sent_before, with_in_flight, with_start_up
from planner.loaders.percentile_rows import read_percentiles

HEADER = (
    "id,source,model,gpu,n_gpus,tp,replicas,engine,engine_version,dataset,isl_mean,isl_kind,osl_mean,osl_kind,"
    "load_kind,request_rate_rps,n_requests,request_throughput_rps,ttft_p50_ms,tpot_p50_ms,prefix_cache,quality"
)


@pytest.fixture
def rows(tmp_path):
    def rows(*lines):
        path = tmp_path / "runs.csv"
        text = [
            f"{name},a@1,Llama-3.1-8B,H100 80GB,1,1,1,vLLM,0.8.5,ShareGPT,{isl},sharegpt,201,sharegpt,rate,"
            f"{rate},{count},{done},{ttft},10,{cache},A"
            for name, isl, rate, count, done, ttft, cache in lines
        ]
        path.write_text("\n".join([HEADER, *text]) + "\n", encoding="utf-8")
        return read_percentiles(path)

    return rows


def test_all_but_the_highest_rate_find_the_prompts_of_their_ladder(rows):
    ladder = rows(
        ("A", 205.84, 1, 200, 1, 20, ""), ("B", 205.84, 4, 200, 4, 21, ""), ("C", 205.84, 16, 200, 9, 40, "")
    )
    found = sent_before(ladder)
    assert set(found) == {"A", "B"}
    assert found["A"].distinct == 200
    assert found["A"].share == 0.0


@pytest.mark.parametrize(
    "other", [(206, 200, ""), (205.85, 200, ""), (205.84, 300, ""), (205.84, 200, "off")]
)
def test_other_prompts_are_not_found(rows, other):
    isl, count, cache = other
    first = (isl if isl == 206 else 205.84, 1, 200, 1, 20, cache)
    assert not sent_before(rows(("A", *first), ("B", isl, 4, count, 4, 21, cache)))


def test_a_ladder_had_in_flight_what_its_fullest_run_had(rows):
    ladder = with_in_flight(
        rows(
            ("A", 205.84, 1, 200, 1, 20, ""), ("B", 205.84, 4, 200, 4, 100, ""), ("C", 500, 2, 300, 2, 50, "")
        )
    )
    fullest = 4 * (0.1 + 200 * 0.010)
    assert [row.measured.in_flight for row in ladder] == pytest.approx([fullest, fullest, 2 * 2.05])


def test_a_note_may_name_the_former_engine(tmp_path):
    path = tmp_path / "runs.csv"
    line = "A,a@1,Llama-3.1-8B,H100 80GB,1,1,1,vLLM,0.9.0,random,200,fixed,60,fixed,rate,1,60,1,37,8,off,B"
    text = (f"{HEADER},note", f"{line},V0 engine variable set", line.replace("A,", "B,", 1) + ",")
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    assert [row.measured.legacy for row in read_percentiles(path)] == [True, None]


def test_a_lower_rate_that_is_slower_shows_its_start_up(rows):
    found = with_start_up(rows(("A", 205.84, 1, 200, 1, 90, ""), ("B", 205.84, 4, 200, 4, 40, "")))
    assert [row.doubt for row in found] == [START_UP, ""]
