"""What a fleet survives: each kind of loss at its worst moment, and what the rest still carries.

Spare replicas and zones: field guide 5.3 (replicas are independent, so a loss takes just its share) and 9.5
(each tier of hardware carries its own requests, so a loss must be looked at by pool).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from planner.explain.carrying import Carried, Carrying
from planner.explain.losses import Loss, losses
from planner.explain.spot_loss import worst
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_answers import CarriedAfter, LossKind, Survival


@dataclass(frozen=True)
class _After:
    """One loss and what is carried after it."""

    loss: Loss
    carried: tuple[Carried, ...]

    @property
    def rank(self) -> tuple[Fraction, Fraction]:
        """Worse losses first."""
        return worst(self.carried)


def survival(
    problem: FleetProblem,
    choice: FleetChoice,
    headroom: Mapping[str, Fraction] | None = None,
    periods: Sequence[int] | None = None,
) -> tuple[Survival, ...]:
    """For every kind of loss the worst period, and the share of the demand that the rest carries.

    Losses: one replica and one server of each pool (a server full of its replicas, which is the worst
    placement for it), all spot GPUs, each zone, region and provider that has a name, the outside supplier.
    Traffic is re-routed freely at once; nothing is bought or started again. Of a loss in several periods
    the one with the smallest share of any workload stands for all.

    Args:
        problem: the question.
        choice: its answer; without periods there is nothing to lose.
        headroom: by workload, as 0.2 for demand x 1.2; absent = none.
        periods: to look at; None: all.
    """
    fleet = Carrying(problem, choice, headroom)
    near = Carrying(problem, choice, headroom, exact=False)
    found: dict[tuple[str, str], _After] = {}
    sure: dict[tuple[str, str], bool] = {}
    for period in range(len(choice.periods)) if periods is None else periods:
        for loss in losses(near, period):
            after = _After(loss, _carried(near, loss))
            key = (loss.kind, loss.name)
            sure[key] = sure.get(key, True) and (loss.exact or after.rank[0] == 1)
            if key not in found or after.rank < found[key].rank:
                found[key] = after
    order = {kind: place for place, kind in enumerate(get_args(LossKind))}
    keys = sorted(found, key=lambda key: (order[key[0]], key[1]))
    return tuple(_survival(fleet, found[key].loss, sure[key]) for key in keys)


def _carried(fleet: Carrying, loss: Loss) -> tuple[Carried, ...]:
    counts = fleet.counts(loss.period)
    left = {name: count - loss.replicas.get(name, 0) for name, count in counts.items()}
    return fleet.carried(loss.period, left, supplier=loss.kind != "supplier")


def _survival(fleet: Carrying, loss: Loss, sure: bool) -> Survival:
    after = _After(loss, _carried(fleet, loss))
    waits = {demand.workload for demand in fleet.problem.demands if demand.deferrable is not None}
    helped = {api.workload for api in fleet.problem.apis} if loss.kind != "supplier" else set()
    least, over_all = after.rank
    whole = sum((one.requests_rps for one in after.carried), Fraction(0))
    plain = sum((one.plain * one.requests_rps for one in after.carried), Fraction(0))
    return Survival(
        loss=loss.kind,
        name=loss.name,
        period=loss.period,
        lost_gpus=loss.gpus,
        lost_replicas=sum(loss.replicas.values()),
        carried=tuple(
            CarriedAfter(
                workload=one.workload,
                share=float(one.share),
                share_without_headroom=float(one.plain),
                may_wait=one.workload in waits,
                supplier_could_help=one.workload in helped and one.share < 1,
            )
            for one in after.carried
        ),
        share=float(over_all),
        share_without_headroom=float(plain / whole) if whole else 1.0,
        survives=least == 1,
        is_lower_bound=not sure,
    )
