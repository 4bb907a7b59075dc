"""Rows that make prefill and decode options of one workload fit each other."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from planner.schema.choice import Coupling, Option
from planner.solver.covers import Cover, Pooled
from planner.solver.cp.losses import post_alone
from planner.solver.cp.replicas import Replicas
from planner.solver.cp_sat import Expr, cp_model, total


def post_coupling(model: Replicas, coupling: Coupling) -> None:
    """Same KV format, and TTFT with the slower KV transfer of each pair within the limit.

    Only options with replicas are asked for anything: a workload that is served otherwise has none here.
    """
    pools = {pool.demand.role: pool for pool in model.pools if pool.demand.workload == coupling.workload}
    if "prefill" in pools and "decode" in pools:
        _post_pairs(model, coupling, pools["prefill"], pools["decode"])


def post_coupling_of(
    model: Replicas, coupling: Coupling, prefill: Sequence[Option], decode: Sequence[Option]
) -> None:
    """The same for some options of both pools."""
    kinds = sorted({o.kv for o in (*prefill, *decode) if o.kv is not None})
    if len(kinds) > 1:
        _post_matching_kv(model, (prefill, decode), kinds)
    if coupling.ttft_limit_s is not None:
        _post_pair_ttft(model.cp, prefill, decode, coupling.ttft_limit_s, model.counts)


def _post_pairs(model: Replicas, coupling: Coupling, prefill: Pooled, decode: Pooled) -> None:
    kinds = sorted({o.kv for pool in (prefill, decode) for o in pool.options if o.kv is not None})
    if len(kinds) > 1:
        if all(option.kv is not None for pool in (prefill, decode) for option in pool.options):
            _post_one_kv(model, (prefill, decode), kinds)
        else:
            _post_matching_kv(model, (prefill.options, decode.options), kinds)
    if coupling.ttft_limit_s is not None:
        _post_pair_ttft(model.cp, prefill.options, decode.options, coupling.ttft_limit_s, model.counts)


def _post_one_kv(model: Replicas, pools: Sequence[Pooled], kinds: Sequence[str]) -> None:
    """Every option states its KV format: one format is taken, and its options carry both pools.

    That they must is implied by the rows of the pools; said for each format it makes the linear relaxation
    choose a format too.
    """
    taken = {kind: model.cp.new_bool_var(f"kv[{kind}]") for kind in kinds}
    model.cp.add(total(taken.values()) == model.active(pools[0]))
    for pool in pools:
        covers = pool.first_covers()
        for kind, literal in taken.items():
            places = [place for place, option in enumerate(pool.options) if option.kv == kind]
            names = [pool.options[place].id for place in places]
            counts, upper = [model.counts[name] for name in names], [model.upper[name] for name in names]
            model.cp.add(total(counts) == 0).only_enforce_if(~literal)
            model.cp.add(total(counts) >= pool.demand.min_replicas * literal)
            for cover in covers:
                part = Cover(tuple(cover.weights[place] for place in places), cover.needed)
                post_alone(model.cp, pool, part, counts, upper, literal)


def _post_matching_kv(model: Replicas, pools: Sequence[Sequence[Option]], kinds: Sequence[str]) -> None:
    """Formats in use agree, pair by pair, where both sides state one."""
    sides = []
    for options in pools:
        taken = {kind: model.cp.new_bool_var(f"kv[{kind}]") for kind in kinds}
        for kind, literal in taken.items():
            replicas = total(model.counts[option.id] for option in options if option.kv == kind)
            model.cp.add(replicas == 0).only_enforce_if(~literal)
        sides.append(taken)
    for first in kinds:
        for second in kinds:
            if first != second:
                model.cp.add_bool_or(~sides[0][first], ~sides[1][second])


def _post_pair_ttft(
    cp: cp_model.CpModel,
    prefill: Sequence[Option],
    decode: Sequence[Option],
    limit_s: Fraction,
    counts: Mapping[str, Expr],
) -> None:
    """TTFT + larger transfer <= limit: the slowest transfer in use bounds the prefill options.

    ``slow[n]`` is 1 when some decode option in use has the n-th transfer or a slower one; then prefill
    options that can only wait for fewer of the transfers have no replicas.
    """
    steps = sorted({o.transfer_s for o in decode if o.transfer_s is not None})
    waits: dict[int, list[Expr]] = defaultdict(list)
    for option in prefill:
        if option.ttft_s is None:
            continue
        if option.ttft_s + (option.transfer_s or 0) > limit_s:
            cp.add(counts[option.id] == 0)
        else:
            waits[bisect_right(steps, limit_s - option.ttft_s) + 1].append(counts[option.id])
    levels = sorted(level for level in waits if level <= len(steps))
    slow = {level: cp.new_bool_var(f"slow[{level}]") for level in levels}
    for level, later in pairwise([*levels, len(steps) + 1]):
        between = set(steps[level - 1 : later - 1])
        replicas = total(counts[option.id] for option in decode if option.transfer_s in between)
        cp.add(replicas == 0).only_enforce_if(~slow[level])
        cp.add(total(waits[level]) == 0).only_enforce_if(slow[level])
        if later in slow:
            cp.add_implication(slow[later], slow[level])
