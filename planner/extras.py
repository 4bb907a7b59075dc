"""Packages that only some commands need: what is missing, and the command that brings it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from planner.errors import input_error

_CHECKOUT = Path(__file__).resolve().parent.parent
_PINS = "constraints.txt"


def check_extra(where: str, key: str, found: str, extra: str, packages: Iterable[str]) -> None:
    """Refuse what cannot be done because packages are missing, before any work is done.

    Args:
        where: the command, or its flag.
        key: the flag, or empty.
        found: what was asked for, or empty.
        extra: of ``pyproject.toml``, which brings the packages.
        packages: as they are imported.

    Raises:
        InputError: a package is missing.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        words = f'"{found}", and {", ".join(missing)} missing' if found else f"no {', '.join(missing)}"
        brings = "it" if len(missing) == 1 else "them"
        expected = f'the extra "{extra}", which brings {brings}'
        raise input_error(where, key, words, expected, f'"{install(f"llm-fleet-planner[{extra}]")}"')


def install(requirement: str) -> str:
    """The command that installs a requirement beside this program, in the versions of a checkout."""
    here, python = Path.cwd(), Path(sys.executable or "python3")
    if python.is_relative_to(here):
        python = python.relative_to(here)
    pins = _CHECKOUT / _PINS
    constraint = f" --constraint {shlex.quote(os.path.relpath(pins))}" if pins.is_file() else ""
    return f"{shlex.quote(str(python))} -m pip install{constraint} '{requirement}'"
