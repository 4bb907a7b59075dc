"""A plan replayed on its demand or a trace, and its verdict. The order of the steps is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from planner.app.explain_plan import session_of
from planner.app.loaded_problem import LoadedProblem
from planner.app.replay_questions import WHERE, Asked, check_failures, question_of, services_of, trace_of
from planner.errors import input_error
from planner.loaders.catalog import load_catalog
from planner.loaders.plan_file import load_plan
from planner.planning.replaying.answer import (
    Answered,
    Question,
    answered,
    limits,
    pool_documents,
    predicted_document,
    workload_document,
)
from planner.planning.replaying.burst import burst_replayed
from planner.planning.replaying.hours import hour_documents, hours_of
from planner.planning.replaying.scaling import perfect, row, scaled
from planner.planning.replaying.service import Service
from planner.planning.replaying.tiers import Handed, Stage, tier_documents
from planner.planning.replaying.timeline import timeline
from planner.planning.replaying.verdict import reasons, smallest_change
from planner.planning.run import Run
from planner.schema.plan import Plan
from planner.schema.replay import BurstReplayed, LimitReplayed, Replay, ScalingReplayed, SmallestChange
from planner.schema.traces import TraceLengths

__all__ = ["Asked", "replay", "replayed"]


def replay(
    path: Path,
    asked: Asked,
    *,
    overlays: tuple[Path, ...] = (),
    progress: Callable[[str], None] | None = None,
) -> Replay:
    """The verdict on a plan document.

    Raises:
        InputError: no plan with a fleet that the performance model knows, or a trace that cannot be replayed.
    """
    run = Run(progress=progress)
    with run.step("read", "reading the plan"):
        catalog, plan = load_catalog(overlays), load_plan(path)
        if plan.status not in ("optimal", "feasible") or not plan.pools:
            raise input_error(str(path), "status", f'"{plan.status}" without pools', "a plan with a fleet")
        session = session_of(plan, path, catalog, overlays)
    return replayed(plan, session, str(path), asked, run)


def replayed(plan: Plan, session: LoadedProblem, where: str, asked: Asked, run: Run) -> Replay:
    """The verdict on a plan in memory.

    Raises:
        InputError: as for `replay`.
    """
    hours = hours_of(plan, asked.hours, WHERE, "--hours")
    services, stages = services_of(plan, session, where, asked, hours)
    check_failures(asked, services)
    trace = trace_of(asked)

    def ask(service: Service, stage: Stage | None, rates_rps: Sequence[float]) -> Question:
        return question_of(service, session, asked, trace, hours, stage, rates_rps)

    answers = _answers(services, stages, ask, run)
    questions = [answer.question for answer in answers]
    found = [limit for answer in answers for limit in limits(answer)]
    breaks = any(not limit.holds for limit in found)
    prices = {pool.id: pool.usd_per_hour / max(pool.replicas, 1) for pool in plan.pools}
    change = _change(answers, prices, run) if breaks and asked.change and len(hours) == 1 else None
    scaling = _scaling(answers, asked, run) if asked.scaling else ()
    by_hour = hour_documents(plan, answers, found)
    margins = [1.0 - limit.replayed_s / limit.limit_s for limit in found]
    longest = max(questions, key=lambda one: one.arriving.duration_s).arriving
    return Replay(
        problem=plan.problem,
        verdict="breaks" if breaks else "holds",
        margin=min(margins) if margins else None,
        reasons=(*_held(found, breaks), *(text for a in answers for text in reasons(a, limits(a)))),
        limits=tuple(found),
        workloads={answer.question.service.workload: workload_document(answer) for answer in answers},
        predicted={answer.question.service.workload: predicted_document(answer) for answer in answers},
        pools={name: one for answer in answers for name, one in pool_documents(answer).items()},
        tiers=tier_documents(
            {answer.question.service.workload: answer.stayed for answer in answers if answer.stayed}, stages
        ),
        change=change,
        cost_usd_per_million_good_tokens=_good_cost(plan, answers),
        seeds=max(question.seeds for question in questions),
        duration_s=max(run_.period_s for answer in answers for run_ in answer.runs),
        warm_up_s=0.0 if trace is not None and trace.arrival_s is not None else longest.warm_up_s,
        confidence=services[0].case.confidence if asked.confidence is None else asked.confidence,
        trace=None if asked.trace is None else str(asked.trace),
        period=hours[0] if len(hours) == 1 else None,
        hours=by_hour,
        gpu_hours=sum(hour.gpus for hour in by_hour) if by_hour else None,
        timeline=timeline(answers),
        scaling=scaling,
        bursts=_bursts(answers),
        failures=tuple(f"{name} at {at_s:g} s" for name, at_s in asked.failures),
        iterations=sum(run_.steps for answer in answers for run_ in answer.runs),
        warnings=(*_warnings(plan, services, trace), *_too_late(answers)),
    )


def _answers(
    services: Sequence[Service],
    stages: Mapping[str, Stage],
    ask: Callable[[Service, Stage | None, Sequence[float]], Question],
    run: Run,
) -> list[Answered]:
    """Every workload; a stage of a tier hears what the one before it sends on."""
    entrance_rps: dict[str, list[float]] = {}
    handed: dict[str, tuple[Handed, ...]] = {}
    found = []
    for service in services:
        stage = stages.get(service.workload)
        if stage is not None and stage.place == 0:
            entrance_rps[stage.tier] = [rate / stage.share for rate in service.rates_rps]
        question = ask(service, stage, () if stage is None else entrance_rps[stage.tier])
        if stage is not None:
            question = replace(question, handed=handed.get(stage.tier, ()))
        answer = answered(question, run.progress)
        found.append(answer)
        if stage is not None:
            handed[stage.tier] = tuple(answer.handed)
    return found


def _bursts(answers: Sequence[Answered]) -> dict[str, BurstReplayed]:
    return {
        answer.question.service.workload: burst_replayed(arriving.burst, arriving.rate_rps, answer.runs)
        for answer in answers
        if (arriving := answer.question.arriving).burst is not None
    }


def _scaling(answers: Sequence[Answered], asked: Asked, run: Run) -> tuple[ScalingReplayed, ...]:
    """The plan's schedule, two autoscalers and the perfect one, over the same requests."""
    questions = [answer.question for answer in answers]
    rows = [row("schedule", answers)]
    for how in ("reactive", "predictive"):
        rows.append(row(how, [scaled(one, how, asked.scalers, run.progress) for one in questions]))
    least = row("perfect", [perfect(one, run.progress) for one in questions])
    for holds in rows:  # windows are looked at one by one: a limit on the whole period may take less
        if holds.verdict == "holds" and (least.verdict == "breaks" or holds.gpu_hours < least.gpu_hours):
            least = holds.model_copy(update={"how": "perfect"})
    return (*rows, least)


def _held(found: Sequence[LimitReplayed], breaks: bool) -> tuple[str, ...]:
    if breaks or not found:
        return () if found else ("the problem states no limit on a latency: nothing can break",)
    nearest_ = min(found, key=lambda limit: 1.0 - limit.replayed_s / limit.limit_s)
    room = 1.0 - nearest_.replayed_s / nearest_.limit_s
    how = "with margin" if room >= 0.1 else "closely"
    return (f"every limit holds {how}: {nearest_.id} is nearest, {room:.0%} below its limit",)


def _change(answers: Sequence[Answered], prices: dict[str, float], run: Run) -> SmallestChange | None:
    """What mends every workload that breaks."""
    replicas: dict[str, int] = {}
    texts, cost = [], 0.0
    for answer in answers:
        if all(limit.holds for limit in limits(answer)):
            continue
        found = smallest_change(answer, prices, run.progress)
        if found is None:
            return None
        replicas |= found.replicas
        cost += found.usd_per_hour
        texts.append(found.text)
    return SmallestChange(replicas=replicas, usd_per_hour=cost, text="; ".join(texts))


def _good_cost(plan: Plan, answers: Sequence[Answered]) -> float | None:
    """Of all workloads together; only where all of the plan was replayed."""
    names = {pool.workload for pool in plan.pools}
    if plan.cost_usd_per_hour is None or names != {a.question.service.workload for a in answers}:
        return None
    tokens = sum(
        workload_document(a).goodput_rps * a.question.service.case.traffic.output_mean_tokens for a in answers
    )
    return plan.cost_usd_per_hour / 3600.0 / tokens * 1e6 if tokens > 0.0 else None


def _too_late(answers: Sequence[Answered]) -> tuple[str, ...]:
    """Failures after the period of their workload."""
    return tuple(
        f"{failure.pool} fails at {failure.at_s:g} s, after the {answer.runs[0].period_s:,.0f} s that are"
        " replayed: the answer does not show it"
        for answer in answers
        for failure in answer.question.failures
        if failure.at_s > answer.runs[0].period_s
    )


def _warnings(plan: Plan, services: Sequence[Service], trace: TraceLengths | None) -> tuple[str, ...]:
    found = list(trace.notes) if trace is not None else []
    for service in services:
        limits_ = plan.guardrails_of(service.workload)
        if trace is not None and limits_ is not None:
            most = limits_.max_input_tokens + limits_.max_output_tokens
            longer = int((trace.input_tokens + trace.output_tokens > most).sum())
            if longer:
                found.append(
                    f"{service.workload}: {longer:,} of {trace.input_tokens.size:,} requests of the trace are"
                    f" longer than the {most:,} tokens that the plan lets its engines admit; they would be"
                    " refused, and are replayed as if they were not"
                )
        if trace is not None and trace.blocks is not None:
            found.append(
                f"{service.workload}: prefix hits by the trace's blocks of {trace.block_tokens} tokens"
            )
        elif service.cached > 0.0:
            found.append(f"{service.workload}: prefix hits as planned, {service.cached:.0%} of prompt tokens")
        if any("at decode" in pool.option and not pool.local_prefill_tokens for pool in service.pools):
            found.append(
                f"{service.workload}: this plan is older than its replay: short prompts go to prefill workers"
                " here, not to decode workers"
            )
    return tuple(found)
