"""Command lines of vLLM.

Source: option list of ``vllm serve`` (catalog/options); docs.vllm.ai, Data Parallel Deployment, Expert
Parallel Deployment, NixlConnector. Data parallelism multiplies tensor parallelism, each rank has a scheduler
of its own, and experts are cut over TP x DP unless expert parallelism spreads whole ones over as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.commands.pool_facts import PoolFacts
from planner.commands.shell import json_argument
from planner.errors import CannotExpressError
from planner.schema.launch import Argument, Launch, Placeholder

_SIDE_CHANNEL_PORT = "5600"
"""Of the NIXL connector, its default."""
_KV = {"bf16": "bfloat16", "fp8": "fp8", "int8": "int8_per_token_head", "nvfp4": "nvfp4"}
_METHODS = {"draft-model": "draft_model", "ngram": "ngram", "eagle": "eagle3"}


def launch(facts: PoolFacts) -> Launch:
    """The command lines of one replica."""
    pool, weights = facts.pool, facts.weights
    if pool.ep not in (1, facts.group_gpus):
        group = facts.group_gpus
        reason = f"{pool.id}: vLLM spreads experts over all {group} GPUs of a stage, not over {pool.ep}."
        raise CannotExpressError([reason])
    common: list[Argument] = ["vllm", "serve", weights.name]
    common += ["--served-model-name", facts.served_name]  # it listens everywhere, on `address.PORT`
    for part in (_layout(facts), _sizes(facts), _formats(facts), _extras(facts)):
        common += part
    environment: dict[str, Argument] = {}
    if pool.role != "serve":
        environment["VLLM_NIXL_SIDE_CHANNEL_HOST"] = Placeholder("OWN_ADDRESS")
        environment["VLLM_NIXL_SIDE_CHANNEL_PORT"] = _SIDE_CHANNEL_PORT
    several = facts.servers > 1
    return Launch(
        host_cache_bytes=facts.offload_bytes or 0,
        argv=tuple(common),
        weights=weights,
        servers=facts.servers,
        gpus_per_server=facts.gpus_per_server,
        other_argv=(*common, "--headless") if several else (),
        environment=environment,
        notes=(*facts.window_notes, *_notes(facts)),
    )


def _layout(facts: PoolFacts) -> Iterator[Argument]:
    pool = facts.pool
    yield from ("--tensor-parallel-size", str(pool.tp))
    if pool.pp > 1:
        yield from ("--pipeline-parallel-size", str(pool.pp))
    if pool.attention_dp > 1:
        yield from ("--data-parallel-size", str(pool.attention_dp))
    if pool.ep > 1:
        yield "--enable-expert-parallel"
    if facts.servers > 1:
        yield from ("--nnodes", str(facts.servers), "--node-rank", Placeholder("SERVER_RANK"))
        yield from ("--master-addr", Placeholder("LEADER_ADDRESS"))


def _sizes(facts: PoolFacts) -> Iterator[Argument]:
    pool = facts.pool
    yield from ("--max-num-seqs", str(facts.batch_per_rank))
    # A step has a token for every running request, or the engine does not start.
    yield from ("--max-num-batched-tokens", str(max(pool.batched_tokens, facts.batch_per_rank)))
    if facts.context_tokens is not None:
        yield from ("--max-model-len", str(facts.context_tokens))
    if pool.memory_share is not None:
        yield from ("--gpu-memory-utilization", f"{pool.memory_share:g}")
    if facts.own_blocks is not None:
        yield from ("--block-size", str(facts.own_blocks))


def _formats(facts: PoolFacts) -> Iterator[Argument]:
    pool = facts.pool
    if facts.half_precision:
        yield from ("--dtype", "half")
    if facts.weights.quantize:
        yield from ("--quantization", pool.weights)
    if not (facts.half_precision and pool.kv == "bf16"):
        yield from ("--kv-cache-dtype", _KV.get(pool.kv, pool.kv))


def _extras(facts: PoolFacts) -> Iterator[Argument]:
    pool = facts.pool
    if facts.reuses_prefixes:
        yield "--enable-prefix-caching"
    if facts.speculation is not None:
        yield from ("--speculative-config", json_argument(_drafts(facts)))
    if pool.role != "serve":
        connector = "NixlPushConnector" if facts.staged_prefill else "NixlConnector"
        both = {"kv_connector": connector, "kv_role": "kv_both"}
        yield from ("--kv-transfer-config", json_argument(both))
    if facts.offload_gib is not None:
        # Of one data-parallel rank, all its GPUs together.
        yield from ("--kv-offloading-size", str(max(facts.offload_gib // pool.attention_dp, 1)))
    lora = facts.workload.lora
    if lora is not None:
        yield from ("--enable-lora", "--max-loras", str(lora.active or lora.adapters))
        yield from ("--max-lora-rank", str(_rank(lora.rank)), "--max-cpu-loras", str(lora.adapters))


def _rank(rank: int) -> int:
    """The smallest rank that vLLM has kernels for and that holds the adapters."""
    known = (1, 8, 16, 32, 64, 128, 256, 320, 512)
    return next((size for size in known if size >= rank), rank)


def _drafts(facts: PoolFacts) -> dict[str, Any]:
    taken, draft = facts.speculation, facts.draft
    assert taken is not None, "asked for pools with drafts only"
    config: dict[str, Any] = {"method": _METHODS[taken.kind], "num_speculative_tokens": taken.tokens}
    if draft is not None:
        config["model"] = draft.name
        if draft.quantize and taken.weights is not None:
            config["quantization"] = taken.weights
    return config


def _notes(facts: PoolFacts) -> Iterator[str]:
    if facts.workload.lora is not None:
        yield (
            "Name your adapters with --lora-modules NAME=PATH, or load them while it runs "
            "(VLLM_ALLOW_RUNTIME_LORA_UPDATING=True)."
        )
    if facts.pool.reuse is not None and facts.pool.reuse.tier == "nvme":
        yield (
            "The plan keeps KV on drives: --kv-offloading-size is host memory; an external store (LMCache) "
            "adds drives."
        )
