"""Looking at the catalog, and adding a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.errors import input_error, nearest
from planner.loaders.catalog import load_catalog
from planner.loaders.files_out import check_target, write_whole
from planner.loaders.logs import load_log_formats
from planner.loaders.metric_names import load_metric_names
from planner.loaders.write import model_yaml
from planner.planning.workload.case import read_model
from planner.schema.catalog import Accelerator, Model
from planner.schema.catalog_index import Catalog
from planner.steptime.catalog_facts import accelerator_document, model_document


def catalog_list(overlays: tuple[Path, ...] = (), kind: str | None = None) -> list[dict[str, Any]]:
    """Id, kind, name and aliases of every entry.

    Raises:
        InputError: an unknown kind.
    """
    catalog = load_catalog(overlays)
    rows = [
        {"id": entry.id, "kind": _kind(entry), "name": entry.name, "aliases": list(entry.other_names)}
        for entry in catalog.entries()
    ]
    kinds = sorted({str(row["kind"]) for row in rows})
    if kind is not None and kind not in kinds:
        raise input_error(
            "planner catalog list", "--kind", f'"{kind}"', f"one of {', '.join(kinds)}", nearest(kind, kinds)
        )
    return [row for row in rows if kind in (None, row["kind"])]


def catalog_show(name: str, overlays: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The facts of one entry, derived ones included.

    Raises:
        InputError: no entry of any kind has this id or alias.
    """
    catalog = load_catalog(overlays)
    model = catalog.model(name)
    if model is not None:
        return describe_model(model, catalog)
    accelerator = catalog.accelerator(name)
    if accelerator is not None:
        return accelerator_document(accelerator) | _offers(accelerator, catalog)
    for folder in catalog.by_folder:
        entry = catalog.find(folder, name)
        if entry is not None:
            document: dict[str, Any] = entry.model_dump(mode="json", exclude_none=True)
            return document
    known = tuple(known for folder in catalog.by_folder for known in catalog.names(folder))
    raise input_error(
        "planner catalog show", "ID", f'"{name}"', "an id or alias of the catalog", nearest(name, known)
    )


def describe_model(model: Model, catalog: Catalog) -> dict[str, Any]:
    """The model document."""
    formats = {entry.id: entry for entry in catalog.number_formats}
    document: dict[str, Any] = model_document(model, formats)
    return document


def catalog_check(overlays: tuple[Path, ...] = ()) -> dict[str, int]:
    """Number of entries by kind, after every file was read and checked.

    Raises:
        InputError: everything wrong with the catalog, what the calibration in use cannot price included.
    """
    catalog = load_catalog(overlays, complete=True)
    return {folder: len(entries) for folder, entries in catalog.by_folder.items()} | {
        "offers": len(catalog.offers()),
        "metrics": len(load_metric_names(overlays).exporters),
        "logs": len(load_log_formats(overlays).formats),
    }


def add_model(
    source: Path, *, model_id: str | None = None, out: Path | None = None, overlays: tuple[Path, ...] = ()
) -> dict[str, Any]:
    """Read a config.json; write a catalog file when ``out`` is given (whole or not at all).

    Raises:
        InputError: an unknown architecture or a broken file, with everything that is missing.
    """
    catalog = load_catalog(overlays)
    model = read_model(source, catalog, model_id)
    document = describe_model(model, catalog)
    if out is not None:
        target = out / "models" / f"{model.id}.yaml" if out.is_dir() else out
        if target.stem != model.id:
            raise input_error(
                str(target),
                "",
                f'the name "{target.stem}"',
                f'the id of the model, "{model.id}"',
                f'"--id {target.stem}"',
            )
        check_target("--out", target)
        write_whole(target, model_yaml(model).encode())
        document["path"] = str(target)
    return document


def _kind(entry: object) -> str:
    return str(getattr(entry, "kind", ""))


def _offers(accelerator: Accelerator, catalog: Catalog) -> dict[str, Any]:
    rows = [
        {
            "provider": prices.id,
            "region": offer.region,
            "instance": offer.instance,
            "gpus": offer.gpus,
            "usd_per_hour": float(offer.on_demand),
            "usable": offer.usable,
        }
        for prices, offer in catalog.offers()
        if catalog.accelerator(offer.accelerator) is accelerator
    ]
    return {"offers": sorted(rows, key=lambda row: (row["usd_per_hour"] / row["gpus"], row["provider"]))}
