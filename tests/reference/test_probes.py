"""Questions that a wrong planner answers wrongly: sizes, monotony, and what must never fit."""

import copy
import math

import pytest
import yaml
from more import seeds
from solved_problems import TIGHTENED, catalog, cost, new_study, random_problem, solved, tightened

from planner.app.estimate import estimate
from planner.app.fit import fit

GB = 1e9


def problem(model, peak_rps=2, fleet=None, search=None, **workload):
    """One everyday workload without limits on latency."""
    lengths = {"input": {"p50": 1000, "p99": 3000}, "output": {"p50": 200, "p99": 600}}
    return {
        "name": "probe",
        "workloads": [
            {"name": "w", "model": model, "demand": {"peak_rps": peak_rps}, "lengths": lengths, **workload}
        ],
        "fleet": fleet or {},
        "search": search or {},
    }


# -- what must never fit -------------------------------------------------------------------------------------

CARDS_80_GB = ["h100-sxm", "a100-sxm", "h100-80gb-pcie", "a100-80gb-pcie"]


@pytest.mark.parametrize("card", CARDS_80_GB)
def test_deepseek_r1_in_fp8_takes_sixteen_cards_of_80_gb(card):
    """671e9 parameters of a byte each do not fit into 8 x 80 GB = 640 GB."""
    rows = fit("deepseek-r1", context_tokens=4096, concurrency=1, weights="fp8", accelerators=(card,)).rows
    assert all(row.gpus >= 16 for row in rows)
    prices = {card: "2 USD/h"}
    plan = solved(problem("deepseek-r1", precision={"weights": ["fp8"]}, fleet={"prices": prices}))
    assert all(pool.gpus_per_replica >= 16 for pool in plan.pools)


def test_deepseek_r1_does_fit_somewhere():
    rows = fit(
        "deepseek-r1", context_tokens=4096, concurrency=1, weights="fp8", accelerators=("h100-sxm",)
    ).rows
    assert rows
    assert rows[0].gpus == 16


@pytest.fixture(scope="module")
def one_study():
    return new_study()


@pytest.mark.parametrize("peak_rps", [1, 10, 40, 100, 300, 1000, 10_000])
def test_max_gpus_holds_at_growing_demand(peak_rps, one_study):
    values = problem(
        "gpt-oss-120b", peak_rps, slo={"ttft_p99": "2 s", "itl_p99": "50 ms"}, fleet={"max_gpus": 32}
    )
    plan = solved(values, one_study)
    assert plan.status in ("optimal", "infeasible")
    assert sum(plan.gpus.values()) <= 32
    if plan.status == "infeasible":
        assert "max-gpus" in {row.id for row in plan.removed}


@pytest.mark.parametrize("card", CARDS_80_GB)
def test_70b_in_bf16_never_runs_on_one_card_of_80_gb(card):
    """70.6e9 parameters of two bytes each are 141 GB."""
    rows = fit("llama-3.3-70b", context_tokens=1024, concurrency=1, weights="bf16", accelerators=(card,)).rows
    assert all(row.gpus >= 2 for row in rows)
    prices = {card: "2 USD/h"}
    plan = solved(problem("llama-3.3-70b", precision={"weights": ["bf16"]}, fleet={"prices": prices}))
    assert all(pool.gpus_per_replica >= 2 for pool in plan.pools)
    alone = estimate(model="llama-3.3-70b", gpu=card, weights="bf16", isl=100, osl=10)
    assert {reason.id for reason in alone.cannot_run} & {"vram", "vram:estimate"}


# -- sizes ---------------------------------------------------------------------------------------------------


def test_weights_of_llama_3_70b_in_four_bits():
    """About 40.6 GB: 68.5e9 block weights of 4.16 bits, embeddings in BF16."""
    found = estimate(model="llama-3-70b", gpu="h100-sxm", weights="int4", isl=1000, osl=100)
    assert found.memory_bytes is not None
    assert found.memory_bytes.weights == pytest.approx(40.6 * GB, rel=0.01)


@pytest.mark.parametrize("model", ["llama-3.3-70b", "llama-3.1-8b", "qwen3-32b"])
def test_doubling_the_context_halves_what_the_cache_holds(model):
    """Full attention: KV bytes are proportional to whole blocks of the context."""
    held = {}
    for context in (4096, 8192):
        found = estimate(
            model=model, gpu="h200-sxm", weights="fp8", isl=context - 256, osl=256, context=context
        )
        assert found.memory_bytes is not None
        assert found.max_batch is not None
        held[context] = found.memory_bytes.kv_cache / found.max_batch
    # The largest batch is a whole number: one sequence more or less of it is all that may differ.
    assert held[8192] / held[4096] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-3.3-70b", "qwen3-30b-a3b", "deepseek-v3"])
def test_more_bandwidth_never_slows_decode(model, tmp_path):
    source = catalog().by_folder["accelerators"]["h200-141gb-sxm"]
    (tmp_path / "accelerators").mkdir()
    steps = []
    for percent in (100, 130, 300):
        entry = yaml.safe_load(
            yaml.safe_dump(source.model_dump(mode="json", by_alias=True, exclude_none=True))
        )
        bandwidth = float(source.memory.bandwidth) * percent / 100
        entry |= {"id": f"faster-{percent}", "name": f"Faster {percent}", "aliases": []}
        entry["memory"]["bandwidth"] = f"{bandwidth / 1e9:.6f} GB/s"
        (tmp_path / "accelerators" / f"faster-{percent}.yaml").write_text(yaml.safe_dump(entry))
        found = estimate(
            model=model, gpu=f"faster-{percent}", weights="fp8", tp=8, isl=1000, osl=200, concurrency=32,
            overlays=(tmp_path,),
        )  # fmt: skip
        assert found.decode_step_s is not None
        steps.append(found.decode_step_s)
    assert steps[0] >= steps[1] >= steps[2]
    assert steps[0] > steps[2]


# -- monotony of the optimum ---------------------------------------------------------------------------------

SEEDS = seeds(14)
PER_PROBLEM = 5
"""Changes tried on each problem, taken in turn."""


@pytest.mark.more
@pytest.mark.parametrize("seed", SEEDS)
def test_a_tighter_problem_never_costs_less(seed):
    values, study = random_problem(seed), new_study()
    plan = solved(values, study)
    before = math.inf if plan.cost_usd_per_hour is None else plan.cost_usd_per_hour
    names = list(TIGHTENED)
    turn = [names[(seed * PER_PROBLEM + step) % len(names)] for step in range(PER_PROBLEM)]
    for name in turn:
        after = cost(tightened(values, plan, name), study)
        assert after >= before - 1e-9, f"{name}: {before} USD/h became {after}"


def test_relaxing_step_by_step_never_costs_more():
    """Budget, stock and options given back one after the other."""
    steps = [
        {"accelerators": ["h100-sxm"], "stock": {"h100-sxm": 2}, "budget": "10 USD/h"},
        {"accelerators": ["h100-sxm"], "stock": {"h100-sxm": 8}, "budget": "10 USD/h"},
        {"accelerators": ["h100-sxm"], "stock": {"h100-sxm": 8}, "budget": "60 USD/h"},
        {"accelerators": ["h100-sxm"], "stock": {"h100-sxm": 64}, "budget": "600 USD/h"},
        {"accelerators": ["h100-sxm", "l40s"], "stock": {"h100-sxm": 64}, "budget": "600 USD/h"},
        {"accelerators": ["h100-sxm", "l40s"], "stock": {"h100-sxm": 64}},
    ]
    prices = {"h100-sxm": "2.5 USD/h", "l40s": "0.9 USD/h"}
    costs, study = [], new_study()
    for fleet in steps:
        named = {"prices": {name: prices[name] for name in fleet["accelerators"]}}
        values = problem("llama-3.3-70b", 12, slo={"itl_p99": "80 ms"}, fleet=copy.deepcopy(fleet) | named)
        costs.append(cost(values, study))
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == math.inf
    assert costs[-1] < math.inf
