"""What of a configuration at its load lies outside what was measured, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner import numbers
from planner.performance.distance import LIGHT, Distances, Ground, LoadPoint, layout_kind, whole_gpu
from planner.performance.spread import ground_of
from planner.performance.user_factors import user_factor
from planner.schema.configuration import Configuration
from planner.schema.spread import MeasuredGpu, MeasuredSetup

_MOST_NAMED = 4


def outside_measured(item: Configuration, load: LoadPoint = LIGHT) -> tuple[str, ...]:
    """One text for each distance above zero; none for what the user's own benchmarks stand for.

    A model that was measured on other GPUs, and its GPU with others, is no news.
    """
    ground = ground_of(item.calibration)
    if ground is None or user_factor(item) is not None:
        return ()
    return tuple(_texts(ground, item, load))


def _texts(ground: Ground, item: Configuration, load: LoadPoint) -> Iterator[str]:
    found, near = ground.distances(item, load), ground.near(item)
    where = "anywhere" if "architecture" in found else f"on {item.accelerator.architecture}"
    if "architecture" in found:
        yield f"{item.accelerator.architecture}: no measured rows of this accelerator architecture"
    if "gpu" in found:
        yield _of_gpu(ground, item, near, found.get("hardware", 0.0))
    yield from _of_family(ground, item, found)
    if "engine" in found:
        yield f"engine {item.engine.id}: not measured {where} ({_named(near, 'engine')})"
    if "format" in found:
        for column, what, name in (("weights", "weights", item.weights.id), ("kv", "KV cache", item.kv.id)):
            if all(getattr(setup, column) != name for setup in near):
                yield f"{what} in {name}: not measured {where} ({_named(near, column)})"
    if "layout" in found:
        yield f"{_layout(item)}: {layout_kind(item)} was not measured {where}"
    if "disaggregated" in found:
        yield f"disaggregated on {item.engine.id}: no such run was measured {where}"
    yield from _of_sizes(ground, item, load, found)


def _of_family(ground: Ground, item: Configuration, found: Distances) -> Iterator[str]:
    if "family" in found:
        yield f"{item.model.id}: no measured rows of this model family"
    elif "model" in found and "architecture" not in found and not ground.knows(item):
        words = "no measured rows of this model family on it, but of each with others"
        yield f"{item.model.id} on {item.accelerator.architecture}: {words}"


def _of_sizes(ground: Ground, item: Configuration, load: LoadPoint, found: Distances) -> Iterator[str]:
    gpu = item.accelerator.id
    if "degree" in found:
        yield f"{_layout(item)}: most ranks measured {ground.most_ranks(item)}"
    if "batch" in found:
        most = f"{ground.largest_batch(item):,.0f}"
        yield f"batch {load.batch:,.0f} on {gpu} with {_layout(item)}: largest measured {most}"
    if "context" in found:
        most = f"{ground.largest_context(item):,.0f}"
        yield f"requests of {load.context:,.0f} tokens on {gpu}: longest measured {most}"


def _of_gpu(ground: Ground, item: Configuration, near: Sequence[MeasuredSetup], hardware: float) -> str:
    gpu = item.accelerator
    if gpu.id != whole_gpu(item):
        return f"{gpu.id}: slices of a GPU are not measured"
    measured = dict.fromkeys(setup.gpu for setup in near)
    if not hardware:
        return f"{gpu.id}: not measured ({gpu.architecture}: {', '.join(measured)})"
    rates = ", ".join(f"{name} {_rates(ground.measured.gpus[name])}" for name in measured)
    own = MeasuredGpu(
        architecture=gpu.architecture,
        bandwidth_bytes_per_s=float(gpu.memory.bandwidth),
        flops_per_s=float(gpu.compute.bf16),
    )
    return f"{gpu.id} with {_rates(own)}: not measured ({gpu.architecture}: {rates})"


def _rates(gpu: MeasuredGpu) -> str:
    bandwidth = numbers.significant(gpu.bandwidth_bytes_per_s / 1e12)
    return f"{bandwidth} TB/s and {gpu.flops_per_s / 1e12:,.0f} TFLOP/s"


def _named(setups: Sequence[MeasuredSetup], column: str) -> str:
    names = list(dict.fromkeys(getattr(setup, column) for setup in setups))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _layout(item: Configuration) -> str:
    degrees = (("TP", item.tp), ("attention-DP", item.attention_dp), ("EP", item.ep), ("PP", item.pp))
    return " × ".join(f"{word} {degree}" for word, degree in degrees if degree > 1) or "one GPU"
