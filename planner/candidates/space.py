"""The search space of one workload, from the problem and the catalog."""

from __future__ import annotations

from collections.abc import Collection

from planner.candidates.formats import kv_formats, weight_formats
from planner.candidates.layouts import Space
from planner.candidates.serving_options import adapter_slots, drafting_choices, expert_traffic
from planner.schema.catalog import Engine, Model, Network
from planner.schema.catalog_index import Catalog
from planner.schema.facts import ModelFacts
from planner.schema.hardware import Fleet
from planner.schema.search import Search
from planner.schema.workload import Workload

STAGES_RULE = "pipeline-within-server"
"""The planning rule that keeps pipelines out of servers that hold the model."""
WHOLE_SERVERS = "whole-servers"
"""The planning rule that a replica larger than one server takes whole servers."""
_DEFAULT_NETWORK = "infiniband-ndr"


def search_space(
    workload: Workload,
    model: Model,
    facts: ModelFacts,
    engine: Engine,
    fleet: Fleet,
    search: Search,
    catalog: Catalog,
    paced: bool,
    everything: bool = False,
) -> Space:
    """What the configurations of a workload are made of.

    Args:
        workload: formats and engine by name.
        model: with its published format.
        facts: the model as numbers.
        engine: that serves it.
        fleet: for the network between servers.
        search: lists to choose from.
        catalog: formats, networks, calibration.
        paced: latency per token is limited, so smaller prefill chunks are worth trying.
        everything: also try formats that the problem does not allow, and listed degrees that cannot
            work, marked so.
    """
    formats, find = catalog.number_formats, catalog.number_format
    one_way, latency = network(fleet, catalog)
    return Space(
        model=facts,
        engine=engine,
        calibration=catalog.calibration,
        weights=weight_formats(workload.precision.weights, model, formats, find, everything),
        kv=kv_formats(workload.precision.kv, formats, find, everything),
        find_format=find,
        search=search,
        network_bytes_per_s=one_way,
        network_latency_s=latency,
        chunks=chunks(search, engine, paced),
        stages_always=rule_is_off(STAGES_RULE, search.rules_off),
        everything=everything,
        drafts=drafting_choices(workload, facts, catalog),
        experts=expert_traffic(workload, catalog),
        adapters=adapter_slots(workload),
        evicts=workload.kv_eviction is not None,
        caches=workload.prefix_cache_hit > 0,
        wide_ep=fleet.network is not None if search.wide_ep is None else search.wide_ep,
        max_quality_loss=workload.max_quality_loss,
        fabric=fleet.network is not None,
    )


def chunks(search: Search, engine: Engine, paced: bool) -> tuple[int, ...]:
    """Chunks of chunked prefill: those the problem lists, else the engine's default and its choices."""
    if search.batched_tokens is not None:
        return tuple(sorted(set(search.batched_tokens)))
    choices = engine.limits.batched_tokens_choices if paced else ()
    return tuple(sorted({engine.limits.batched_tokens, *choices}))


def rule_is_off(rule_id: str, rules_off: Collection[str]) -> bool:
    """Whether the user has switched a rule off."""
    return rule_id in rules_off


def network(fleet: Fleet, catalog: Catalog) -> tuple[float, float]:
    """Bandwidth per GPU (one way) and latency between servers.

    A stated bandwidth keeps the latency of the default network.
    """
    default = catalog.network(_DEFAULT_NETWORK)
    named = catalog.network(fleet.network) if isinstance(fleet.network, str) else None
    entry: Network | None = named or default
    latency = float(entry.latency) if entry else 0.0
    if fleet.network_latency is not None:
        latency = float(fleet.network_latency)
    if fleet.network is not None and not isinstance(fleet.network, str):
        return float(fleet.network), latency
    assert entry is not None, "the catalog lacks its default network"
    return float(entry.per_gpu_one_way), latency
