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
    DayShape,
    Engine,
    Judgment,
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
from planner.schema.number_format import PARTS, Part

FOLDERS: Mapping[str, type[CatalogEntry]] = {
    "accelerators": Accelerator,
    "models": Model,
    "formats": NumberFormat,
    "engines": Engine,
    "prices": PriceList,
    "networks": Network,
    "storage": Storage,
    "workloads": Archetype,
    "shapes": DayShape,
    "calibration": Calibration,
    "judgment": Judgment,
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
        return (
            *(entry.id for entry in entries),
            *(other for entry in entries for other in entry.other_names),
        )

    def accelerator(self, name: str) -> Accelerator | None:
        """An accelerator by id or alias."""
        found: Accelerator | None = self.find("accelerators", name)
        return found

    def model(self, name: str) -> Model | None:
        """A model by id or alias, or as the checkpoint that a name means: listed, or told by its ending."""
        found: Model | None = self.find("models", name)
        if found is None:
            return self._by_ending(name)
        stored = next((item for item in found.checkpoints if folded(name) in map(folded, item.ids)), None)
        return found if stored is None else found.stored_as(stored.format, stored.scales)

    def base_model(self, model: Model) -> Model:
        """The model of the catalog of which this is a checkpoint; itself where the catalog has none."""
        found: Model | None = self.by_folder.get("models", {}).get(model.id)
        return model if found is None else found

    def _by_ending(self, name: str) -> Model | None:
        """``ORG/NAME-ENDING``, where NAME is a model and ENDING that of a format, whoever published it."""
        last = folded(name).rstrip("/").rpartition("/")[2]
        endings = [(ending, form.id) for form in self.number_formats for ending in map(folded, form.endings)]
        for ending, form in sorted(endings, key=lambda pair: -len(pair[0])):
            base = self.find("models", last.removesuffix(ending)) if last.endswith(ending) else None
            if base is not None:
                stored: Model = base.stored_as(form)
                return stored
        return None

    def engine(self, name: str) -> Engine | None:
        """A serving engine by id or alias."""
        found: Engine | None = self.find("engines", name)
        return found

    def number_format(self, name: str) -> NumberFormat | None:
        """A format of weights or KV cache by id or alias, or a mix such as ``int4+attention=fp8+head=fp8``.

        The first is the format of all weights, the others those of the parts named.
        """
        first, *others = name.split("+")
        found: NumberFormat | None = self.find("formats", first)
        if found is None or not others:
            return found
        parts: dict[Part, NumberFormat] = dict(found.own_parts)
        for text in others:
            part, _, form = (word.strip() for word in text.partition("="))
            other: NumberFormat | None = self.find("formats", form)
            if part not in PARTS or other is None or not (found.weights and other.weights) or other.parts:
                return None
            parts[part] = other
        return found.with_parts(
            parts, "+".join([found.id, *(f"{p}={parts[p].id}" for p in PARTS if p in parts)])
        )

    @property
    def formats(self) -> Mapping[str, NumberFormat]:
        """Every format by its id, mixes included."""
        return _Formats(self)

    def archetype(self, name: str) -> Archetype | None:
        """A kind of workload by id or alias."""
        found: Archetype | None = self.find("workloads", name)
        return found

    def shape(self, name: str) -> DayShape | None:
        """A day by id or alias."""
        found: DayShape | None = self.find("shapes", name)
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


class _Formats(Mapping[str, NumberFormat]):
    """Formats by id; what no file holds is looked up as a mix."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._files: Mapping[str, NumberFormat] = catalog.by_folder.get("formats", {})

    def __getitem__(self, key: str) -> NumberFormat:
        found = self._files.get(key) or self._catalog.number_format(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)
