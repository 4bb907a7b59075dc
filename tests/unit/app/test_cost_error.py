"""The error of a cost, and of comparing two costs, against plans that are really asked for."""

from __future__ import annotations

import copy
import math
from statistics import NormalDist

import pytest
from sample_plans import PROBLEMS, sample
from test_safety_steps import ONE_LAYOUT, planned

from planner.report import plan_text, terminal

CHAT = next(path for path in PROBLEMS if path.stem == "01-chat-70b")


def at_confidence(share, tmp_path, **fleet):
    values = copy.deepcopy(ONE_LAYOUT)
    values["confidence"] = f"{share * 100:.10f} %"
    values["fleet"] |= fleet
    return planned(values, tmp_path)


@pytest.mark.parametrize("fleet", [{}, {"purchase": "node", "node_size": 8}], ids=["gpus", "servers"])
def test_the_upper_end_is_the_plan_for_slower_steps(fleet, tmp_path):
    plan = at_confidence(0.9, tmp_path, **fleet)
    slower = at_confidence(NormalDist().cdf(1.0), tmp_path, **fleet)
    assert plan.cost_error.high_usd_per_hour == slower.cost_usd_per_hour
    median = at_confidence(0.5, tmp_path, **fleet).cost_usd_per_hour
    assert plan.cost_error.low_usd_per_hour < median < plan.cost_error.high_usd_per_hour


def test_the_range_does_not_depend_on_the_confidence_of_the_plan(tmp_path):
    cautious, bold = (at_confidence(share, tmp_path).cost_error for share in (0.95, 0.6))
    assert cautious.high_usd_per_hour == bold.high_usd_per_hour
    assert cautious.low_usd_per_hour == bold.low_usd_per_hour
    assert cautious.sigma_log == pytest.approx(bold.sigma_log, rel=1e-3)


def test_errors_of_one_accelerator_are_common_and_those_of_two_are_not(tmp_path):
    values = copy.deepcopy(ONE_LAYOUT)
    values["fleet"] = {"prices": {"h100-sxm": "2.5 USD/h", "h200-sxm": "3.5 USD/h"}}
    values["search"] = {"modes": ["aggregated"], "mix": False}
    plan = planned(values, tmp_path)
    own = plan.cost_error.sigma_log
    (gpu,) = plan.gpus
    (same,) = (one for one in plan.runners_up if one.gpu == gpu)
    (other,) = (one for one in plan.runners_up if one.gpu != gpu)
    # Layouts that other limits stop differ by the spreads of those limits alone.
    assert same.error < own
    assert own < other.error < 3 * own
    for one in (same, other):
        apart = abs(math.log(one.cost_usd_per_hour / plan.cost_usd_per_hour))
        assert one.within_error == (apart < one.error)


def test_the_page_says_what_nobody_can_tell():
    plan = sample(CHAT)[1]
    first, *rest = (one.model_copy(update={"within_error": False}) for one in plan.runners_up)
    unsure = first.model_copy(update={"within_error": True, "error": 0.12})
    page = terminal.render(plan_text.view(plan.model_copy(update={"runners_up": (unsure, *rest)})), width=160)
    assert " ".join(page.split()).count("within the error of this comparison (±12 %)") == 1
    assert "at step times of ±1 sigma" in page


def test_where_gpus_are_minimized_no_cost_is_compared(tmp_path):
    values = copy.deepcopy(ONE_LAYOUT) | {"objective": "gpus", "search": {"modes": ["aggregated"]}}
    plan = planned(values, tmp_path)
    assert plan.runners_up
    assert all(one.error is None and not one.within_error for one in plan.runners_up)
