"""The quick start: a few words about the demand, and a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.latest import Latest
from planner.serve.page.parts import frame, go, heading, show_faults, small, text_block
from planner.serve.told import FaultTold

_DEMANDS = {
    "users": "users",
    "rps": "requests per second",
    "concurrency": "requests in flight",
    "requests_per_day": "requests a day",
    "tokens_per_day": "tokens written a day",
}


class _Form:
    """The fields, and what they say as flags of ``planner plan``."""

    def __init__(self, changed: Callable[[], Any]) -> None:
        heading("1 · What runs")
        with ui.row().classes("w-full gap-3"):
            self.model = choices.Model()
        self.own = self.model.own()
        heading("2 · How much of it")
        with ui.row().classes("w-full gap-3"):
            self.amount = choices.number("How many", 50, least=0)
            self.demand = choices.word("of what", _DEMANDS, "users")
        heading("3 · How long requests are")
        with ui.row().classes("w-full gap-3"):
            self.isl = choices.number("Input", 800, unit="tokens", least=1)
            self.osl = choices.number("Output", 300, unit="tokens", least=1)
        heading("4 · How fast it must be (P95; empty: no limit)")
        with ui.row().classes("w-full gap-3"):
            self.ttft = choices.number("First token within", 1000, unit="ms")
            self.itl = choices.number("Gap between tokens", 50, unit="ms")
        heading("5 · On what, and for how much (empty: anything)")
        with ui.row().classes("w-full gap-3"):
            self.gpu = choices.gpus("Only these GPUs")
            self.budget = choices.number("Budget", None, unit="USD/h")
        others = [field for field in vars(self).values() if field not in (self.model, self.own)]
        for field in (*self.model.fields, *others):
            field.on_value_change(changed)

    @property
    def asked(self) -> dict[str, Any]:
        """The question, without its kind."""
        return {"stated": self._stated(), "models": self.model.asked["models"]}

    def _stated(self) -> dict[str, Any]:
        """The flags."""
        flags: dict[str, Any] = {
            "model": self.model.asked["model"],
            str(self.demand.value): _plain(self.amount.value),
            "isl": _plain(self.isl.value),
            "osl": _plain(self.osl.value),
            "ttft": _plain(self.ttft.value, "ms"),
            "itl": _plain(self.itl.value, "ms"),
            "gpu": list(self.gpu.value or []),
            "budget": _plain(self.budget.value, " USD/h"),
        }
        return {name: value for name, value in flags.items() if value not in (None, "", [])}


def _plain(value: float | None, unit: str = "") -> str | None:
    return None if value is None else f"{value:.12g}{unit}"


def view(desk: Desk) -> None:
    """The view at ``/``."""
    about = "From a model and its users to the cheapest fleet that keeps every limit, with a proof."
    with frame("/", "Plan a serving fleet", about):
        latest = Latest(lambda: check())
        form = _Form(latest.changed)
        said = ui.column().classes("w-full gap-1").props("aria-live=polite")
        with ui.row().classes("gap-3"):
            button = ui.button("Plan it", on_click=lambda: go(desk, "plan", form.asked))
            ui.button("Open as a problem file", on_click=lambda: edit()).props("flat")

        async def check() -> None:
            told, faults = await small(desk, "check", form.asked)
            if told:
                faults = tuple(FaultTold.model_validate(one) for one in told["faults"])
            button.set_enabled(not faults)
            said.clear()
            with said:
                if faults:
                    show_faults(faults)
                elif told:
                    with ui.expansion("As a problem file").classes("w-full"):
                        text_block(told["problem"])

        async def edit() -> None:
            told, _ = await small(desk, "check", form.asked)
            if told and told["problem"]:
                ui.navigate.to(f"/problem?{urlencode({'text': told['problem'], **form.own.texts})}")

        ui.timer(0.1, latest.changed, once=True)
