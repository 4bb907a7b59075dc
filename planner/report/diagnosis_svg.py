"""The walk of one diagnosis as a picture: what is seen, shown, possible, undecided and excluded, what to do.

Words are broken to the width of their box, counted with the widest letters of the font on average, so that
none leaves it whatever font is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from planner.characters import xml
from planner.report.diagnosis_brief import headline
from planner.report.graph_colors import SEVERITY_FILL
from planner.schema.diagnosis import Diagnosis, Finding

WIDTH = 1120
_LEFT, _MIDDLE, _RIGHT = (24, 250), (330, 360), (746, 350)
"""x and width of the columns."""
_LETTER, _LINE, _PAD, _GAP = 7.6, 17, 9, 14
"""Of Helvetica or Arial at 13: width of a wide letter, height of a line; room around words and boxes."""
_TOP, _MOST_LINES, _MOST_LISTED = 104, 4, 24
_HEADINGS = ((_LEFT, "Seen"), (_MIDDLE, "Causes shown or possible"), (_RIGHT, "Do first"))
_INK, _GRAY = "#1f2a33", "#55606a"
_FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    lines: tuple[str, ...]
    fill: str
    dashed: bool = False

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 2 * _PAD

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def draw(diagnosis: Diagnosis) -> str:
    """One SVG document."""
    causes, actions = _causes(diagnosis)
    symptoms = _symptoms(diagnosis, causes)
    bottom = max([_TOP, *(box.y + box.height for box in (*symptoms.values(), *causes, *actions))]) + 34
    lists, height = _lists(diagnosis, bottom)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height:.0f}' "
        f"viewBox='0 0 {WIDTH} {height:.0f}' role='img'>",
        "<title>Walk of a diagnosis</title>",
        f"<rect width='{WIDTH}' height='{height:.0f}' fill='white'/>",
        *(
            _text(_LEFT[0], 30 + 22 * number, line, 17, bold=True)
            for number, line in enumerate(_broken(headline(diagnosis), (WIDTH - 48) * 13 / 17, 2))
        ),
        *(
            _text(column[0], _TOP - 18, words, 13, bold=True, color=_GRAY)
            for column, words in (
                (_LEFT, "Seen"),
                (_MIDDLE, "Causes shown or possible"),
                (_RIGHT, "Do first"),
            )
        ),
        *(
            _curve(symptoms[one.symptom], box, one.ranking.possible)
            for one, box in zip(diagnosis.findings, causes, strict=True)
            if one.symptom in symptoms
        ),
        *(_curve(cause, action, False) for cause, action in zip(causes, actions, strict=True)),
        *(_drawn(box) for box in (*symptoms.values(), *causes, *actions)),
        *lists,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _causes(diagnosis: Diagnosis) -> tuple[list[_Box], list[_Box]]:
    """A box for each finding, and beside it its first action."""
    causes: list[_Box] = []
    actions: list[_Box] = []
    y = float(_TOP)
    for one in diagnosis.findings:
        fill = "#ffffff" if one.ranking.possible else SEVERITY_FILL[one.ranking.severity]
        cause = _box(_MIDDLE, y, _cause_words(one), fill, dashed=one.ranking.possible)
        action = _box(_RIGHT, y, _action_words(one), "#eef4f8")
        causes.append(cause)
        actions.append(action)
        y += max(cause.height, action.height) + _GAP
    return causes, actions


def _cause_words(one: Finding) -> list[str]:
    rank = one.ranking
    how = f"possible: look at {', '.join(one.look_at[:2])}" if rank.possible else rank.strength
    doubt = ", in doubt" if rank.in_doubt and not rank.possible else ""
    return [f"{one.layer}  {one.title}", f"{how}{doubt}"]


def _action_words(one: Finding) -> list[str]:
    if not one.actions:
        return ["done already"]
    first = one.actions[0]
    setting = first.command or next(iter({**first.flags, **first.commands}.values()), "")
    return [first.text, *([setting] if setting else [])]


def _symptoms(diagnosis: Diagnosis, causes: Sequence[_Box]) -> dict[str, _Box]:
    """A box for each symptom, as high up as its first cause and below the one before."""
    boxes: dict[str, _Box] = {}
    y = float(_TOP)
    order = dict.fromkeys([*(one.symptom for one in diagnosis.findings), *diagnosis.symptoms])
    severity = {one.symptom: one.ranking.severity for one in diagnosis.findings}
    for name in order:
        found = [box.y for one, box in zip(diagnosis.findings, causes, strict=True) if one.symptom == name]
        y = max(y, min(found, default=y))
        fill = SEVERITY_FILL[severity[name]] if name in severity else "#ffffff"
        boxes[name] = _box(_LEFT, y, [diagnosis.titles.get(name, name)], fill)
        y += boxes[name].height + _GAP
    return boxes


def _lists(diagnosis: Diagnosis, top: float) -> tuple[list[str], float]:
    """What is undecided and what is excluded, in two columns below."""
    undecided = [f"{one.title}: {', '.join(one.unknown[:2])}" for one in diagnosis.open]
    groups = (
        (_LEFT[0], "Undecided: what would tell", undecided),
        (WIDTH // 2 + 8, "Excluded by what was seen", [one.title for one in diagnosis.excluded]),
    )
    parts: list[str] = []
    lowest = top
    for x, title, listed in groups:
        if not listed:
            continue
        parts.append(_text(x, top, title, 13, bold=True, color=_GRAY))
        y = top + 22
        more = [f"and {len(listed) - _MOST_LISTED} more"] if len(listed) > _MOST_LISTED else []
        for entry in [*listed[:_MOST_LISTED], *more]:
            for line in _broken(entry, WIDTH / 2 - 40, 2):
                parts.append(_text(x, y, line, 12, color=_GRAY))
                y += 16
            y += 4
        lowest = max(lowest, y)
    return parts, lowest + 16


def _box(column: tuple[int, int], y: float, words: Sequence[str], fill: str, dashed: bool = False) -> _Box:
    x, width = column
    lines = tuple(line for text in words for line in _broken(text, width - 2 * _PAD, _MOST_LINES))
    return _Box(x, y, width, lines, fill, dashed)


def _broken(text: str, width: float, most: int) -> list[str]:
    """Words in lines that fit a width, a long option broken; cut with a mark after so many lines."""
    letters = max(8, int(width / _LETTER))
    lines = wrap(text, letters, break_on_hyphens=False)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], lines[most - 1][: letters - 1].rstrip() + "…"]


def _drawn(box: _Box) -> str:
    dashes = " stroke-dasharray='5 4'" if box.dashed else ""
    words = "".join(
        _text(box.x + _PAD, box.y + _PAD + 13 + number * _LINE, line, 13)
        for number, line in enumerate(box.lines)
    )
    return (
        f"<rect x='{box.x:.1f}' y='{box.y:.1f}' width='{box.width:.1f}' height='{box.height:.1f}' rx='5' "
        f"fill='{box.fill}' stroke='#6b7680'{dashes}/>{words}"
    )


def _curve(left: _Box, right: _Box, dashed: bool) -> str:
    x1, x2 = left.x + left.width, right.x
    bend = (x2 - x1) / 2
    dashes = " stroke-dasharray='5 4'" if dashed else ""
    return (
        f"<path d='M{x1:.1f} {left.middle:.1f} C{x1 + bend:.1f} {left.middle:.1f} {x2 - bend:.1f} "
        f"{right.middle:.1f} {x2:.1f} {right.middle:.1f}' fill='none' stroke='#2f6690' "
        f"stroke-width='1.6'{dashes}/>"
    )


def _text(x: float, y: float, words: str, size: int, bold: bool = False, color: str = _INK) -> str:
    weight = " font-weight='bold'" if bold else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {_FONT} font-size='{size}'{weight} fill='{color}'>{xml(words)}</text>"
    )
