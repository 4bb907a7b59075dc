"""``--svg FILE``: the picture of an answer, beside the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.interfaces.output import message
from planner.loaders.files_out import check_target, write_whole

if TYPE_CHECKING:
    from planner.schema.report import Chart

SvgFile = Annotated[
    Path | None,
    Option("--svg", metavar="FILE", help='Also draw it (SVG); needs the extra "report".'),
]


class Picture:
    """Where the picture of an answer goes."""

    def __init__(self, command: str, path: Path | None) -> None:
        """Refuse what cannot be drawn or written before any work is done.

        Raises:
            InputError: the file cannot be written, or the extra ``report`` is not installed.
        """
        self._path = path
        if path is None:
            return
        from planner.extras import check_extra
        from planner.report.renderers.registry import PICTURE_NEEDS

        check_target("--svg", path)
        check_extra(command, "--svg", str(path), "report", PICTURE_NEEDS)

    def draw(self, charts: Callable[[Any], Sequence[Chart]]) -> None:
        """Write the picture, where one is asked for and there is something to see.

        ``charts`` is given `planner.report.pictures`, which nobody loads who draws nothing.
        """
        if self._path is None:
            return
        from planner.report import pictures

        found = charts(pictures)
        if not found:
            message(f"planner: --svg: there is nothing to draw, {self._path} was not written")
            return
        from planner.report.charts.draw import picture

        write_whole(self._path, picture(*found).encode())
        message(f"planner: wrote {self._path}")
