"""Everything that the command line of one pool is made from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from planner.characters import STEERING
from planner.commands.dns_names import dns_names
from planner.commands.weights_source import draft_weights, pool_weights
from planner.errors import CannotExpressError
from planner.schema.catalog import Accelerator, Engine, Model
from planner.schema.catalog_index import Catalog
from planner.schema.launch import WeightsSource
from planner.schema.plan import Guardrails, Plan
from planner.schema.pool import Pool
from planner.schema.problem import Problem
from planner.schema.speculation import DraftsTaken
from planner.schema.workload import Workload

_FIRST_BF16 = (8, 0)
"""NVIDIA compute capability from which there are bfloat16 units (Ampere)."""
_GIB = 2**30


@dataclass(frozen=True)
class PoolFacts:
    """One pool of a plan with what its names stand for."""

    plan: Plan
    pool: Pool
    workload: Workload
    accelerator: Accelerator
    engine: Engine
    model: Model
    unit_gpus: int
    """GPUs of the server or instance that it is placed on."""
    guardrails: Guardrails | None
    staged_prefill: bool
    """Some prefill pool of the workload has pipeline stages."""
    catalog: Catalog

    @property
    def asked_model(self) -> str:
        """The model as the problem writes it."""
        return self.workload.model or self.pool.model

    @property
    def served_name(self) -> str:
        """The model as clients call it: the last part of what the problem writes, in plain characters."""
        name = self.asked_model.rstrip("/").rpartition("/")[2] or self.pool.model
        return STEERING.sub("-", name)

    @property
    def file_stem(self) -> str:
        """A file name for the pool."""
        return dns_names([pool.id for pool in self.plan.pools])[self.pool.id]

    @property
    def weights(self) -> WeightsSource:
        """The checkpoint to load."""
        return pool_weights(self.model, self.asked_model, self.pool.weights, self.accelerator, self.catalog)

    @property
    def speculation(self) -> DraftsTaken | None:
        """Drafts that a server is told of: its own; of a prefill pool those of the decode pools behind it.

        A model or head that writes drafts has layers in the KV cache, which both sides of a transfer must
        have. Source: vLLM, compatibility of NIXL handshakes; SGLang, disaggregation: draft KV caches.
        """
        own = self.pool.speculation
        if own is not None or self.pool.role != "prefill":
            return own
        decode = (
            pool.speculation
            for pool in self.plan.pools
            if (pool.workload, pool.role) == (self.pool.workload, "decode")
        )
        return next((one for one in decode if one is not None and one.kind != "ngram"), None)

    @property
    def draft(self) -> WeightsSource | None:
        """What writes the drafts; None without a model or head of its own."""
        taken = self.speculation
        if taken is None or taken.kind == "ngram":
            return None
        return draft_weights(taken, self.served_name, self.accelerator, self.catalog)

    @property
    def group_gpus(self) -> int:
        """GPUs of one pipeline stage."""
        return self.pool.tp * self.pool.attention_dp

    @property
    def gpus_per_server(self) -> int:
        """GPUs of each server of a replica: all alike, and no stage straddles two unless it is larger."""
        gpus, group = self.pool.gpus_per_replica, self.group_gpus
        if gpus <= self.unit_gpus:
            return gpus
        if group > self.unit_gpus:
            if gpus % self.unit_gpus:
                raise CannotExpressError(
                    [f"{self.pool.id}: {gpus} GPUs do not divide into servers of {self.unit_gpus}."]
                )
            return self.unit_gpus
        stages = max(n for n in range(1, self.unit_gpus // group + 1) if self.pool.pp % n == 0)
        return stages * group

    @property
    def servers(self) -> int:
        """Servers of one replica."""
        return self.pool.gpus_per_replica // self.gpus_per_server

    @property
    def batch_per_rank(self) -> int:
        """Planned batch of one attention rank."""
        return math.ceil(self.pool.max_batch / self.pool.attention_dp)

    @property
    def context_tokens(self) -> int | None:
        """Longest request to admit: the guardrails, within what the cache of a rank holds; None: not planned.

        Engines refuse to start where their cache is smaller than one request of this length.
        """
        if self.guardrails is None:
            return None
        asked = self.guardrails.max_input_tokens + self.guardrails.max_output_tokens
        cache = self.pool.kv_cache
        held = asked if cache is None else max(cache.tokens, cache.request_tokens)
        return min(asked, held, self.model.max_context_tokens)

    @property
    def window_notes(self) -> tuple[str, ...]:
        """What to switch on for requests longer than the checkpoint's own positions."""
        own, asked = self.model.trained_context_tokens, self.context_tokens
        if own is None or asked is None or asked <= own:
            return ()
        return (
            f"Requests of up to {asked:,} tokens exceed the {own:,} positions of the checkpoint: engines "
            "refuse the context length until YaRN is switched on as its model card says (rope scaling of "
            f"{asked / own:.1f} or more).",
        )

    @property
    def reuses_prefixes(self) -> bool:
        """The plan counts on prefixes that are found again."""
        taken = self.pool.reuse
        return bool(self.workload.prefix_cache_hit) or (taken is not None and taken.hit > 0.0)

    @property
    def own_blocks(self) -> int | None:
        """Tokens of a KV block where the problem states them."""
        return self.workload.kv_block_tokens

    @property
    def offload_bytes(self) -> int | None:
        """Room for KV outside the GPUs, of one replica; None without."""
        offload = self.workload.kv_offload
        if offload is None or self.pool.reuse is None or self.pool.reuse.tier is None:
            return None
        return int(offload.capacity_per_gpu) * self.pool.gpus_per_replica

    @property
    def offload_gib(self) -> int | None:
        """The same in whole GiB."""
        return None if self.offload_bytes is None else max(self.offload_bytes // _GIB, 1)

    @property
    def half_precision(self) -> bool:
        """The GPU has no bfloat16: 16 bits are FP16."""
        major, _, minor = self.accelerator.compute_capability.partition(".")
        if self.accelerator.vendor != "NVIDIA" or not major.isdigit() or not minor.isdigit():
            return False
        return (int(major), int(minor)) < _FIRST_BF16

    def refuse_unknown(self) -> None:
        """Refuse what no engine takes on its command line.

        Raises:
            CannotExpressError: with every reason.
        """
        reasons = []
        if self.workload.kv_eviction is not None:
            reasons.append(
                f"{self.pool.id}: no engine drops tokens from the KV of running requests (kv_eviction)."
            )
        if reasons:
            raise CannotExpressError(reasons)


def pool_facts(
    plan: Plan, problem: Problem, models: Mapping[str, Model], catalog: Catalog
) -> list[PoolFacts]:
    """The facts of every pool of a plan.

    Args:
        plan: with pools.
        problem: that it answers.
        models: by workload.
        catalog: what names stand for.

    Raises:
        CannotExpressError: pools over measured workers, and GPUs or engines that the catalog does not know.
    """
    found, reasons = [], []
    for pool in plan.pools:
        engine = catalog.engine(pool.engine)
        accelerator = catalog.accelerator(pool.gpu.partition(":")[0])
        if pool.evidence == "measured" or engine is None:
            reasons.append(f"{pool.id}: its rate was measured; the plan knows no layout and no engine of it.")
            continue
        if accelerator is None:
            reasons.append(f'{pool.id}: the catalog does not know the GPU "{pool.gpu}".')
            continue
        found.append(_facts(plan, problem, pool, engine, accelerator, models[pool.workload], catalog))
    if reasons:
        raise CannotExpressError(reasons)
    return found


def _facts(
    plan: Plan,
    problem: Problem,
    pool: Pool,
    engine: Engine,
    accelerator: Accelerator,
    model: Model,
    catalog: Catalog,
) -> PoolFacts:
    unit = problem.fleet.node_size or accelerator.host.node_size
    return PoolFacts(
        plan=plan,
        pool=pool,
        workload=next(item for item in problem.workloads if item.name == pool.workload),
        accelerator=accelerator,
        engine=engine,
        model=model,
        unit_gpus=unit if pool.offer is None else pool.offer.gpus,
        guardrails=plan.guardrails_of(pool.workload),
        staged_prefill=any(
            other.role == "prefill" and other.pp > 1
            for other in plan.pools
            if other.workload == pool.workload
        ),
        catalog=catalog,
    )
