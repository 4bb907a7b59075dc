"""Measured operators of a calibration: which of them an accelerator, an engine and a format use.

They stand for engines whose overheads are counted in launches (``launch_factor`` in the calibration) on
architectures with measured operators. Others have the shares and overheads of the calibration for all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.physics import collectives
from planner.physics.arrays import Floats
from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat
from planner.schema.facts import ModelFacts
from planner.steptime import rates

LAUNCH_FACTOR = "launch_factor"
"""Number of an engine: its launches over those of the same kernels measured one by one."""
SIXTEEN_BIT_PRODUCT = "gemm.bf16"
SMALL_KERNEL = "kernel.small"
ALL_REDUCE, EXCHANGE = "all_reduce", "exchange"
"""Collectives; a dot and the link follow."""
PCIE = "pcie"
ONE_WAY_GB = "one_way_gb_per_s"
LEAST_WATTS, MOST_WATTS = "least_watts_per_tflops", "most_watts_per_tflops"
"""Board power over the dense 16-bit peak of the accelerators whose products were measured."""
UNPACKED = "mxfp4"
"""Measured with 16-bit activations, whatever the matrix units could; with 8-bit ones it is ``mxfp4-fp8``."""
Numbers = Mapping[str, float]
_MICRO, GIGA = 1e-6, 1e9


def architecture_names(accelerator: Accelerator) -> tuple[str, str]:
    """Keys under which the calibration may list an architecture, the more exact one first.

    Accelerators of one architecture with another major compute capability run other kernels.
    """
    major = accelerator.compute_capability.split(".")[0]
    return (
        f"{accelerator.architecture}-{major}" if major else accelerator.architecture,
        accelerator.architecture,
    )


def measured_operators(calibration: Calibration, accelerator: Accelerator) -> Mapping[str, Numbers] | None:
    """Operators of the accelerator's architecture: of its compute capability, else of the first listed."""
    tables = calibration.operators
    exact, architecture = architecture_names(accelerator)
    near = (name for name in tables if name.split("-")[0] == architecture)
    return tables.get(exact) or tables.get(next(near, ""))


def uses_operators(calibration: Calibration, accelerator: Accelerator, engine: Engine) -> bool:
    """Whether measured operators stand for an engine on an accelerator."""
    launched = LAUNCH_FACTOR in calibration.engines.get(engine.id, {})
    return launched and measured_operators(calibration, accelerator) is not None


def kernel_format(form: NumberFormat) -> str:
    """The format whose kernels multiply one: of a sparse format its dense one, of AWQ and GPTQ plain INT4."""
    return form.kernels or (form.id if form.sparse is None else form.sparse.dense)


def launch_factor(calibration: Calibration, engine: Engine) -> tuple[float]:
    """Factor of an engine on launches; 0 where none are counted."""
    return (rates.optional_engine_parameter(calibration, engine, LAUNCH_FACTOR),)


def product_name(operators: Mapping[str, Numbers], form: NumberFormat, model: ModelFacts) -> str:
    """Name of the operator that multiplies weights of a format.

    INT8 is taken like FP8 where it was not measured (judgment, as the shares of peak take it): as many bits,
    and inputs that are scaled before every product as well.
    """
    dense = kernel_format(form)
    name = f"gemm.{dense}{rates.BLOCK_SCALED if rates.block_scaled(model, form) else ''}"
    return f"gemm.{rates.FP8}" if form.rate == rates.INT8 and name not in operators else name


def product_start_us(
    operators: Mapping[str, Numbers], model: ModelFacts, form: NumberFormat, engine: Engine, narrow: bool
) -> float:
    """Launch of one product with what scales its inputs.

    Tables of narrow products hold the scaling. Where an engine fuses it into the kernel before, the launch is
    that of 16-bit products; scales a block stay a kernel of their own.
    """
    sixteen = operators[SIXTEEN_BIT_PRODUCT]
    fused = engine.supports.fused_scaling and not rates.block_scaled(model, form)
    if form.rate in rates.EIGHT_BIT and narrow and fused:
        return sixteen["start_us"]
    return operators.get(product_name(operators, form, model), sixteen)["start_us"]


def experts_name(operators: Mapping[str, Numbers], form: NumberFormat, in_blocks: bool) -> str:
    """Name of the operator that multiplies routed experts of a format; with activations in 8 bits first.

    A format without an entry is taken like its own with a scale a block, INT8 then like FP8, and at last like
    16 bit.
    """
    dense = kernel_format(form)
    blocks = dense + rates.BLOCK_SCALED
    tried = [blocks, dense] if in_blocks else [f"{dense}-fp8", dense, blocks]
    tried += [rates.FP8, rates.FP8 + rates.BLOCK_SCALED] if form.rate == rates.INT8 else []
    return next((name for name in tried if f"moe.{name}" in operators), rates.SIXTEEN_BIT)


def of_format(operators: Mapping[str, Numbers], operator: str, form: str) -> Numbers:
    """Numbers of an operator in a format, else in 16 bit."""
    return operators.get(f"{operator}.{form}") or operators[f"{operator}.bf16"]


def own_start_us(numbers: Numbers, engine: Engine) -> float:
    """Launch of an engine's own kernel; of the quickest where it was not measured.

    A generation of an engine (``sglang-legacy``) has the kernels of the engine.
    """
    own = (
        value for name, value in numbers.items() if "/" in name and engine.id.startswith(name.split("/")[1])
    )
    return next(own, numbers["start_us"])


def measured_link(accelerator: Accelerator, fast_gpus: int) -> tuple[str, float] | None:
    """Name of what connects accelerators, and its rate one way in bytes per second.

    ``fast_gpus`` is more than one where the fast link connects them. None for links that were not measured.
    """
    link = accelerator.link
    if fast_gpus > 1 and link.one_way is not None:
        return ("nvlink", float(link.one_way)) if link.kind == "nvlink" else None
    one_way = accelerator.host.pcie_one_way
    return None if one_way is None or not accelerator.host.peer_access else (PCIE, float(one_way))


def collective_numbers(
    calibration: Calibration, accelerator: Accelerator, collective: str, link: str, one_way: float
) -> Numbers | None:
    """Numbers of a collective over a link, of the accelerator's architecture where they were measured there.

    What PCIe carries is a matter of hosts and slots: of an architecture without rows it is that of the
    measured one whose rate one way is nearest. A bus bandwidth that the catalog states for it stands instead.
    """
    name = f"{collective}.{link}"
    own = (measured_operators(calibration, accelerator) or {}).get(name)
    if own is not None or link != PCIE or accelerator.link.measured_all_reduce:
        return own
    others = [table[name] for table in calibration.operators.values() if ONE_WAY_GB in table.get(name, {})]
    return min(others, key=lambda numbers: abs(np.log(one_way / GIGA / numbers[ONE_WAY_GB])), default=None)


def exchange_numbers(
    numbers: Mapping[str, Floats], ranks: Floats, one_way_bytes_per_s: Floats
) -> tuple[Floats, Floats]:
    """Rate of the exchange of experts, and the launch of one way: the mean of there and back."""
    start_us = (numbers["start_us/dispatch"] + numbers["start_us/combine"]) / 2.0
    start_s = _MICRO * (start_us + numbers["doubling_us"] * np.log2(np.asarray(ranks) / 2.0))
    return one_way_bytes_per_s * numbers["link_fraction"], start_s


def all_reduce_numbers(
    numbers: Mapping[str, Floats], ranks: Floats, one_way_bytes_per_s: Floats, start_s: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Rates and times of `collectives.all_reduce_s` in its order, of a number of ranks."""
    exponent = numbers.get("rank_exponent", 0.0)
    return (
        collectives.falling_rate(one_way_bytes_per_s * numbers["link_fraction"], ranks, exponent),
        collectives.falling_rate(one_way_bytes_per_s * numbers["direct_fraction"], ranks, exponent),
        start_s + _MICRO * numbers["rank_us"] * (np.asarray(ranks) - 2.0),
        _MICRO * numbers["second_us"],
    )


def head_share(head_dim: Floats, numbers: Mapping[str, Floats]) -> Floats:
    """Reachable share with heads of a size over that with 128 values, straight between the measured sizes."""
    low, high = (np.asarray(numbers.get(name, 1.0)) for name in ("head_64", "head_256"))
    doublings = np.log2(np.asarray(head_dim, dtype=np.float64) / 128.0)
    below, above = np.clip(-doublings, 0.0, 1.0), np.clip(doublings, 0.0, 1.0)
    share: Floats = 1.0 + below * (low - 1.0) + above * (high - 1.0)
    return share
