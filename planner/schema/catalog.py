"""Nouns of the catalog: one YAML file holds one of them, and every block of numbers names its source."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from planner.schema.base import Bytes, BytesPerSecond, Flops, Noun, Seconds, Share, UsdPerHour, Watts
from planner.schema.lengths import Lengths
from planner.schema.slo import Slo

Count = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
Source = str | tuple[str, ...]


class SourceText(Noun):
    """Where numbers come from."""

    title: str
    """Document, repository with commit, or vendor page."""
    date: date
    """When it was published, or read where the source carries no date."""
    grade: Literal["A", "B", "C", "B/C"] = "B"
    """A: two stored sources agree. B: one stored source. C: recalled from a datasheet."""

    @field_validator("date", mode="before")
    @classmethod
    def _iso_date(cls, value: object) -> object:
        # Numbers would be read as seconds since 1970.
        if isinstance(value, date) or (isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value)):
            return value
        raise PydanticCustomError(
            "date", "expected {expected}", {"expected": 'a date such as "2025-11-21"', "maybe": ""}
        )


class CatalogEntry(Noun):
    """What every file of the catalog carries."""

    id: str
    """Equal to the file's name, lower-case kebab."""
    name: str
    """The name people write."""
    aliases: tuple[str, ...] = ()
    """Other names that mean this entry."""
    sources: dict[str, SourceText]
    """The sources that the blocks of this file refer to by key."""
    note: str = ""

    @model_validator(mode="after")
    def _sources_are_known(self) -> CatalogEntry:
        for name in sorted(_named_sources(self)):
            if name not in self.sources:
                raise PydanticCustomError(
                    "source",
                    "unknown source {found}",
                    {
                        "found": repr(name),
                        "expected": f"a key of sources ({', '.join(sorted(self.sources))})",
                        "maybe": "",
                    },
                )
        return self


def _named_sources(noun: object) -> set[str]:
    names: set[str] = set()
    if isinstance(noun, Noun):
        for field in type(noun).model_fields:
            value = getattr(noun, field)
            if field == "source":
                names |= {value} if isinstance(value, str) else set(value)
            else:
                names |= _named_sources(value)
    elif isinstance(noun, tuple | list):
        for item in noun:
            names |= _named_sources(item)
    elif isinstance(noun, dict):
        for item in noun.values():
            names |= _named_sources(item)
    return names


class AcceleratorMemory(Noun):
    """Device memory."""

    reported: Bytes
    """What the driver reports; the number used for capacity."""
    marketing: Bytes
    """What the data sheet says."""
    bandwidth: BytesPerSecond
    """Peak memory bandwidth."""
    kind: str = ""
    source: Source


class AcceleratorCompute(Noun):
    """Dense peak rates of the matrix units; a missing rate means no hardware path."""

    bf16: Flops
    """16-bit rate (FP16 where the card has no BF16)."""
    fp8: Flops | None = None
    int8: Flops | None = None
    fp4: Flops | None = None
    native: tuple[Literal["fp8", "fp4", "int8"], ...] = ()
    """Formats that the matrix units multiply directly."""
    source: Source


class MeasuredAllReduce(Noun):
    """A measured all-reduce between the cards of one server, for cards without a fast link."""

    gpus: Positive
    latency: Seconds
    """Time of a small message."""
    bus_bandwidth: BytesPerSecond
    """Bus bandwidth of a large message (nccl-tests convention)."""
    source: Source


class AcceleratorLink(Noun):
    """The fast link between accelerators of one server or rack."""

    kind: Literal["nvlink", "nvlink-bridge", "xgmi", "ici", "roce", "none"]
    one_way: BytesPerSecond | None = None
    """All links of one device together, one way; absent when there is no fast link."""
    pair_one_way: BytesPerSecond | None = None
    """What one pair sees where the fabric is a mesh of single links."""
    domain: Positive
    """Devices that share the fast link (bridge pair 2, HGX 8, NVL72 72)."""
    optional: bool = False
    """The bridge is an extra: an offer must say that it has it."""
    measured_all_reduce: tuple[MeasuredAllReduce, ...] = ()
    """Measured PCIe topology, which may allow tensor parallelism over it."""
    source: Source


class AcceleratorHost(Noun):
    """The server around the accelerator."""

    node_size: Positive
    """Accelerators in one server."""
    pcie_one_way: BytesPerSecond | None = None
    source: Source


class AcceleratorPower(Noun):
    """Board power."""

    tdp: Watts
    source: Source


class Accelerator(CatalogEntry):
    """A GPU or other accelerator."""

    kind: Literal["accelerator"] = "accelerator"
    vendor: Literal["NVIDIA", "AMD", "Intel", "Google"]
    architecture: Literal[
        "turing", "ampere", "ada", "hopper", "blackwell", "cdna2", "cdna3", "cdna4", "gaudi2", "gaudi3", "tpu"
    ]
    form_factor: str = ""
    launch_year: int | None = None
    compute_capability: str = ""
    memory: AcceleratorMemory
    compute: AcceleratorCompute
    link: AcceleratorLink
    host: AcceleratorHost
    power: AcceleratorPower | None = None


class MlaShape(Noun):
    """Multi-head latent attention: sizes of the compressed query and key-value paths."""

    q_lora_rank: Positive | None = None
    """Rank of the query path; absent when queries are projected directly."""
    kv_lora_rank: Positive
    qk_nope_head_dim: Positive
    qk_rope_head_dim: Positive
    v_head_dim: Positive


class LinearAttention(Noun):
    """Layers that keep a constant state per sequence instead of KV (Mamba, gated delta nets)."""

    layers: Positive
    state_bytes_per_sequence: Positive
    """All linear layers together."""
    params_per_layer: Positive
    """Weights of one linear layer's token mixer."""


class Attention(Noun):
    """Attention of the decoder layers."""

    kind: Literal["mha", "gqa", "mqa", "mla"]
    query_heads: Positive
    kv_heads: Positive
    head_dim: Positive
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: Literal["none", "per-head-dim", "per-head"] = "none"
    """Weights of a query-key norm: none, one vector of head_dim each, or one per head (heads x head_dim)."""
    output_gate: bool = False
    """A gate on the attention output, projected beside the queries and as wide as they are."""
    sinks: bool = False
    """One learned attention sink per query head."""
    full_layers: Count
    """Layers that keep every token."""
    sliding_layers: Count = 0
    """Layers that keep a window of tokens."""
    window_tokens: Positive | None = None
    sparse_top_k_tokens: Positive | None = None
    """Sparse attention: tokens read per decode step (all are kept)."""
    mla: MlaShape | None = None
    linear: LinearAttention | None = None


class Mlp(Noun):
    """Feed-forward part of the dense layers."""

    intermediate_size: Count
    gated: bool = True
    """Three matrices (gate, up, down) instead of two."""
    bias: bool = False


class Moe(Noun):
    """Mixture-of-experts layers."""

    layers: Positive
    experts: Positive
    experts_per_token: Positive
    expert_intermediate_size: Positive
    shared_intermediate_size: Count = 0
    """All shared experts together."""
    gated: bool = True
    bias: bool = False
    router_bias: bool = False


class Vision(Noun):
    """The image encoder in front of a decoder."""

    params: Positive
    tokens_per_image: Positive
    """Prompt tokens that one image of the default size becomes."""
    hidden_size: Positive | None = None
    layers: Positive | None = None
    patches_per_token: Positive = 1
    """Encoder patches merged into one prompt token."""
    source: Source


class ModelShape(Noun):
    """The tensors of a decoder, in the words of its published configuration."""

    hidden_size: Positive
    layers: Positive
    vocab_size: Positive
    tie_word_embeddings: bool = False
    norms_per_layer: Count = 2
    """Norm vectors of hidden size in one layer (Gemma 2 and 3 have four)."""
    norm_bias: bool = False
    attention: Attention
    mlp: Mlp | None = None
    """Dense layers; absent when every layer is a mixture of experts."""
    dense_layers: Count = 0
    """Layers with a dense feed-forward part."""
    moe: Moe | None = None
    other_params: Count = 0
    """Weights that the fields above do not describe (per-block variants), all used for each token."""
    source: Source


class PublishedCounts(Noun):
    """Parameter counts as the publisher states them."""

    total: Positive
    active: Positive | None = None
    source: Source


class Model(CatalogEntry):
    """A language model."""

    kind: Literal["model"] = "model"
    family: str
    native_format: Literal["bf16", "fp8", "int8", "mxfp4", "int4", "nvfp4"]
    """Format of the published checkpoint."""
    max_context_tokens: Positive
    published: PublishedCounts | None = None
    active_excludes_embedding: bool = False
    """The publisher's count of active parameters leaves out the input embedding (gpt-oss)."""
    shape: ModelShape
    vision: Vision | None = None


class NumberFormat(CatalogEntry):
    """A format of weights or of the KV cache."""

    kind: Literal["format"] = "format"
    weights: bool
    """May store weights."""
    kv: bool
    """May store the KV cache."""
    bits: Annotated[Decimal, Field(gt=0)]
    """Bits per value, scales included."""
    nominal_bits: Positive
    """Bits of the value itself, compared with a minimum that the user asks for."""
    rate: Literal["bf16", "fp8", "int8", "fp4"]
    """The peak rate that multiplies it where the accelerator has that path natively; else the 16-bit rate."""
    by_default: bool
    """Tried when the problem does not name formats."""
    expert_multiple: Positive = 1
    """Expert matrices are padded along one side to a multiple of this."""
    moe_attention_format: str | None = None
    """Format of the attention weights in mixture-of-experts checkpoints of this format, if another one."""
    source: Source


class EngineMemory(Noun):
    """How an engine divides device memory."""

    utilization: Share
    """Share of the reported memory that the engine may use."""
    basis: Literal["total", "free-after-load"]
    """What the share applies to: all memory, or what weights and activations leave."""
    kv_block_tokens: Positive
    framework: Bytes
    """Context, graphs and allocator overhead on one GPU."""
    framework_parallel: Bytes
    """The same when several GPUs work together (communication buffers)."""
    sampler_sequences: Positive
    """Sequences whose logits the start-up profile holds at once."""
    sampler_sequences_vision: Positive | None = None
    """The same for models with an image encoder, where the engine profiles fewer."""
    sampler_bytes_per_logit: Positive
    workspace_copies: Annotated[Decimal, Field(ge=0)]
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
    attention_dp: bool
    pipeline: bool
    lora: bool
    first_token_from: Literal["prefill", "decode"]
    """Which side of disaggregated serving sends the first token."""
    source: Source


class EngineStartup(Noun):
    """Parts of a cold start that do not depend on the model's size."""

    container: Seconds
    """Image start, imports, process groups."""
    compile: Seconds
    """Graph capture and compilation."""
    source: Source


class Engine(CatalogEntry):
    """A serving engine."""

    kind: Literal["engine"] = "engine"
    version: str
    memory: EngineMemory
    limits: EngineLimits
    supports: EngineSupport
    startup: EngineStartup


class Offer(Noun):
    """One instance type in one region: bought whole."""

    instance: str
    region: str
    accelerator: str
    gpus: Positive
    on_demand: UsdPerHour
    spot: UsdPerHour | None = None
    vcpus: Positive | None = None
    host_memory: Bytes | None = None
    bridged: bool = False
    """Cards are joined in pairs by an optional bridge."""
    usable: bool = True
    """False for disputed rows and rows without a host: listed, never bought by default."""
    note: str = ""
    source: Source


class Discount(Noun):
    """A market rule of thumb for other purchase terms."""

    instrument: str
    term: str
    ratio_to_on_demand: Annotated[Decimal, Field(gt=0, le=1)] | None = None
    """Price over the on-demand price; absent where the source gives only a ceiling or a price."""
    text: str
    note: str = ""
    source: Source


class PriceList(CatalogEntry):
    """The offers of one provider."""

    kind: Literal["prices"] = "prices"
    offers: tuple[Offer, ...]
    discounts: tuple[Discount, ...] = ()


class Network(CatalogEntry):
    """A fabric between servers."""

    kind: Literal["network"] = "network"
    one_way: BytesPerSecond
    """Per port or per node, see scope."""
    scope: Literal["gpu", "port", "node"]
    per_gpu_one_way: BytesPerSecond
    """What one GPU of a common server gets."""
    latency: Seconds
    """Small-message latency between servers."""
    source: Source


class Storage(CatalogEntry):
    """A path from which weights are loaded."""

    kind: Literal["storage"] = "storage"
    read: BytesPerSecond
    """Sequential read, one server."""
    source: Source


class Archetype(CatalogEntry):
    """A kind of workload with lengths, limits and golden defaults."""

    kind: Literal["archetype"] = "archetype"
    lengths: Lengths
    slo: Slo
    batch: tuple[Positive, Positive]
    """Golden range of the batch."""
    context_tokens: Positive
    kv: tuple[str, ...]
    goal: str
    source: Source


class Parameter(Noun):
    """One fitted or assumed number of the performance model."""

    value: float
    unit: str
    low: float
    high: float
    meaning: str
    source: Source
    prior: float | None = None
    """What is expected without the fit, from microbenchmarks or judgement."""
    prior_log_sigma: Annotated[float, Field(gt=0)] | None = None
    """How far the logarithm may stray from the prior's; absent where the number is not fitted."""
    tied_to: str | None = None
    """Another number of the file, ``group.key`` or ``group.key.key``, that this one always equals."""

    @model_validator(mode="after")
    def _within_bounds(self) -> Parameter:
        if not self.low <= self.value <= self.high:
            raise PydanticCustomError(
                "range",
                "value outside its own bounds",
                {"found": str(self.value), "expected": f"a value in [{self.low}, {self.high}]", "maybe": ""},
            )
        return self


class UserFactor(Noun):
    """What benchmarks of one's own say about one configuration, as factors on its predictions.

    They hold for every layout, batch and length: the error of a model on an accelerator is mostly common.
    """

    model: str
    """Id of the catalog, or of a model read from a config.json."""
    accelerator: str
    engine: str
    weights: str | None = None
    """Format; absent = every format without an entry of its own."""
    step_factor: Annotated[float, Field(ge=0.05, le=20)]
    """Measured over predicted step time, shrunk towards 1."""
    ttft_factor: Annotated[float, Field(ge=0.05, le=20)] = 1.0
    """The same for time to first token, beyond what slower steps explain."""
    sigma_log: Annotated[float, Field(gt=0, le=2)]
    """Log-standard deviation of step times that use the factor."""
    ttft_sigma_log: Annotated[float, Field(gt=0, le=2)]
    rows: Positive
    """Runs behind the step factor."""
    ttft_rows: Count = 0
    """Runs behind the TTFT factor; with fewer than two it is 1."""
    source: Source


class UserFactors(CatalogEntry):
    """Factors from benchmarks of one's own; an overlay adds them, the calibration stays as it is."""

    kind: Literal["user-factors"] = "user-factors"
    factors: Annotated[tuple[UserFactor, ...], Field(min_length=1)]


class FitError(Noun):
    """Errors of one number over rows of one class: predicted over measured, less one."""

    rows: Count
    bias: float
    """Of the median row."""
    median: float
    mean: float
    p90: float


class FitRecord(Noun):
    """What a fit saw, and how well it does: in the fit, and with parts of the rows left out."""

    rows: Count
    """Numbers of rows that were fitted."""
    fitted: Count
    """Numbers of the calibration that were fitted."""
    errors: dict[str, dict[str, FitError]]
    """``fit`` or what was left out one at a time -> number and class -> errors."""
    coverage: dict[str, float] = {}
    """Share of left-out rows inside the interval of 80 %, by number; its sigma saw other pairs only."""


class Calibration(CatalogEntry):
    """The numbers of the performance model: fitted values with bounds and sources."""

    kind: Literal["calibration"] = "calibration"
    parameters: dict[str, Parameter]
    compute_efficiency: dict[str, dict[str, Parameter]] = {}
    """Share of the dense peak that large matrix products reach: architecture -> weight format."""
    architectures: dict[str, dict[str, Parameter]] = {}
    """Factors of an accelerator architecture on parameters of all: architecture -> name; 1 where absent."""
    engines: dict[str, dict[str, Parameter]] = {}
    """Overheads per engine."""
    sigma_log: dict[str, Parameter] = {}
    """Log-standard deviation of predictions by class."""
    known: dict[str, tuple[str, ...]] = {}
    """Architecture -> families of models with measured rows on it: the others have the wider spread."""

    user_factors: tuple[UserFactor, ...] = ()
    """Of one's own benchmarks; the first that matches a configuration holds."""

    fit: FitRecord | None = None
    """How the numbers were found; absent where nobody fitted them together."""

    def knows(self, family: str, architecture: str) -> bool:
        """Whether rows of this family on this architecture are in the fit."""
        return family in self.known.get(architecture, ())


class Judgement(CatalogEntry):
    """Numbers of judgement that planning uses; not fitted."""

    kind: Literal["judgement"] = "judgement"
    parameters: dict[str, Parameter]
