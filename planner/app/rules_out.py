"""The thresholds of the debugger's symptoms as alert rules of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.app.diagnose import checked_rulebook
from planner.app.predicted_steps import with_predictions
from planner.errors import input_error, nearest
from planner.exports.symptom_alerts import Asked, symptom_alerts
from planner.loaders.metric_names import load_metric_names
from planner.loaders.selector import parse_selector
from planner.loaders.write import documents_yaml
from planner.schema.observation import Observation
from planner.schema.readings import Readout

DEVICES = ("dcgm", "amd-device")
PREDICTED = ("itl_predicted_s", "ttft_predicted_s", "cold_start_predicted_s")
_WHERE = "planner rules export"


@dataclass(frozen=True)
class Hardware:
    """What is served on what: its predictions take the place of usual thresholds."""

    model: str
    gpu: str
    tp: int = 1


def rules_out(
    engine: str,
    selector: str,
    device_selector: str,
    slo_s: Mapping[str, float],
    hardware: Hardware | None,
    overlays: tuple[Path, ...] = (),
) -> tuple[bytes, tuple[str, ...]]:
    """The file of rules, and the symptoms that the metrics of this engine cannot show.

    Args:
        engine: id of an exporter, such as ``vllm``.
        selector: matchers of labels; empty: everything that the server has.
        device_selector: the same for series of accelerators, which carry no name of a model.
        slo_s: limits on latency, such as ``ttft_p99_s``.
        hardware: for thresholds that follow the model and the accelerator.
        overlays: catalog folders of the user.

    Raises:
        InputError: an unknown engine, a selector that cannot be, a layout that the catalog cannot predict.
    """
    for text in (selector, device_selector):
        parse_selector(text)
    exporters = {one.id: one for one in load_metric_names(overlays).exporters}
    if engine not in exporters:
        expected = f"one of {', '.join(exporters)}"
        raise input_error(_WHERE, "--engine", f'"{engine}"', expected, nearest(engine, tuple(exporters)))
    known = {f"slo.{name}": value for name, value in slo_s.items()}
    if hardware is not None:
        known |= _predicted(hardware, engine, overlays)
    devices = [(exporters[name], device_selector) for name in DEVICES if name in exporters]
    chosen = [(exporters[engine], selector), *devices]
    rules, left = symptom_alerts(checked_rulebook(overlays), Asked(chosen, known))
    return documents_yaml([rules]).encode(), left


def _predicted(hardware: Hardware, engine: str, overlays: tuple[Path, ...]) -> dict[str, float]:
    seen = Observation(model=hardware.model, gpu_model=hardware.gpu, tp=hardware.tp, engine=engine)
    readout = with_predictions(Readout(seen), overlays)
    found = {name: getattr(readout.observation, name) for name in PREDICTED}
    if any(value is None for value in found.values()):
        why = "; ".join(note.text for note in readout.notes)
        raise input_error(_WHERE, "--model, --gpu", why, "a model and an accelerator of the catalog")
    return found
