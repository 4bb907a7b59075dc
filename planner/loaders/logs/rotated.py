"""Which logs belong to one server: rotation adds a number, a date or a compression to a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_ROTATED = re.compile(r"(?:[.-](?:\d{1,4}|\d{8}|\d{4}-\d\d-\d\d(?:[T_-][\d.:-]+)?|gz|old|prev|previous))+$")


def server_names(paths: Sequence[Path]) -> list[str]:
    """A name for each log, the same for rotated files of one: ``a.log``, ``a.log.1`` and ``a.log.2.gz``."""
    return [str(path.parent / (_ROTATED.sub("", path.name) or path.name)) for path in paths]
