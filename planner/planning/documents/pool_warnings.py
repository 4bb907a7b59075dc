"""What to mind about a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner import numbers
from planner.candidates.attributes import shared_memory, unpacked, weights_native
from planner.planning.documents.chosen import Chosen
from planner.planning.documents.option_warnings import artifacts, option_remarks
from planner.planning.documents.reuse import remarks as reuse_remarks
from planner.planning.workload.case import Case
from planner.schema.pool import Pool


def pool_warnings(
    cases: Mapping[str, Case], pools_: Sequence[Pool], chosen: Chosen, network_is_stated: bool
) -> list[str]:
    """What to mind about models, pools and the options that were taken."""
    lines = not_considered(chosen.aside)
    for case in cases.values():
        if case.own_model and case.model.note:
            lines.append(f"{case.model.id}: {case.model.note}")
        lines += reuse_remarks(case, pools_)
    for pool in pools_:
        memory = pool.memory_bytes
        if pool.role != "prefill" and memory is not None and memory.kv_cache < 0.1 * memory.capacity:
            lines.append(
                f"{pool.id}: KV cache has {numbers.size(memory.kv_cache)}, under 10 % of the memory; "
                "a few GiB more or less change the batch a lot"
            )
    return [
        *lines,
        *_remarks(chosen, pools_, network_is_stated),
        *_disaggregated(cases, pools_, chosen, network_is_stated),
    ]


def not_considered(aside: Mapping[str, str]) -> list[str]:
    """The accelerators that were left aside, each with what is not known of it."""
    return [f"{name}: {what}, so it was not considered" for name, what in aside.items()]


def _remarks(chosen: Chosen, pools_: Sequence[Pool], network_is_stated: bool) -> list[str]:
    """What to mind about the options of each pool, and where predictions rest on no rows of their kind."""
    lines: list[str] = []
    items = []
    for pool in pools_:
        placed = chosen.found[pool.option][1]
        part = chosen.part(placed)
        item = part.evaluation.candidates.configurations[placed.configuration]
        items.append(item)
        lines += option_remarks(pool, item, part.case.traffic, network_is_stated)
        own = float(item.engine.memory.utilization)
        if pool.memory_share is not None and pool.memory_share > own:
            lines.append(
                f"{pool.id}: give the engine {numbers.share(pool.memory_share)} of the memory, not its own "
                f"{numbers.share(own)} ({pool.memory_flag or 'see its manual'}); nothing else may run there"
            )
        if not weights_native(item):
            lines.append(f"{pool.id}: {unpacked(item)}")
        if pool.memory_bytes is not None:
            offloads = pool.reuse is not None and pool.reuse.tier == "host"
            taken, left = pool.host_memory_bytes or 0.0, pool.memory_bytes.free
            lines += shared_memory(item, taken, left, offloads)
        if pool.outside_measured:
            lines.append(f"{pool.id}: {'; '.join(pool.outside_measured)}; benchmark it before you buy")
    return [*lines, *artifacts(pools_, items)]


def _disaggregated(
    cases: Mapping[str, Case], pools_: Sequence[Pool], chosen: Chosen, network_is_stated: bool
) -> Iterator[str]:
    """What network and router must do, and what was not counted on, in disaggregated serving."""
    if not network_is_stated and any(pool.role == "prefill" for pool in pools_):
        pair = next(iter(next(iter(chosen.disaggregated.values())).pairs.values()))
        rate = pair.given.network_bytes_per_s / 1e9
        yield (
            f"KV caches go from prefill to decode workers at {rate:.0f} GB/s a GPU, the rate of a cluster "
            "fabric; state fleet.network if yours is slower"
        )
    for pool in pools_:
        placed = chosen.found[pool.option][1]
        if placed.role == "serve":
            continue
        item = chosen.part(placed).evaluation.candidates.configurations[placed.configuration]
        if item.accelerator.host.pcie_one_way is None:
            yield (
                f"{pool.id}: no rate of the host link is known, so the network alone limits how fast KV "
                "caches are transferred"
            )
        if placed.role != "prefill":
            continue
        division = chosen.disaggregated[placed.workload].sides[placed.side].division
        if division.local_tokens:
            share = numbers.share(1.0 - chosen.sent_fraction(placed))
            longest = numbers.count(division.local_tokens, "token")
            yield (
                f"{pool.id}: the router sends prompts of up to {longest} straight to decode "
                f"({share} of all); rates of this pool count them too"
            )
    for name in chosen.disaggregated:
        if cases[name].traffic.reuse is not None:
            yield f"{name}: disaggregated serving counts no prefix hits that depend on the number of replicas"
