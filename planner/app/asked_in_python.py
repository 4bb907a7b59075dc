"""What the package offers: the questions of the command line, as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from planner.app.session import Session
from planner.app.worded_problem import Problem, session
from planner.planning.run import Run
from planner.schema.plan import Plan
from planner.schema.problem_words import ProblemWords

if TYPE_CHECKING:
    from planner.schema.diagnosis import Diagnosis
    from planner.schema.exported import ExportAnswer
    from planner.schema.observation import Observation


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
    overlays = tuple(Path(folder) for folder in catalog)
    if isinstance(problem, str | Path):
        return Session.load(Path(problem), overlays, confine)
    return Session.of_values(problem, overlays, confine)


def plan(
    problem: Problem | None = None,
    *,
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    catalog: Sequence[str | Path] = (),
    **stated: Unpack[ProblemWords],
) -> Plan:
    """The cheapest plan that keeps every limit, proved or with its gap, as ``planner plan`` gives it.

    A whole problem is given, or its words: ``plan(model="Qwen/Qwen3-32B", rps=5, isl=800, osl=300, ttft="1s",
    itl="50ms", gpu={"h100": 16})``. Words mean what the flags of ``planner plan`` mean; a limit without a
    percentile is one on the P95.

    Args:
        problem: a problem file, what it would say as a dictionary, or what `load` gave.
        time_limit_s: wall time of the search; default: until proved, large fleets after counted work.
        seed: of the search.
        workers: threads of the search.
        catalog: overlay folders, the last one winning.
        **stated: the words, see `planner.schema.problem_words.ProblemWords`: ``model``; one of ``rps``,
            ``concurrency``, ``users``, ``requests_per_day``, ``tokens_per_day``; ``isl`` and ``osl`` in
            tokens, or ``archetype``; limits such as ``ttft`` or ``itl_p99``; ``gpu``, ``owned``, ``budget``,
            ``engine``, ``weights``, ``kv``.

    Raises:
        planner.errors.InputError: everything wrong with the problem.
        planner.errors.StoppedError: the time ended before anything was chosen.
    """
    asked = session("planner.plan", problem, stated, tuple(Path(folder) for folder in catalog))
    return asked.solve(time_limit_s=time_limit_s, seed=seed, workers=workers)


def capacity(
    problem: Problem | None = None,
    *,
    workloads: Sequence[str] = (),
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    catalog: Sequence[str | Path] = (),
    **stated: Unpack[ProblemWords],
) -> Plan:
    """The plan at the largest load that a given fleet carries within all limits, and what stops it.

    Args:
        problem: as for `plan`; something in it must limit the fleet. Its demand is the mix.
        workloads: whose demand is raised; none: all.
        time_limit_s: wall time of the search.
        seed: of the search.
        workers: threads of the search.
        catalog: overlay folders, the last one winning.
        **stated: words in place of a whole problem, as for `plan`.

    Returns:
        A plan whose ``capacity`` has the requests per second and what stops more, by workload.

    Raises:
        planner.errors.InputError: everything wrong with the problem; nothing limits the fleet.
        planner.errors.StoppedError: the time ended before anything was known.
    """
    asked = session("planner.capacity", problem, stated, tuple(Path(folder) for folder in catalog))
    return asked.capacity(workloads, run=Run(time_limit_s, seed, workers))


def export(
    plan: Plan | str | Path,
    to: str,
    out: str | Path,
    *,
    period: int | None = None,
    force: bool = False,
    catalog: Sequence[str | Path] = (),
) -> ExportAnswer:
    """Write what deploys, scales, watches or tests a plan, as ``planner export`` does.

    Args:
        plan: the plan, or the path of its document.
        to: the target: vllm, sglang, trtllm, compose, kubernetes, kserve, gateway, llm-d, dynamo, keda,
            guardrails, skypilot, grafana, prometheus or benchmark.
        out: folder to write to; made if it is not there.
        period: an hour, from 0; default: replicas of that in which most GPUs run, shares of the day.
        force: replace files in the folder that were changed or written by others.
        catalog: overlay folders, the last one winning.

    Returns:
        The files that were written, or why the target cannot express the plan.

    Raises:
        planner.errors.InputError: an unknown target, a plan that serves nothing, or a folder that cannot be
            written.
    """
    from planner.app.export_plan import export_plan

    source = Path(plan) if isinstance(plan, str | Path) else plan
    overlays = tuple(Path(folder) for folder in catalog)
    return export_plan(source, to, Path(out), period=period, overlays=overlays, force=force)


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
