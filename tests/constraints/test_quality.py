"""What formats may cost in quality: feasible when, infeasible when; published figures and what has none."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from candidate_samples import evaluation
from step_samples import configuration

from planner.constraints.quality import QualityConstraint
from planner.loaders.catalog import load_catalog
from planner.steptime.model_facts import model_facts
from planner.steptime.quality import cache_losses, exceeds, quality_loss, weights_losses

CATALOG = load_catalog()


def loss(model, weights, kv="bf16"):
    facts = model_facts(CATALOG.model(model))
    return quality_loss(facts, CATALOG.number_format(weights), CATALOG.number_format(kv))


@pytest.mark.parametrize(
    ("model", "weights", "kv", "lost"),
    [
        ("llama-3.1-8b", "bf16", "bf16", "0"),
        ("llama-3.1-8b", "fp8", "bf16", "0"),
        ("llama-3.1-8b", "int8", "bf16", "0.03"),
        ("llama-3.1-8b", "int8", "fp8", "0.04"),  # weights and cache add
        ("deepseek-r1", "fp8", "bf16", "0"),  # its own format
        ("gpt-oss-120b", "mxfp4", "bf16", "0"),
        ("moonshotai/Kimi-K2.5", "int4-experts", "bf16", "0"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8", "int8", "bf16", "0.03"),  # made narrower by others
        ("nvidia/DeepSeek-R1-FP4", "nvfp4", "bf16", "0.027"),  # the largest of several kinds of task
        ("qwen3-30b-a3b", "fp8+attention=int4", "bf16", "0.03"),  # of a mix the largest
        ("llama-3.1-8b", "mxfp4", "bf16", None),
        ("llama-3.1-8b", "int4-experts", "bf16", None),
        ("llama-3.1-8b", "int8+head=mxfp4", "bf16", None),
        ("llama-3.1-8b", "fp8-2:4", "bf16", None),
    ],
)
def test_the_loss_is_the_largest_published_one(model, weights, kv, lost):
    assert loss(model, weights, kv) == (None if lost is None else Decimal(lost))


def check(most, *formats):
    """Candidates with these weights, judged by a limit."""
    bf16 = CATALOG.number_format("bf16")
    model = model_facts(CATALOG.model("llama-3.1-8b"))
    items = [configuration(model=model, weights=CATALOG.number_format(name), kv=bf16) for name in formats]
    lossy = np.array([exceeds(quality_loss(item.model, item.weights, item.kv), most) for item in items])
    given = evaluation(tuple(items), structural={"max-quality-loss": lossy})
    workload = given.workload.model_copy(update={"max_quality_loss": most})
    return QualityConstraint().check(replace(given, workload=workload))


def test_feasible_when_the_published_loss_is_at_most_the_limit():
    verdict = check(Decimal("0.03"), "bf16", "fp8", "int8")
    assert verdict.id == "max-quality-loss:chat"
    assert not verdict.violated.any()
    assert verdict.value.tolist() == [0.0, 0.0, 0.03]
    assert verdict.limit.tolist() == [0.03] * 3


def test_infeasible_when_it_is_larger_or_nobody_published_one():
    verdict = check(Decimal("0.02"), "fp8", "int8", "mxfp4")
    assert verdict.violated.tolist() == [False, True, True]
    assert verdict.value.tolist() == [0.0, 0.03, 1.0]


def test_without_a_limit_everything_is_allowed():
    assert not check(None, "int8", "mxfp4").violated.any()


def test_equal_to_the_limit_is_allowed_and_no_figure_never_is():
    assert not exceeds(Decimal("0.01"), Decimal("0.01"))
    assert exceeds(Decimal("0.02"), Decimal("0.01"))
    assert exceeds(None, Decimal(1))
    assert not exceeds(None, None)


def test_every_figure_says_kind_of_task_and_source():
    figures = [figure for form in CATALOG.number_formats for figure in form.quality]
    assert len(figures) >= 12
    assert all(figure.tasks and figure.source for figure in figures)
    for form in CATALOG.number_formats:
        assert form.kv or not form.losses_of("kv"), form.id
    facts = model_facts(CATALOG.model("llama-3.1-8b"))
    assert weights_losses(facts, CATALOG.number_format("bf16")) == ()
    assert cache_losses(CATALOG.number_format("bf16")) == ()
