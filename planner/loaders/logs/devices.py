"""What ``nvidia-smi``, ``nvidia-smi -q``, ``nvidia-smi topo -m`` and ``rocm-smi`` print, as observed values.

Source: docs.nvidia.com, nvidia-smi manual page; rocm.docs.amd.com, rocm-smi command line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

MAX_CHARACTERS = 4_000_000
"""A server with sixteen accelerators prints a twentieth of this."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_QUERY = re.compile(r"NVSMI LOG")
_TABLE = re.compile(
    r"NVIDIA-SMI +\S+ +(?:KMD Version: \S+ +)?Driver Version: *([\d.]+) +CUDA.*? Version: *([\d.]+)"
)
_TABLE_ROW = re.compile(r"(\d+)W */ *(\d+)W *\| *(\d+)MiB */ *(\d+)MiB *\| *(\d+)%")
_TOPOLOGY = re.compile(r"^\s*GPU0\s+(?:GPU1|CPU Affinity|NIC0|mlx)", re.M)
_ROCM = re.compile(r"ROCm System Management Interface|^GPU\[\d+\]\s*:", re.M)
_ROCM_LINE = re.compile(r"^GPU\[(\d+)\]\s*: (.+?)\s*:\s*(.+?)\s*$", re.M)
_ROCM_ROW = re.compile(r"^\d+ .*?([\d.]+)°C .*? ([\d.]+)W .*? (\d+)% +(\d+)% *$", re.M)
_ROCM_CAP = re.compile(r"^\d+ .*?°C +([\d.]+)W .* ([\d.]+)W +\d+% +\d+% *$", re.M)
_PATHS = {
    "PIX": "pcie-switch",
    "PXB": "pcie-switch",
    "PHB": "pcie-host",
    "NODE": "numa",
    "SYS": "cross-socket",
}
"""Connections over PCIe, the nearest first."""
_REASONS = {
    "hw thermal slowdown": "thermal", "sw thermal slowdown": "thermal", "hw power brake slowdown": "power",
    "sw power cap": "power", "hw slowdown": "hardware",
}  # fmt: skip
_BUSY_RATIO = 0.05
"""Below this use a link sleeps in a lower generation."""
Tree = Mapping[tuple[str, ...], str]
"""Sections and key, all lower case -> value."""


def is_device_text(head: str) -> bool:
    """Whether text begins as one of these tools prints it."""
    return any(one.search(head) for one in (_QUERY, _TABLE, _TOPOLOGY, _ROCM))


def read_device_text(text: str) -> dict[str, Any]:
    """Values of the observation that the text of a tool, or of several behind one another, tells."""
    found: dict[str, Any] = {}
    for marker, read in _READERS:
        if marker.search(text):
            found = {name: value for name, value in read(text) if value is not None} | found
    return found


def _query(text: str) -> Iterator[tuple[str, Any]]:
    """``nvidia-smi -q``: sections by their indent, one tree for the server and one for each accelerator."""
    server, gpus = _trees(text)
    yield "driver_version", _version(server.get(("driver version",)))
    yield "cuda_version", _version(server.get(("cuda version",)))
    yield "gpu_vendor", "NVIDIA"
    yield "gpus", len(gpus) or None
    yield "gpu_model", next((gpu[("product name",)] for gpu in gpus if ("product name",) in gpu), None)
    busy = [_share(gpu.get(("utilization", "gpu")), 100) for gpu in gpus]
    yield "gpu_utilization_ratio", _over(_mean, busy)
    yield "gpu_load_spread_ratio", _spread(busy)
    memory = ("fb memory usage", "used"), ("fb memory usage", "total")
    yield "gpu_memory_used_ratio", _over(max, (_ratio(gpu, *memory) for gpu in gpus))
    yield "gpu_clock_ratio", _over(min, (_ratio(gpu, ("clocks", "sm"), ("max clocks", "sm")) for gpu in gpus))
    yield "gpu_power_ratio", _over(max, (_power(gpu) for gpu in gpus))
    heat = (_float(gpu.get(("temperature", "gpu current temp"))) for gpu in gpus)
    yield "gpu_temperature_c", _over(max, heat)
    links = (_link(gpu) for gpu, use in zip(gpus, busy, strict=True) if (use or 0) >= _BUSY_RATIO)
    yield "pcie_link_ratio", _over(min, links)
    errors = (_float(gpu.get(("ecc errors", "volatile", "dram uncorrectable"))) for gpu in gpus)
    yield "ecc_uncorrected", _over(lambda several: int(sum(several)), errors)
    remapped = [gpu for gpu in gpus if ("remapped rows", "pending") in gpu]
    if remapped:
        keys = (("remapped rows", "pending"), ("remapped rows", "remapping failure occurred"))
        yield "memory_remap_failed", any(gpu.get(key) == "Yes" for gpu in remapped for key in keys)
    yield "throttle_reason", _throttled(gpus)


def _trees(text: str) -> tuple[Tree, list[Tree]]:
    server: dict[tuple[str, ...], str] = {}
    gpus: list[Tree] = []
    tree, above = server, [(0, "")]
    for line in text.splitlines():
        name, mark, value = line.partition(" : ")
        indent, name = len(line) - len(line.lstrip()), name.strip().lower()
        if not name or name.startswith("="):
            continue
        if indent == 0 and not mark and name.startswith("gpu "):
            tree, above = {}, []
            gpus.append(tree)
            continue
        while above and above[-1][0] >= indent:
            above.pop()
        path = (*(section for _, section in above if section), name)
        if mark:
            tree.setdefault(path, value.strip())
        else:
            above.append((indent, name))
    return server, gpus


def _power(gpu: Tree) -> float | None:
    """Draw over limit; the names of the section and of the draw were changed over the versions."""
    draws = ("average power draw", "power draw", "instantaneous power draw")
    for section in ("gpu power readings", "power readings"):
        for draw in draws:
            for limit in ("current power limit", "power limit", "enforced power limit"):
                found = _ratio(gpu, (section, draw), (section, limit))
                if found is not None:
                    return found
    return None


def _link(gpu: Tree) -> float | None:
    """Generation doubles the speed, width multiplies it."""
    base = ("pci", "gpu link info")
    now = (
        _float(gpu.get((*base, "pcie generation", "current"))),
        _float(gpu.get((*base, "link width", "current"))),
    )
    most = _float(gpu.get((*base, "pcie generation", "max"))), _float(gpu.get((*base, "link width", "max")))
    if None in (*now, *most) or not most[1]:
        return None
    return min(1.0, 2.0 ** ((now[0] or 0) - (most[0] or 0)) * (now[1] or 0) / most[1])


def _throttled(gpus: Sequence[Tree]) -> str | None:
    known = [
        (path[-1], value)
        for gpu in gpus
        for path, value in gpu.items()
        if path[0] in ("clocks event reasons", "clocks throttle reasons") and path[-1] in _REASONS
    ]
    if not known:
        return None
    active = [name for name, value in known if value == "Active"]
    return next((word for name, word in _REASONS.items() if name in active), "none")


def _table(text: str) -> Iterator[tuple[str, Any]]:
    """The table that ``nvidia-smi`` alone prints."""
    head = _TABLE.search(text)
    if head is not None:
        yield "driver_version", _version(head[1])
        yield "cuda_version", _version(head[2])
    yield "gpu_vendor", "NVIDIA"
    rows = [[float(part) for part in row] for row in _TABLE_ROW.findall(text)]
    yield "gpus", len(rows) or None
    yield "gpu_power_ratio", _over(max, (min(1.0, row[0] / row[1]) for row in rows if row[1]))
    yield "gpu_memory_used_ratio", _over(max, (min(1.0, row[2] / row[3]) for row in rows if row[3]))
    busy = [row[4] / 100 for row in rows]
    yield "gpu_utilization_ratio", _over(_mean, busy)
    yield "gpu_load_spread_ratio", _spread(busy)


def _topology(text: str) -> Iterator[tuple[str, Any]]:
    """``nvidia-smi topo -m``: the slowest connection between two accelerators counts."""
    found = _TOPOLOGY.search(text)
    rows = [] if found is None else text[found.start() :].splitlines()
    count = sum(re.fullmatch(r"GPU\d+", word) is not None for word in rows[0].split()) if rows else 0
    marks = [
        mark
        for row in rows[1:]
        if re.match(r"GPU\d+\s", row)
        for mark in row.split()[1 : count + 1]
        if mark != "X"
    ]
    yield "gpus", count or None
    slow = [mark for mark in marks if mark in _PATHS]
    fast = [mark for mark in marks if re.fullmatch(r"NV\d+", mark)]
    if slow:
        yield "gpu_path", _PATHS[max(slow, key=[*_PATHS].index)]
    elif fast:
        yield "gpu_path", "nvlink"
    if slow or fast:
        yield "link", "pcie" if slow else "nvlink"


def _rocm(text: str) -> Iterator[tuple[str, Any]]:
    """``rocm-smi`` as lines (``-a``) or as its table."""
    lines: dict[str, dict[str, str]] = {}
    for number, name, value in _ROCM_LINE.findall(text):
        lines.setdefault(number, {})[name.lower()] = value
    gpus = list(lines.values())
    busy = [_share(gpu.get("gpu use (%)"), 100) for gpu in gpus]
    used = [_share(gpu.get("gpu memory allocated (vram%)"), 100) for gpu in gpus]
    heat = [_float(gpu.get("temperature (sensor junction) (c)")) for gpu in gpus]
    rows = _ROCM_ROW.findall(text)
    if not gpus:
        used, busy = [float(row[2]) / 100 for row in rows], [float(row[3]) / 100 for row in rows]
        heat = [float(row[0]) for row in rows]
    yield "gpu_vendor", "AMD"
    yield "gpus", len(gpus) or len(rows) or None
    yield "gpu_model", next((gpu["card series"] for gpu in gpus if "card series" in gpu), None)
    yield "gpu_utilization_ratio", _over(_mean, busy)
    yield "gpu_load_spread_ratio", _spread(busy)
    yield "gpu_memory_used_ratio", _over(max, used)
    yield "gpu_temperature_c", _over(max, heat)
    caps = [float(draw) / float(cap) for draw, cap in _ROCM_CAP.findall(text) if float(cap)]
    yield "gpu_power_ratio", _over(max, (min(1.0, cap) for cap in caps))


_READERS: tuple[tuple[re.Pattern[str], Callable[[str], Iterator[tuple[str, Any]]]], ...] = (
    (_QUERY, _query),
    (_TABLE, _table),
    (_TOPOLOGY, _topology),
    (_ROCM, _rocm),
)


def _float(text: str | None) -> float | None:
    found = _NUMBER.match(text or "")
    return None if found is None else float(found[0])


def _share(text: str | None, whole: float) -> float | None:
    number = _float(text)
    return None if number is None else min(1.0, number / whole)


def _ratio(gpu: Tree, above: tuple[str, ...], below: tuple[str, ...]) -> float | None:
    first, second = _float(gpu.get(above)), _float(gpu.get(below))
    return None if first is None or not second else min(1.0, first / second)


def _version(text: str | None) -> float | None:
    """Major and minor, as a number."""
    found = re.match(r"\d+\.\d+", text or "")
    return None if found is None else float(found[0])


def _over(reduce: Callable[[list[float]], float], numbers: Iterable[float | None]) -> float | None:
    kept = [number for number in numbers if number is not None]
    return reduce(kept) if kept else None


def _mean(several: Sequence[float]) -> float:
    return math.fsum(several) / len(several)


def _spread(busy: Sequence[float | None]) -> float | None:
    kept = [use for use in busy if use is not None]
    return max(kept) / _mean(kept) if len(kept) > 1 and sum(kept) > 0 else None
