"""Measure: the script that measures a GPU, and the catalog entry that its results make."""

from __future__ import annotations

from pathlib import Path

from planner.calibration import gpu_script, measured_gpu
from planner.errors import input_error
from planner.loaders.catalog import load_catalog
from planner.loaders.files_out import check_target, write_whole
from planner.loaders.validation import validated
from planner.loaders.write import entry_yaml
from planner.loaders.yaml_source import read_asked_document
from planner.schema.measured_gpu import GpuResults, MeasuredGpu


def write_script(target: Path) -> None:
    """Write the script: it needs PyTorch, and nothing of this program.

    Raises:
        InputError: a place that cannot be written.
    """
    check_target("--write", target)
    write_whole(target, Path(gpu_script.__file__).read_bytes())


def overlay(
    results: Path, gpu: str, out: Path, *, like: str | None = None, overlays: tuple[Path, ...] = ()
) -> MeasuredGpu:
    """Read what the script found and write ``accelerators/ID.yaml`` under a folder, for ``--catalog``.

    Raises:
        InputError: everything wrong with the results, an id or a likeness that is of no use, and a folder
            that cannot be written.
    """
    catalog = load_catalog(overlays)
    found = validated(GpuResults, read_asked_document(results))
    base = measured_gpu.likeness(catalog, found, gpu, like)
    own = catalog.accelerator(gpu)
    rates = measured_gpu.rates(catalog, found, base, known=own is not None)
    entry = measured_gpu.entry(catalog, found, gpu, base, rates)
    path = out / "accelerators" / f"{entry.id}.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, entry_yaml(entry).encode())
    except OSError as problem:
        why = (problem.strerror or "an error").lower()
        raise input_error("--out", "", f"{out}: {why}", "a folder that can be written") from None
    notes = tuple(measured_gpu.doubts(catalog, found, rates))
    return MeasuredGpu(
        id=entry.id, like=base.id, known=own is not None, path=str(path), rates=rates, notes=notes
    )
