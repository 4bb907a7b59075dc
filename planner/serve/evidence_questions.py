"""Answers about a running deployment: what is sent along, or what the configured server knows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.serve.asked import AlertsAsked, DiagnoseAsked

if TYPE_CHECKING:
    from planner.schema.diagnosis import Diagnosis

Progress = Callable[[str], None]
_PLAN = Path("plan.json")
PROMETHEUS = "PLANNER_SERVE_PROMETHEUS"
"""Environment variable of workers: the one server that they ask."""
SELECTING = ("model_name", "namespace", "pool")
"""Labels that name a deployment; an instance or a job would leave out the exporters beside it."""


def diagnose(asked: DiagnoseAsked, _: Progress) -> bytes:
    """What is sent along, diagnosed."""
    from planner.app.against_plan import PlanFile
    from planner.app.diagnose import diagnose_readout
    from planner.app.evidence import Evidence, evidence_in, gather
    from planner.report import json_document

    found = Evidence() if asked.text is None else evidence_in(str(_pasted(asked.text)))
    if asked.observation is not None:
        found = replace(found, observed=asked.observation)
    pages = tuple(str(path) for path in _all_kept("metrics", asked.metrics))
    # As a file: what is sent along names none of this machine.
    args = None if asked.engine_args is None else str(_kept("engine-args.txt", asked.engine_args))
    found = replace(
        found,
        metrics=found.metrics + pages,
        logs=found.logs + _all_kept("log", asked.logs),
        engine_args=args,
        interval_s=asked.interval_s,
        selector=asked.selector,
    )
    file = None if asked.plan is None else PlanFile(written(asked.plan), (), asked.workload)
    return json_document.encode(
        json_document.of(diagnose_readout(gather(found), (), plan=file, slo_s=asked.slo_s))
    )


def alerts(asked: AlertsAsked, _: Progress) -> bytes:
    """The diagnosis behind a notification of Alertmanager."""
    from planner.report import json_document

    return json_document.encode(json_document.of(_of_alerts(asked)))


def alerts_for_slack(asked: AlertsAsked, _: Progress) -> bytes:
    """The same as a message of Slack."""
    from planner.report import json_document
    from planner.report.slack_blocks import message
    from planner.serve.told import SlackTold

    text, blocks = message(_of_alerts(asked), [one.labels.get("alertname", "") for one in asked.alerts])
    return json_document.encode(json_document.of(SlackTold(text=text, blocks=tuple(blocks))))


def _of_alerts(asked: AlertsAsked) -> Diagnosis:
    """The diagnosis of the series that the shared labels select, on the server of the option."""
    from planner.app.diagnose import diagnose_readout
    from planner.app.evidence import Evidence, gather
    from planner.errors import input_error

    url = os.environ.get(PROMETHEUS, "")
    if not url:
        found, expected = "a server without one", "planner serve --prometheus URL"
        raise input_error("planner serve", "--prometheus", found, expected)
    known = {name: asked.commonLabels[name] for name in SELECTING if asked.commonLabels.get(name)}
    selector = ", ".join(f"{name}={json.dumps(value)}" for name, value in known.items())
    return diagnose_readout(gather(Evidence(prometheus=url, selector=selector)))


def _pasted(text: str) -> Path:
    """A text in a file whose name says whether it holds observed values."""
    from planner.schema.observation import Observation

    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    is_values = text.lstrip()[:1] == "{" or first.partition(":")[0] in Observation.model_fields
    return _kept("pasted.yaml" if is_values else "pasted.txt", text)


def _all_kept(name: str, texts: Sequence[str]) -> tuple[Path, ...]:
    return tuple(_kept(f"{name}-{number}.txt", text) for number, text in enumerate(texts, start=1))


def _kept(name: str, text: str) -> Path:
    """A text that was sent along as a file of the question's folder."""
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def written(plan: Mapping[str, Any], path: Path = _PLAN) -> Path:
    """A plan document as a file of the question's folder."""
    path.write_text(json.dumps(plan), encoding="utf-8")
    return path
