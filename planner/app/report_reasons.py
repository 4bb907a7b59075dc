"""What the report of a plan asks beside its document: what each limit costs, or what would have to give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from planner import numbers
from planner.app.explain_plan import session_of
from planner.app.relax import relax
from planner.errors import input_error
from planner.loaders.catalog import load_catalog
from planner.planning.run import Run
from planner.schema.plan import Plan

_REASONS = ("prices", "conflicts", "conflict_context", "relaxations", "routers")


@dataclass(frozen=True)
class Reasons:
    """Asks the problem that a plan document carries."""

    run: Run
    overlays: tuple[Path, ...] = ()

    def __call__(self, plan: Plan, path: Path) -> Plan:
        """The plan with what `planner relax` says, unless it says so itself.

        Raises:
            InputError: a problem that has another answer by now, or none with this catalog.
        """
        if plan.status == "unknown" or any(getattr(plan, name) for name in _REASONS):
            return plan
        session = session_of(plan, path, load_catalog(self.overlays), self.overlays)
        found = relax(session, replace(self.run, seed=plan.provenance.seed))
        now, then = _decision(found), _decision(plan)
        if now != then:
            expected = f"the answer that its problem has by now ({now}): plan it again"
            raise input_error("planner report", "--relax", f"{path}, {then}", expected)
        told = dict.fromkeys((*plan.warnings, *found.warnings))
        reasons = {name: getattr(found, name) for name in (*_REASONS, "conflicts_complete")}
        return plan.model_copy(update={**reasons, "warnings": tuple(told)})


def _decision(plan: Plan) -> str:
    cost = plan.cost_usd_per_hour
    return plan.status if cost is None else f"{plan.status} at {numbers.usd(cost)}/h"
