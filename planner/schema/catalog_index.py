"""The whole catalog in memory: entries by kind, found by id, alias or name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.errors import input_error
from planner.schema.catalog import (
    Accelerator,
    Archetype,
    Calibration,
    CatalogEntry,
    Engine,
    Judgement,
    Model,
    Network,
    NumberFormat,
    Offer,
    PriceList,
    Storage,
    UserFactors,
)
from planner.schema.claims import ClaimList
from planner.schema.market import ApiPrice

FOLDERS: Mapping[str, type[CatalogEntry]] = {
    "accelerators": Accelerator,
    "models": Model,
    "formats": NumberFormat,
    "engines": Engine,
    "prices": PriceList,
    "networks": Network,
    "storage": Storage,
    "workloads": Archetype,
    "calibration": Calibration,
    "judgement": Judgement,
    "claims": ClaimList,
    "user_factors": UserFactors,
}
"""Folder of the catalog -> the noun that its files hold."""


def folded(name: str) -> str:
    """The form in which names are compared: upper and lower case mean the same."""
    return name.strip().casefold()


@dataclass(frozen=True)
class Catalog:
    """All entries, by folder and id, in the order of their ids."""

    by_folder: Mapping[str, Mapping[str, Any]]
    ids: Mapping[str, Mapping[str, str]]
    """Folder -> folded id, alias or name -> id."""
    sha256: str
    """``sha256:`` and the digest over the bytes of every file used."""
    calibration_id: str
    """The calibration in use; empty where there is none."""
    calibration_sha256: str
    """``sha256:`` and the digest over the calibration in use."""

    def find(self, folder: str, name: str) -> Any:
        """The entry of that kind with this id, alias or name, or None."""
        known = self.ids.get(folder, {}).get(folded(name))
        return None if known is None else self.by_folder[folder][known]

    def names(self, folder: str) -> tuple[str, ...]:
        """Ids and then aliases of one kind, to suggest from."""
        entries = self.by_folder.get(folder, {}).values()
        return (*(entry.id for entry in entries), *(alias for entry in entries for alias in entry.aliases))

    def accelerator(self, name: str) -> Accelerator | None:
        """An accelerator by id or alias."""
        found: Accelerator | None = self.find("accelerators", name)
        return found

    def model(self, name: str) -> Model | None:
        """A model by id or alias."""
        found: Model | None = self.find("models", name)
        return found

    def engine(self, name: str) -> Engine | None:
        """A serving engine by id or alias."""
        found: Engine | None = self.find("engines", name)
        return found

    def number_format(self, name: str) -> NumberFormat | None:
        """A format of weights or KV cache by id or alias."""
        found: NumberFormat | None = self.find("formats", name)
        return found

    def archetype(self, name: str) -> Archetype | None:
        """A kind of workload by id or alias."""
        found: Archetype | None = self.find("workloads", name)
        return found

    def network(self, name: str) -> Network | None:
        """A fabric between servers by id or alias."""
        found: Network | None = self.find("networks", name)
        return found

    def storage(self, name: str) -> Storage | None:
        """A path for weights by id or alias."""
        found: Storage | None = self.find("storage", name)
        return found

    def price_list(self, name: str) -> PriceList | None:
        """The offers of one provider by id or alias."""
        found: PriceList | None = self.find("prices", name)
        return found

    @property
    def accelerators(self) -> tuple[Accelerator, ...]:
        """All accelerators, by id."""
        return tuple(self.by_folder.get("accelerators", {}).values())

    @property
    def models(self) -> tuple[Model, ...]:
        """All models, by id."""
        return tuple(self.by_folder.get("models", {}).values())

    @property
    def engines(self) -> tuple[Engine, ...]:
        """All serving engines, by id."""
        return tuple(self.by_folder.get("engines", {}).values())

    @property
    def number_formats(self) -> tuple[NumberFormat, ...]:
        """All formats, by id."""
        return tuple(self.by_folder.get("formats", {}).values())

    @property
    def price_lists(self) -> tuple[PriceList, ...]:
        """All price lists, by id."""
        return tuple(self.by_folder.get("prices", {}).values())

    @property
    def calibration(self) -> Calibration:
        """The numbers of the performance model: those of the last overlay that has any.

        Raises:
            InputError: the catalog has no calibration.
        """
        entries: Mapping[str, Calibration] = self.by_folder.get("calibration", {})
        if self.calibration_id not in entries:
            raise input_error("catalog/calibration", "", "no file", "the numbers of the performance model")
        return entries[self.calibration_id]

    def offers(self) -> tuple[tuple[PriceList, Offer], ...]:
        """Every offer with its price list, in a fixed order."""
        return tuple((prices, offer) for prices in self.price_lists for offer in prices.offers)

    def api_prices(self, model: str) -> dict[str, list[ApiPrice]]:
        """What outside suppliers ask for a model, by their folded names, in the order of the lists."""
        known = self.model(model)
        found: dict[str, list[ApiPrice]] = {}
        for prices in self.price_lists:
            for row in prices.api_prices:
                if known is not None and self.model(row.model) is known:
                    found.setdefault(folded(row.supplier), []).append(row)
        return found

    def entries(self) -> Iterator[CatalogEntry]:
        """Every entry, kind after kind, each by id."""
        for folder in FOLDERS:
            yield from self.by_folder.get(folder, {}).values()
