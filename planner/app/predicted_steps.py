"""What the performance model predicts for the deployment that was observed: limits that follow the hardware.

A usual value such as 50 ms between tokens is too strict for a large model and too lax for a small one. Where
model and accelerator are known, rules compare with the predicted step instead.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planner.errors import InputError
from planner.schema.observation import Observation
from planner.schema.readings import Note, Reading, Readout

_INPUT, _OUTPUT = 1000, 200
"""Tokens of a request where they were not observed; steps of decoding depend little on them."""


def with_predictions(readout: Readout, overlays: tuple[Path, ...] = ()) -> Readout:
    """A readout with the predictions of `_predicted`, where model and accelerator are known.

    The same readout where they are not, where predictions are there already, or where the catalog has no such
    model, accelerator or layout; the last is noted.
    """
    seen = readout.observation
    if seen.model is None or seen.gpu_model is None or seen.itl_predicted_s is not None:
        return readout
    try:
        found = _predicted(seen, overlays)
    except InputError as problem:
        why = "; ".join(f"{fault.key}: {fault.found}" for fault in problem.faults)
        return _noted(readout, f"no prediction of step times: {why}")
    if not found:
        return _noted(readout, "no prediction of step times: this layout cannot run")
    readings = {name: Reading.exactly(value) for name, value in found.items()}
    return replace(
        readout,
        observation=seen.model_copy(update=found),
        readings={**readout.readings, **readings},
    )


def with_vendor(readout: Readout, overlays: tuple[Path, ...] = (), gpu: str | None = None) -> Readout:
    """A readout with the vendor of the accelerator, where only its name is known.

    Args:
        readout: what was observed.
        overlays: catalog folders of the user.
        gpu: the accelerator that a plan runs on, where none was observed.
    """
    seen = readout.observation
    name = seen.gpu_model or gpu
    if seen.gpu_vendor is not None or name is None:
        return readout
    from planner.loaders.catalog import load_catalog

    found = load_catalog(overlays).accelerator(name)
    if found is None:
        return readout
    return replace(readout, observation=seen.model_copy(update={"gpu_vendor": found.vendor}))


def _predicted(seen: Observation, overlays: tuple[Path, ...]) -> dict[str, float]:
    from planner.app.estimate import estimate
    from planner.loaders.catalog import load_catalog

    catalog = load_catalog(overlays)
    weights, kv = (
        name if name is not None and catalog.number_format(name) is not None else None
        for name in (seen.weights_precision, seen.kv_precision)
    )
    assert seen.model is not None
    assert seen.gpu_model is not None
    answer = estimate(
        model=seen.model,
        gpu=seen.gpu_model,
        isl=max(1, round(seen.input_tokens_p50 or _INPUT)),
        osl=max(1, round(seen.output_tokens_p50 or _OUTPUT)),
        tp=seen.tp or 1,
        pp=seen.pp or 1,
        weights=weights,
        kv=kv,
        engine=seen.engine or "vllm",
        concurrency=max(1, round(seen.batch_mean or 1)),
        overlays=overlays,
    )
    found = {
        "itl_predicted_s": answer.decode_step_s,
        "ttft_predicted_s": answer.prefill_s,
        "cold_start_predicted_s": answer.cold_start_s,
    }
    return {name: value for name, value in found.items() if value is not None}


def _noted(readout: Readout, text: str) -> Readout:
    return replace(readout, notes=(*readout.notes, Note("missing", text, "itl_predicted_s")))
