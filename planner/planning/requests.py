"""One configuration asked for by flags: the catalog entries behind its names."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from planner.errors import Fault, InputError, nearest
from planner.loaders.model_names import model_fault
from planner.loaders.named_files import roots
from planner.schema.catalog import Accelerator, Engine, NumberFormat
from planner.schema.catalog_index import Catalog


class Names:
    """Looks up what flags name, and gathers every fault before complaining."""

    def __init__(self, catalog: Catalog, where: str) -> None:
        """``where`` is the command, for messages."""
        self.catalog = catalog
        self.where = where
        self.faults: list[Fault] = []

    def model(self, name: str) -> None:
        """The model of ``--model``: a name of the catalog or the hub, or a place with a config.json."""
        inside = roots(Path())
        fault = None if not inside and _exists(name) else model_fault(name, self.catalog, Path(), inside)
        if fault is not None:
            self.faults.append(Fault(self.where, "--model", *fault))

    def accelerator(self, name: str) -> Accelerator | None:
        """The accelerator of ``--gpu``."""
        found = self.catalog.accelerator(name)
        if found is None:
            self._unknown("--gpu", name, "accelerators", "an accelerator")
        return found

    def engine(self, name: str) -> Engine | None:
        """The engine of ``--engine``."""
        found = self.catalog.engine(name)
        if found is None:
            self._unknown("--engine", name, "engines", "an engine")
        return found

    def number_format(self, flag: str, name: str | None, of_kv: bool) -> NumberFormat | None:
        """The format of ``--weights`` or ``--kv``; None when the flag is absent."""
        if name is None:
            return None
        found = self.catalog.number_format(name)
        if found is None:
            self._unknown(flag, name, "formats", "a number format")
        elif not (found.kv if of_kv else found.weights):
            what, side = ("the KV cache", "kv") if of_kv else ("weights", "weights")
            known = [entry.id for entry in self.catalog.number_formats if getattr(entry, side)]
            expected = f"a format for {what} ({', '.join(known)})"
            self.faults.append(Fault(self.where, flag, f'"{name}"', expected, nearest(name, known)))
        return found

    def _unknown(self, flag: str, name: str, folder: str, what: str) -> None:
        hint = nearest(name, self.catalog.names(folder))
        self.faults.append(Fault(self.where, flag, f'"{name}"', f"{what} of the catalog", hint))

    def done(self) -> None:
        """Raise every fault at once.

        Raises:
            InputError: some name is unknown.
        """
        if self.faults:
            raise InputError(self.faults)


def _exists(name: str) -> bool:
    try:
        return Path(name).expanduser().exists()
    except (OSError, RuntimeError):  # a name too long for a path, or a home that nobody has
        return False


def with_utilization(engine: Engine, utilization: Decimal | float | None) -> Engine:
    """The engine with another share of memory that it may use."""
    if utilization is None:
        return engine
    share = Decimal(str(utilization))
    return engine.model_copy(update={"memory": engine.memory.model_copy(update={"utilization": share})})
