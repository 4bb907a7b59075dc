"""Names that every part of a cluster takes, from ids that may hold anything."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

LONGEST_NAME = 63
"""Of a DNS label."""
_HASH = 6


def dns_names(ids: Iterable[str], longest: int = LONGEST_NAME) -> dict[str, str]:
    """A DNS label for each id: lower-case letters, digits and hyphens, from a letter on, at most ``longest``.

    Where two ids would get one name, or an id has to be cut, a hash of the id stands at the end; so a name
    depends on its own id alone as long as the others are other ids.
    """
    ids = list(dict.fromkeys(ids))
    plain = {name: _label(name) for name in ids}
    found: dict[str, str] = {}
    for name in ids:
        label = plain[name]
        if len(label) > longest or sum(other == label for other in plain.values()) > 1:
            digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
            label = f"{label[: longest - _HASH - 1].rstrip('-')}-{digest}"
        found[name] = label
    return found


def _label(name: str) -> str:
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return label if label[:1].isalpha() else f"p-{label}".rstrip("-")
