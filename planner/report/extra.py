"""The extra ``report``: packages that only reports and pictures need."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from planner.errors import input_error

INSTALL = "pip install 'llm-fleet-planner[report]'"


def check_extra(where: str, key: str, found: str, packages: Iterable[str]) -> None:
    """Refuse what cannot be made because packages are missing, before any work is done.

    Raises:
        InputError: a package is missing.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise input_error(
            where,
            key,
            f'"{found}", and {", ".join(missing)} missing',
            'the extra "report", which brings it',
            f'"{INSTALL}"',
        )
