"""What a fleet survives, how to get there from today's, and how it fares when things change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import listing
from planner.report.parts import bullets, section, table
from planner.schema.fleet_answers import ChangeStep, Excess, LossKind, Move, RobustVariant, Scenario, Survival

_KINDS: dict[LossKind, str] = {
    "replica": "one replica",
    "server": "one server",
    "spot": "all spot GPUs",
    "zone": "zone",
    "region": "region",
    "provider": "provider",
    "supplier": "the outside supplier",
}
_BY_POOL: tuple[LossKind, ...] = ("replica", "server")


def survives_section(losses: Sequence[Survival]) -> RenderableType | None:
    """Every loss at its worst hour, and what the rest carries."""
    if not losses:
        return None
    rows = [_loss_row(loss, several=_hours(losses)) for loss in _merged(losses)]
    headings = (
        "loss",
        "of which",
        "worst hour" if _hours(losses) else "",
        "survives",
        "still carried",
        "without headroom",
    )
    body: list[RenderableType] = [
        table(headings, rows, right=[4, 5]),
        Text(
            "Shares of all requests at the worst moment, traffic re-routed at once, nothing bought anew.",
            "dim",
        ),
    ]
    notes = list(_loss_notes(losses))
    if notes:
        body.append(bullets(notes))
    return section("Survives", *body)


def _hours(losses: Iterable[Survival]) -> bool:
    """Losses fall into several hours, so that the hour says something."""
    return len({loss.period for loss in losses}) > 1


def _merged(losses: Sequence[Survival]) -> list[Survival]:
    """Pools that survive a loss of one kind share a line; those that do not have one each."""
    kept: list[Survival] = []
    for loss in losses:
        if loss.loss in _BY_POOL and loss.survives:
            if any(other.loss == loss.loss for other in losses if not other.survives):
                continue
            if any(other.loss == loss.loss for other in kept):
                continue
        kept.append(loss)
    return kept


def _loss_row(loss: Survival, several: bool) -> tuple[str, ...]:
    name = "any pool" if loss.loss in _BY_POOL and loss.survives else loss.name
    if loss.loss in ("spot", "supplier"):
        name = numbers.count(loss.lost_gpus, "GPU") if loss.lost_gpus else ""
    mark = "≥ " if loss.is_lower_bound else ""
    return (
        _KINDS[loss.loss],
        name,
        str(loss.period) if several and not loss.survives else "",
        "yes" if loss.survives else "no",
        f"{mark}{_share(loss.share)}",
        f"{mark}{_share(loss.share_without_headroom)}",
    )


def _share(share: float) -> str:
    """A share that is not whole never reads as 100 %."""
    text = numbers.share(share)
    return "99.9 %" if text == "100 %" and share < 1 else text


def _loss_notes(losses: Sequence[Survival]) -> Iterable[str]:
    for loss in losses:
        short = [one for one in loss.carried if one.share < 1]
        if not short or (
            len(loss.carried) == 1 and not short[0].may_wait and not short[0].supplier_could_help
        ):
            continue
        words = []
        for one in short:
            extra = ", may wait" if one.may_wait else ""
            extra += ", an outside supplier could take the rest" if one.supplier_could_help else ""
            words.append(f"{one.workload} {_share(one.share)}{extra}")
        what = _KINDS[loss.loss] if loss.loss in ("spot", "supplier") else f"{_KINDS[loss.loss]} {loss.name}"
        yield f"Without {what.replace('replica ', 'replica of ').replace('server ', 'server of ')}: {'; '.join(words)}."
    if any(loss.is_lower_bound for loss in losses):
        yield "≥: not every choice of replicas to drop was tried; more may be carried."


# -- the way there ------------------------------------------------------------------------------------------


def move_section(move: Move | None) -> RenderableType | None:
    """The steps from today's fleet, what they cost, and what must give for a while."""
    if move is None:
        return None
    if not move.steps:
        return section("Getting there", Text("Nothing changes: today's GPUs are those of the plan."))
    rated = any(step.share is not None for step in move.steps)
    headings = ("step", "GPU", "from", "to", "what", "carried" if rated else "")
    rows = [(*_step_row(step), "" if step.share is None else _share(step.share)) for step in move.steps]
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
        yield "Capacity falls below the demand on the way; no order of these steps avoids it."
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


# -- changes ------------------------------------------------------------------------------------------------


def scenarios_section(
    scenarios: Sequence[Scenario], robust: RobustVariant | None = None
) -> RenderableType | None:
    """The plan kept as it is beside the best one, and what the safer fleet costs."""
    if not scenarios and robust is None:
        return None
    body: list[RenderableType] = []
    if scenarios:
        headings = ("if", "this plan carries", "without headroom", "it costs", "the best costs")
        body.append(table(headings, [_scenario_row(one) for one in scenarios], right=[1, 2, 3, 4]))
        words = "Carried: of the workload hit hardest, at its worst hour, replicas and purchases unchanged."
        body.append(Text(words, "dim"))
    notes = [*_scenario_notes(scenarios), *_robust_notes(robust)]
    if notes:
        body.append(bullets(notes))
    return section("If things change", *body)


def _scenario_row(one: Scenario) -> tuple[str, str, str, str, str]:
    best = "no plan" if one.status == "infeasible" else ""
    if one.best_usd_per_hour is not None:
        mark = "≤ " if one.status == "feasible" else ""
        best = f"{mark}{numbers.usd(one.best_usd_per_hour)}/h"
    return (
        one.name,
        _share(one.carried_share),
        _share(one.carried_without_headroom),
        f"{numbers.usd(one.fixed_usd_per_hour)}/h",
        best,
    )


def _scenario_notes(scenarios: Sequence[Scenario]) -> Iterable[str]:
    for one in scenarios:
        if one.late:
            yield f"With {one.name} the first token of {listing(one.late)} comes later than its limit."


def _robust_notes(robust: RobustVariant | None) -> Iterable[str]:
    if robust is None:
        return
    case = (
        f"demand {numbers.signed_share(robust.demand - 1)} and speed {numbers.signed_share(robust.speed - 1)}"
    )
    if robust.usd_per_hour is None:
        why = "no plan" if robust.status == "infeasible" else "no plan was found in time"
        yield f"A fleet for {case}: {why}."
        return
    gpus = listing([f"{count:,} × {gpu}" for gpu, count in sorted(robust.gpus.items(), key=lambda g: -g[1])])
    premium = ""
    if robust.premium_usd_per_hour is not None:
        share = "" if robust.premium_share is None else f", {numbers.signed_share(robust.premium_share)}"
        word = "more" if robust.premium_usd_per_hour >= 0 else "less"
        premium = f", {numbers.usd(abs(robust.premium_usd_per_hour))}/h {word} than this plan{share}"
    yield f"A fleet for {case} costs {numbers.usd(robust.usd_per_hour)}/h{premium}: {gpus}."
