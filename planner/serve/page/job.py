"""One job: its progress with a way to end it, then its answer. The address is the link to share."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from nicegui import ui

from planner import numbers
from planner.serve.desk import Desk
from planner.serve.history import Job
from planner.serve.page.changes import formulation, levers, relaxed, take_out
from planner.serve.page.day import fleet_day
from planner.serve.page.parts import PLAN, fact, frame, go, heading, show_faults, text_block, words
from planner.serve.page.replayed import replayed
from planner.serve.told import FINISHED, FaultTold

_TITLES = {
    "plan": "Plan",
    "relax": "What each limit costs",
    "whatif": "What if",
    "capacity": "Largest load",
    "diagnose": "Diagnosis",
    "export": "Export",
    "replay": "Replay",
}


async def view(desk: Desk, job_id: str) -> None:
    """The view at ``/job/ID``."""
    job = await asyncio.to_thread(desk.history.find, job_id)
    with frame("", _title(job)):
        if job is None:
            ui.label("There is no such job, or it is no longer kept.")
            return
        place = ui.column().classes("w-full gap-3")
        if job.state in FINISHED:
            with place:
                await _answer(desk, job)
            return
        ui.timer(0.1, lambda: _follow(desk, job_id, place), once=True)


def _title(job: Job | None) -> str:
    if job is None:
        return "No such job"
    kind = _TITLES.get(job.kind, job.kind)
    return f"{kind}: {job.name}" if job.name else kind


async def _follow(desk: Desk, job_id: str, place: ui.column) -> None:
    """Progress until there is an answer."""
    with place, ui.row().classes("items-center gap-3").props("role=status"):
        ui.spinner(size="lg")
        step = ui.label("waiting for a worker")
        ui.button("Cancel", on_click=lambda: asyncio.to_thread(desk.cancel, job_id)).props("outline")
    while (ticket := desk.ticket(job_id)) is not None:
        step.text = ticket.progress or step.text
        await asyncio.sleep(0.2)
    job = await asyncio.to_thread(desk.history.find, job_id)
    place.clear()
    if job is not None:
        with place:
            await _answer(desk, job)


async def _answer(desk: Desk, job: Job) -> None:
    document, asked = json.loads(job.document), json.loads(job.question)
    if job.status != 200:
        ui.label("Canceled." if job.state == "canceled" else document["title"]).classes("planner-big")
        if job.state != "canceled":
            show_faults([FaultTold.model_validate(one) for one in document.get("faults", ())])
        return
    if job.kind == "export":
        _files(document)
        return
    plan = document.get("after", document)
    is_plan = plan.get("schema") == PLAN
    if is_plan:
        _money(plan)
    if job.kind == "replay":
        replayed(document)
    if is_plan:
        fleet_day(plan)
    if job.kind == "relax":
        relaxed(desk, plan, asked)
    in_words = await words(desk, job.kind, document)
    heading("In words")
    text_block(in_words)
    if is_plan and job.kind in ("plan", "whatif", "relax"):
        levers(desk, plan, asked)
        _more(desk, plan, asked, job.kind)
    take_out(job.id, document)


def _money(plan: dict[str, Any]) -> None:
    """The decision in a few numbers."""
    hourly, token = plan.get("cost_usd_per_hour"), plan.get("cost_usd_per_million_output_tokens")
    with ui.row().classes("w-full gap-6 py-2"):
        fact("answer", str(plan["status"]))
        if plan.get("gpus"):
            most = ", at most" if len(plan.get("periods") or ()) > 1 else ""
            fact(f"GPUs{most}", ", ".join(f"{count} × {name}" for name, count in plan["gpus"].items()))
        if hourly is not None:
            fact("USD an hour", f"{hourly:,.2f}")
            fact("USD a month", f"{hourly * numbers.HOURS_PER_MONTH:,.0f}")
        if token is not None:
            fact("USD per million output tokens", f"{token:,.2f}")
        if plan.get("mean_utilization") is not None:
            fact("busy on average", numbers.share(plan["mean_utilization"]))


def _more(desk: Desk, plan: dict[str, Any], asked: dict[str, Any], kind: str) -> None:
    with ui.row().classes("gap-3 items-center"):
        if kind != "relax":
            ui.button("Why not cheaper?", on_click=lambda: go(desk, "relax", formulation(plan, asked))).props(
                "outline"
            )
        if plan["pools"]:
            ui.button("Replay it", on_click=lambda: go(desk, "replay", {"plan": plan})).props("outline")
            target = ui.select(
                ["vllm", "compose", "kubernetes", "kserve", "prometheus", "grafana"],
                value="kubernetes",
                label="Export to",
            )
            target.props("outlined dense").classes("w-44")
            ui.button(
                "Export", on_click=lambda: go(desk, "export", {"plan": plan, "to": target.value})
            ).props("outline")


def _files(document: dict[str, Any]) -> None:
    for reason in document["cannot_express"]:
        ui.label(reason).classes("planner-fault")
    for name, text in document["contents"].items():
        heading(name)
        text_block(text)
