"""Choices with the margin of plans, and of GPU types by price."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from planner.calibration.fit_reference import Observations
from planner.calibration.measured_rows import measured_rows
from planner.calibration.planned_choices import (
    GpuRate,
    cheapest_usd_per_gpu_h,
    choice_report,
    gpu_winners,
    margins,
)
from planner.loaders.catalog import load_catalog
from planner.report.accuracy_page import choice_rows
from planner.report.fit_reference_text import gpu_sentence
from planner.schema.measurement import Measurement

PRICES = {"small": 2.0, "large": 5.0}


def rates(small, large, group="a"):
    return [GpuRate(group, "small", *small), GpuRate(group, "large", *large)]


def test_the_cheapest_type_per_token_wins():
    """2 USD for 100 against 5 USD for 300 tokens/s: the large one is cheaper by a sixth."""
    found = gpu_winners(rates((100, 100), (290, 300)), PRICES)
    assert (found.groups, found.right, found.loss) == (1, 1.0, 0.0)
    found = gpu_winners(rates((100, 100), (240, 300)), PRICES)
    assert (found.right, found.loss) == (0.0, pytest.approx(0.2))


def test_each_type_stands_with_its_best_configuration():
    more = [GpuRate("a", "large", 240, 100), GpuRate("a", "large", 260, 300)]
    assert gpu_winners([*rates((100, 100), (0, 0)), *more], PRICES).right == 1.0


def test_a_group_needs_two_priced_types_that_keep_the_limit():
    assert gpu_winners(rates((100, 100), (300, 0)), PRICES).groups == 0
    assert gpu_winners([GpuRate("a", "small", 1, 1), GpuRate("a", "unpriced", 1, 1)], PRICES).groups == 0


def test_where_nothing_seems_to_keep_the_limit_the_dearest_counts():
    assert gpu_winners(rates((0, 100), (0, 300)), PRICES).loss == pytest.approx(0.2)


def test_prices_are_those_of_the_cheapest_offer_of_one_gpu():
    catalog = load_catalog(())
    found = cheapest_usd_per_gpu_h(catalog)
    own = [offer for _, offer in catalog.offers() if offer.accelerator == "h100-80gb-sxm" and offer.usable]
    assert found["h100-80gb-sxm"] == min(float(offer.on_demand) / offer.gpus for offer in own)


def fit_of(pairs):
    """Closed loops of four clients with TPOT and TTFT, and logarithms of their errors of TPOT."""
    rows, logs = [], []
    for model, gpu, tp, tpot_ms, log in pairs:
        rows.append(
            Measurement(
                id=f"{model}{gpu}{tp}{tpot_ms}", where="", kind="closed-loop", model=model, gpu=gpu,
                engine="vllm", engine_version="", weights="fp8", kv="fp8", gpus=tp, tp=tp,
                input_tokens=1000.0, output_tokens=501.0, requests=4.0, ttft_ms=1.0, tpot_ms=tpot_ms,
            )
        )  # fmt: skip
        logs.append(log)
    catalog = load_catalog(())
    resolved = measured_rows(rows, catalog, catalog.calibration)
    place = np.tile(np.arange(len(rows)), 2)
    times_s = np.array([[row.tpot_ms for row in rows], [row.ttft_ms for row in rows]]).reshape(-1) / 1e3
    number = np.repeat(["tpot", "ttft"], len(rows))
    left_out = {"pair": np.array([*logs, *np.zeros(len(rows))])}
    seen = Observations(number, place, times_s)
    return SimpleNamespace(rows=resolved, observations=seen, left_out=left_out, weights=np.ones(len(seen)))


def test_the_margin_of_a_pair_comes_from_the_others_of_its_kind():
    """One sigma of others is P80 / 1.2816; 80 % confidence is 0.8416 of it."""
    found = fit_of(
        [
            ("llama-3.1-8b", "H100", 1, 6.0, 0.1),
            ("llama-3.1-8b", "H200", 1, 5.0, 0.3),
            ("gpt-oss-120b", "H100", 2, 5.0, 0.9),
        ]
    )
    margin = margins(found, 0.8)
    assert margin[:2] == pytest.approx([0.3 / 1.2816 * 0.8416, 0.1 / 1.2816 * 0.8416], rel=1e-3)
    assert margin[2:] == pytest.approx(0.0)


def test_the_margin_keeps_a_limit_that_the_median_breaks():
    """Two degrees: the median takes 23 ms for 19; with a margin of a fifth the safe one is picked."""
    slow = math.log(19.0 / 23.0)
    found = fit_of(
        [
            ("llama-3.1-8b", "H100", 1, 23.0, slow),
            ("llama-3.1-8b", "H100", 2, 12.0, 0.0),
            ("llama-3.1-8b", "H200", 1, 21.0, 0.3),
            ("llama-3.1-8b", "H200", 2, 10.0, 0.3),
        ]
    )
    report = choice_report(found, load_catalog(()).calibration)
    median = next(loss for loss in report.left_out if loss.limit_ms == 20)
    planned = next(loss for loss in report.planned if loss.limit_ms == 20)
    assert (median.groups, median.over) == (2, 0.5)
    assert planned.over == 0.0
    lines = choice_rows(report)
    assert lines[-1] == gpu_sentence(report.gpus)
    assert lines[0].count("|") == lines[2].count("|")
