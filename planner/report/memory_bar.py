"""The memory of one GPU as a bar of blocks, with a legend."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from planner import numbers
from planner.schema.pool import Memory

PARTS = (
    ("weights", "weights", "█", "blue"),
    ("kv_cache", "KV cache", "▓", "green"),
    ("activations", "activations", "▒", "yellow"),
    ("framework", "framework", "░", "magenta"),
    ("adapters", "adapters", "▚", "cyan"),
    ("free", "free", "·", "dim"),
)
"""Field of `Memory`, its name, its mark and its color, in the order of the bar."""

_MAX_CELLS = 64


def cells(sizes_bytes: list[float], total_cells: int) -> list[int]:
    """Cells of each part: proportional, at least one for every part above zero, adding up to the total.

    Largest remainders get the cells that rounding down leaves over; what the minimum of one adds comes
    off the largest part.
    """
    positive = [max(0.0, value) for value in sizes_bytes]
    whole = sum(positive)
    if whole == 0:
        return [0] * len(positive)
    exact = [value / whole * total_cells for value in positive]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i], i))
    for index in by_remainder[: total_cells - sum(counts)]:
        counts[index] += 1
    for index, value in enumerate(positive):
        if value > 0 and counts[index] == 0:
            counts[index] = 1
            counts[counts.index(max(counts))] -= 1
    return counts


@dataclass(frozen=True)
class MemoryBar:
    """A bar as wide as the page allows, its capacity behind it and the legend below."""

    memory: Memory

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar, then the legend."""
        capacity = f" {numbers.size(self.memory.capacity)} per GPU"
        width = min(_MAX_CELLS, options.max_width - len(capacity))
        sizes = [float(getattr(self.memory, field)) for field, *_ in PARTS]
        bar = Text(no_wrap=True)
        legend = []
        for (_, name, mark, color), part, length in zip(PARTS, sizes, cells(sizes, width), strict=True):
            bar.append(mark * length, style=color)
            if part > 0:
                legend.append(Text.assemble((mark, color), f" {name} {numbers.size(part)}"))
        bar.append(capacity, style="dim")
        yield bar
        yield from _lines(legend, options.max_width)


def _lines(items: list[Text], width: int) -> list[Text]:
    """Items side by side as far as they fit; no item is broken."""
    lines: list[Text] = []
    for item in items:
        if lines and lines[-1].cell_len + 3 + item.cell_len <= width:
            lines[-1].append("   ").append_text(item)
        else:
            lines.append(item)
    return lines
