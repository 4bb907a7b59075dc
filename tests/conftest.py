"""Answers made by hand, for the tests of words and faces: no solver runs, every number is chosen here."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"  # no test asks the network

# The same examples in every run, so that a green tree stays green. New ones: --hypothesis-profile=explore.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("same")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from together import Together

    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return Together(config, log)


def pytest_collection_modifyitems(items):
    from together import longest_first

    items.sort(key=longest_first)
    # What was collected stays until the end: it need not be looked through for garbage again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, *gc.get_threshold()[1:])


def _memory(weights, kv_cache, activations, framework, free, adapters=0.0):
    parts = {
        "weights": weights,
        "kv_cache": kv_cache,
        "activations": activations,
        "framework": framework,
        "adapters": adapters,
        "free": free,
    }
    return {**parts, "capacity": sum(parts.values())}


CHAT_POOL = {
    "id": "chat/serve/1",
    "workload": "chat",
    "model": "llama-3.3-70b",
    "role": "serve",
    "option": "llama-3.3-70b on 2 x h100-sxm, vllm, tp2, fp8/fp8, batch 96, chunk 2048",
    "mode": "aggregated",
    "engine": "vllm",
    "gpu": "h100-sxm",
    "offer": None,
    "gpus_per_replica": 2,
    "replicas": 8,
    "weights": "fp8",
    "kv": "fp8",
    "tp": 2,
    "pp": 1,
    "ep": 1,
    "attention_dp": 1,
    "max_batch": 96,
    "batched_tokens": 2048,
    "capacity_rps": 6.37,
    "load_rps": 6.0,
    "utilization": 0.942,
    "concurrency": 41.3,
    "memory_bytes": _memory(35.6e9, 31.1e9, 2.2e9, 3.4e9, 8.5e9),
    "ttft_s": {"mean": 0.412, "p50": 0.35, "p95": 0.98, "p99": 1.41},
    "itl_s": {"mean": 0.0291, "p50": 0.0262, "p95": 0.0474, "p99": 0.0598},
    "tpot_s": {"mean": 0.0291, "p50": 0.028, "p95": 0.036, "p99": 0.041},
    "e2e_s": {"mean": 5.2, "p50": 4.2, "p95": 15.1, "p99": 19.8},
    "e2e_is_upper_bound": True,
    "bound": {"prefill": "compute", "decode": "memory-bandwidth"},
    "cold_start_s": 94.0,
    "host_memory_bytes": 71.2e9,
    "power_w": 1400.0,
    "uncertainty": {"throughput": 0.12, "ttft": 0.2},
    "evidence": "calibrated",
    "limited_by": "itl:chat",
    "usd_per_hour": 40.0,
}

DOCS_POOL = CHAT_POOL | {
    "id": "docs/serve/1",
    "workload": "docs",
    "model": "qwen3-235b-a22b",
    "option": "qwen3-235b-a22b on 4 x h200-sxm, vllm, tp4 ep4, fp8/fp8, batch 32, chunk 8192",
    "gpu": "h200-sxm",
    "offer": {
        "provider": "lambda",
        "region": "us-east-1",
        "instance": "gpu_8x_h200",
        "gpus": 8,
        "usd_per_hour": 31.92,
    },
    "gpus_per_replica": 4,
    "replicas": 1,
    "tp": 4,
    "ep": 4,
    "max_batch": 32,
    "batched_tokens": 8192,
    "capacity_rps": 0.81,
    "load_rps": 0.75,
    "utilization": 0.926,
    "memory_bytes": _memory(59.1e9, 58.0e9, 5.1e9, 3.9e9, 14.0e9, adapters=1.2e9),
    "evidence": "modelled",
    "uncertainty": {"throughput": 0.3},
    "usd_per_hour": 31.92,
}

CHAT_PLAN = {
    "problem": "chat-70b",
    "inputs": {"problem": {"name": "chat-70b"}, "catalog": "sha256:aa", "calibration": "sha256:bb"},
    "status": "optimal",
    "objective": {"name": "cost", "value": 40.0, "lower_bound": 40.0, "gap": 0.0},
    "cost_usd_per_hour": 40.0,
    "cost_usd_per_million_output_tokens": 4.03,
    "cost_usd_per_million_tokens": 0.487,
    "mean_utilization": 0.942,
    "gpus": {"h100-sxm": 16},
    "pools": [CHAT_POOL],
    "routing": [{"workload": "chat", "bucket": "all", "pool": "chat/serve/1", "share": 1.0}],
    "constraints": [
        {
            "id": "budget",
            "value": 40.0,
            "limit": 60.0,
            "unit": "USD/h",
            "slack": 20.0,
            "binding": False,
        },
        {
            "id": "ttft:chat",
            "value": 1.41,
            "limit": 1.5,
            "unit": "s",
            "slack": 0.09,
            "binding": False,
            "text": "P99 time to first token",
        },
        {
            "id": "itl:chat",
            "value": 0.0598,
            "limit": 0.06,
            "unit": "s",
            "slack": 0.0002,
            "binding": True,
            "text": "P99 gap between tokens",
        },
    ],
    "prices": [
        {
            "id": "itl:chat",
            "step": "+5 ms",
            "saves_usd_per_hour": 5.0,
            "removed_saves_usd_per_hour": 10.0,
        }
    ],
    "guardrails": {
        "max_input_tokens": 4142,
        "max_output_tokens": 601,
        "max_queue": 12,
        "max_batch": 96,
        "max_rps": 48.0,
    },
    "runners_up": [
        {
            "option": "llama-3.3-70b on 4 x h100-sxm, vllm, tp4, fp8/fp8, batch 192, chunk 2048",
            "gpu": "h100-sxm",
            "replicas": 5,
            "gpus": 20,
            "cost_usd_per_hour": 50.0,
            "why": "a replica carries 2.1 times as much, on twice the GPUs",
        }
    ],
    "warnings": ["The price of h100-sxm is older than 90 days."],
    "provenance": {
        "planner": "0.2.0",
        "seed": 0,
        "solver": "OR-Tools CP-SAT 9.15",
        "confidence": 0.8,
        "candidates": 1284,
    },
}

NO_PLAN = CHAT_PLAN | {
    "status": "infeasible",
    "objective": {"name": "cost", "value": None, "lower_bound": None, "gap": None},
    "cost_usd_per_hour": None,
    "cost_usd_per_million_output_tokens": None,
    "cost_usd_per_million_tokens": None,
    "mean_utilization": None,
    "gpus": {},
    "pools": [],
    "routing": [],
    "constraints": [],
    "prices": [],
    "guardrails": None,
    "runners_up": [],
    "warnings": [],
    "removed": [
        {
            "id": "ttft:chat",
            "title": "time to first token, P99",
            "alone": 212,
            "total": 940,
            "nearest": "2 x h100-sxm, tp2, fp8/fp8, batch 16",
            "nearest_value": 0.121,
            "limit": 0.1,
            "unit": "s",
        },
        {
            "id": "vram:chat",
            "title": "memory of one GPU",
            "alone": 0,
            "total": 344,
            "nearest": "1 x h200-sxm, tp1, fp8/fp8, batch 8",
            "nearest_value": 143.2e9,
            "limit": 137.0e9,
            "unit": "B",
        },
    ],
    "conflicts": [["budget", "ttft:chat"]],
    "relaxations": [
        {
            "changes": [{"id": "ttft:chat", "from": 0.1, "to": 0.121, "unit": "s"}],
            "cost_usd_per_hour": 47.5,
        }
    ],
}

CHAT_ESTIMATE = {
    "option": "llama-3.3-70b on 2 x h100-sxm, vllm, tp2, fp8/fp8",
    "memory_bytes": CHAT_POOL["memory_bytes"],
    "max_batch": 118,
    "concurrency": 64.0,
    "prefill_s": 0.0961,
    "decode_step_s": 0.0213,
    "bound": {"prefill": "compute", "decode": "memory-bandwidth"},
    "output_tokens_per_s": 2210.0,
    "requests_per_s": 6.9,
    "ttft_s": {"mean": 0.31, "p99": 1.2},
    "itl_s": {"mean": 0.027, "p99": 0.055},
    "gpus": 2,
    "usd_per_hour": 5.0,
    "usd_per_million_output_tokens": 0.628,
    "cold_start_s": 94.0,
    "host_memory_bytes": 71.2e9,
    "uncertainty": {"throughput": 0.12},
    "evidence": "calibrated",
}

CHAT_FIT = {
    "model": "llama-3.3-70b",
    "context_tokens": 8192,
    "concurrency": 16,
    "rows": [
        {
            "option": "llama-3.3-70b on 2 x l40s, tp2, int4/fp8",
            "gpu": "l40s",
            "gpus": 2,
            "tp": 2,
            "pp": 1,
            "weights": "int4",
            "kv": "fp8",
            "offer": {
                "provider": "runpod",
                "region": "any",
                "instance": "2x-l40s",
                "gpus": 2,
                "usd_per_hour": 1.58,
            },
            "usd_per_hour": 1.58,
            "holds": 21,
            "memory_bytes": _memory(19.6e9, 20.1e9, 1.1e9, 1.9e9, 4.6e9),
            "notes": ["PCIe between the cards"],
        }
    ],
    "refused": {"vram": 41, "interconnect": 3},
}


@pytest.fixture
def make_plan():
    """Plans from the samples above, with fields replaced."""
    from planner.schema.plan import Plan

    def make(**changes):
        return Plan.model_validate(CHAT_PLAN | changes)

    return make


@pytest.fixture
def chat_plan(make_plan):
    """One proved pool."""
    return make_plan()


@pytest.fixture
def two_pools(make_plan):
    """Two workloads on two kinds of GPU, one half of a server idle, not proved."""
    return make_plan(
        problem="two-teams",
        status="feasible",
        objective={"name": "cost", "value": 71.92, "lower_bound": 70.0, "gap": 0.0267},
        cost_usd_per_hour=71.92,
        gpus={"h100-sxm": 16, "h200-sxm": 8},
        pools=[CHAT_POOL, DOCS_POOL],
        routing=[
            {"workload": "chat", "bucket": "short", "pool": "chat/serve/1", "share": 1.0},
            {"workload": "chat", "bucket": "long", "pool": "docs/serve/1", "share": 0.25},
            {"workload": "docs", "bucket": "all", "pool": "docs/serve/1", "share": 1.0},
        ],
    )


@pytest.fixture
def no_plan(make_plan):
    """An honest no."""
    return make_plan(**NO_PLAN)


@pytest.fixture
def make_estimate():
    """Estimates from the sample above, with fields replaced."""
    from planner.schema.estimate import Estimate

    def make(**changes):
        return Estimate.model_validate(CHAT_ESTIMATE | changes)

    return make


@pytest.fixture
def make_fit():
    """Fits from the sample above, with fields replaced."""
    from planner.schema.estimate import Fit

    def make(**changes):
        return Fit.model_validate(CHAT_FIT | changes)

    return make
