"""What a fleet survives, and how it fares when things change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import listing
from planner.report.move_text import whole_share
from planner.report.parts import bullets, section, table
from planner.schema.fleet_answers import LossKind, RobustVariant, Scenario, Survival

LOSS_WORDS: dict[LossKind, str] = {
    "replica": "one replica",
    "gpu": "one shared GPU",
    "server": "one server",
    "spot": "all spot GPUs",
    "zone": "zone",
    "region": "region",
    "provider": "provider",
    "supplier": "the outside supplier",
}
_BY_POOL: tuple[LossKind, ...] = ("replica", "gpu", "server")


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
        LOSS_WORDS[loss.loss],
        name,
        str(loss.period) if several and not loss.survives else "",
        "yes" if loss.survives else "no",
        f"{mark}{whole_share(loss.share)}",
        f"{mark}{whole_share(loss.share_without_headroom)}",
    )


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
            words.append(f"{one.workload} {whole_share(one.share)}{extra}")
        yield f"Without {_what(loss)}: {'; '.join(words)}."
    if any(loss.is_lower_bound for loss in losses):
        yield "≥: not every choice of replicas to drop was tried; more may be carried."


def _what(loss: Survival) -> str:
    kind = LOSS_WORDS[loss.loss]
    if loss.loss in _BY_POOL:
        return f"{kind} of {loss.name}"
    return kind if loss.loss in ("spot", "supplier") else f"{kind} {loss.name}"


# -- changes ------------------------------------------------------------------------------------------------


def scenarios_section(
    scenarios: Sequence[Scenario], robust: RobustVariant | None = None
) -> RenderableType | None:
    """The plan kept as it is beside the best one, and what the safer fleet costs."""
    if not scenarios and robust is None:
        return None
    body: list[RenderableType] = []
    if scenarios:
        headings = ("if", "carried", "no headroom", "this plan", "best plan")
        body.append(table(headings, [_scenario_row(one) for one in scenarios], right=[1, 2, 3, 4]))
        words = (
            "Carried by this plan, replicas and purchases unchanged: of the workload hit hardest, at its "
            "worst hour, with headroom and without."
        )
        body.append(Text(words, "dim"))
    notes = [*_scenario_notes(scenarios), *robust_notes(robust)]
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
        whole_share(one.carried_share),
        whole_share(one.carried_without_headroom),
        f"{numbers.usd(one.fixed_usd_per_hour)}/h",
        best,
    )


def _scenario_notes(scenarios: Sequence[Scenario]) -> Iterable[str]:
    for one in scenarios:
        if one.late:
            yield f"With {one.name} the first token of {listing(one.late)} comes later than its limit."


def robust_notes(robust: RobustVariant | None) -> Iterable[str]:
    """What a fleet for the worst case costs; nothing where nobody asked."""
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
