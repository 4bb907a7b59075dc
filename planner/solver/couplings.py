"""Rows that make prefill and decode options of one workload fit each other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction

from planner.schema.choice import Coupling, Option
from planner.solver.cp_sat import Expr, cp_model


def post_coupling(
    cp: cp_model.CpModel, coupling: Coupling, options: Sequence[Option], is_used: Callable[[Option], Expr]
) -> None:
    """Same KV format, and TTFT with the slower hand-over of each pair within the limit.

    Options that are not used are free, so nothing is asked of a workload that is served otherwise.
    """
    mine = [option for option in options if option.workload == coupling.workload]
    prefill = [option for option in mine if option.role == "prefill"]
    decode = [option for option in mine if option.role == "decode"]
    _post_same_kv(cp, prefill, decode, is_used)
    if coupling.ttft_limit_s is not None:
        _post_pair_ttft(cp, prefill, decode, coupling.ttft_limit_s, is_used)


def _post_same_kv(
    cp: cp_model.CpModel,
    prefill: Sequence[Option],
    decode: Sequence[Option],
    is_used: Callable[[Option], Expr],
) -> None:
    kinds = sorted({o.kv for o in [*prefill, *decode] if o.kv is not None})
    if len(kinds) < 2:
        return
    side = [{kind: cp.new_bool_var(f"kv[{kind}]") for kind in kinds} for _ in range(2)]
    for literals, options in zip(side, (prefill, decode), strict=True):
        for option in options:
            if option.kv is not None:
                cp.add_implication(is_used(option), literals[option.kv])
    for first in kinds:
        for second in kinds:
            if first != second:
                cp.add_bool_or(~side[0][first], ~side[1][second])


def _post_pair_ttft(
    cp: cp_model.CpModel,
    prefill: Sequence[Option],
    decode: Sequence[Option],
    limit_s: Fraction,
    is_used: Callable[[Option], Expr],
) -> None:
    """TTFT + larger transfer <= limit: the slowest transfer in use, by rank, bounds prefill options.

    Transfers that every prefill option left can wait for need no row, nor do prefill options that can wait
    for every transfer.
    """
    steps = sorted({o.transfer_s for o in decode if o.transfer_s is not None})
    place = {step: index for index, step in enumerate(steps, start=1)}
    allowed: list[tuple[Option, int]] = []
    for option in prefill:
        if option.ttft_s is None:
            continue
        if option.ttft_s + (option.transfer_s or 0) > limit_s:
            cp.add(is_used(option) == 0)
        else:
            allowed.append((option, bisect_right(steps, limit_s - option.ttft_s)))
    least = min((most for _, most in allowed), default=len(steps))
    rank = cp.new_int_var(least, max(least, len(steps)), "slowest transfer")
    for option in decode:
        if option.transfer_s is not None and place[option.transfer_s] > least:
            cp.add(rank >= place[option.transfer_s]).only_enforce_if(is_used(option))
    for option, most in allowed:
        if most < len(steps):
            cp.add(rank <= most).only_enforce_if(is_used(option))
