"""Accelerators: memory, compute, links, the server around them."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Bytes, BytesPerSecond, Flops, Noun, Seconds, Watts
from planner.schema.catalog_entry import CatalogEntry, Positive, Source
from planner.schema.vendor import Vendor


class AcceleratorMemory(Noun):
    """Device memory."""

    reported: Bytes
    """What the driver reports; the number used for capacity."""
    marketing: Bytes
    """What the data sheet says."""
    bandwidth: BytesPerSecond
    """Peak memory bandwidth."""
    kind: str = ""
    unified: bool = False
    """CPU and GPU share it: what the host takes is taken from the GPU."""
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

    kind: Literal["nvlink", "nvlink-bridge", "xgmi", "ici", "roce", "neuronlink", "none"]
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
    peer_access: bool = True
    """Whether accelerators read each other's memory over PCIe; else data go through that of the host."""
    source: Source


class AcceleratorPower(Noun):
    """Board power."""

    tdp: Watts
    source: Source


class Partition(Noun):
    """A slice that the hardware divides the device into, with memory, bandwidth and units of its own."""

    name: str
    memory_eighths: Positive
    """Of device memory and of its bandwidth."""
    compute_sevenths: Positive
    """Of the matrix units."""
    per_device: Positive
    """Slices of this kind that one device holds."""
    source: Source


class Accelerator(CatalogEntry):
    """A GPU or other accelerator."""

    kind: Literal["accelerator"] = "accelerator"
    vendor: Vendor
    architecture: str
    """Family of matrix units, such as hopper: one that the calibration knows."""
    form_factor: str = ""
    launch_year: int | None = None
    compute_capability: str = ""
    memory: AcceleratorMemory
    compute: AcceleratorCompute
    link: AcceleratorLink
    host: AcceleratorHost
    power: AcceleratorPower | None = None
    partitions: tuple[Partition, ...] = ()
    """Ways to slice one device in hardware (MIG)."""
