"""Looks up every name of a problem: models, accelerators, formats, files and the rest.

Works on the plain values, so that a problem with other faults still hears of wrong names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from planner import units
from planner.errors import Fault, nearest
from planner.loaders import named_files, out_of_scope
from planner.loaders.fleet_checks import fleet_faults
from planner.loaders.hf_config import elsewhere
from planner.loaders.messages import show
from planner.loaders.model_names import UNKNOWN, model_fault
from planner.loaders.places import Key, dotted
from planner.loaders.yaml_source import Document
from planner.schema.catalog_index import Catalog, folded
from planner.schema.demand import DEMAND_FORMS

MAX_FAULTS = 100
"""Faults of one kind at most: looking for the nearest name takes time."""


@dataclass(frozen=True)
class _Lookup:
    """What the checks share."""

    document: Document
    catalog: Catalog
    rules: Sequence[str]
    folder: Path | None
    inside: Sequence[Path]

    def fault(self, path: Key, found: str, expected: str, maybe: str = "") -> Fault:
        return Fault(self.document.where(path), dotted(self.document.value, path), found, expected, maybe)

    def texts(self, *pattern: str) -> Iterator[tuple[Key, str]]:
        """Texts at a path in which ``*`` is every item of a list."""
        yield from (
            (path, text) for path, text in _walk(self.document.value, pattern) if isinstance(text, str)
        )

    def keys(self, *path: str) -> Iterator[tuple[Key, str]]:
        """Keys of a mapping at a path."""
        value = self.document.at(path)
        if isinstance(value, dict):
            yield from (((*path, key), key) for key in value)


def _walk(value: Any, pattern: Sequence[str], path: Key = ()) -> Iterator[tuple[Key, Any]]:
    if not pattern:
        yield path, value
    elif pattern[0] == "*":
        items = value if isinstance(value, list | tuple) else ()
        for number, item in enumerate(items):
            yield from _walk(item, pattern[1:], (*path, number))
    elif isinstance(value, dict) and pattern[0] in value:
        yield from _walk(value[pattern[0]], pattern[1:], (*path, pattern[0]))


def name_faults(
    document: Document,
    catalog: Catalog,
    rules: Sequence[str],
    folder: Path | None,
    inside: Sequence[Path] = (),
) -> tuple[Fault, ...]:
    """Names of a problem that mean nothing, or the same thing twice.

    Args:
        document: The problem.
        catalog: Where ids and aliases are looked up.
        rules: Ids of the planning rules.
        folder: Where files that the problem names lie; None: files are not looked for.
        inside: Folders in which they must lie (see `named_files.roots`).
    """
    look = _Lookup(document, catalog, rules, folder, inside)
    return tuple(fault for check in _CHECKS for fault in islice(check(look), MAX_FAULTS))


def _models(look: _Lookup) -> Iterator[Fault]:
    drafts = (("workloads", "*", "speculation", *step, "draft") for step in ((), ("*",)))
    for path, name in (pair for pattern in drafts for pair in look.texts(*pattern)):
        if look.catalog.model(name) is None:
            yield look.fault(
                path, show(name), "a model of the catalog", nearest(name, look.catalog.names("models"))
            )
    for path, name in look.texts("workloads", "*", "model"):
        if look.folder is None:
            if look.catalog.model(name) is None and not _is_path(name):
                known = look.catalog.names("models")
                yield look.fault(path, show(name), UNKNOWN, nearest(name, known))
            continue
        fault = model_fault(name, look.catalog, look.folder, look.inside)
        if fault is not None:
            yield look.fault(path, *fault)


def _demands(look: _Lookup) -> Iterator[Fault]:
    """Workloads without a demand. With a table of workers its files may state the rate."""
    workloads = look.document.value.get("workloads")
    if look.document.value.get("workers") is not None or not isinstance(workloads, list | tuple):
        return
    for place, workload in enumerate(workloads):
        if isinstance(workload, dict):
            path, demand = ("workloads", place, "demand"), workload.get("demand")
            if "demand" not in workload:
                yield look.fault(path, "no such key", "a value")
            elif isinstance(demand, dict) and not demand.keys() & set(DEMAND_FORMS):
                yield look.fault(path, "0 forms of demand", f"one of {', '.join(DEMAND_FORMS)}")


def _is_path(name: str) -> bool:
    return "/" in name or "\\" in name or name.endswith(".json") or name in (".", "..")


def _plain_names(look: _Lookup) -> Iterator[Fault]:
    """Names with one kind each."""
    for pattern, kind, what in (
        (("workloads", "*", "archetype"), "workloads", "an archetype"),
        (("workloads", "*", "engine"), "engines", "an engine"),
        (("workloads", "*", "engine", "*"), "engines", "an engine"),
        (("workloads", "*", "storage"), "storage", "a storage"),
        (("workloads", "*", "demand", "shape"), "shapes", "a shape of the day"),
        (("fleet", "providers", "*"), "prices", "a price list"),
    ):
        for path, name in look.texts(*pattern):
            if look.catalog.find(kind, name) is None:
                if out_of_scope.is_training(name):
                    yield look.fault(path, out_of_scope.TRAINING, out_of_scope.EXPECTED)
                    continue
                known = look.catalog.names(kind)
                yield look.fault(path, show(name), f"{what} of the catalog", nearest(name, known))


def _engines(look: _Lookup) -> Iterator[Fault]:
    """Two names of one engine in a list."""
    written: dict[tuple[Any, str], str] = {}
    for path, name in look.texts("workloads", "*", "engine", "*"):
        entry = look.catalog.engine(name)
        first = name if entry is None else written.setdefault((path[1], entry.id), name)
        if first != name:
            found = f"{show(name)}, another name of {show(first)}"
            yield look.fault(path, found, "each engine once")


_WEIGHT_FORMATS = (
    ("precision", "weights", "*"),
    ("speculation", "weights"),
    ("speculation", "*", "weights"),
)


def _formats(look: _Lookup) -> Iterator[Fault]:
    for side, what, patterns in (
        ("weights", "weights", _WEIGHT_FORMATS),
        ("kv", "the KV cache", (("precision", "kv", "*"),)),
    ):
        known = [entry.id for entry in look.catalog.number_formats if getattr(entry, side)]
        named = (pair for pattern in patterns for pair in look.texts("workloads", "*", *pattern))
        for path, name in named:
            entry = look.catalog.number_format(name)
            if entry is None or not getattr(entry, side):
                found = ", ".join(filter(None, (show(name), elsewhere.run_elsewhere(name))))
                yield look.fault(
                    path, found, f"a format for {what} ({', '.join(known)})", nearest(name, known)
                )


def _accelerators(look: _Lookup) -> Iterator[Fault]:
    """Unknown accelerators, and two names for one. A table of workers has names of its own."""
    if look.document.value.get("workers") is not None:
        return
    places = [
        *look.texts("fleet", "accelerators", "*"),
        *look.keys("fleet", "prices"),
        *look.keys("fleet", "stock"),
        *look.keys("fleet", "owned"),
        *look.texts("fleet", "supply", "*", "gpu"),
        *look.keys("fleet", "slices"),
    ]
    written: dict[str, str] = {}
    listed: set[str] = set()
    for path, name in places:
        entry = look.catalog.accelerator(name)
        if entry is None:
            known = look.catalog.names("accelerators")
            yield look.fault(path, show(name), "an accelerator of the catalog", nearest(name, known))
            continue
        first = written.setdefault(entry.id, name)
        if first != name:
            found = f"{show(name)}, another name of {show(first)}"
            yield look.fault(path, found, "one name for one accelerator", show(first))
        elif path[1] == "accelerators" and name in listed:
            yield look.fault(path, f"{show(name)} a second time", "each accelerator once")
        listed.add(name)


def _slices(look: _Lookup) -> Iterator[Fault]:
    """Hardware slices that the accelerator does not have."""
    for path, name in look.keys("fleet", "slices"):
        entry = look.catalog.accelerator(name)
        wanted = look.document.at(path)
        if entry is None or not isinstance(wanted, list | tuple):
            continue
        known = [part.name for part in entry.partitions]
        for place, part in enumerate(wanted):
            if isinstance(part, str) and part not in known:
                expected = f"a slice of it: {', '.join(known) or 'it has none'}"
                yield look.fault((*path, place), show(part), expected, nearest(part, known))


def _regions(look: _Lookup) -> Iterator[Fault]:
    named = list(look.texts("fleet", "regions", "*"))
    known = tuple(sorted({offer.region for _, offer in look.catalog.offers()})) if named else ()
    same = {folded(region) for region in known}
    for path, name in named:
        if folded(name) not in same:
            yield look.fault(path, show(name), "a region of the price lists", nearest(name, known))


def _network(look: _Lookup) -> Iterator[Fault]:
    for path, name in look.texts("fleet", "network"):
        try:
            units.parse(name, units.BYTES_PER_S)
        except units.UnitError as problem:
            if look.catalog.network(name) is None:
                expected = f"{problem.expected}, or a network of the catalog"
                maybe = problem.maybe or nearest(name, look.catalog.names("networks"))
                yield look.fault(path, show(name), expected, maybe)


def _rules_off(look: _Lookup) -> Iterator[Fault]:
    for path, name in look.texts("search", "rules_off", "*"):
        if name not in look.rules:
            yield look.fault(path, show(name), "the id of a planning rule", nearest(name, look.rules))


def _files(look: _Lookup) -> Iterator[Fault]:
    if look.folder is None:
        return
    for pattern in (
        ("workers",),
        ("workers", "*"),
        ("start",),
        ("workloads", "*", "lengths", "trace"),
        ("workloads", "*", "demand", "trace"),
        ("workloads", "*", "lengths", "trace", "file"),
        ("workloads", "*", "demand", "trace", "file"),
    ):
        for path, name in look.texts(*pattern):
            found = named_files.refusal(look.folder, name, look.inside)
            if found:
                inside = " and stay in its folder" if look.inside else ""
                yield look.fault(path, found, f"a file; paths are relative to the problem file{inside}")


def _fleet(look: _Lookup) -> Iterator[Fault]:
    yield from fleet_faults(look.document, look.catalog)


_CHECKS: tuple[Callable[[_Lookup], Iterator[Fault]], ...] = (
    _models,
    _demands,
    _plain_names,
    _engines,
    _formats,
    _accelerators,
    _slices,
    _regions,
    _network,
    _rules_off,
    _files,
    _fleet,
)
