"""Which checkpoint a pool loads: one in its format, a wider one made narrower, or one to be made."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.schema.catalog import Accelerator, Model
from planner.schema.catalog_index import Catalog, folded
from planner.schema.launch import WeightsSource
from planner.schema.speculation import DraftsTaken

FOLDER = "/models"
"""Where servers find checkpoints that no hub has."""
_TUNED = ("-instruct", "-it", "-chat")
"""Endings of checkpoints that answer people; a base model does not."""
_VENDOR_ONLY = {"nvidia/": "NVIDIA"}
"""Publishers whose quantized checkpoints run on accelerators of one vendor."""
_ON_LOADING = "fp8"
"""The format into which engines turn 16-bit weights while loading."""


def pool_weights(
    model: Model, asked: str, weights: str, accelerator: Accelerator, catalog: Catalog
) -> WeightsSource:
    """The checkpoint of a model in a format.

    Args:
        model: as the problem names it, in the format that the name stands for.
        asked: its name in the problem.
        weights: format of the pool.
        accelerator: that loads it.
        catalog: formats.

    Of several published ones that is taken whose name begins most like what was asked for, and of those one
    that was tuned to answer.
    """
    if catalog.model(asked) is None:
        return _own(model, asked, weights)
    if is_id(asked) and model.native_format == weights:
        return WeightsSource(asked)
    published = catalog.model(model.id) or model
    wide = [name for name in published.aliases if is_id(name)]
    narrow = [name for name in _in_format(published, weights, catalog) if _runs_on(name, accelerator)]
    fits = [*wide, *narrow] if weights == published.native_format else narrow
    if fits:
        return WeightsSource(_likest(fits, asked))
    if weights == _ON_LOADING and published.native_format == "bf16" and wide:
        return WeightsSource(_likest(wide, asked), quantize=True)
    return _to_be_made(model.id, weights)


def draft_weights(
    taken: DraftsTaken, served: str, accelerator: Accelerator, catalog: Catalog
) -> WeightsSource:
    """What writes the drafts: a smaller model, or a head that belongs to the large one."""
    if taken.draft is None:
        place = f"{FOLDER}/{_plain(served)}-eagle3"
        note = f"The catalog knows no EAGLE head of {served}: put one into {place}."
        return WeightsSource(place, folder=True, note=note)
    known = catalog.model(taken.draft)
    form = taken.weights or (known.native_format if known else "bf16")
    if known is None:
        return _to_be_made(taken.draft, form)
    return pool_weights(known, taken.draft, form, accelerator, catalog)


def is_id(name: str) -> bool:
    """Whether a name has the form of a Hugging Face id: ``publisher/name``."""
    return re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name) is not None


def _own(model: Model, asked: str, weights: str) -> WeightsSource:
    """A model out of a folder of the user's."""
    place = f"{FOLDER}/{_plain(model.id)}"
    if weights == model.native_format:
        note = f"{asked} is a folder of yours: servers look for it at {place}."
        return WeightsSource(place, folder=True, note=note)
    if weights == _ON_LOADING and model.native_format == "bf16":
        note = f"{asked} is a folder of yours: servers look for it at {place}."
        return WeightsSource(place, quantize=True, folder=True, note=note)
    return _to_be_made(model.id, weights)


def _to_be_made(name: str, weights: str) -> WeightsSource:
    place = f"{FOLDER}/{_plain(name)}-{_plain(weights)}"
    note = f"The catalog knows no published checkpoint of {name} in {weights}: put one into {place}."
    return WeightsSource(place, folder=True, note=note)


def _in_format(model: Model, weights: str, catalog: Catalog) -> list[str]:
    """Published checkpoints in a format, or in one that the same kernels read."""
    exact = [name for item in model.checkpoints if item.format == weights for name in item.ids]
    if exact:
        return exact
    forms = catalog.formats
    alike = [
        item for item in model.checkpoints if item.format in forms and forms[item.format].kernels == weights
    ]
    return [name for item in alike for name in item.ids]


def _runs_on(name: str, accelerator: Accelerator) -> bool:
    return all(
        accelerator.vendor == vendor
        for publisher, vendor in _VENDOR_ONLY.items()
        if name.startswith(publisher)
    )


def _likest(names: Iterable[str], asked: str) -> str:
    wanted = _last(asked)

    def likeness(name: str) -> tuple[int, bool]:
        last = _last(name)
        return _common(last, wanted), any(ending in last for ending in _TUNED)

    return max(names, key=likeness)


def _common(first: str, second: str) -> int:
    """Characters that two names begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


def _last(name: str) -> str:
    return folded(name).rpartition("/")[2].removeprefix("meta-")


def _plain(name: str) -> str:
    """A name that a path can hold."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "model"
