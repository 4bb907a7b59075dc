"""Serving engines: memory, limits, what they run, start-up."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.accelerator import Accelerator
from planner.schema.base import Bytes, Exact, Noun, Seconds, Share
from planner.schema.catalog_entry import CatalogEntry, Positive, Source
from planner.schema.number_format import NumberFormat
from planner.schema.reuse import Tier
from planner.schema.speculation import DraftKind


class EngineMemory(Noun):
    """How an engine divides device memory."""

    utilization: Share
    """Share of the reported memory that the engine may use."""
    basis: Literal["total", "free-after-load"]
    """What the share applies to: all memory, or what weights and activations leave."""
    share_flag: str | None = None
    """Argument that sets the share, where it is known."""
    kv_block_tokens: Positive
    reserves_answer: bool = False
    """A request starts only where its whole answer has room; otherwise its cache grows as it is written, and
    what outgrows the cache is preempted."""
    contiguous: bool = False
    """The cache of every slot is one piece, as long as the longest request; otherwise it grows by blocks."""
    framework: Bytes
    """Context, graphs and allocator overhead on one GPU."""
    framework_parallel: Bytes
    """The same when several GPUs work together (communication buffers)."""
    sampler_sequences: Positive
    """Sequences whose logits the start-up profile holds at once."""
    sampler_sequences_vision: Positive | None = None
    """The same for models with an image encoder, where the engine profiles fewer."""
    sampler_bytes_per_logit: Positive
    workspace_copies: Annotated[Exact, Field(ge=0)]
    """Widest activation rows alive at once in the start-up profile, per batched token."""
    load_copy: Share
    """Extra share of the weights held while loading (casts, repacking)."""
    host_copy: Share
    """Share of the weights staged in host memory while loading."""
    source: Source


class ModestLimits(Noun):
    """Scheduler defaults of an engine on devices that it takes for modest."""

    memory_below: Bytes
    """Devices that report less than this."""
    architectures: tuple[str, ...] = ()
    """And these, whatever their memory."""
    max_running: Positive
    batched_tokens: Positive


class EngineLimits(Noun):
    """Scheduler limits and defaults."""

    max_running: Positive
    """Sequences in one batch at most."""
    batched_tokens: Positive
    """Tokens in one step at most: the chunk of chunked prefill."""
    batched_tokens_choices: tuple[Positive, ...] = ()
    """Other chunks to try where latency per token is limited."""
    batching: Literal["continuous", "static"] = "continuous"
    """Static: a batch is computed to its longest answer before the next one starts."""
    chunked_prefill: bool
    """Mixes prompt chunks into decode steps; otherwise a prompt stops decoding."""
    modest: ModestLimits | None = None
    """Defaults on modest devices, where the engine has others."""
    source: Source

    def running_on(self, accelerator: Accelerator) -> int:
        """Sequences in one batch at most on an accelerator."""
        return self.modest.max_running if self._is_modest(accelerator) and self.modest else self.max_running

    def batched_on(self, accelerator: Accelerator) -> int:
        """Tokens in one step at most on an accelerator, by default."""
        modest = self.modest if self._is_modest(accelerator) else None
        return modest.batched_tokens if modest else self.batched_tokens

    def _is_modest(self, accelerator: Accelerator) -> bool:
        if self.modest is None:
            return False
        small = accelerator.memory.reported < self.modest.memory_below
        return small or accelerator.architecture in self.modest.architectures


class EngineSupport(Noun):
    """What an engine runs."""

    vendors: tuple[Literal["NVIDIA", "AMD", "Intel", "Google"], ...]
    weights: tuple[str, ...]
    kv: tuple[str, ...]
    only_on: dict[str, tuple[str, ...]] = {}
    """Formats whose kernels exist for some architectures only, as weights and as cache."""
    without: tuple[str, ...] = ()
    """Architectures of these vendors on which it does not run."""
    attention_dp: bool
    pipeline: bool
    lora: bool
    uneven_experts: bool = False
    """Expert-parallel ranks may differ by one expert; otherwise experts must divide by their number."""
    cut_experts: bool = False
    """Each rank of experts may be several GPUs that cut them, so EP may be less than the GPUs of a stage."""
    speculation: tuple[DraftKind, ...] = ()
    """Kinds of drafts that it can verify."""
    kv_offload: tuple[Tier, ...] = ()
    """Where it can keep KV outside the GPU."""
    fused_scaling: bool
    """Activations are scaled to a narrow format inside the kernel before where the scale is known beforehand;
    otherwise by a kernel of its own."""
    first_token_from: Literal["prefill", "decode"]
    """Which side of disaggregated serving sends the first token."""
    source: Source

    def loads(self, weights: NumberFormat, architecture: str) -> bool:
        """Whether it multiplies weights of a format, and of every part that has one of its own."""
        first = weights.id.partition("+")[0]  # a mix is named after the format of all weights
        forms = (first, *(form.id for form in weights.own_parts.values()))
        return all(form in self.weights and self._runs(form, architecture) for form in forms)

    def keeps(self, kv: NumberFormat, architecture: str) -> bool:
        """Whether its attention kernels read a cache of a format."""
        return kv.id in self.kv and self._runs(kv.id, architecture)

    def _runs(self, form: str, architecture: str) -> bool:
        return form not in self.only_on or architecture in self.only_on[form]


class EngineKvTransfer(Noun):
    """How an engine hands KV caches from prefill workers to decode workers."""

    hidden: Share
    """Share of a KV transfer that overlaps with the computation of the same prompt (layer by layer)."""
    vendors: tuple[Literal["NVIDIA", "AMD", "Intel", "Google"], ...]
    """Both sides are of the same one of these."""
    prefill_stages: bool
    """Prefill workers may have pipeline stages."""
    decode_stages: bool
    """Decode workers may have pipeline stages."""
    local_prefill: bool
    """The router can leave short prompts to the decode workers."""
    source: Source


class EnginePrefixCache(Noun):
    """How an engine knows the beginning of a prompt again."""

    matching: Literal["hash", "radix"]
    """By the hashes of whole blocks, or by walking a tree of what is held."""
    partial_blocks: bool = False
    """A block that matches in part is copied and used as far as it does."""
    source: Source


class EngineStartup(Noun):
    """Parts of a cold start that do not depend on the model's size."""

    container: Seconds
    """Image start, imports, process groups."""
    compile: Seconds
    """Graph capture and compilation."""
    source: Source


class EngineGeneration(Noun):
    """Versions of an engine with scheduling, overheads or kernels of their own."""

    id: str
    """What the calibration calls its numbers."""
    before: str
    """The first version that is no longer of it."""
    products: dict[str, str] = {}
    """The same for products with versions of their own, by how their name starts."""
    source: Source


class Engine(CatalogEntry):
    """A serving engine."""

    kind: Literal["engine"] = "engine"
    version: str
    memory: EngineMemory
    limits: EngineLimits
    supports: EngineSupport
    prefix_cache: EnginePrefixCache | None = None
    """None: whole blocks by their hashes, which finds least."""
    kv_transfer: EngineKvTransfer | None = None
    """None: prompts and answers cannot be served disaggregated."""
    startup: EngineStartup
    generations: tuple[EngineGeneration, ...] = ()
    """Before the present one, oldest first."""

    @property
    def match_tokens(self) -> int:
        """Tokens in the smallest piece of a prefix that is found again."""
        partial = self.prefix_cache is not None and self.prefix_cache.partial_blocks
        return 1 if partial else int(self.memory.kv_block_tokens)

    def with_blocks_of(self, tokens: int | None) -> Engine:
        """The engine told to use KV blocks of so many tokens; None: of its own."""
        if tokens in (None, self.memory.kv_block_tokens):
            return self
        memory = self.memory.model_copy(update={"kv_block_tokens": tokens})
        return self.model_copy(update={"memory": memory})
