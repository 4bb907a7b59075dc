"""The result of a fit in words: errors in the fit and with parts left out, and the numbers it found."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.report.parts import section, table
from planner.schema.catalog import Calibration, FitError
from planner.schema.validation import ChoiceLoss, ChoiceReport, GpuWinners
from planner.steptime.calibration_paths import parameters_of

_TITLES = {"fit": "In the fit", "own_rows": "Pair left out, then three own rows of each configuration"}


def view(calibration: Calibration, choices: ChoiceReport) -> RenderableType:
    """The page of a fit."""
    record = calibration.fit
    if record is None:
        return Text("no fit")
    parts: list[RenderableType] = [
        Text(f"{record.fitted} numbers fitted to {record.rows:,} numbers of rows", style="bold")
    ]
    for way, errors in record.errors.items():
        title = _TITLES.get(way, f"One {way} left out at a time")
        parts.append(section(title, table(("class", *HEADINGS), map(_line, errors.items()), right=RIGHT)))
    inside = [(number, f"{share:.1%}") for number, share in record.coverage.items()]
    parts.append(
        section(
            "Left-out rows inside an interval of 80 % from the other pairs",
            table(("number", "rows"), inside, right=[1]),
        )
    )
    losses = [
        (f"{one.limit_ms:g} ms", str(one.groups), *loss_cells(one), *loss_cells(other))
        for one, other in zip(choices.left_out, choices.planned, strict=True)
    ]
    heading = ("loss", "over", "nothing found")
    columns = ("TPOT limit", "groups", *heading, *(f"planned: {word}" for word in heading))
    parts.append(section("Choice under a limit, pair left out", table(columns, losses, right=range(1, 8))))
    parts.append(Text(gpu_sentence(choices.gpus)))
    values = [
        (path, f"{item.value:.3g}", f"{item.low:.3g} to {item.high:.3g}", f"{item.prior or item.value:.3g}")
        for path, item in parameters_of(calibration)
        if item.prior_log_sigma is not None
    ]
    parts.append(section("Fitted", table(("number", "value", "bounds", "prior"), values, right=[1, 3])))
    return Group(*parts)


HEADINGS = ("rows", "bias", "median", "mean", "P90")
RIGHT = (1, 2, 3, 4, 5)


def _line(pair: tuple[str, FitError]) -> tuple[str, ...]:
    name, error = pair
    return (name, f"{error.rows:,}", *percents(error))


def loss_cells(loss: ChoiceLoss) -> tuple[str, str, str]:
    """Loss, picks over the limit, and groups in which nothing is found."""
    return f"{loss.loss:.2f}", f"{loss.over:.0%}", f"{loss.none:.0%}"


def gpu_sentence(found: GpuWinners) -> str:
    """How often the cheapest type of GPU is found."""
    return (
        f"Among the GPU types with a price and measured rows of one model, lengths and limit, the one that "
        f"seems cheapest per token (pairs left out, with the margin) is the cheapest in "
        f"{found.right:.0%} of {found.groups} groups; its cost per token is {found.loss:.1%} above the "
        "cheapest on average."
    )


def percents(error: FitError) -> tuple[str, str, str, str]:
    """Bias, median, mean and 90th percentile."""
    return f"{error.bias:+.1%}", f"{error.median:.1%}", f"{error.mean:.1%}", f"{error.p90:.1%}"
