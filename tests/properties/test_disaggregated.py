"""The plan takes the cheaper of the two exhaustive optima, and pairs keep every limit."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from enumeration import best_keys, plans
from more import seeds
from one_hour import broken, solve

from planner.performance.disaggregated_load import Worker, disaggregated_load
from tests.disaggregated_problems import few_options, fits, in_modes, random_problem, study

PROBLEMS = 50
MOST_PLANS = 20_000


def enumerable(seed):
    """A random problem with few options of each role."""
    rng = random.Random(seed)
    while True:
        question = few_options(study().formulate(random_problem(rng)).question, rng)
        if question.options and plans(question) <= MOST_PLANS:
            return question


def one_way(question, *roles):
    """The question with one serving mode."""
    return replace(
        question,
        options=tuple(option for option in question.options if option.role in roles),
        demands=tuple(demand for demand in question.demands if demand.role in roles),
    )


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS))
def test_the_mode_is_that_of_the_cheaper_exhaustive_optimum(seed):
    question = enumerable(seed)
    together = best_keys(one_way(question, "serve"))
    disaggregated = best_keys(one_way(question, "prefill", "decode"))
    found = solve(question)
    known = [keys for keys in (together, disaggregated) if keys is not None]
    if not known:
        assert found.status == "infeasible"
        return
    assert broken(question, found) == []
    assert (found.value, found.cost_usd_per_h) == min(known)[:2]
    if together is not None and disaggregated is not None and together[0] != disaggregated[0]:
        assert found.modes["w"] == ("aggregated" if together[0] < disaggregated[0] else "disaggregated")


def test_both_modes_are_chosen_and_both_are_impossible_somewhere():
    """The fifty problems above are not all of one kind."""
    modes = [solve(enumerable(seed), goal="value").modes.get("w", "none") for seed in range(PROBLEMS)]
    assert {"aggregated", "disaggregated"} <= set(modes)
    assert min(modes.count("aggregated"), modes.count("disaggregated")) >= 5


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(12))
def test_both_modes_in_one_search_are_the_better_of_two_searches(seed):
    problem = random_problem(random.Random(1000 + seed))
    values = [
        solve(study().formulate(in_modes(problem, *modes)).question, goal="value").value
        for modes in (("aggregated",), ("disaggregated",), ("aggregated", "disaggregated"))
    ]
    known = [value for value in values[:2] if value is not None]
    assert values[2] == min(known, default=None)


def pool_size(evaluation, index):
    """Replicas of the pool whose capacity was planned with."""
    sizes = evaluation.pool_sizes
    if sizes is None:
        return 1
    return int(sizes.sizes[np.argmax(sizes.rate_rps[index] >= evaluation.capacities.rate_rps[index])])


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(16))
def test_any_pair_that_fits_keeps_every_limit_at_its_capacity(seed):
    rng = random.Random(2000 + seed)
    problem = random_problem(rng)
    formulation = study().formulate(in_modes(problem, "disaggregated"))
    split, limits = formulation.disaggregated["w"], formulation.cases["w"].limits_s
    prompts = [pair for pair in formulation.found.values() if pair[0].role == "prefill"]
    answers = [pair for pair in formulation.found.values() if pair[0].role == "decode"]
    pairs = [(p, d) for p, d in itertools.product(prompts, answers) if fits(p[0], d[0])]
    for (prefill, sent), (decode, received) in rng.sample(pairs, min(8, len(pairs))):
        workers, replicas = [], []
        for option, placed in ((prefill, sent), (decode, received)):
            evaluation = split.sides[placed.side].evaluation
            batch = int(evaluation.capacities.max_batch[placed.configuration])
            workers.append(Worker(placed.configuration, float(option.rates_rps[0]), batch))
            replicas.append(pool_size(evaluation, placed.configuration))
        pair = split.pairs[split.sides[sent.side].division.local_tokens]
        load = disaggregated_load(pair, workers[:1], workers[1:], tuple(replicas))
        for name, limit in limits.items():
            metric, statistic = name.split("_")
            if metric == "ttft":
                value = load.first_token_s(0, statistic)
            elif metric == "e2e":
                value = load.end_to_end_s(0, statistic)
            else:
                value = float(load.answers.latency_s[name][0])
            assert value <= limit * 1.002, (name, prefill.id, decode.id)
        assert load.link_load < 1.0


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(10))
def test_looser_limits_never_cost_more(seed):
    rng = random.Random(3000 + seed)
    problem = in_modes(random_problem(rng), "disaggregated")
    stated = {name: limit for name, limit in problem.workloads[0].slo if limit is not None}
    if not stated:
        return
    before = solve(study().formulate(problem).question, goal="value").value
    for name, limit in stated.items():
        for factor in (1.05, 2.0, 5.0):
            looser = problem.workloads[0].slo.model_copy(update={name: limit * type(limit)(str(factor))})
            workload = problem.workloads[0].model_copy(update={"slo": looser})
            moved = problem.model_copy(update={"workloads": (workload,)})
            after = solve(study().formulate(moved).question, goal="value").value
            if before is not None:
                assert after is not None
                assert after <= before, (name, factor)
