"""Command lines of TensorRT-LLM and the configuration files that they name.

Source: ``trtllm-serve`` and the LLM arguments of the version in catalog/options. Attention data parallelism
is a switch: every GPU of the tensor-parallel group computes whole attention for requests of its own. Limits
on requests and tokens are those of each of these ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.commands.address import address
from planner.commands.pool_facts import PoolFacts
from planner.errors import CannotExpressError
from planner.schema.launch import Argument, Launch

_KV = {"bf16": "auto", "fp8": "fp8", "nvfp4": "nvfp4"}
_DRAFTS = {"draft-model": "DraftTarget", "ngram": "NGram", "eagle": "Eagle3"}


def launch(facts: PoolFacts) -> Launch:
    """The command line of one replica and its configuration file."""
    refused = list(_refusals(facts))
    if refused:
        raise CannotExpressError(refused)
    pool = facts.pool
    name = f"{facts.file_stem}.yaml"
    argv: list[Argument] = ["trtllm-serve", facts.weights.name, *address(), "--backend", "pytorch"]
    argv += ["--tp_size", str(facts.group_gpus), "--pp_size", str(pool.pp), "--ep_size", str(pool.ep)]
    argv += ["--max_batch_size", str(facts.batch_per_rank), "--max_num_tokens", str(pool.batched_tokens)]
    if facts.context_tokens is not None:
        argv += ["--max_seq_len", str(facts.context_tokens)]
    if pool.memory_share is not None:
        argv += ["--kv_cache_free_gpu_memory_fraction", f"{pool.memory_share:g}"]
    argv += ["--config", name]
    return Launch(
        host_cache_bytes=facts.offload_bytes or 0,
        argv=tuple(argv),
        weights=facts.weights,
        servers=facts.servers,
        gpus_per_server=facts.gpus_per_server,
        config=_config(facts),
        config_name=name,
        notes=(*facts.window_notes, *_notes(facts)),
    )


def _refusals(facts: PoolFacts) -> Iterator[str]:
    pool = facts.pool
    if pool.attention_dp > 1 and pool.tp > 1:
        yield (
            f"{pool.id}: TensorRT-LLM has attention ranks of one GPU, not {pool.attention_dp} of {pool.tp}."
        )
    if facts.weights.quantize:
        yield (
            f"{pool.id}: TensorRT-LLM loads weights in the format of the checkpoint, and the catalog knows "
            f"none of {pool.model} in {pool.weights}."
        )
    if facts.servers > 1:
        yield f"{pool.id}: TensorRT-LLM over {facts.servers} servers is started by MPI, not by one command."


def _config(facts: PoolFacts) -> dict[str, Any]:
    pool = facts.pool
    cache: dict[str, Any] = {"dtype": _KV.get(pool.kv, pool.kv)}
    if facts.reuses_prefixes:
        cache["enable_block_reuse"] = True
    if facts.own_blocks is not None:
        cache["tokens_per_block"] = facts.own_blocks
    if facts.offload_bytes is not None:
        # Of each GPU's process.
        cache["host_cache_size"] = facts.offload_bytes // pool.gpus_per_replica
    config: dict[str, Any] = {
        "enable_attention_dp": pool.attention_dp > 1,
        "enable_chunked_prefill": True,
        "kv_cache_config": cache,
        "return_perf_metrics": True,
    }
    if facts.speculation is not None:
        config["speculative_config"] = _drafts(facts)
    lora = facts.workload.lora
    if lora is not None:
        config["lora_config"] = {
            "max_lora_rank": lora.rank,
            "max_loras": lora.active or lora.adapters,
            "max_cpu_loras": lora.adapters,
        }
    if pool.role != "serve":
        config["cache_transceiver_config"] = {"backend": "DEFAULT"}
    if pool.role == "prefill":
        # A context server transfers KV before the next step begins.
        config["disable_overlap_scheduler"] = True
    return config


def _drafts(facts: PoolFacts) -> dict[str, Any]:
    taken, draft = facts.speculation, facts.draft
    assert taken is not None, "asked for pools with drafts only"
    config: dict[str, Any] = {"decoding_type": _DRAFTS[taken.kind], "max_draft_len": taken.tokens}
    if draft is not None:
        config["speculative_model"] = draft.name
    return config


def _notes(facts: PoolFacts) -> Iterator[str]:
    if facts.workload.lora is not None:
        yield "Requests name their adapter and its folder (lora_request)."
    yield "Clients call the model by the name of its checkpoint."
