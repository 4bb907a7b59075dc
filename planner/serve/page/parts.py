"""What every view is made of: frame, headings, faults, texts, and questions in the background."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from planner.errors import InputError
from planner.loaders.validation import validated
from planner.loaders.yaml_source import Document
from planner.serve.desk import Desk, Full
from planner.serve.kinds import KINDS
from planner.serve.told import FaultTold

VIEWS = {
    "/": "Quick start",
    "/problem": "Problem",
    "/hardware": "Hardware",
    "/speed": "Speed",
    "/cost": "Cost",
    "/gpus": "GPUs",
    "/debug": "Debugger",
    "/history": "History",
}
Answered = tuple[dict[str, Any] | None, tuple[FaultTold, ...]]
"""A document, or what is wrong."""
PLAN = "planner/plan/1"
"""What a plan document says that it is."""
TEXT_WIDTH = 80
"""Columns of texts: a page scrolls less than a terminal."""
_STYLE = """
body { background: #f8fafc; color: #0f172a; }
.body--dark { background: #0f172a; color: #e2e8f0; }
.planner-text { font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; overflow-x: auto; white-space: pre;
  background: #fff; border: 1px solid #cbd5e1; border-radius: 6px; padding: .9rem; margin: 0; width: 100%;
  box-sizing: border-box; }
.body--dark .planner-text { background: #1e293b; border-color: #475569; }
.body--dark .q-table__card { background: #1e293b; }
.nicegui-content, .q-expansion-item .q-item { padding: 0; }
.q-expansion-item .q-item__section--avatar { min-width: 0; padding-right: .4rem; }
.planner-nav { flex-wrap: wrap; background: #fff; border-bottom: 1px solid #cbd5e1; }
.body--dark .planner-nav { background: #1e293b; border-color: #475569; }
.planner-nav a { padding: .45rem .6rem; border-radius: 6px; text-decoration: none; color: inherit; }
.planner-nav a[aria-current] { background: #1d4ed8; color: #fff; }
a:focus-visible, button:focus-visible, [tabindex="0"]:focus-visible, .planner-slider:focus-visible {
  outline: 3px solid #b45309; outline-offset: 2px; }
.body--dark :is(a, button, [tabindex="0"], .planner-slider):focus-visible { outline-color: #fbbf24; }
.planner-slider { height: 1.75rem; accent-color: #1d4ed8; }
.body--dark .planner-slider { accent-color: #93c5fd; }
main a { color: #1d4ed8; text-decoration: underline; } .body--dark main a { color: #93c5fd; }
.body--dark .text-primary { --q-primary: #93c5fd; }
h1 { font-size: 1.5rem; line-height: 1.3; font-weight: 600; margin: .5rem 0; }
h2 { font-size: 1.1rem; line-height: 1.3; font-weight: 600; margin: 1rem 0 .25rem; }
.planner-big { font-size: 1.35rem; font-weight: 600; }
.planner-quiet { color: #475569; } .body--dark .planner-quiet { color: #94a3b8; }
.planner-fault { color: #b91c1c; } .body--dark .planner-fault { color: #fca5a5; }
"""
_HEAD = """<script>
document.documentElement.lang = "en";
// Tables wider than the page scroll: by keyboard too, in every browser.
new MutationObserver(() => {
  for (const wide of document.querySelectorAll(".q-table__middle:not([tabindex])")) {
    wide.tabIndex = 0;
    wide.setAttribute("role", "group");
    wide.setAttribute("aria-label", wide.parentElement.dataset.about);
  }
}).observe(document.documentElement, {childList: true, subtree: true});
</script>"""


@contextmanager
def frame(path: str, title: str, about: str = "") -> Iterator[None]:
    """A view with its title, and the way to the others."""
    ui.add_css(_STYLE)
    ui.add_head_html(_HEAD)
    ui.page_title(f"{title} · Planner")
    ui.colors(primary="#1d4ed8")
    with ui.element("nav").classes("planner-nav w-full flex gap-1 px-2 py-1").props('aria-label="Views"'):
        for target, name in VIEWS.items():
            link = ui.link(name, target)
            if target == path:
                link.props("aria-current=page")
    with ui.element("div").classes("w-full mx-auto px-3 pb-8 flex flex-col gap-3").style("max-width: 1180px"):
        heading(title, 1)
        if about:
            ui.label(about).classes("planner-quiet")
        yield


def heading(text: str, level: int = 2) -> None:
    """A heading of the document."""
    with ui.element(f"h{level}"):
        ui.label(text)


def text_block(text: str) -> None:
    """Words of the command line, as they are."""
    with ui.element("pre").classes("planner-text").props("tabindex=0"):
        ui.label(text).style("white-space: pre")


def table(
    about: str, columns: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], **more: Any
) -> ui.table:
    """A table; ``about`` is its name for those who do not see it, ``more`` is what ``ui.table`` takes."""
    made = ui.table(columns=[*map(dict, columns)], rows=[*map(dict, rows)], **more)
    made.props["data-about"] = about
    return made.classes("w-full").props("flat bordered dense")


def show_faults(faults: Sequence[FaultTold]) -> None:
    """What is wrong, in the words of the command line."""
    with ui.element("ul").props("role=alert").classes("planner-fault list-disc pl-5"):
        for fault in faults:
            place = ": ".join(part for part in (fault.where, fault.key) if part)
            maybe = f" Maybe {fault.maybe}?" if fault.maybe else ""
            with ui.element("li"):
                ui.label(f"{place}: found {fault.found}, expected {fault.expected}.{maybe}")


def fact(name: str, value: str) -> None:
    """A number with its name."""
    with ui.column().classes("gap-0"):
        ui.label(value).classes("planner-big")
        ui.label(name).classes("planner-quiet text-sm")


async def small(desk: Desk, kind: str, asked: Mapping[str, Any]) -> Answered:
    """The answer to a small question."""
    try:
        noun = validated(KINDS[kind].asked, Document("page", b"", dict(asked)))
        reply = await asyncio.wrap_future(desk.ask(kind, noun).reply)
    except InputError as problem:
        return None, FaultTold.of(problem.faults)
    except Full:
        return None, (FaultTold(where="page", key="", found="a full queue", expected="a later try"),)
    return _read(reply.status, reply.body)


def _read(status: int, body: bytes) -> Answered:
    document = json.loads(body)
    if status == 200:
        return document, ()
    return None, tuple(FaultTold.model_validate(one) for one in document.get("faults", ()))


async def submitted(desk: Desk, kind: str, asked: Mapping[str, Any]) -> tuple[str, tuple[FaultTold, ...]]:
    """The job of a large question, or what is wrong with it."""
    try:
        noun = validated(KINDS[kind].asked, Document("page", b"", dict(asked)))
        job, _ = await asyncio.to_thread(desk.submit, kind, noun)
    except InputError as problem:
        return "", FaultTold.of(problem.faults)
    except Full:
        return "", (FaultTold(where="page", key="", found="a full queue", expected="a later try"),)
    return job.id, ()


async def go(desk: Desk, kind: str, asked: Mapping[str, Any]) -> None:
    """Ask a large question, and go to its job."""
    job, faults = await submitted(desk, kind, asked)
    if job:
        ui.navigate.to(f"/job/{job}")
    else:
        ui.notify("; ".join(f"{one.key}: found {one.found}" for one in faults), type="negative")


async def words(desk: Desk, kind: str, document: Mapping[str, Any]) -> str:
    """An answer as its command tells it."""
    told, faults = await small(desk, "text", {"kind": kind, "document": dict(document), "width": TEXT_WIDTH})
    return str(told["text"]) if told else "\n".join(str(fault.found) for fault in faults)
