"""Measures a GPU: matrix products by format, memory, and the links to the host and to other GPUs.

Needs PyTorch with a GPU, and nothing else: copy this file to the machine and run it.

    python measure.py --out results.json

It writes one JSON document with units in its names; every rate is the median of repeats. Then, where planner
is installed:  planner measure --results results.json --gpu my-gpu --out my-catalog
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

LAYOUT = "planner-measure-1"
SIDES = (4096, 8192, 16384)
"""Of the square matrices; the best side counts, as peaks do."""
LARGEST_BYTES = 2**31
"""Of an array that is copied: larger than every cache."""
MESSAGE_BYTES = 2**28
"""Of a large all-reduce; the small one has one number."""
COPIES = 2
"""Bytes moved for each byte copied: it is read and written."""
FLOPS_PER_PRODUCT = 2
"""A multiplication and an addition."""

Work = Callable[[], object]


class Gpu:
    """One GPU through PyTorch; ``torch`` is the module."""

    def __init__(self, torch: Any, index: int, repeats: int) -> None:
        """Begin with the device of that index."""
        self.torch, self.index, self.repeats = torch, index, repeats
        self.device = torch.device("cuda", index)
        self.properties = torch.cuda.get_device_properties(index)
        self.not_measured: dict[str, str] = {}

    def median_s(self, work: Work) -> float:
        """Median time of one call, by the clock of the GPU."""
        cuda = self.torch.cuda
        times_s: list[float] = []
        for repeat in range(-3, self.repeats):
            begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            begin.record()
            work()
            end.record()
            cuda.synchronize()
            if repeat >= 0:  # the first calls choose kernels and raise clocks
                times_s.append(begin.elapsed_time(end) / 1e3)
        return statistics.median(times_s)

    def tried(self, name: str, measure: Callable[[], Any]) -> Any:
        """What a measurement gives; None with the reason noted where the GPU or PyTorch lacks the way."""
        try:
            return measure()
        except (RuntimeError, AttributeError, TypeError, NotImplementedError, ValueError) as problem:
            self.not_measured[name] = (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
            return None

    def product_flops_per_s(self, make: Callable[[int], Work]) -> int:
        """The best median rate over the sides that fit: 2 n^3 / time."""
        best = 0.0
        for side in SIDES:
            if 8 * side * side > self.properties.total_memory / 2:
                continue
            best = max(best, FLOPS_PER_PRODUCT * side**3 / self.median_s(make(side)))
        return round(best)

    def sixteen_bit(self, side: int) -> Work:
        """BF16, or FP16 where the GPU has no BF16."""
        torch = self.torch
        kind = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
        left = torch.randn(side, side, dtype=kind, device=self.device)
        right = torch.randn(side, side, dtype=kind, device=self.device)
        return lambda: torch.matmul(left, right)

    def fp8(self, side: int) -> Work:
        """FP8 (E4M3) with one scale a matrix."""
        torch = self.torch
        kind = torch.float8_e4m3fn
        if str(getattr(self.properties, "gcnArchName", "")).startswith("gfx94"):
            kind = torch.float8_e4m3fnuz  # the only E4M3 of that generation
        left = torch.randn(side, side, device=self.device).to(kind)
        right = torch.randn(side, side, device=self.device).to(kind).t()
        one = torch.ones((), device=self.device)
        return lambda: torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    def int8(self, side: int) -> Work:
        """INT8 with 32-bit sums."""
        torch = self.torch
        left = torch.randint(-127, 127, (side, side), dtype=torch.int8, device=self.device)
        right = torch.randint(-127, 127, (side, side), dtype=torch.int8, device=self.device).t()
        return lambda: torch._int_mm(left, right)

    def products(self) -> dict[str, int]:
        """Reached dense rates in FLOPS by format."""
        ways = {"bf16": self.sixteen_bit, "fp8": self.fp8, "int8": self.int8}
        found = {
            name: self.tried(name, partial(self.product_flops_per_s, make)) for name, make in ways.items()
        }
        self.not_measured.setdefault("fp4", "PyTorch has no product of it that needs no packing of scales")
        return {name: rate for name, rate in found.items() if rate}

    def _array(self, size_bytes: int, device: Any, **options: Any) -> Any:
        return self.torch.ones(size_bytes, dtype=self.torch.uint8, device=device, **options)

    def memory_bytes_per_s(self) -> int:
        """Rate of a copy inside the memory: every byte is read and written."""
        size: int = min(LARGEST_BYTES, self.properties.total_memory // 8)
        source, target = self._array(size, self.device), self._array(size, self.device)
        return round(COPIES * size / self.median_s(lambda: target.copy_(source)))

    def host_bytes_per_s(self) -> int:
        """Rate of a copy from pinned memory of the host."""
        size: int = min(LARGEST_BYTES // 4, self.properties.total_memory // 8)
        source, target = self._array(size, "cpu", pin_memory=True), self._array(size, self.device)
        return round(size / self.median_s(lambda: target.copy_(source, non_blocking=True)))

    def peers(self) -> list[dict[str, Any]]:
        """One way to every other GPU of the server: rate of a copy, and whether it goes there directly."""
        cuda, size = self.torch.cuda, MESSAGE_BYTES
        found = []
        for other in range(cuda.device_count()):
            if other != self.index:
                source = self._array(size, self.device)
                target = self._array(size, self.torch.device("cuda", other))
                time_s = self.median_s(partial(target.copy_, source, non_blocking=True))
                access = bool(cuda.can_device_access_peer(self.index, other))
                found.append({"gpu": other, "access": access, "bytes_per_s": round(size / time_s)})
        return found

    def all_reduce(self, gpus: int) -> dict[str, Any]:
        """Time of a small all-reduce, and bus bandwidth of a large one: 2 (n - 1) / n x bytes / time."""
        torch, nccl = self.torch, import_module("torch.cuda.nccl")

        def time_s(size_bytes: int) -> float:
            parts = [
                torch.ones(size_bytes // 2, dtype=torch.float16, device=torch.device("cuda", rank))
                for rank in range(gpus)
            ]
            return self.median_s(lambda: nccl.all_reduce(parts))

        rate = 2 * (gpus - 1) / gpus * MESSAGE_BYTES / time_s(MESSAGE_BYTES)
        return {"gpus": gpus, "latency_s": time_s(2), "bus_bytes_per_s": round(rate)}

    def results(self) -> dict[str, Any]:
        """Everything, as one JSON document."""
        torch, properties, gpus = self.torch, self.properties, self.torch.cuda.device_count()
        amd = getattr(torch.version, "hip", None)
        kind = getattr(properties, "gcnArchName", "").split(":")[0] if amd else ""
        sizes = [n for n in (2, 4, 8) if n <= gpus]
        reduced = [self.tried(f"all_reduce_{n}", partial(self.all_reduce, n)) for n in sizes]
        return {
            "layout": LAYOUT,
            "date": datetime.now(tz=timezone.utc).date().isoformat(),  # noqa: UP017 - Python 3.10 too
            "torch": str(torch.__version__),
            "repeats": self.repeats,
            "device": {
                "name": properties.name,
                "vendor": "AMD" if amd else "NVIDIA",
                "compute_capability": kind or f"{properties.major}.{properties.minor}",
                "memory_bytes": int(properties.total_memory),
                "gpus": gpus,
            },
            "product_flops_per_s": self.products(),
            "memory_bytes_per_s": self.memory_bytes_per_s(),
            "host_bytes_per_s": self.tried("host", self.host_bytes_per_s),
            "peers": self.tried("peers", self.peers) or [],
            "all_reduce": [row for row in reduced if row],
            "not_measured": self.not_measured,
        }


def main(words: list[str] | None = None) -> int:
    """Measure and write; 1 where there is no GPU."""
    parser = argparse.ArgumentParser(description="Measure a GPU for planner.")
    parser.add_argument("--out", type=Path, default=Path("results.json"), help="file to write")
    parser.add_argument("--device", type=int, default=0, help="index of the GPU")
    parser.add_argument(
        "--repeats", type=int, default=20, help="of every measurement, after three to warm up"
    )
    options = parser.parse_args(words)
    torch = import_module("torch")
    if not torch.cuda.is_available():
        sys.stderr.write("measure: PyTorch sees no GPU\n")
        return 1
    torch.cuda.set_device(options.device)
    results = Gpu(torch, options.device, max(options.repeats, 1)).results()
    options.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    sys.stderr.write(f"measure: wrote {options.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
