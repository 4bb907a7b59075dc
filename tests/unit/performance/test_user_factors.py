"""Factors of the user's own runs: which configurations they reach, and the margin that planning keeps."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.performance.user_factors import evidence, row_factors, sigma_log, user_factor
from planner.schema.catalog import Parameter, UserFactor
from planner.schema.configuration import Drafting
from tests import step_samples as samples


def sigma(value):
    return Parameter(value=value, unit="1", low=0.0, high=1.0, meaning="sample", source="sample")


def configuration(*factors, **changes):
    item = samples.configuration(**changes)
    spread = {"throughput_new": 0.3, "tpot_new": 0.2, "ttft_new": 0.4}
    calibration = item.calibration.model_copy(
        update={
            "user_factors": factors,
            "sigma_log": {name: sigma(value) for name, value in spread.items()},
        }
    )
    return replace(item, calibration=calibration)


def factor(item, **changes):
    known = {
        "model": item.model.id,
        "accelerator": item.accelerator.id,
        "engine": item.engine.id,
        "step_factor": 1.5,
        "ttft_factor": 0.8,
        "sigma_log": 0.1,
        "ttft_sigma_log": 0.25,
        "rows": 3,
        "source": "sample",
    }
    return UserFactor(**known | changes)


PLAIN = configuration()


def test_without_factors_nothing_changes():
    found = row_factors([PLAIN], 0.84)
    assert (found.step[0], found.first_token[0]) == (1.0, 1.0)
    assert (user_factor(PLAIN), evidence(PLAIN)) == (None, "modelled")
    assert sigma_log(PLAIN) == {"throughput": 0.3, "tpot": 0.2, "ttft": 0.4}


def test_the_margin_by_hand():
    """Common margins exp(z 0.2) and exp(z 0.4) become exp(z 0.1) and exp(z 0.25)."""
    item, z = configuration(factor(PLAIN)), 0.84
    found = row_factors([item], z)
    step = 1.5 * math.exp(-0.1 * z)
    assert found.step == pytest.approx([step])
    # TTFT as a whole: steps, their common margin taken out, the factor, the own margin.
    whole = found.step * math.exp(z * 0.2) * found.first_token * math.exp(z * 0.4) / math.exp(z * 0.2)
    assert whole == pytest.approx([1.5 * 0.8 * math.exp(z * 0.25)])
    assert sigma_log(item) == {"throughput": 0.1, "tpot": 0.1, "ttft": 0.25}
    assert evidence(item) == "calibrated"


def test_medians_have_no_margin():
    found = row_factors([configuration(factor(PLAIN))], 0.0)
    assert (found.step[0], found.first_token[0]) == (1.5, 0.8)


@pytest.mark.parametrize("name", ["model", "accelerator", "engine", "weights"])
def test_another_name_is_another_configuration(name):
    item = configuration(factor(PLAIN, **{name: "another"}))
    assert user_factor(item) is None
    assert row_factors([item], 0.84).step[0] == 1.0


def test_a_format_of_its_own_wins_and_the_first_of_equals():
    own = factor(PLAIN, weights=PLAIN.weights.id, step_factor=2.0)
    later = factor(PLAIN, weights=PLAIN.weights.id, step_factor=3.0)
    assert user_factor(configuration(factor(PLAIN), own, later)).step_factor == 2.0
    assert user_factor(configuration(factor(PLAIN), factor(PLAIN, step_factor=4.0))).step_factor == 1.5


def test_drafts_widen_what_is_known_of_steps_and_not_of_the_first_token():
    drafts = Drafting("ngram", 3, 0.5, None, None, 0.0, 0.0, sigma_log=0.15)
    drafted, own = replace(PLAIN, drafting=drafts), replace(configuration(factor(PLAIN)), drafting=drafts)
    assert sigma_log(drafted) == pytest.approx(
        {"throughput": math.hypot(0.3, 0.15), "tpot": math.hypot(0.2, 0.15), "ttft": 0.4}
    )
    assert sigma_log(own)["tpot"] == pytest.approx(math.hypot(0.1, 0.15))
    found = row_factors([PLAIN, drafted], 0.84)
    assert found.step[1] == pytest.approx(math.exp(0.84 * (0.25 - 0.2)))
    # The margin of TTFT stays what it was: its steps have the wider one already.
    assert found.first_token[1] * found.step[1] == pytest.approx(found.first_token[0] * found.step[0])
