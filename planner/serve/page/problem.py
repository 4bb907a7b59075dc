"""The problem editor: faults as they are typed, and a plan."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from planner.app.examples import samples
from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.latest import Latest
from planner.serve.page.parts import frame, go, show_faults, small
from planner.serve.told import FaultTold


def view(desk: Desk, begun: str = "", model: tuple[str, str] = ("", "")) -> None:
    """The view at ``/problem``; ``begun`` stands in the editor at first, ``model`` in the fields of one."""
    shown = {sample.text: f"{sample.number} · {sample.name}" for sample in samples()}
    about = "A problem file says everything: workloads, limits, prices, hours. Faults are told as you type."
    with frame("/problem", "Problem file", about):
        latest = Latest(lambda: check(), 0.3)
        text = (
            ui.textarea("Problem (YAML)", value=begun or next(iter(shown)))
            .classes("w-full")
            .props('outlined autogrow input-style="font: 13px/1.5 ui-monospace, monospace" spellcheck=false')
        )
        own = choices.Own(*model)
        for field in (text, *own.fields):
            field.on_value_change(latest.changed)
        said = ui.column().classes("w-full gap-1").props("aria-live=polite")
        with ui.row().classes("gap-3 items-center"):
            button = ui.button("Plan it", on_click=lambda: go(desk, "plan", asked()))
            ui.button("Why not cheaper?", on_click=lambda: go(desk, "relax", asked())).props("outline")
            ui.button("How much does it carry?", on_click=lambda: go(desk, "capacity", asked())).props(
                "outline"
            )
        sample = ui.select(shown, label="Begin with a sample", value=None).classes("w-full sm:w-72")
        sample.props("outlined dense").on_value_change(lambda: text.set_value(sample.value))

        def asked() -> dict[str, Any]:
            return {"problem": text.value or "", "models": own.models}

        async def check() -> None:
            told, faults = await small(desk, "check", asked())
            if told:
                faults = tuple(FaultTold.model_validate(one) for one in told["faults"])
            button.set_enabled(not faults)
            said.clear()
            with said:
                if faults:
                    show_faults(faults)
                else:
                    ui.label("Nothing wrong with it.").classes("planner-quiet")

        ui.timer(0.1, latest.changed, once=True)
