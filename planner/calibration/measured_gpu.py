"""From what a script measured on a GPU to its catalog entry.

A peak is not measured: products reach a share of it that GPUs of one architecture have in common. So the
peak of the entry is the reached rate over that share (`catalog/judgment/micro-benchmarks.yaml`), and the
calibration of the architecture holds for it as for any GPU. Bandwidth likewise, with the share that reading
weights reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from planner.errors import input_error, nearest
from planner.schema.accelerator import AcceleratorCompute, AcceleratorLink, MeasuredAllReduce
from planner.schema.calibration import Parameter
from planner.schema.catalog import Accelerator
from planner.schema.catalog_entry import SourceText
from planner.schema.catalog_index import Catalog
from planner.schema.measured_gpu import GpuResults, MeasuredRate

WHERE = "planner measure"
SOURCE = "measured"
_NARROW = ("fp8", "int8")
_FAST = {"NVIDIA": "nvlink", "AMD": "xgmi"}
_ID = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")


def likeness(catalog: Catalog, results: GpuResults, gpu: str, like: str | None) -> Accelerator:
    """The accelerator that says what no script sees: architecture, power and, of a lone GPU, its server.

    It is the GPU itself where the catalog knows it, the one that ``like`` names, or the one of the same
    compute capability whose memory is nearest.

    Raises:
        InputError: an id that is no file name, a ``like`` that is unknown or of no use, or a capability that
            no entry has.
    """
    own = catalog.accelerator(gpu)
    if own is not None and like is not None:
        raise input_error(
            WHERE, "--like", f'"{like}", and the catalog knows {own.id}', "it with a new id alone"
        )
    if own is not None:
        return own
    if not _ID.fullmatch(gpu):
        expected = "lower-case letters and digits with - or . between, such as my-gpu"
        raise input_error(WHERE, "--gpu", f'"{gpu}"', expected)
    if like is not None:
        named = catalog.accelerator(like)
        if named is None:
            hint = nearest(like, catalog.names("accelerators"))
            raise input_error(WHERE, "--like", f'"{like}"', "an accelerator of the catalog", hint)
        return named
    device = results.device
    same = [item for item in catalog.accelerators if item.compute_capability == device.compute_capability]
    if not same:
        found = (
            f"nothing, and no accelerator of the catalog has compute capability {device.compute_capability}"
        )
        raise input_error(WHERE, "--like", found, "an accelerator of the same architecture")
    return min(same, key=lambda item: abs(float(item.memory.reported) - device.memory_bytes))


def rates(catalog: Catalog, results: GpuResults, like: Accelerator, known: bool) -> tuple[MeasuredRate, ...]:
    """Peaks behind the reached rates: of products by format, and of the memory."""
    shares, compute = _judged(catalog), like.compute
    found = []
    for name in ("bf16", *_NARROW):
        reached = getattr(results.product_flops_per_s, name)
        if reached is not None:
            own = shares.get(f"product_share.{like.architecture}.{name}")
            share = (own or shares[f"product_share.any.{name}"]).value
            found.append(_rate(name, reached, share, getattr(compute, name) if known else None))
    share = catalog.calibration.parameters["memory_efficiency"].value
    sheet = like.memory.bandwidth if known else None
    return (*found, _rate("memory", results.memory_bytes_per_s, share, sheet))


def _rate(what: str, reached: float, share: float, sheet: Any) -> MeasuredRate:
    return MeasuredRate(
        what=what,
        reached_per_s=reached,
        usual_share=share,
        peak_per_s=reached / share,
        data_sheet_per_s=None if sheet is None else float(sheet),
    )


def _judged(catalog: Catalog) -> Mapping[str, Parameter]:
    parameters: Mapping[str, Parameter] = catalog.find("judgment", "micro-benchmarks").parameters
    return parameters


def entry(
    catalog: Catalog, results: GpuResults, gpu: str, like: Accelerator, found: tuple[MeasuredRate, ...]
) -> Accelerator:
    """The accelerator: measured numbers over those of the one it is like."""
    judged, known = _judged(catalog), catalog.accelerator(gpu) is not None
    bandwidth = next(_exact(rate.peak_per_s) for rate in found if rate.what == "memory")
    changes: dict[str, Any] = {
        "memory": like.memory.model_copy(update={"bandwidth": bandwidth, "source": SOURCE}),
        "compute": _compute(results, like, found, judged["narrow_gain"].value, known),
        "sources": like.sources | {SOURCE: _source(results)},
    }
    if known:
        if like.link.kind == "none" and results.all_reduce:
            changes["link"] = like.link.model_copy(update={"measured_all_reduce": _reduces(results)})
        return like.model_copy(update=changes)
    device, size = results.device, Decimal(round(results.device.memory_bytes))
    of_memory = {"reported": size, "marketing": size, "kind": ""}
    changes |= {
        "id": gpu,
        "name": device.name,
        "aliases": (),
        "partitions": (),
        "vendor": device.vendor,
        "compute_capability": device.compute_capability,
        "launch_year": None,
        "form_factor": "",
        "note": f"Measured, not from a data sheet; what no script sees is that of {like.id}.",
        "memory": changes["memory"].model_copy(update=of_memory),
    }
    if results.peers:
        changes |= _server(results, like, judged["fast_link_ratio"].value)
    return like.model_copy(update=changes)


def _compute(
    results: GpuResults, like: Accelerator, found: tuple[MeasuredRate, ...], gain: float, known: bool
) -> AcceleratorCompute:
    """Peaks by format; a narrower one that is no faster has no path of its own in the matrix units."""
    wide = results.product_flops_per_s.bf16
    peaks = {
        rate.what: _exact(rate.peak_per_s)
        for rate in found
        if rate.what == "bf16" or (rate.what in _NARROW and rate.reached_per_s >= gain * wide)
    }
    # Of a known GPU stays what the script could not try, or tried with a slow kernel of PyTorch.
    kept = [name for name in (*_NARROW, "fp4") if known and getattr(like.compute, name) and name not in peaks]
    peaks |= {name: getattr(like.compute, name) for name in kept}
    native = tuple(name for name in peaks if name in _NARROW or name in like.compute.native)
    empty = dict.fromkeys((*_NARROW, "fp4"))
    return like.compute.model_copy(update=empty | peaks | {"native": native, "source": SOURCE})


def _server(results: GpuResults, like: Accelerator, ratio: float) -> dict[str, Any]:
    """Link and host as several GPUs of a server saw them."""
    host = results.host_bytes_per_s
    fast = [peer for peer in results.peers if peer.access and host and peer.bytes_per_s >= ratio * host]
    link = AcceleratorLink(kind="none", domain=1, source=SOURCE)
    if fast:
        one_way = _exact(max(peer.bytes_per_s for peer in fast))
        of_link = {"kind": _FAST[results.device.vendor], "one_way": one_way, "domain": 1 + len(fast)}
    else:
        of_link = {"measured_all_reduce": _reduces(results)}
    of_host = {
        "node_size": results.device.gpus,
        "pcie_one_way": like.host.pcie_one_way if host is None else _exact(host),
        "peer_access": all(peer.access for peer in results.peers),
        "source": SOURCE,
    }
    return {"link": link.model_copy(update=of_link), "host": like.host.model_copy(update=of_host)}


def _reduces(results: GpuResults) -> tuple[MeasuredAllReduce, ...]:
    return tuple(
        MeasuredAllReduce.model_construct(
            gpus=row.gpus,
            latency=_exact(row.latency_s),
            bus_bandwidth=_exact(row.bus_bytes_per_s),
            source=SOURCE,
        )
        for row in results.all_reduce
    )


def _exact(value: float) -> Decimal:
    """Four digits: more were not measured."""
    return Decimal(f"{value:.4g}")


def _source(results: GpuResults) -> SourceText:
    title = f"planner measure: {results.device.name}, PyTorch {results.torch}, medians of {results.repeats}"
    return SourceText(title=title, date=results.date, grade="B")


def doubts(catalog: Catalog, results: GpuResults, found: tuple[MeasuredRate, ...]) -> Iterator[str]:
    """What somebody should know of the numbers."""
    limit = _judged(catalog)["doubtful_share"].value
    for rate in found:
        if rate.data_sheet_per_s is not None and rate.peak_per_s < limit * rate.data_sheet_per_s:
            share = rate.peak_per_s / rate.data_sheet_per_s
            expected = "of what the data sheet and other GPUs of its architecture let expect"
            yield f"{rate.what}: {share:.0%} {expected}; look for a power limit, heat or other programs"
    for name, why in sorted(results.not_measured.items()):
        yield f"{name} was not measured: {why}"
    if results.device.gpus == 1:
        yield "links were not measured: the script saw one GPU"
