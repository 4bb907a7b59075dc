"""Random problems of one workload in either serving mode, small enough to enumerate."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules
from planner.planning.formulation.study import Study
from planner.schema.problem import Problem

FLEETS = (
    {"h100-sxm": "2.5 USD/h"},
    {"h100-sxm": "2.5 USD/h", "l40s": "0.9 USD/h"},
    {"a100-sxm": "1.4 USD/h", "h200-sxm": "3.6 USD/h"},
    {"mi300x": "2.6 USD/h"},
)
BOTH = ("aggregated", "disaggregated")


@cache
def study() -> Study:
    """One study for all tests: candidates are kept from problem to problem."""
    return Study(load_catalog(()), load_planning_rules(()), Path())


def problem_of(workload, fleet, **search):
    """A problem of one workload; ``workload`` needs lengths, slo and a rate."""
    fields = {"name": "w", "model": "llama-3.1-8b", "precision": {"weights": ["fp8"], "kv": ["fp8"]}}
    return Problem.model_validate(
        {
            "name": "disaggregated",
            "workloads": [fields | workload],
            "fleet": fleet,
            "search": {"modes": list(BOTH)} | search,
        }
    )


def in_modes(problem, *modes):
    """The same problem with other serving modes."""
    return problem.model_copy(update={"search": problem.search.model_copy(update={"modes": modes})})


def random_problem(rng: random.Random) -> Problem:
    """A small model, one or two kinds of GPU, lengths and limits of many kinds."""
    prompt = rng.choice([300, 800, 2000, 5000])
    answer = rng.choice([20, 100, 400])
    slo = {}
    if rng.random() < 0.8:
        slo[rng.choice(["ttft_p99", "ttft_p95", "ttft_mean"])] = f"{rng.choice([400, 800, 1500, 4000])} ms"
    if rng.random() < 0.8:
        slo[rng.choice(["itl_p99", "itl_p95", "tpot_p95"])] = f"{rng.choice([12, 18, 30, 80])} ms"
    if rng.random() < 0.2:
        slo[rng.choice(["e2e_p95", "e2e_mean"])] = f"{rng.choice([4, 8, 20])} s"
    workload = {
        "demand": {"peak_rps": rng.choice([1, 3, 8, 20]), "burstiness": rng.choice([1, 1, 3])},
        "lengths": {
            "input": {"p50": prompt, "p95": 3 * prompt, "p99": 4 * prompt},
            "output": {"p50": answer, "p95": 2 * answer, "p99": 3 * answer},
        },
        "slo": slo,
        "engine": rng.choice(["vllm", "vllm", "sglang", "tensorrt-llm"]),
    }
    prices = rng.choice(FLEETS if workload["engine"] != "tensorrt-llm" else FLEETS[:3])
    fleet = {
        "prices": prices,
        "network": rng.choice(["50 GB/s", "50 GB/s", "25 GB/s", "2 GB/s"]),
        "redundancy": rng.choice([0, 0, 1]),
        "purchase": rng.choice(["gpu", "gpu", "node"]),
    }
    return problem_of(workload, fleet, tp=[1, 2], batched_tokens=[1024, 8192])


def few_options(question, rng: random.Random, each=2):
    """The question with a few options of each role, those of prefill and decode such that some pair fits."""
    by_role = {
        role: [option for option in question.options if option.role == role]
        for role in ("serve", "prefill", "decode")
    }
    kept = rng.sample(by_role["serve"], min(each, len(by_role["serve"])))
    pairs = [(p, d) for p, d in itertools.product(by_role["prefill"], by_role["decode"]) if fits(p, d)]
    for prefill, decode in rng.sample(pairs, min(each, len(pairs))):
        kept += [option for option in (prefill, decode) if option not in kept]
    return replace(question, options=tuple(kept))


def fits(prefill, decode):
    """A prefill and a decode option may be in use together."""
    return prefill.kv == decode.kv and prefill.ttft_s + decode.transfer_s <= 1
