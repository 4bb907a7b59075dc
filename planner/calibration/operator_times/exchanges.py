"""Collectives inside a server, and the exchange of tokens between the ranks that hold experts."""

from __future__ import annotations

import numpy as np

from planner.calibration.operator_times.ground import Ground
from planner.physics import collectives
from planner.physics.arrays import FloatArray
from planner.schema.configuration import AS_FITTED
from planner.steptime import rates

ELEMENT_BYTES = {"bf16": 2.0, "bfloat16": 2.0, "default": 2.0, "fp8": 1.0, "fp4": 0.5625, "nvfp4": 0.5625}
"""Bytes of one hidden value on the wire, scales included."""


def collectives_s(ground: Ground) -> FloatArray:
    """All-reduce, and the halves of one: gathering and scattering move half of its bytes."""
    ranks, message = ground.number("gpus"), ground.number("message_bytes")
    half = np.array([name != "all_reduce" for name in ground.table.words["operation"]])
    sent = np.asarray(collectives.all_reduce_bytes(message, ranks)) * np.where(half, 0.5, 1.0)
    rate, latency_s = (
        ground.by((), lambda gpu, n, side=side: _link(ground, gpu, n)[side], ranks) for side in (0, 1)
    )
    return np.asarray(collectives.transfer_s(sent, rate, 1.0, latency_s))


def _link(ground: Ground, gpu: object, ranks: float) -> tuple[float, float]:
    return rates.link_rates(gpu, ground.calibration, int(ranks), 1)  # type: ignore[arg-type]


def expert_exchange_s(ground: Ground) -> FloatArray:
    """One way of the exchange between the ranks of one domain of the fast link."""
    ranks = ground.number("gpus")
    ground.leave_out(ranks == 0, "the number of GPUs is not stated")
    ranks = np.maximum(ranks, 2.0)
    phase = np.array(ground.table.words["phase"])
    in_rack = np.char.startswith(np.array(ground.table.words["backend"]), "NVLink")
    element = ground.by(("format",), lambda _, name: ELEMENT_BYTES.get(name, 2.0))
    # Preparing moves nothing, and within racks what comes back is 16 bit whatever was sent.
    element = np.where(phase == "prepare", 0.0, np.where((phase == "combine") & in_rack, 2.0, element))
    copies = collectives.spread_copies(ground.number("experts_per_token"), ranks)
    sent = collectives.all_to_all_bytes(
        ground.number("tokens_per_gpu") * ranks,
        ground.number("hidden_size"),
        element,
        copies,
        1.0 - 1.0 / ranks,
        ranks,
    )
    rate = ground.by((), lambda gpu, n: _link(ground, gpu, n)[0], ranks)
    return np.asarray(collectives.transfer_s(sent, rate, 1.0, AS_FITTED.start_s))
