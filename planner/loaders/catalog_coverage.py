"""What a catalog still lacks before the performance model can price all that it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.errors import Fault, nearest
from planner.loaders.yaml_source import Document
from planner.schema.calibration import ANY_FORMAT, ENGINE_PARAMETERS
from planner.schema.catalog import Accelerator, Calibration, Engine


def uncovered(
    calibration: Calibration,
    accelerators: Iterable[tuple[Document, Accelerator]],
    engines: Iterable[tuple[Document, Engine]],
) -> Iterator[Fault]:
    """Accelerators and engines about which the calibration says nothing, or too little.

    Args:
        calibration: the one in use.
        accelerators: with the files that state them.
        engines: the same.
    """
    for document, accelerator in accelerators:
        yield from _architecture(calibration, document, accelerator)
    for document, engine in engines:
        yield from _engine(calibration, document, engine)


def _architecture(calibration: Calibration, document: Document, accelerator: Accelerator) -> Iterator[Fault]:
    name, known = accelerator.architecture, calibration.compute_efficiency
    where, place = document.where(("architecture",)), f"compute_efficiency of calibration {calibration.id}"
    if name not in known:
        yield Fault(where, "architecture", f'"{name}"', f"one with {place}", nearest(name, tuple(known)))
    elif ANY_FORMAT not in known[name]:
        expected = f"it to have the entry {ANY_FORMAT} in {place}"
        yield Fault(where, "architecture", f'"{name}"', expected)


def _engine(calibration: Calibration, document: Document, engine: Engine) -> Iterator[Fault]:
    stated: Mapping[str, object] = calibration.engines.get(engine.id, {})
    missing = [name for name in ENGINE_PARAMETERS if name not in stated]
    if missing:
        expected = f"{', '.join(missing)} in engines.{engine.id} of calibration {calibration.id}"
        yield Fault(document.where(("id",)), "id", f'"{engine.id}"', expected)
