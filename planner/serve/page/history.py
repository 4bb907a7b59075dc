"""What was asked before, and what changed between two plans."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from nicegui import ui

from planner.serve.desk import Desk
from planner.serve.page.parts import PLAN, frame, heading, show_faults, small, table, text_block, words

_SHOWN = 100
_COLUMNS = (
    ("name", "Problem"),
    ("kind", "Question"),
    ("summary", "Answer"),
    ("state", "State"),
    ("created", "When (UTC)"),
)


def view(desk: Desk) -> None:
    """The view at ``/history``."""
    about = "Questions and their answers, the newest first. Mark two plans to see what changed between them."
    with frame("/history", "History", about):
        place = ui.column().classes("w-full gap-3")

        async def show() -> None:
            jobs = await asyncio.to_thread(desk.history.newest, _SHOWN)
            rows = [
                {
                    "id": job.id,
                    "created": job.created[:19].replace("T", " "),
                    "kind": job.kind,
                    "name": job.name,
                    "state": job.state,
                    "summary": job.summary,
                }
                for job in jobs
            ]
            columns = [
                {"name": key, "label": label, "field": key, "align": "left"} for key, label in _COLUMNS
            ]
            with place:
                if not rows:
                    ui.label("Nothing was asked yet.")
                    return
                asked = table("Questions asked before", columns, rows, selection="multiple", pagination=20)
                asked.add_slot("header-selection", "<span>Mark</span>")
                asked.add_slot(
                    "body-selection",
                    '<q-checkbox dense v-model="props.selected" '
                    ':aria-label="`Mark ${props.row.kind} ${props.row.name} of ${props.row.created}`" />',
                )
                asked.add_slot(
                    "body-cell-name",
                    '<q-td :props="props"><a :href="\'/job/\' + props.row.id">'
                    '{{ props.value || "(no name)" }}</a></q-td>',
                )
                ui.button("What changed?", on_click=lambda: compare([row["id"] for row in asked.selected]))
                compared = ui.column().classes("w-full").props("aria-live=polite")

            async def compare(chosen: list[str]) -> None:
                found = [await asyncio.to_thread(desk.history.find, one) for one in chosen]
                plans = [
                    _plan(json.loads(job.document))
                    for job in sorted(filter(None, found), key=lambda j: j.created)
                ]
                if len(plans) != 2 or None in plans:
                    ui.notify("Mark two answered plans.")
                    return
                told, faults = await small(desk, "diff", {"before": plans[0], "after": plans[1]})
                text = await words(desk, "diff", told) if told else ""
                compared.clear()
                with compared:
                    heading("What changed")
                    if told:
                        text_block(text)
                    else:
                        show_faults(faults)

        ui.timer(0.1, show, once=True)


def _plan(document: dict[str, Any]) -> dict[str, Any] | None:
    plan: dict[str, Any] = document.get("after", document)
    return plan if plan.get("schema") == PLAN else None
