"""Puts the views into the application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from fastapi import FastAPI
from nicegui import ui

from planner.serve.desk import Desk
from planner.serve.page import cost, debug, gpus, hardware, history, job, problem, speed, start

_VIEWS: Mapping[str, Callable[[Desk], None]] = {
    "/": start.view,
    "/hardware": hardware.view,
    "/speed": speed.view,
    "/cost": cost.view,
    "/gpus": gpus.view,
    "/debug": debug.view,
    "/history": history.view,
}


def put_into(app: FastAPI, desk: Desk) -> None:
    """Serve the page beside the API; one page a process."""
    put_views(desk)
    ui.run_with(app, title="Planner", dark=None, show_welcome_message=False)


def put_views(desk: Desk) -> None:
    """Put every view at its path."""
    ui.button.default_props("no-caps")
    ui.expansion.default_props("dense switch-toggle-side")
    for path, view in _VIEWS.items():
        ui.page(path)(partial(view, desk))

    @ui.page("/problem")
    def one_problem(text: str = "", name: str = "", config: str = "") -> None:
        problem.view(desk, text, (name, config))

    @ui.page("/job/{job_id}")
    async def one_job(job_id: str) -> None:
        await job.view(desk, job_id)
