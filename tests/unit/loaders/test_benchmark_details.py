"""Lists of single requests in benchmark files."""

import json
from pathlib import Path

import numpy as np
import pytest

from planner.errors import InputError
from planner.loaders.benchmarks import read_benchmarks

DATA = Path(__file__).parents[2] / "data" / "benchmarks" / "vllm" / "0.33.0"


def read(tmp_path, **changes):
    document = json.loads((DATA / "detailed.json").read_text()) | changes
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    return read_benchmarks([path])[0]


def test_requests_one_by_one(tmp_path):
    samples = read(tmp_path).samples
    assert len(samples) == 4
    assert samples.ttft_s[:2].tolist() == [0.1, 0.12]
    assert len(samples.gaps_s) == 4
    assert samples.e2e_s[0] == 3.17
    assert samples.tpot_s[0] == pytest.approx((3.17 - 0.1) / 255)


def test_failed_requests_are_left_out_and_the_rest_is_by_start(tmp_path):
    samples = read(tmp_path, errors=["", "boom", "", ""], start_times=[3.0, 1.0, 2.0, 0.5]).samples
    assert samples.start_s.tolist() == [0.5, 2.0, 3.0]


def test_times_add_up_where_no_end_is_listed(tmp_path):
    samples = read(tmp_path, latencies=[], itls=[[0.012, 0.288]] * 4, mean_itl_ms=None).samples
    assert np.allclose(samples.e2e_s - samples.ttft_s, 0.3)


def test_lengths_follow_from_the_lists(tmp_path):
    found = read(tmp_path, input_lens=[100, 200, 300, 400])
    assert found.input_tokens["mean"] == 250
    assert found.input_tokens["p50"] == 250


def test_summaries_have_no_lists():
    (point,) = read_benchmarks([DATA / "rate.json"])
    assert point.samples is None
    assert point.arrival_scv_ratio == 1.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"itls": [[0.1]]}, "itls: found 1 items beside 4 ttfts, expected one item a request"),
        ({"itls": [0.1, 0.1, 0.1, 0.1]}, "itls[0]: found 0.1, expected a list of seconds"),
        ({"ttfts": [0.1, -1, 0.1, 0.1]}, "ttfts[1]: found -1, expected a finite number of zero or more"),
        ({"latencies": ["x", 1, 1, 1]}, "latencies[0]: found 'x', expected a finite number"),
        ({"input_lens": {}}, "input_lens: found {} beside 4 ttfts, expected one item a request"),
    ],
)
def test_broken_lists_are_refused(tmp_path, changes, words):
    with pytest.raises(InputError) as problem:
        read(tmp_path, **changes)
    assert words in str(problem.value)
