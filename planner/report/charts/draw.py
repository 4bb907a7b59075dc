"""Charts as SVG: the same chart always gives the same bytes."""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import vl_convert

from planner.characters import spelled, xml
from planner.report.charts.bars import bar_chart, stack_chart
from planner.report.charts.lines import hour_chart, line_chart
from planner.report.charts.theme import PAGE, config
from planner.schema.report import BarChart, Chart, HourChart, StackChart

_HEAD = re.compile(r"<svg[^>]*>")
_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')
_TAG = re.compile(r'<[a-z]+(?: [\w:-]+="[^"]*")+ */?>')
_SPOKEN = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
"""Of parts of a chart, which is told in words as a whole: parts without names of their own only confuse."""
_IDS = re.compile(r'id="([^"]+)"')


def inline(chart: Chart, name: str) -> str:
    """A chart for a page, which has its title and its words around it; ``name`` is unique on the page."""
    return _drawn(_spec(chart, titled=False), name, f'role="img" aria-labelledby="{name}-title {name}-text"')


def picture(*charts: Chart) -> str:
    """Charts above each other as one SVG file, on white."""
    whole = alt.vconcat(*(_spec(chart, titled=True) for chart in charts)).resolve_scale(
        color="independent", x="independent", y="independent", strokeDash="independent"
    )
    title, text = " · ".join(chart.title for chart in charts), " ".join(chart.text for chart in charts)
    head = f"<title>{xml(title)}</title><desc>{xml(text)}</desc>"
    return (
        _drawn(whole, "chart", 'role="img"', f'{head}<rect width="100%" height="100%" fill="{PAGE}"/>') + "\n"
    )


def _spec(chart: Chart, titled: bool) -> Any:
    if isinstance(chart, BarChart):
        made = bar_chart(chart)
    elif isinstance(chart, StackChart):
        made = stack_chart(chart)
    elif isinstance(chart, HourChart):
        made = hour_chart(chart)
    else:
        made = line_chart(chart)
    return made.properties(title=spelled(chart.title)) if titled else made


def _drawn(spec: Any, name: str, attributes: str, after: str = "") -> str:
    document = spec.to_dict() | {"config": config()}
    svg = _TAG.sub(lambda tag: _SPOKEN.sub("", tag[0]), vl_convert.vegalite_to_svg(document))
    size = _SIZE.search(svg)
    assert size is not None, "Vega states the size of a picture"
    # Vega numbers what it clips through all pictures of a process; the page needs names of its own.
    for number, old in enumerate(dict.fromkeys(_IDS.findall(svg))):
        svg = svg.replace(f'id="{old}"', f'id="{name}-{number}"').replace(
            f"url(#{old})", f"url(#{name}-{number})"
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {attributes} width="{size[1]}" height="{size[2]}" '
        f'viewBox="0 0 {size[1]} {size[2]}">'
    )
    return _HEAD.sub(lambda _: head + after, svg, count=1)
