"""Load of the hottest rank where a table says how tokens were dealt to experts."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from planner.calibration.hot_ranks import hot_ratios, power_law_ratio
from planner.physics.moe import largest_ratio
from planner.schema.operator_times import OperatorTable


def table(distribution, tokens=1024, experts=256, used=8, ranks=8):
    numbers = {"tokens": tokens, "experts": experts, "experts_per_token": used, "expert_ep": ranks}
    return OperatorTable(
        "moe",
        {"distribution": (distribution,)},
        {name: (float(value),) for name, value in numbers.items()},
        (1.0,),
    )


def test_more_ranks_differ_more():
    ratios = [power_law_ratio(1.2, 1024, 256, 8, ranks) for ranks in (1, 2, 4, 8, 32, 64)]
    assert ratios[0] == pytest.approx(1.0, abs=0.05)
    assert all(one < other for one, other in pairwise(ratios))


def test_larger_batches_reach_further_into_the_tail():
    ratios = [power_law_ratio(1.2, tokens, 256, 8, 8) for tokens in (256, 1024, 4096, 16384)]
    assert all(one < other for one, other in pairwise(ratios))


@pytest.mark.parametrize("exponent", [0.6, 1.0, 1.2])
@pytest.mark.parametrize("tokens", [1, 16, 4096])
def test_no_rank_gets_more_than_all_tokens(exponent, tokens):
    found = power_law_ratio(exponent, tokens, 128, 8, 32)
    assert 1.0 <= found <= float(largest_ratio(128.0, 8.0, 1.0 / 32.0))


def test_against_counting_tokens_one_by_one():
    """Logarithms are even for an exponent of one: 20,000 draws of 16 experts on 4 ranks."""
    random = np.random.default_rng(3)
    loads = np.exp(random.random((20_000, 16)) * math.log(0.8 * 512))
    rows = np.minimum(loads / loads.sum(axis=1, keepdims=True) * 512 * 2, 512)
    hottest = rows.reshape(-1, 4, 4).sum(axis=2).max(axis=1).mean() / (512 * 2 / 4)
    assert power_law_ratio(1.0, 512, 16, 2, 4) == pytest.approx(hottest, rel=0.05)


def test_what_is_not_known_has_no_ratio():
    assert hot_ratios(table("power_law_1.2"))[0] > 1.3
    assert hot_ratios(table("power_law_1.2", ranks=1))[0] == 1.0
    assert math.isnan(hot_ratios(table("balanced"))[0])
    assert math.isnan(hot_ratios(table("power_law_1.2", experts=250))[0])
