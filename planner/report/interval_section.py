"""The part of ``docs/accuracy.md`` on error bars: how wide they are, and whether they hold."""

from __future__ import annotations

from planner.schema.catalog import Calibration
from planner.schema.spread import SpreadModel

_LOW, _HIGH = 0.72, 0.88
_OPENING = (
    "Rows whose pair was left out of the fit that lie inside their intervals of 80 %, classes of thirty rows "
    "and more. *Inside*: with the spread of the calibration, at the distances that were left. *Others*: with "
    "factors that were fitted to the other pairs alone. Bold: outside 72 to 88 %.",
)
_SPREAD = (
    "sigma = base × factors × sqrt(1 + sum c x²): factors of what it is (1 where nothing is known of it), "
    "and what a distance x from measured rows adds, in units of their variance: 1, or doublings "
    "beyond the largest (hardware, degree, batch, context). The table shows how many times as wide a spread "
    "is at a distance of one.",
)


def lines(calibration: Calibration) -> list[str]:
    """Shares inside by class, then what widens a spread."""
    record, spread = calibration.fit, calibration.spread
    found = [] if record is None else [*_OPENING, "", *_shares(calibration), ""]
    return found if spread is None else [*found, *_SPREAD, "", *_distances(spread), "", *_factors(spread), ""]


def _shares(calibration: Calibration) -> list[str]:
    assert calibration.fit is not None, "a fitted calibration carries its record"
    return [
        "| class | rows | inside | others |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {name} | {found.rows:,} | {_share(found.inside)} | {_share(found.others)} |"
            for name, found in calibration.fit.intervals.items()
        ),
    ]


def _share(value: float) -> str:
    return f"{value:.0%}" if _LOW <= value <= _HIGH else f"**{value:.0%}**"


def _distances(spread: SpreadModel) -> list[str]:
    numbers = list(spread.base)
    names = dict.fromkeys(name for added in spread.distances.values() for name in added)
    return [
        f"| distance | {' | '.join(numbers)} |",
        f"| --- | {' | '.join('---:' for _ in numbers)} |",
        f"| none: sigma of the base | {' | '.join(f'{spread.base[number]:.3g}' for number in numbers)} |",
        *(
            f"| {name} | "
            + " | ".join(
                f"{(1.0 + spread.distances[number].get(name, 0.0)) ** 0.5:.2f}" for number in numbers
            )
            + " |"
            for name in names
        ),
    ]


def _factors(spread: SpreadModel) -> list[str]:
    numbers = list(spread.factors)
    pairs = dict.fromkeys(
        (kind, name) for kinds in spread.factors.values() for kind, names in kinds.items() for name in names
    )
    return [
        f"| factor | {' | '.join(numbers)} |",
        f"| --- | {' | '.join('---:' for _ in numbers)} |",
        *(
            f"| {name} | "
            + " | ".join(
                f"{value:.2f}" if (value := spread.factors[number].get(kind, {}).get(name)) else ""
                for number in numbers
            )
            + " |"
            for kind, name in sorted(pairs)
        ),
    ]
