"""The way from today's fleet to the new one, in steps."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.fleet_answers import ChangeStep, Excess, Move


def whole_share(share: float) -> str:
    """A share that is not whole never reads as 100 %."""
    text = numbers.share(share)
    return "99.9 %" if text == "100 %" and share < 1 else text


def move_section(move: Move | None) -> RenderableType | None:
    """The steps from today's fleet, what they cost, and what must give for a while."""
    if move is None:
        return None
    if not move.steps:
        return section("Getting there", Text("Nothing changes: today's GPUs are those of the plan."))
    rated = any(step.share is not None for step in move.steps)
    headings = ("step", "GPU", "from", "to", "what", "carried" if rated else "")
    rows = [(*_step_row(step), "" if step.share is None else whole_share(step.share)) for step in move.steps]
    return section("Getting there", table(headings, rows, right=[0, 2, 3, 5]), bullets(_move_notes(move)))


def _step_row(step: ChangeStep) -> tuple[str, str, str, str, str]:
    more = step.to - step.from_
    words = []
    if more:
        words.append(f"{'add' if more > 0 else 'remove'} {abs(more):,}")
    if step.retasked:
        words.append(f"{step.retasked:,} get other work")
    return str(step.step), step.gpu, f"{step.from_:,}", f"{step.to:,}", ", ".join(words)


def _move_notes(move: Move) -> Iterable[str]:
    if move.keeps_demand:
        yield "Capacity never falls below the demand, or below what today's fleet carries of it."
    else:
        avoids = "no order avoids it" if move.every_order else "no order that was tried avoids it"
        yield f"Capacity falls below the demand on the way; {avoids}."
    if move.period is not None:
        yield f"Do it in hour {move.period}, when least is asked: at the busiest hour it does not work."
    for excess in move.excess:
        yield _excess(excess)
    if move.double_gpu_h:
        cost = "" if move.double_usd is None else f", {numbers.usd(move.double_usd)}"
        yield (
            f"While new GPUs load, old ones run beside them: {numbers.significant(move.double_gpu_h)} "
            f"GPU-hours twice{cost}."
        )
    if move.hours:
        yield f"Lead times and loading, one after the other: {_duration(move.hours)}."
    if move.assumed:
        yield f"Assumed, since rates of today's replicas are not known: {move.assumed}."


def _excess(excess: Excess) -> str:
    most, needed = (numbers.quantity(value, excess.unit) for value in (excess.most, excess.needed))
    over = numbers.quantity(excess.needed - excess.most, excess.unit)
    return f"{excess.id} has to give for a while: {needed} instead of {most} ({over} more)."


def _duration(hours: float) -> str:
    return numbers.seconds(hours * 3600) if hours < 72 else f"{numbers.significant(hours / 24)} days"
