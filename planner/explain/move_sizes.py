"""How many GPUs a move changes: those of the new fleet, and what those of both fleets do."""

from __future__ import annotations

from collections import defaultdict

from planner.explain.carrying import Carrying
from planner.explain.move_parts import Work, any_work
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_answers import Today


def most_gpus(problem: FleetProblem, choice: FleetChoice) -> dict[str, int]:
    """By type: the most GPUs bought in any period."""
    found: dict[str, int] = defaultdict(int)
    for period in choice.periods:
        counts: dict[str, int] = defaultdict(int)
        for line in problem.lines:
            counts[line.gpu] += period.bought.get(line.id, 0)
        for gpu, count in counts.items():
            found[gpu] = max(found[gpu], count)
    return {gpu: count for gpu, count in sorted(found.items()) if count}


def works(fleet: Carrying, today: Today) -> tuple[dict[Work, int], dict[Work, int]]:
    """GPUs by work, today and in the new fleet (the most of any period).

    Types of which today's work is not known in full are not told apart: all their GPUs do any work.
    """
    new: dict[Work, int] = defaultdict(int)
    for t in range(len(fleet.choice.periods)):
        gpus: dict[Work, int] = defaultdict(int)
        for name, count in fleet.counts(t).items():
            option = fleet.options[name]
            gpus[option.gpu, option.workload, option.gpus] += -(-count * option.gpus // option.slices)
        for key, number in gpus.items():
            new[key] = max(new[key], number)
    vague = {pool.gpu for pool in today.pools if pool.workload is None}
    if not today.pools:
        vague = set(today.gpu_counts)
    old: dict[Work, int] = defaultdict(int)
    for pool in today.pools:
        if pool.workload is not None and pool.gpu not in vague:
            old[pool.gpu, pool.workload, pool.gpus_per_replica] += pool.gpus
    vague |= today.gpu_counts.keys() - {gpu for gpu, _, _ in old}
    held = most_gpus(fleet.problem, fleet.choice)
    whole_old = {any_work(gpu): today.gpu_counts.get(gpu, 0) for gpu in vague}
    whole_new = {any_work(gpu): held.get(gpu, 0) for gpu in vague}
    return {**old, **whole_old}, {**{k: n for k, n in new.items() if k[0] not in vague}, **whole_new}
