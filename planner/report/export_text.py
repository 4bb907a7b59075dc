"""What an export wrote, in words."""

from __future__ import annotations

from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.schema.exported import ExportAnswer

_README = "README.md"


def view(answer: ExportAnswer) -> RenderableType:
    """The files; or that the target cannot express the plan (why, is said on standard error)."""
    if answer.cannot_express:
        return Text(f"{answer.target} cannot express this plan; nothing was written.")
    lines = [Text(f"{numbers.count(len(answer.files), 'file')} for {answer.target}:")]
    lines += [Text(f"  {path}") for path in answer.files]
    guide = next((path for path in answer.files if PurePath(path).name == _README), None)
    if guide is not None:
        lines.append(Text(f"What to do with them: {guide}", style="dim"))
    return Group(*lines)
