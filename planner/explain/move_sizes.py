"""How many GPUs a move changes: those of the new fleet, and those that stay and get other work."""

from __future__ import annotations

from collections import defaultdict

from planner.explain.carrying import Carrying
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


def other_work(fleet: Carrying, today: Today) -> dict[str, int]:
    """GPUs by type that stay and get other work: of another workload, or in replicas of another size."""
    new: dict[tuple[str, str, int], int] = defaultdict(int)
    for t in range(len(fleet.choice.periods)):
        gpus: dict[tuple[str, str, int], int] = defaultdict(int)
        for name, count in fleet.counts(t).items():
            option = fleet.options[name]
            gpus[option.gpu, option.workload, option.gpus] += -(-count * option.gpus // option.slices)
        for key, number in gpus.items():
            new[key] = max(new[key], number)
    old: dict[tuple[str, str, int], int] = defaultdict(int)
    vague = {pool.gpu for pool in today.pools if pool.workload is None}
    for pool in today.pools:
        if pool.workload is not None and pool.gpu not in vague:
            old[pool.gpu, pool.workload, pool.gpus_per_replica] += pool.gpus
    freed: dict[str, int] = defaultdict(int)
    wanted: dict[str, int] = defaultdict(int)
    rated = {gpu for gpu, _, _ in old}
    for key in {*old, *new}:
        if key[0] in rated:
            freed[key[0]] += max(0, old[key] - new[key])
            wanted[key[0]] += max(0, new[key] - old[key])
    return {gpu: count for gpu in freed if (count := min(freed[gpu], wanted[gpu]))}
