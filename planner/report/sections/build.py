"""Sections without what is empty."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from planner.report.headline import headline
from planner.schema.plan import Plan
from planner.schema.report import Block, Bullets, Section


def section(id_: str, title: str, *blocks: Block | None) -> Section | None:
    """A section of the blocks that there are; None without any."""
    kept = tuple(block for block in blocks if block is not None)
    return Section(id_, title, kept) if kept else None


def bullets(lines: Iterable[str]) -> Bullets | None:
    """Sentences; None without any."""
    kept = tuple(line for line in lines if line)
    return Bullets(kept) if kept else None


def headlines(plan: Plan) -> list[str]:
    """What to buy and how well it is proved, as the terminal says it."""
    return [line.plain for line in headline(plan) if isinstance(line, Text)]
