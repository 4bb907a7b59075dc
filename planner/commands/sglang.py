"""Command lines of SGLang.

Source: server arguments of the version in catalog/options. Ranks of attention data parallelism live inside
the tensor-parallel group: its size is that of the whole stage. The limits on running requests and on chunks
are those of all ranks together; the server divides them.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.commands.address import address
from planner.commands.pool_facts import PoolFacts
from planner.errors import CannotExpressError
from planner.schema.launch import Argument, Launch, Placeholder

_BOOTSTRAP_PORT = "8998"
_RENDEZVOUS = ":20000"
_TRANSFER = {"NVIDIA": "nixl", "AMD": "mori"}
"""What carries KV caches from prefill to decode, by vendor of the accelerator."""
_KV = {"bf16": "bf16", "fp8": "fp8_e4m3"}
_ALGORITHMS = {"draft-model": "STANDALONE", "ngram": "NGRAM", "eagle": "EAGLE3"}


def launch(facts: PoolFacts) -> Launch:
    """The command lines of one replica."""
    argv: list[Argument] = ["python3", "-m", "sglang.launch_server", "--model-path", facts.weights.name]
    argv += ["--served-model-name", facts.served_name, *address()]
    for part in (_layout(facts), _sizes(facts), _formats(facts), _extras(facts)):
        argv += part
    return Launch(
        host_cache_bytes=facts.offload_bytes or 0,
        argv=tuple(argv),
        weights=facts.weights,
        servers=facts.servers,
        gpus_per_server=facts.gpus_per_server,
        other_argv=tuple(argv) if facts.servers > 1 else (),
        notes=(*facts.window_notes, *_notes(facts)),
    )


def _layout(facts: PoolFacts) -> Iterator[Argument]:
    pool = facts.pool
    yield from ("--tp-size", str(facts.group_gpus))
    if pool.pp > 1:
        yield from ("--pp-size", str(pool.pp))
    if pool.attention_dp > 1:
        yield from ("--attn-dp-size", str(pool.attention_dp))
    if pool.ep > 1:
        yield from ("--ep-size", str(pool.ep))
    if facts.servers > 1:
        yield from ("--nnodes", str(facts.servers), "--node-rank", Placeholder("SERVER_RANK"))
        yield from ("--dist-init-addr", Placeholder("LEADER_ADDRESS", _RENDEZVOUS))


def _sizes(facts: PoolFacts) -> Iterator[Argument]:
    pool = facts.pool
    yield from ("--max-running-requests", str(facts.batch_per_rank * pool.attention_dp))
    yield from ("--chunked-prefill-size", str(pool.batched_tokens * pool.attention_dp))
    if facts.context_tokens is not None:
        yield from ("--context-length", str(facts.context_tokens))
    if pool.memory_share is not None:
        yield from ("--mem-fraction-static", f"{pool.memory_share:g}")
    if facts.own_blocks is not None:
        yield from ("--page-size", str(facts.own_blocks))


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
    yield "--enable-metrics"
    if facts.speculation is not None:
        yield from _drafts(facts)
    if pool.role != "serve":
        yield from ("--disaggregation-mode", pool.role)
        yield from ("--disaggregation-transfer-backend", _transfer(facts))
        if pool.role == "prefill":
            yield from ("--disaggregation-bootstrap-port", _BOOTSTRAP_PORT)
    if facts.offload_bytes is not None:
        # The size is that of each GPU's process, in GB.
        size = max(facts.offload_bytes // pool.gpus_per_replica // 10**9, 1)
        yield from ("--enable-hierarchical-cache", "--hicache-size", str(size))
        if pool.reuse is not None and pool.reuse.tier == "nvme":
            yield from ("--hicache-storage-backend", "file")
    lora = facts.workload.lora
    if lora is not None:
        yield from ("--enable-lora", "--max-loras-per-batch", str(lora.active or lora.adapters))
        # Without adapters at the start it must be told which layers they may have.
        yield from ("--max-lora-rank", str(lora.rank), "--lora-target-modules", "all")


def _transfer(facts: PoolFacts) -> str:
    vendor = facts.accelerator.vendor
    if vendor not in _TRANSFER:
        raise CannotExpressError(
            [f"{facts.pool.id}: SGLang hands no KV caches over between GPUs of {vendor}."]
        )
    return _TRANSFER[vendor]


def _drafts(facts: PoolFacts) -> Iterator[Argument]:
    taken, draft = facts.speculation, facts.draft
    assert taken is not None, "asked for pools with drafts only"
    yield from ("--speculative-algorithm", _ALGORITHMS[taken.kind])
    if draft is not None:
        yield from ("--speculative-draft-model-path", draft.name)
        # A chain of drafts; the token that the model writes itself is counted too.
        yield from ("--speculative-num-steps", str(taken.tokens), "--speculative-eagle-topk", "1")
    yield from ("--speculative-num-draft-tokens", str(taken.tokens + 1))


def _notes(facts: PoolFacts) -> Iterator[str]:
    if facts.workload.lora is not None:
        yield "Name your adapters with --lora-paths NAME=PATH, or load them while it runs."
