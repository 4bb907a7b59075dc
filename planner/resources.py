"""Where the data folders catalog, rules and problems lie.

Reading order: overlays given by the user, then the data inside the installed package
(``planner/_data``), then the checkout next to the package. The last two hold the same files, so
only the first of them that exists is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from planner.errors import Fault, InputError

Kind = Literal["catalog", "rules", "problems"]

_PACKAGE = Path(__file__).resolve().parent


def own_folder(kind: Kind) -> Path:
    """The folder of that kind which comes with the program.

    Raises:
        InputError: neither the package nor a checkout holds it (a broken installation).
    """
    places = (_PACKAGE / "_data" / kind, _PACKAGE.parent / kind)
    for place in places:
        if place.is_dir():
            return place
    found = f"no folder {kind}"
    raise InputError([Fault(str(places[0]), "", found, "the data of the package; install it again")])


def folders(kind: Kind, overlays: Sequence[Path] = ()) -> tuple[Path, ...]:
    """All folders of that kind, the one that wins first: the last overlay, ..., the program's own.

    An overlay may also be a single YAML file: one entry of the catalog. It holds nothing of another kind.

    Raises:
        InputError: an overlay is neither.
    """
    faults = [
        Fault(str(overlay), "", "no such folder" if not overlay.exists() else "a file", "a folder")
        for overlay in overlays
        if not overlay.is_dir() and not is_entry(overlay)
    ]
    if faults:
        raise InputError(faults)
    used = [overlay for overlay in reversed(overlays) if kind == "catalog" or overlay.is_dir()]
    return (*used, own_folder(kind))


def is_entry(overlay: Path) -> bool:
    """Whether an overlay is a single catalog entry instead of a folder."""
    return overlay.suffix == ".yaml" and overlay.is_file()
