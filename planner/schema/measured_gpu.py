"""What the script of ``planner measure`` found on a GPU, and what was made of it."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Noun
from planner.schema.catalog_entry import Positive

Rate = Annotated[float, Field(ge=1e9, le=1e19)]
"""Bytes or operations per second: of GPUs at least a billion; less has another unit."""


class MeasuredDevice(Noun):
    """The GPU, as PyTorch describes it."""

    name: str
    vendor: Literal["NVIDIA", "AMD"]
    compute_capability: str
    memory_bytes: Rate
    gpus: Positive
    """That PyTorch sees in the server."""


class MeasuredProducts(Noun):
    """Dense rates that large matrix products reach, in FLOPS, by format."""

    bf16: Rate
    fp8: Rate | None = None
    int8: Rate | None = None


class MeasuredPeer(Noun):
    """A copy from the measured GPU to another one of the server."""

    gpu: Annotated[int, Field(ge=0)]
    access: bool
    """Whether it goes there without the memory of the host."""
    bytes_per_s: Rate


class MeasuredReduce(Noun):
    """An all-reduce between GPUs of the server."""

    gpus: Positive
    latency_s: Annotated[float, Field(gt=0, lt=1)]
    """Of a message of two bytes."""
    bus_bytes_per_s: Annotated[float, Field(ge=1e7, le=1e14)]
    """Bus bandwidth of a large message (nccl-tests convention)."""


class GpuResults(Noun):
    """The JSON document that the script writes."""

    layout: Literal["planner-measure-1"]
    date: date
    torch: str
    repeats: Positive
    device: MeasuredDevice
    product_flops_per_s: MeasuredProducts
    memory_bytes_per_s: Rate
    """Of a copy: bytes read and bytes written."""
    host_bytes_per_s: Rate | None = None
    """Of a copy from pinned memory of the host."""
    peers: tuple[MeasuredPeer, ...] = ()
    all_reduce: tuple[MeasuredReduce, ...] = ()
    not_measured: dict[str, str] = {}
    """What could not be measured -> why."""


class MeasuredRate(Noun):
    """One rate of the new entry, beside what it comes from."""

    what: str
    """``bf16``, ``fp8``, ``int8`` or ``memory``."""
    reached_per_s: float
    """By the script, in FLOPS or bytes per second."""
    usual_share: float
    """Of the peak, that GPUs of the architecture reach in the same way."""
    peak_per_s: float
    """The peak of the entry: reached over that share."""
    data_sheet_per_s: float | None
    """The peak of the catalog, where it knows the GPU."""


class MeasuredGpu(Noun):
    """A catalog entry made of measurements."""

    id: str
    like: str
    """The accelerator of the catalog that says what no script sees: this one itself where it is known."""
    known: bool
    path: str
    rates: tuple[MeasuredRate, ...]
    notes: tuple[str, ...]
