"""Estimates at the edges: finite numbers or reasons, and no better machine is ever slower."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import resources
from planner.app import estimate as estimate_case
from planner.errors import InputError
from planner.loaders.catalog import load_catalog

CATALOG = load_catalog()
ROOM = 1.0 + 1e-9
FEW = settings(max_examples=60, deadline=None, derandomize=True)


def ids(folder):
    return sorted(entry.id for entry in CATALOG.by_folder[folder].values())


def numbers(value, place=""):
    """Every number of a document, with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from numbers(inner, f"{place}[{index}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, value


def checked(**asked):
    """The estimate; every number in it is finite and at least 0. None where the input is refused."""
    try:
        found = estimate_case.estimate(**asked)
    except InputError:
        return None
    for place, value in numbers(found.model_dump()):
        assert math.isfinite(value), (asked, place, value)
        assert value >= 0, (asked, place, value)
    if found.cannot_run:
        assert all(reason.text for reason in found.cannot_run), asked
        return found
    assert found.output_tokens_per_s > 0, asked
    assert found.decode_step_s > 0, asked
    assert found.ttft_s["mean"] > 0, asked
    return found


LENGTH = st.sampled_from([1, 2, 17, 1000, 32_000, 131_071, 1_000_000])
DEGREE = st.sampled_from([1, 1, 1, 2, 3, 8, 64, 4096])
LOAD = st.one_of(
    st.fixed_dictionaries({"concurrency": st.sampled_from([1, 2, 100, 10**6])}),
    st.fixed_dictionaries({"rps": st.sampled_from([1e-9, 0.5, 30.0, 1e12])}),
)


@FEW
@given(
    model=st.sampled_from(ids("models")),
    gpu=st.sampled_from(ids("accelerators")),
    engine=st.sampled_from(ids("engines")),
    weights=st.sampled_from([None, *ids("formats")]),
    kv=st.sampled_from([None, None, *ids("formats")]),
    isl=LENGTH,
    osl=LENGTH,
    tp=DEGREE,
    pp=DEGREE,
    ep=DEGREE,
    attention_dp=DEGREE,
    load=LOAD,
    max_batch=st.sampled_from([None, None, 1, 7, 10**6]),
    context=st.sampled_from([None, None, 1, 1_000_000]),
)
def test_any_configuration_gives_finite_numbers_or_reasons(load, **asked):
    checked(**asked, **load)


@pytest.mark.parametrize("engine", ids("engines"))
@pytest.mark.parametrize("model", ["llama-3.1-8b", "gpt-oss-120b", "deepseek-r1", "qwen3-next-80b-a3b"])
@pytest.mark.parametrize(
    "edge",
    [
        {"isl": 1, "osl": 1},
        {"isl": 1, "osl": 1, "concurrency": 10**6},
        {"isl": 1, "osl": 1, "rps": 1e12},
        {"isl": 1, "osl": 2000, "max_batch": 1},
        {"isl": 2000, "osl": 1, "concurrency": 10**6},
        {"isl": 1_000_000, "osl": 1},
        {"isl": 10, "osl": 10, "tp": 4096},
        {"isl": 10, "osl": 10, "context": 1_000_000},
    ],
)
def test_each_edge(engine, model, edge):
    found = checked(**{"model": model, "gpu": "b300-sxm", "engine": engine, "tp": 8} | edge)
    if "tp" in edge:
        assert {"divisibility", "interconnect"} & {reason.id for reason in found.cannot_run}


def test_a_rate_beyond_the_capacity_is_said():
    found = checked(model="llama-3.1-8b", gpu="h100", isl=100, osl=10, rps=1e12)
    assert any("more than one replica carries" in line for line in found.warnings)


def test_a_batch_beyond_the_scheduler_is_no_lack_of_memory():
    found = checked(model="llama-3.1-8b", gpu="h100", isl=100, osl=10, max_batch=2000)
    (reason,) = found.cannot_run
    assert (reason.id, reason.value, reason.limit) == ("max-batch", 2000, 1024)


def test_missing_memory_is_the_weights_and_one_sequence_by_hand():
    found = checked(model="llama-3.3-70b", gpu="h100", isl=1000, osl=200)
    (reason,) = found.cannot_run
    held = found.memory_bytes
    # 80 layers x 8 KV heads x 128 numbers x key and value x 2 bytes; blocks of 16 tokens.
    sequence = 1200 * 80 * 8 * 128 * 2 * 2
    assert reason.value == pytest.approx(
        held.weights + held.activations + held.framework + sequence, rel=1e-6
    )
    assert reason.limit == pytest.approx(0.9 * held.capacity)


def test_expert_parallelism_without_experts_is_refused():
    found = checked(model="llama-3.1-8b", gpu="h100", isl=100, osl=10, ep=3)
    (reason,) = found.cannot_run
    assert (reason.id, reason.value, reason.limit) == ("expert-parallel-of-dense-model", 3, 1)


# -- better machines ----------------------------------------------------------------------------------------

BETTER = {
    "memory": {"bandwidth": "6700 GB/s"},
    "compute": {"bf16": "1978.8 TFLOPS", "fp8": "3957.8 TFLOPS", "int8": "3957.8 TFLOPS"},
    "link": {"one_way": "900 GB/s"},
}


@pytest.fixture(scope="module")
def better(tmp_path_factory):
    """Overlay folders in which one part of an H100 is twice as fast."""
    path = resources.folders("catalog", ())[0] / "accelerators" / "h100-80gb-sxm.yaml"
    folders = {}
    for part, changes in BETTER.items():
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))
        entry[part] |= changes
        folder = tmp_path_factory.mktemp(part)
        (folder / "accelerators").mkdir()
        (folder / "accelerators" / path.name).write_text(yaml.safe_dump(entry), encoding="utf-8")
        folders[part] = folder
    return folders


MACHINE = settings(max_examples=12, deadline=None, derandomize=True)


def assert_not_slower(fast, slow):
    assert not slow.cannot_run
    assert not fast.cannot_run
    assert fast.prefill_s <= slow.prefill_s * ROOM
    assert fast.ttft_s["mean"] <= slow.ttft_s["mean"] * ROOM
    assert fast.e2e_s["mean"] <= slow.e2e_s["mean"] * ROOM
    assert fast.output_tokens_per_s >= slow.output_tokens_per_s / ROOM


@pytest.mark.parametrize("part", BETTER)
@MACHINE
@given(
    model=st.sampled_from(["llama-3.1-8b", "llama-3.3-70b", "gpt-oss-120b", "mixtral-8x7b"]),
    engine=st.sampled_from(ids("engines")),
    isl=st.sampled_from([1, 500, 8000, 100_000]),
    osl=st.sampled_from([1, 200, 4000]),
    concurrency=st.sampled_from([1, 8, 128, 10**6]),
)
def test_a_better_machine_is_never_slower(better, part, **asked):
    asked |= {"gpu": "h100-80gb-sxm", "tp": 4}
    if asked["model"] == "mixtral-8x7b":
        asked["isl"] = min(asked["isl"], 8000)
    slow = checked(**asked)
    if slow.cannot_run:
        return
    assert_not_slower(checked(**asked, overlays=(better[part],)), slow)


@MACHINE
@given(
    model=st.sampled_from(["llama-3.1-8b", "gpt-oss-120b", "gemma-3-27b", "qwen3-next-80b-a3b"]),
    isl=st.integers(1, 30_000),
    more=st.integers(1, 60_000),
    concurrency=st.sampled_from([1, 8, 128]),
)
def test_longer_context_is_never_faster(model, isl, more, concurrency):
    asked = {"model": model, "gpu": "b200-sxm", "tp": 2, "osl": 200, "concurrency": concurrency}
    assert_not_slower(checked(**asked, isl=isl), checked(**asked, isl=isl + more))
