"""Replicas packed into servers: exact conditions on how many servers a set of replicas needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from planner.constraints.packing import divides
from planner.errors import input_error
from planner.schema.choice import Option, Supply
from planner.solver.cp_sat import Expr, cp_model, total, weighted

MOST_PATTERNS = 20_000
MOST_SERVERS = 10**9
"""Filled in one way at most."""


def post_packing(
    cp: cp_model.CpModel, server: int, servers: Expr, held: Sequence[tuple[Expr, int]], parts: int = 1
) -> None:
    """Replicas fit into the servers, where it does not suffice that their GPUs add up.

    Args:
        cp: the model.
        server: GPUs of one.
        servers: how many are bought.
        held: replicas with what each takes, in parts of a GPU; slices of a GPU fill up single GPUs.
        parts: of a GPU.

    Raises:
        InputError: sizes that fill a server in too many ways.
    """
    whole = server * parts
    by_size: dict[int, list[tuple[Expr, int]]] = defaultdict(list)
    for replicas, size in held:
        if size < whole:
            by_size[max(size // parts, 1)].append((replicas, min(size, parts)))
    sizes = sorted(by_size)
    if divides(sizes, server):
        return
    left = servers - weighted((replicas, size // whole) for replicas, size in held if size >= whole)
    filled = [weighted(by_size[size]) for size in sizes]
    if is_chain(sizes):
        for weights, slots in chain_rows(sizes, server):
            cp.add(weighted(zip(filled, weights, strict=True)) <= slots * parts * left)
        return
    patterns = maximal_patterns(sizes, server)
    counts = [cp.new_int_var(0, MOST_SERVERS, "pattern") for _ in patterns]
    cp.add(total(counts) <= left)
    for place, count in enumerate(filled):
        room = weighted((z, p[place]) for p, z in zip(patterns, counts, strict=True))
        cp.add(count <= parts * room)


def whole_units(option: Option, supply: Supply) -> int:
    """Servers that one replica takes for itself; 0 when it shares servers with others."""
    if option.units_per_replica is not None:
        return option.units_per_replica
    if option.gpus < supply.unit_gpus:
        return 0
    return -(-option.gpus // supply.unit_gpus)


def is_chain(sizes: Sequence[int]) -> bool:
    """Every size divides every larger one."""
    ordered = sorted(sizes)
    return all(large % small == 0 for small, large in pairwise(ordered))


def maximal_patterns(sizes: Sequence[int], room: int) -> list[tuple[int, ...]]:
    """Ways to fill one server so that no further replica fits; one count per size.

    Raises:
        InputError: more patterns than can be handled.
    """
    ordered = sorted(sizes, reverse=True)
    found: list[tuple[int, ...]] = []

    def fill(index: int, left: int, counts: tuple[int, ...]) -> None:
        if len(found) > MOST_PATTERNS:
            raise input_error(
                "fleet", "purchase", f"replica sizes {sorted(sizes)} in servers of {room} GPUs",
                f"sizes that fill a server in at most {MOST_PATTERNS} patterns", "fewer sizes in search.tp",
            )  # fmt: skip
        if index == len(ordered) - 1:
            found.append((*counts, left // ordered[index]))
            return
        for count in range(left // ordered[index], -1, -1):
            fill(index + 1, left - count * ordered[index], (*counts, count))

    fill(0, room, ())
    kept = _without_covered(found)
    order = [ordered.index(size) for size in sizes]
    return [tuple(pattern[place] for place in order) for pattern in kept]


def _without_covered(patterns: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    kept: list[tuple[int, ...]] = []
    for pattern in sorted(set(patterns), reverse=True):
        if not any(all(a >= b for a, b in zip(other, pattern, strict=True)) for other in kept):
            kept.append(pattern)
    return kept


def chain_rows(sizes: Sequence[int], room: int) -> list[tuple[tuple[int, ...], int]]:
    """Rows ``sum weights * replicas <= slots * servers`` that are exact when sizes form a chain.

    With every size dividing the larger ones, a server holds ``room // s`` places of size s, and every
    replica of a larger size t takes exactly t / s of them; filling the largest first never wastes a place.
    """
    rows = []
    for size in sorted(sizes):
        weights = tuple(other // size if other >= size else 0 for other in sizes)
        rows.append((weights, room // size))
    return rows
