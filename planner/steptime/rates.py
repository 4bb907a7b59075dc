"""Rates of a catalog accelerator under a calibration: compute peaks, reachable shares, links."""

from __future__ import annotations

from planner.errors import InputError, input_error
from planner.physics.collectives import mesh_rate_bytes_per_s
from planner.schema.calibration import ANY_FORMAT
from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat, Parameter
from planner.schema.facts import ModelFacts

SIXTEEN_BIT = "bf16"
FP8, INT8 = "fp8", "int8"
EIGHT_BIT = (FP8, INT8)
"""Rates at which activations are scaled to 8 bits before every product."""
BLOCK_SCALED = "-block"
"""What the calibration appends to the name of a format whose weights have a scale a block."""


def peak_flops_per_s(accelerator: Accelerator, form: NumberFormat) -> float:
    """Peak that multiplies weights of a format: its own path where native, else the 16-bit rate.

    Weight-only formats are unpacked to 16 bit before the matrix units see them. Where the matrix units skip
    the zeros of a 2:4 sparse format, the peak is that multiple of the dense one.
    """
    compute = accelerator.compute
    if form.sparse is not None and skips_zeros(accelerator, form):
        return float(getattr(compute, form.rate) * form.sparse.peak_ratio)
    rate = getattr(compute, form.rate) if multiplies_narrow(accelerator, form) else None
    return float(compute.bf16 if rate is None else rate)


def skips_zeros(accelerator: Accelerator, form: NumberFormat) -> bool:
    """The matrix units multiply the format, and skip the zeros of its 2:4 pattern."""
    if form.sparse is None or accelerator.architecture not in form.sparse.architectures:
        return False
    native = form.rate == SIXTEEN_BIT or form.rate in accelerator.compute.native
    return native and getattr(accelerator.compute, form.rate) is not None


def multiplies_narrow(accelerator: Accelerator, form: NumberFormat) -> bool:
    """Whether products of a format run in fewer than 16 bits: then activations are scaled to it as well."""
    return form.rate != SIXTEEN_BIT and form.rate in accelerator.compute.native


def block_scaled(model: ModelFacts, form: NumberFormat) -> bool:
    """Whether weights of a model in a format have a scale a block."""
    return (form.kernels or form.id) == FP8 and model.fp8_block_scales


def reachable_fraction(
    calibration: Calibration, accelerator: Accelerator, form: NumberFormat, in_blocks: bool = False
) -> float:
    """Share of `peak_flops_per_s` that large products reach: of a sparse format, a part of its dense one's.

    Raises:
        InputError: the calibration has no share for the format.
    """
    if form.sparse is None:
        if form.id in calibration.compute_efficiency.get(accelerator.architecture, {}):
            return peak_fraction(calibration, accelerator, form.id, in_blocks)
        share = peak_fraction(calibration, accelerator, form.kernels or form.id, in_blocks)
        return share * float(form.kernel_share)
    return peak_fraction(calibration, accelerator, form.sparse.dense) * float(form.sparse.reach)


def peak_fraction(
    calibration: Calibration, accelerator: Accelerator, form_id: str, in_blocks: bool = False
) -> float:
    """Share of the dense peak that large matrix products reach on an architecture in a format.

    Scales a block have a share of their own where the calibration lists one. A format that the calibration
    does not list takes the default of its architecture.

    Raises:
        InputError: the calibration has neither.
    """
    shares = calibration.compute_efficiency.get(accelerator.architecture, {})
    names = (form_id + BLOCK_SCALED if in_blocks else form_id, form_id, ANY_FORMAT)
    share = next((shares[name] for name in names if name in shares), None)
    if share is None:
        key = f"compute_efficiency.{accelerator.architecture}"
        raise input_error(calibration.id, key, f"neither {form_id} nor {ANY_FORMAT}", "a share of the peak")
    return share.value


def parameter(calibration: Calibration, name: str) -> float:
    """The value of a named parameter.

    Raises:
        InputError: the calibration lacks it.
    """
    return _value(calibration, calibration.parameters, "parameters", name)


def architecture_factor(calibration: Calibration, accelerator: Accelerator, name: str) -> float:
    """The factor of an architecture on a parameter of all accelerators; 1 where it has none."""
    found = calibration.architectures.get(accelerator.architecture, {}).get(name)
    return 1.0 if found is None else found.value


def optional_engine_parameter(calibration: Calibration, engine: Engine, name: str) -> float:
    """The value of a parameter that only some engines have; else 0."""
    return optional_parameter_of(calibration, engine.id, name)


def optional_parameter_of(calibration: Calibration, engine_id: str, name: str) -> float:
    """The same by the engine's id."""
    found = calibration.engines.get(engine_id, {}).get(name)
    return 0.0 if found is None else found.value


def first_token_overhead_s(calibration: Calibration, engine_id: str) -> float:
    """Request handling before the first token: the engine's own where it has one, else that of all."""
    found = calibration.engines.get(engine_id, {}).get("ttft_overhead_s")
    return parameter(calibration, "ttft_overhead_s") if found is None else found.value


def engine_parameter(calibration: Calibration, engine: Engine, name: str) -> float:
    """The value of a parameter of one engine.

    Raises:
        InputError: the calibration lacks the engine or the parameter.
    """
    return engine_parameter_of(calibration, engine.id, name)


def engine_parameter_of(calibration: Calibration, engine_id: str, name: str) -> float:
    """The same by the engine's id.

    Raises:
        InputError: the calibration lacks the engine or the parameter.
    """
    table = calibration.engines.get(engine_id)
    if table is None:
        known = ", ".join(sorted(calibration.engines))
        raise input_error(
            calibration.id, "engines", f"no engine {engine_id!r}", f"one of its engines ({known})"
        )
    return _value(calibration, table, f"engines.{engine_id}", name)


def _value(calibration: Calibration, table: dict[str, Parameter], where: str, name: str) -> float:
    if name not in table:
        raise input_error(
            calibration.id, f"{where}.{name}", "nothing", "a parameter of the performance model"
        )
    return table[name].value


def link_rates(
    accelerator: Accelerator, calibration: Calibration, ranks: int, fast_link: int
) -> tuple[float, float]:
    """Rate in bytes per second (efficiency included) and latency in seconds of an all-reduce of ``ranks``.

    On the fast link: one way, all links (in a mesh, those between the ranks). Over PCIe: a share of its
    rate, or the measured bus bandwidth of the nearest number of GPUs where that is more, with the measured
    latency. Without a switch the latency is longer by a factor. Without access to each other's memory a
    smaller share and a latency of their own: the host's memory lies between.

    Raises:
        InputError: several ranks, and the catalog knows no link between them.
    """
    if ranks == 1:
        return 1.0, 0.0
    efficiency = parameter(calibration, "link_efficiency")
    latency_s = parameter(calibration, "all_reduce_latency_s")
    latency_s *= architecture_factor(calibration, accelerator, "all_reduce_latency")
    slower_s = latency_s * parameter(calibration, "switchless_latency_factor")
    link = accelerator.link
    if fast_link and link.one_way is not None:
        one_way = float(link.one_way)
        if link.pair_one_way is not None:
            one_way = float(mesh_rate_bytes_per_s(one_way, float(link.pair_one_way), ranks))
        return one_way * efficiency, latency_s if link.kind == "nvlink" else slower_s
    if not accelerator.host.peer_access:
        through_host = parameter(calibration, "through_host_efficiency")
        return _pcie(accelerator) * through_host, parameter(calibration, "through_host_latency_s")
    if link.measured_all_reduce:
        nearest = min(link.measured_all_reduce, key=lambda row: (row.gpus < ranks, abs(row.gpus - ranks)))
        shared = _pcie(accelerator) * parameter(calibration, "pcie_efficiency")
        return max(float(nearest.bus_bandwidth), shared), float(nearest.latency)
    return _pcie(accelerator) * parameter(calibration, "pcie_efficiency"), slower_s


def _pcie(accelerator: Accelerator) -> float:
    if accelerator.host.pcie_one_way is None:
        raise no_link(accelerator)
    return float(accelerator.host.pcie_one_way)


def no_link(accelerator: Accelerator) -> InputError:
    """The catalog names no way for these accelerators to talk to each other."""
    return input_error(
        accelerator.id, "link", "no link and no PCIe rate", "link.one_way or host.pcie_one_way"
    )
