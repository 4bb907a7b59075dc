"""The questions of the API: what each is asked, answers and may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.schema.answers import Sweep, WhatIf
from planner.schema.base import Noun
from planner.schema.diagnosis import Diagnosis
from planner.schema.estimate import Curve, Estimate, Fit
from planner.schema.plan import Plan
from planner.schema.replay import Replay
from planner.serve import asked
from planner.serve.told import Checked, ExportTold, SlackTold, TextTold


@dataclass(frozen=True)
class Kind:
    """One question."""

    asked: type[Noun]
    answers: tuple[type[Noun], ...]
    text: str
    is_job: bool = True
    """Kept in the history, with progress; else answered at once by the worker for small questions."""


KINDS: Mapping[str, Kind] = {
    "plan": Kind(asked.PlanAsked, (Plan,), "The cheapest fleet for a problem, proved or with its gap."),
    "whatif": Kind(asked.WhatIfAsked, (WhatIf, Sweep), "What changes do to the plan, or a sweep of values."),
    "relax": Kind(
        asked.RelaxAsked, (Plan,), "Conflicts, cheapest relaxations, and the price of every limit."
    ),
    "capacity": Kind(asked.CapacityAsked, (Plan, Sweep), "The largest load that a given fleet carries."),
    "diagnose": Kind(
        asked.DiagnoseAsked, (Diagnosis,), "Cause and next action behind what production shows."
    ),
    "alertmanager": Kind(
        asked.AlertsAsked,
        (Diagnosis,),
        "Alertmanager's webhook: a diagnosis of the configured server.",
    ),
    "alertmanager-slack": Kind(
        asked.AlertsAsked, (SlackTold,), "The same as a message of Slack (Block Kit)."
    ),
    "export": Kind(asked.ExportAsked, (ExportTold,), "A plan in the words of another program."),
    "replay": Kind(asked.ReplayAsked, (Replay,), "A plan request by request: does it keep its limits?"),
    "estimate": Kind(
        asked.EstimateAsked, (Estimate,), "Memory, speed and cost of one configuration.", is_job=False
    ),
    "curve": Kind(
        asked.CurveAsked, (Curve,), "Latency and throughput of one configuration over loads.", is_job=False
    ),
    "fit": Kind(asked.FitAsked, (Fit,), "The cheapest hardware that holds a model.", is_job=False),
    "check": Kind(asked.CheckAsked, (Checked,), "Everything wrong with a problem.", is_job=False),
    "diff": Kind(asked.DiffAsked, (WhatIf,), "What changed between two plans.", is_job=False),
    "text": Kind(asked.TextAsked, (TextTold,), "An answer in the words of the command line.", is_job=False),
}


def as_plain(noun: Noun) -> dict[str, Any]:
    """What a worker is sent."""
    return noun.model_dump(mode="json", by_alias=True, exclude_unset=True)
