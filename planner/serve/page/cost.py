"""What a demand costs a month, what a warm pool adds, and what idle hours do to the price of a token."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from nicegui import ui

from planner import numbers
from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.parts import fact, frame, heading, show_faults, submitted, text_block, words
from planner.serve.told import FaultTold

_SHAPES = {"office": "office hours", "consumer": "consumers", "flat": "the same all day"}
_WARM = "fleet.headroom.capacity"


def view(desk: Desk) -> None:
    """The view at ``/cost``."""
    about = "The cheapest fleet for a day's requests, without and with a warm pool, at the catalog's prices."
    with frame("/cost", "Total cost", about):
        with ui.row().classes("w-full gap-3"):
            model, types = choices.Model(), choices.gpus("Only these GPUs")
            requests = choices.number("Requests a day", 500_000, least=1)
            shape = choices.word("Shape of the day", _SHAPES, "office")
            isl = choices.number("Input", 800, unit="tokens", least=1)
            osl = choices.number("Output", 300, unit="tokens", least=1)
            itl = choices.number("Gap between tokens", 50, unit="ms")
            warm = choices.number("Warm pool", 20, unit="%")
        model.own()
        with ui.row():
            button = ui.button("Calculate", on_click=lambda: reckon())
        place = ui.column().classes("w-full gap-3").props("aria-live=polite")

        def problem() -> dict[str, Any]:
            workload: dict[str, Any] = {
                "name": "service",
                "model": model.asked["model"],
                "demand": {"requests_per_day": int(requests.value or 0), "shape": shape.value},
                "lengths": {
                    "input": {"fixed": int(isl.value or 0)},
                    "output": {"fixed": int(osl.value or 0)},
                },
            }
            if itl.value:
                workload["slo"] = {"itl_p95": f"{itl.value:g} ms"}
            fleet: dict[str, Any] = {"headroom": {"capacity": "0 %"}}
            if types.value:
                fleet["accelerators"] = list(types.value)
            return {"name": "cost", "workloads": [workload], "fleet": fleet}

        async def reckon() -> None:
            asked = {"problem": problem(), "models": model.asked["models"], "time_limit_s": 60}
            asked["set"] = {_WARM: f"{warm.value or 0:g} %"}
            job, faults = await submitted(desk, "whatif", asked)
            place.clear()
            with place:
                if not job:
                    show_faults(faults)
                    return
                button.disable()
                with ui.row().classes("items-center gap-3").props("role=status"):
                    ui.spinner()
                    step = ui.label("waiting for a worker")
                    ui.button("Cancel", on_click=lambda: asyncio.to_thread(desk.cancel, job)).props("outline")
            while (ticket := desk.ticket(job)) is not None:
                step.text = ticket.progress or step.text
                await asyncio.sleep(0.2)
            button.enable()
            await answered(job)

        async def answered(job_id: str) -> None:
            job = await asyncio.to_thread(desk.history.find, job_id)
            place.clear()
            if job is None:
                return
            document = json.loads(job.document)
            text = await words(desk, "whatif", document) if job.status == 200 else ""
            with place:
                if job.status == 200:
                    _both(document, f"{warm.value or 0:g} %")
                    heading("In words")
                    text_block(text)
                    ui.link("This answer, to share", f"/job/{job_id}")
                else:
                    show_faults([FaultTold.model_validate(one) for one in document.get("faults", ())])


def _both(document: dict[str, Any], warm: str) -> None:
    for title, plan in (("Without a warm pool", document["before"]), (f"With {warm}", document["after"])):
        heading(title)
        hourly = plan["cost_usd_per_hour"]
        with ui.row().classes("w-full gap-6"):
            fact("answer", str(plan["status"]))
            if hourly is None:
                continue
            fact("GPUs", ", ".join(f"{count} × {name}" for name, count in plan["gpus"].items()) or "none")
            fact("USD a month", f"{hourly * numbers.HOURS_PER_MONTH:,.0f}")
            token = plan["cost_usd_per_million_output_tokens"]
            if token is not None:
                fact("USD per million output tokens", f"{token:,.2f}")
            fact("busy on average", numbers.share(plan["mean_utilization"]))
    trap = document["after"].get("utilization_trap")
    if trap:
        heading("The utilization trap")
        at_peak, real = trap["usd_per_million_output_tokens_at_peak"], trap["usd_per_million_output_tokens"]
        with ui.row().classes("w-full gap-6"):
            if at_peak is not None:
                fact("USD per million tokens, if every hour were the busiest", f"{at_peak:,.2f}")
            if real is not None:
                fact("as the day really is", f"{real:,.2f}")
        ui.label(trap["text"]).classes("planner-quiet")
