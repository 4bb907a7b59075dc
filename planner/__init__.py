"""Planner: the cheapest GPU fleet that keeps every limit, proved and explained.

``planner.load(path)`` gives a problem with ``.solve()``, and so does a dictionary; ``planner.estimate(...)``
predicts one configuration. All answer with the documents that the command line prints as JSON, as objects
with ``to_dict()`` and ``to_frame()``.
"""

from __future__ import annotations

# Nothing is imported here: the command line takes over interrupts before anything else loads.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from planner.app.session import Session
    from planner.schema.diagnosis import Diagnosis
    from planner.schema.estimate import Curve, Estimate, Fit
    from planner.schema.observation import Observation

__all__ = ["curve", "diagnose", "estimate", "fit", "load"]


def load(
    problem: str | Path | Mapping[str, Any],
    catalog: tuple[str | Path, ...] = (),
    *,
    confine: bool | None = None,
) -> Session:
    """A problem, read and checked, ready to be solved.

    Args:
        problem: the problem file, or what it would say as a dictionary (files that it names are looked for
            where the process runs).
        catalog: overlay folders, the last one winning.
        confine: refuse files named in the problem (tables, traces, models, ``start``) that lie outside its
            folder, links followed: for problems of people who may not read all files of this machine.
            Default: no.

    Raises:
        planner.errors.InputError: everything wrong with it.
    """
    from pathlib import Path

    from planner.app.session import Session

    overlays = tuple(Path(folder) for folder in catalog)
    if isinstance(problem, str | Path):
        return Session.load(Path(problem), overlays, confine)
    return Session.of_values(problem, overlays, confine)


def estimate(**asked: Any) -> Estimate:
    """One configuration at one load; see `planner.app.estimate` for the arguments.

    Raises:
        planner.errors.InputError: unknown names.
    """
    from planner.app.estimate import estimate as use_case

    return use_case(**asked)


def curve(**asked: Any) -> Curve:
    """One configuration over a range of loads; see `planner.app.curve` for the arguments.

    Raises:
        planner.errors.InputError: unknown names.
    """
    from planner.app.curve import curve as use_case

    return use_case(**asked)


def fit(model: str, **asked: Any) -> Fit:
    """The cheapest hardware that holds a model; see `planner.app.fit` for the arguments.

    Raises:
        planner.errors.InputError: an unknown name, or a context beyond the model's window.
    """
    from planner.app.fit import fit as use_case

    return use_case(model, **asked)


def diagnose(
    observation: Observation | dict[str, Any] | str | Path | None = None,
    catalog: tuple[str | Path, ...] = (),
    *,
    metrics: Sequence[str] = (),
    interval_s: float | None = None,
    prometheus: str | None = None,
    logs: Sequence[str | Path] = (),
    results: Sequence[str | Path] = (),
    engine_args: str | None = None,
    range_s: float | None = None,
    selector: str = "",
    plan: str | Path | None = None,
    workload: str | None = None,
    slo: Mapping[str, float] | None = None,
) -> Diagnosis:
    """What is wrong with a deployment, most likely first; several sources are read as one.

    Args:
        observation: an observation, its fields in a dictionary, or the path of an observation file.
        catalog: overlay folders, the last one winning.
        metrics: pages of metrics: files or addresses.
        interval_s: fetch addresses twice, so many seconds apart, for rates.
        prometheus: address of a Prometheus server.
        logs: logs of engines; rotated files of one are one log.
        results: result files of benchmark tools.
        engine_args: a command line of an engine, or the path of a file of command lines or manifests.
        range_s: window of the server, and stretch at the end of logs.
        selector: matchers of labels, for metrics and the server.
        plan: path of a plan document: actions are priced on it.
        workload: of the plan; by default the first that is slower than planned.
        slo: limits in seconds, such as ``{"ttft_p99_s": 1.5}``.

    Raises:
        planner.errors.InputError: everything wrong with the source or the plan.
    """
    from pathlib import Path

    from planner.app.against_plan import PlanFile
    from planner.app.diagnose import diagnose_readout
    from planner.app.evidence import Evidence, gather

    overlays = tuple(Path(folder) for folder in catalog)
    evidence = Evidence(
        observed=Path(observation) if isinstance(observation, str) else observation,
        metrics=(metrics,) if isinstance(metrics, str) else tuple(metrics),
        prometheus=prometheus,
        logs=tuple(Path(path) for path in logs),
        results=tuple(Path(path) for path in results),
        engine_args=engine_args,
        interval_s=interval_s,
        range_s=range_s,
        selector=selector,
        overlays=overlays,
    )
    readout = gather(evidence)
    file = None if plan is None else PlanFile(Path(plan), overlays, workload)
    return diagnose_readout(readout, overlays, plan=file, slo_s=slo)
