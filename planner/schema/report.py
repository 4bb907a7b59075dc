"""A report as data: chapters of sections, and what stands in them. Renderers turn it into files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Quantity:
    """A number of a plan with its unit, as exact as the plan has it."""

    value: float
    unit: str
    """``s``, ``B``, ``USD``, ``USD/h``, ``share``, ``req/s``, ``GPUs``, …; as in `ConstraintState`."""
    mark: str = ""
    """What stands in front where the number is a bound: ``at most``."""


Cell = Quantity | str | None
"""None: nothing is known, or nothing applies."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    computed: bool = False
    """Its numbers are worked out from numbers of the plan: months, shares, sums."""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first cell of a row names it."""

    id: str
    """Name of its sheet or file; unique in its chapter."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Part:
    """A piece of a stacked bar."""

    bar: str
    name: str
    value: float


@dataclass(frozen=True)
class StackChart:
    """Bars made of parts, all in one unit."""

    id: str
    title: str
    text: str
    """What it shows, for those who do not see it."""
    unit: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Bar:
    """A value with its label, and the interval in which it may lie."""

    name: str
    value: float
    label: str
    low: float | None = None
    high: float | None = None
    strong: bool = False
    """It is the one that was chosen, or that holds the plan back; its label says so too."""


@dataclass(frozen=True)
class BarChart:
    """One bar a row, from zero; perhaps with a limit that all are held against."""

    id: str
    title: str
    text: str
    axis: str
    """What the axis measures, with its unit."""
    bars: tuple[Bar, ...]
    limit: float | None = None
    percent: bool = False
    """Values are shares."""


@dataclass(frozen=True)
class HourSeries:
    """Values of every hour; those of one panel are stacked."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class HourPanel:
    """One quantity over the hours."""

    title: str
    """With its unit."""
    series: tuple[HourSeries, ...]
    percent: bool = False


@dataclass(frozen=True)
class HourChart:
    """Panels above each other over the same hours."""

    id: str
    title: str
    text: str
    panels: tuple[HourPanel, ...]


@dataclass(frozen=True)
class Track:
    """A line through points (x, y)."""

    name: str
    points: tuple[tuple[float, float], ...]
    in_steps: bool = False
    """It holds until the next point, as fronts of single plans do."""


@dataclass(frozen=True)
class Dot:
    """A marked point with its words."""

    name: str
    x: float
    y: float


@dataclass(frozen=True)
class LinePanel:
    """One y axis of a line chart."""

    y_title: str
    tracks: tuple[Track, ...]
    dots: tuple[Dot, ...] = ()
    limits: tuple[tuple[str, float], ...] = ()
    """Names and heights of horizontals."""
    log: bool = False
    """Lines rise over a logarithmic axis of whole decades."""
    seconds: bool = False
    """Values are seconds."""


@dataclass(frozen=True)
class LineChart:
    """Lines over a common x axis, panels above each other."""

    id: str
    title: str
    text: str
    x_title: str
    panels: tuple[LinePanel, ...]


Chart = StackChart | BarChart | HourChart | LineChart


@dataclass(frozen=True)
class Paragraph:
    """A sentence or more."""

    text: str
    kind: Literal["plain", "lead", "note"] = "plain"


@dataclass(frozen=True)
class Bullets:
    """Sentences, each for itself."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """The few numbers to remember, by name; tables hold them too."""

    items: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True)
class Command:
    """A command line to copy."""

    name: str
    text: str


Block = Paragraph | Bullets | Figures | Table | Chart | Command


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    id: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Chapter:
    """All sections about one plan, or about two that are compared."""

    title: str
    sections: tuple[Section, ...]

    def tables(self) -> Iterator[Table]:
        """Its tables in order."""
        for section in self.sections:
            yield from (block for block in section.blocks if isinstance(block, Table))


@dataclass(frozen=True)
class Report:
    """Something to send."""

    title: str
    chapters: tuple[Chapter, ...]
    made_by: str
    """The program with its version."""
