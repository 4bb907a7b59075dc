"""The production debugger: paste what a server says of itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from nicegui import ui

from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.parts import frame, show_faults, submitted, text_block, words
from planner.serve.told import FaultTold

_SAMPLE = """\
ttft_p99_s: 6.5
itl_p99_s: 0.04
queue_depth: 85
kv_usage_ratio: 0.97
preemptions_per_s: 1.2
kv_precision: bf16
slo: {ttft_p99_s: 1.5, itl_p99_s: 0.06}
"""


def view(desk: Desk) -> None:
    """The view at ``/debug``."""
    about = "Paste a metrics page of an engine, router or GPU exporter, a log, or observed values."
    with frame("/debug", "Production debugger", about):
        first = choices.area("Metrics page, log, or observed values")
        with ui.expansion("A second page of the same server, some time later: gives rates").classes("w-full"):
            second = choices.area("Second page")
            between = choices.number("Seconds between them", 60, unit="s", least=0.1)
        with ui.row().classes("gap-3"):
            button = ui.button("Find the cause", on_click=lambda: find())
            ui.button("Fill in a sample", on_click=lambda: first.set_value(_SAMPLE)).props("flat")
        place = ui.column().classes("w-full gap-3").props("aria-live=polite")

        async def find() -> None:
            pages = [text for text in (first.value or "", second.value or "") if text.strip()]
            asked: dict[str, Any] = {"text": pages[0] if pages else ""}
            if len(pages) > 1:
                asked = {"metrics": pages, "interval_s": between.value}
            button.disable()
            job, faults = await submitted(desk, "diagnose", asked)
            while job and desk.ticket(job) is not None:
                await asyncio.sleep(0.1)
            button.enable()
            found = await asyncio.to_thread(desk.history.find, job) if job else None
            document = {} if found is None else json.loads(found.document)
            answered = found is not None and found.status == 200
            text = await words(desk, "diagnose", document) if answered else ""
            place.clear()
            with place:
                if answered:
                    text_block(text)
                    ui.link("This answer, to share", f"/job/{job}")
                else:
                    show_faults(
                        faults or [FaultTold.model_validate(one) for one in document.get("faults", ())]
                    )
