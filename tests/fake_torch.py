"""A PyTorch whose GPU has known rates: the clock of its events goes on by what each call would take.

Written out as a package for the script of ``planner measure``, which must need nothing else. Rates come from
the environment as JSON: FLOPS by format, bytes per second of the memory, the host and a peer.
"""

import importlib
import json
import os
import types

RATES = json.loads(os.environ["FAKE_TORCH"])
GPUS = RATES.get("gpus", 1)
__version__ = "2.9.0"
version = types.SimpleNamespace(hip=None)
bfloat16, float16, int8, uint8, float8_e4m3fn = "bfloat16", "float16", "int8", "uint8", "float8"
SIZES = {bfloat16: 2, float16: 2, int8: 1, uint8: 1, float8_e4m3fn: 1, "float32": 4}
clock = {"s": 0.0}


class Tensor:
    def __init__(self, shape, dtype, at):
        self.shape, self.dtype, self.at = shape, dtype, at

    def to(self, dtype):
        return Tensor(self.shape, dtype, self.at)

    def t(self):
        return self

    def copy_(self, other, non_blocking=False):
        way = "memory" if self.at == other.at else "host" if "cpu" in (self.at, other.at) else "peer"
        size = self.shape[0] * SIZES[self.dtype]
        clock["s"] += size * (2 if way == "memory" else 1) / RATES[way]


def tensor(*shape, dtype="float32", device=None, **_):
    return Tensor(shape[0] if isinstance(shape[0], tuple) else shape, dtype, device)


def ones(*shape, **options):
    return tensor(*(shape if shape[0] != () else ((1,),)), **options)


randn = tensor


def randint(low, high, shape, **options):
    return tensor(shape, **options)


def multiplied(left, name):
    if name not in RATES:
        raise RuntimeError(f"{name} is not supported on this device\nsecond line")
    clock["s"] += 2 * left.shape[0] ** 3 / RATES[name]


def matmul(left, right):
    assert left.dtype == right.dtype == bfloat16
    multiplied(left, "bf16")


def _scaled_mm(left, right, scale_a, scale_b, out_dtype):
    assert left.dtype == right.dtype == float8_e4m3fn
    multiplied(left, "fp8")


def _int_mm(left, right):
    multiplied(left, "int8")


def device(kind, index):
    return (kind, index)


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.s = clock["s"]

    def elapsed_time(self, other):
        return (other.s - self.s) * 1e3


def properties(index):
    return types.SimpleNamespace(
        name="NVIDIA Big Card",
        major=RATES.get("major", 9),
        minor=0,
        total_memory=RATES.get("bytes", 101 * 10**9),
    )


def all_reduce(parts):
    size = parts[0].shape[0] * SIZES[parts[0].dtype]
    clock["s"] += 7e-6 + 2 * (len(parts) - 1) / len(parts) * size / RATES["bus"]


CUDA = types.SimpleNamespace(
    Event=Event,
    is_available=lambda: GPUS > 0,
    is_bf16_supported=lambda: True,
    synchronize=lambda: None,
    set_device=lambda index: None,
    device_count=lambda: GPUS,
    can_device_access_peer=lambda one, other: True,
    get_device_properties=properties,
)
importlib.import_module("torch.cuda")  # holds what CUDA has, as a package
