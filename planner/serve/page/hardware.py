"""The hardware router: the cheapest configurations that hold a model, and how many GPUs each format needs."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.latest import Latest
from planner.serve.page.parts import frame, heading, show_faults, small, table

_FORMATS = ("bf16", "fp8", "int4")
_ALL = 1000


def view(desk: Desk) -> None:
    """The view at ``/hardware``."""
    about = "What holds the model, its context and its users, cheapest first. Fit is no promise of speed."
    with frame("/hardware", "Hardware router", about):
        latest = Latest(lambda: show(), 0.03)
        with ui.row().classes("w-full gap-3"):
            model = choices.Model()
            weights, kv = choices.weights("any"), choices.kv("any")
        context = _doubling("Context of each sequence", "tokens", (9, 17), 13, latest)
        users = _doubling("Sequences at once", "", (0, 9), 3, latest)
        model.own()
        for field in (*model.fields, weights, kv):
            field.on_value_change(latest.changed)
        cheapest = ui.column().classes("w-full gap-2").props("aria-live=polite")
        tree = ui.column().classes("w-full gap-2")

        async def show() -> None:
            asked = {
                **model.asked,
                "context_tokens": 2**context.value,
                "concurrency": 2**users.value,
                "kv": kv.value or None,
            }
            found, faults = await small(desk, "fit", {**asked, "weights": weights.value or None, "limit": 12})
            cheapest.clear()
            with cheapest:
                if found is None:
                    show_faults(faults)
                else:
                    _rows(found)
            told: dict[str, list[dict[str, Any]]] = {}
            for name in _FORMATS if found is not None else ():
                if latest.overtaken:  # the slider moves on: its next place is what counts
                    return
                answer, _ = await small(desk, "fit", {**asked, "weights": name, "limit": _ALL})
                if answer is not None:
                    told[name] = answer["rows"]
            tree.clear()
            if found is not None:
                with tree:
                    _tree(told)

        ui.timer(0.1, latest.changed, once=True)


def _doubling(label: str, unit: str, powers: tuple[int, int], begun: int, latest: Latest) -> choices.Slider:
    """A slider over powers of two."""
    with ui.column().classes("gap-0 w-full sm:w-96"):
        return choices.Slider(label, *powers, begun, lambda at: f"{2**at:,} {unit}".strip(), latest.changed)


def _rows(found: dict[str, Any]) -> None:
    if not found["rows"]:
        ui.label("Nothing in the catalog holds this.").classes("planner-big")
        refused = ", ".join(f"{name} ({count:,})" for name, count in found["refused"].items())
        ui.label(f"Configurations refused by: {refused}.").classes("planner-quiet")
        return
    columns = [
        {"name": "cost", "label": "USD/h", "field": "cost", "align": "right"},
        {"name": "gpus", "label": "GPUs", "field": "gpus", "align": "left"},
        {"name": "layout", "label": "Layout", "field": "layout", "align": "left"},
        {"name": "formats", "label": "Weights, KV", "field": "formats", "align": "left"},
        {"name": "holds", "label": "Holds", "field": "holds", "align": "right"},
    ]
    rows = [
        {
            "id": number,
            "cost": f"{row['usd_per_hour']:,.2f}",
            "gpus": f"{row['gpus']} × {row['gpu']}",
            "layout": _layout(row),
            "formats": f"{row['weights']}, {row['kv']}",
            "holds": f"{row['holds']:,} sequences",
        }
        for number, row in enumerate(found["rows"])
    ]
    table("Cheapest configurations", columns, rows)


def _layout(row: dict[str, Any]) -> str:
    if row["tp"] * row["pp"] * row["attention_dp"] == 1:
        return "one GPU"
    parts = {"TP": row["tp"], "PP": row["pp"], "attention DP": row["attention_dp"], "EP": row["ep"]}
    over = ", over PCIe" if " pcie " in row["option"] else ""
    return " × ".join(f"{name} {count}" for name, count in parts.items() if count > 1) + over


def _tree(by_format: dict[str, list[dict[str, Any]]]) -> None:
    """The fewest GPUs by format: one GPU before a narrower format, that before a link."""
    heading("How many GPUs, and which link")
    ui.label(
        "One GPU where it fits; else a narrower format; else tensor parallelism, NVLink before PCIe."
    ).classes("planner-quiet")
    for name, rows in by_format.items():
        if not rows:
            ui.label(f"{name}: nothing holds it.")
            continue
        least = min(row["gpus"] for row in rows)
        best = min((row for row in rows if row["gpus"] == least), key=lambda row: float(row["usd_per_hour"]))
        types = len({row["gpu"] for row in rows if row["gpus"] == least})
        count = "1 GPU" if least == 1 else f"{least} GPUs"
        ui.label(
            f"{name}: {count} at least, on {types} GPU type{'s' if types > 1 else ''}; "
            f"cheapest {best['gpu']} ({_layout(best)}), {best['usd_per_hour']:,.2f} USD/h."
        )
