"""A report as Markdown (GitHub's tables); what a chart shows is said in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from planner.characters import spelled
from planner.report import cells
from planner.schema.report import (
    Block,
    Bullets,
    Chapter,
    Command,
    Figures,
    Paragraph,
    Quantity,
    Report,
    Section,
    Table,
)

_MARKUP = re.compile(r"([\\`*_\[\]<>#|~])")
_FENCE = "```"


def render(report: Report) -> bytes:
    """The page as UTF-8."""
    several = len(report.chapters) > 1
    lines = [f"# {_safe(report.title)}", ""]
    for chapter in report.chapters:
        lines += _chapter(chapter, several)
    lines += [f"_{_safe(report.made_by)}_", ""]
    return "\n".join(lines).encode()


def _chapter(chapter: Chapter, several: bool) -> Iterator[str]:
    if several:
        yield from (f"## {_safe(chapter.title)}", "")
    for section in chapter.sections:
        yield from _section(section, "###" if several else "##")


def _section(section: Section, mark: str) -> Iterator[str]:
    yield from (f"{mark} {_safe(section.title)}", "")
    for block in section.blocks:
        yield from _block(block)
        yield ""


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield f"**{_safe(block.text)}**" if block.kind == "lead" else _safe(block.text)
    elif isinstance(block, Bullets):
        yield from (f"- {_safe(line)}" for line in block.lines)
    elif isinstance(block, Figures):
        yield from (f"- {_safe(name)}: **{_safe(cells.text(cell))}**" for name, cell in block.items)
    elif isinstance(block, Command):
        yield from (f"{_safe(block.name)}:", "", f"{_FENCE}sh", _inside_fence(block.text), _FENCE)
    elif isinstance(block, Table):
        yield from _table(block)
    else:
        yield f"{_safe(block.title)}: {_safe(block.text)}"


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{_safe(table.title)}**", "", _line([column.title for column in table.columns]))
    numeric = [any(isinstance(row[at], Quantity) for row in table.rows) for at in range(len(table.columns))]
    yield f"|{'|'.join('---:' if right else '---' for right in numeric)}|"
    yield from (_line([cells.text(cell) for cell in row]) for row in table.rows)
    if table.note:
        yield from ("", _safe(table.note))


def _line(words: Sequence[str]) -> str:
    return f"| {' | '.join(map(_safe, words))} |"


def _safe(text: str) -> str:
    """Words that stay words, whatever marks they hold."""
    return _MARKUP.sub(r"\\\1", spelled(text))


def _inside_fence(text: str) -> str:
    return spelled(text).replace(_FENCE, "` ` `")
