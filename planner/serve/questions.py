"""The answer to every question, by the same use cases as the command line. Runs in a worker process.

The current folder is empty and belongs to the question: documents lie there, and nothing outside is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.loaders.named_files import CONFIG
from planner.serve.asked import (
    CapacityAsked,
    CheckAsked,
    CurveAsked,
    DiffAsked,
    EstimateAsked,
    ExportAsked,
    FitAsked,
    OneConfiguration,
    PlanAsked,
    ProblemAsked,
    RelaxAsked,
    ReplayAsked,
    TextAsked,
    WhatIfAsked,
)
from planner.serve.evidence_questions import alerts, alerts_for_slack, diagnose, written

if TYPE_CHECKING:
    from planner.app.session import Session
    from planner.planning.run import Run

Progress = Callable[[str], None]
_PROBLEM = Path("problem.yaml")


def answer(kind: str, asked: Any, progress: Progress) -> bytes:
    """The JSON document that answers a question, ``asked``; ``progress`` is told about long steps.

    Raises:
        PlannerError: as for the command of that name.
    """
    for name, config in getattr(asked, "models", {}).items():
        Path(name).mkdir(parents=True)
        (Path(name) / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    return _ANSWERS[kind](asked, progress)


def _run(asked: ProblemAsked, progress: Progress, details: bool = False) -> Run:
    from planner.planning.run import Run

    return Run(asked.time_limit_s, asked.seed, progress=progress, details=details)


def _session(asked: ProblemAsked) -> Session:
    from planner.app.session import Session
    from planner.app.stated_problem import stated_problem

    if isinstance(asked.problem, str):
        _PROBLEM.write_text(asked.problem, encoding="utf-8")
        return Session.load(_PROBLEM, confined=True)
    if asked.problem is not None:
        return Session.of_values(asked.problem, confined=True)
    from planner.errors import InputError

    stated = stated_problem("planner plan", asked.stated or {})
    try:
        return Session.of_values(stated.document().value, confined=True)
    except InputError as problems:
        raise stated.by_flag(problems) from None


def _plan(asked: PlanAsked, progress: Progress) -> bytes:
    from planner.report import json_document

    progress("reading the catalog and the problem")
    return json_document.encode(
        json_document.of_plan(_session(asked).plan(_run(asked, progress, asked.details)))
    )


def _relax(asked: RelaxAsked, progress: Progress) -> bytes:
    from planner.report import json_document

    return json_document.encode(json_document.of_plan(_session(asked).relax(run=_run(asked, progress))))


def _whatif(asked: WhatIfAsked, progress: Progress) -> bytes:
    from planner.report import json_document

    session, run = _session(asked), _run(asked, progress)
    found = session.sweep(asked.sweep, run=run) if asked.sweep else session.whatif(asked.set or {}, run=run)
    return json_document.encode(json_document.of(found))


def _capacity(asked: CapacityAsked, progress: Progress) -> bytes:
    from planner.report import json_document

    session, run = _session(asked), _run(asked, progress)
    if asked.sweep:
        rows = session.capacities(asked.sweep, workloads=asked.workloads, run=run)
        return json_document.encode(json_document.of(rows))
    return json_document.encode(json_document.of_plan(session.capacity(asked.workloads, run=run)))


def _check(asked: CheckAsked, _: Progress) -> bytes:
    from planner.errors import InputError
    from planner.report import json_document
    from planner.serve.told import Checked, FaultTold

    faults: tuple[FaultTold, ...] = ()
    text = ""
    try:
        _session(asked)
        text = _file(asked)
    except InputError as problems:
        faults = FaultTold.of(problems.faults)
    return json_document.encode(json_document.of(Checked(faults=faults, problem=text)))


def _file(asked: CheckAsked) -> str:
    """The problem file that flags stand for; of files nothing new."""
    from planner.app.stated_problem import stated_problem

    return "" if asked.stated is None else stated_problem("planner plan", asked.stated).text


def _configuration(asked: OneConfiguration) -> dict[str, Any]:
    """What estimate and curve take alike."""
    left_out = {"start_burst", "equal_lengths", "burstiness", "models"}
    given = {name: getattr(asked, name) for name in OneConfiguration.model_fields if name not in left_out}
    share = asked.memory_utilization
    return {**given, "memory_utilization": _share(share), "conventions": asked.conventions}


def _share(text: str | None) -> str | None:
    from planner import units
    from planner.errors import input_error

    if text is None:
        return None
    try:
        number = units.parse(text, units.FRACTION)
    except units.UnitError as problem:
        raise input_error("request", "memory_utilization", str(problem.found), problem.expected) from problem
    if not 0 < number <= 1:
        raise input_error("request", "memory_utilization", f'"{text}"', "a share above 0 % and up to 100 %")
    return text


def _estimate(asked: EstimateAsked, _: Progress) -> bytes:
    from planner.app.estimate import estimate
    from planner.report import json_document

    own = {name: getattr(asked, name) for name in ("concurrency", "rps", "requests", "replicas", "routing")}
    return json_document.encode(json_document.of_estimate(estimate(**_configuration(asked), **own)))


def _curve(asked: CurveAsked, _: Progress) -> bytes:
    from planner.app.curve import curve
    from planner.report import json_document

    own = {
        name: getattr(asked, name) for name in ("concurrency", "rps", "concurrency_max", "rps_max", "slo_s")
    }
    return json_document.encode(json_document.of_estimate(curve(**_configuration(asked), **own)))


def _fit(asked: FitAsked, _: Progress) -> bytes:
    from planner.app.fit import fit
    from planner.report import json_document

    given = asked.model_dump(exclude={"model", "gpus", "models"})
    return json_document.encode(json_document.of(fit(asked.model, accelerators=asked.gpus, **given)))


def _export(asked: ExportAsked, _: Progress) -> bytes:
    from planner.app.export_plan import export_plan
    from planner.errors import input_error, nearest
    from planner.exports.registry import TARGETS
    from planner.report import json_document
    from planner.serve.told import ExportTold

    known = [item.id for item in TARGETS]
    if asked.to not in known:
        raise input_error(
            "request", "to", f'"{asked.to}"', f"one of {', '.join(known)}", nearest(asked.to, known)
        )
    out = Path("out")
    found = export_plan(written(asked.plan), asked.to, out, period=asked.period)
    contents = {str(Path(name).relative_to(out)): Path(name).read_text("utf-8") for name in found.files}
    told = ExportTold(
        target=found.target,
        files=tuple(contents),
        cannot_express=found.cannot_express,
        contents=contents,
    )
    return json_document.encode(json_document.of(told))


def _replay(asked: ReplayAsked, progress: Progress) -> bytes:
    from planner.app.replay import Asked, replay
    from planner.report import json_document

    given = asked.model_dump(exclude={"plan", "failures"})
    lost = tuple((one.pool, one.at_s) for one in asked.failures)
    found = replay(written(asked.plan), Asked(**given, failures=lost), progress=progress)
    return json_document.encode(json_document.of(found))


def _diff(asked: DiffAsked, _: Progress) -> bytes:
    from planner.app.diff import diff
    from planner.report import json_document

    before, after = written(asked.before, Path("before.json")), written(asked.after, Path("after.json"))
    return json_document.encode(json_document.of(diff(before, after)))


def _text(asked: TextAsked, _: Progress) -> bytes:
    from planner.report import json_document
    from planner.report.terminal import render
    from planner.serve.texts import view
    from planner.serve.told import TextTold

    text = render(view(asked.kind, asked.document), width=asked.width)
    return json_document.encode(json_document.of(TextTold(text=text)))


_ANSWERS: Mapping[str, Callable[[Any, Progress], bytes]] = {
    "plan": _plan,
    "whatif": _whatif,
    "relax": _relax,
    "capacity": _capacity,
    "estimate": _estimate,
    "curve": _curve,
    "fit": _fit,
    "diagnose": diagnose,
    "alertmanager": alerts,
    "alertmanager-slack": alerts_for_slack,
    "export": _export,
    "replay": _replay,
    "check": _check,
    "diff": _diff,
    "text": _text,
}
