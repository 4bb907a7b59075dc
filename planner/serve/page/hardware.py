"""The hardware router: the cheapest configurations that hold a model, and how many GPUs each format needs."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.latest import Latest
from planner.serve.page.parts import frame, heading, show_faults, small

_FORMATS = ("bf16", "fp8", "int4")
_ALL = 1000


def view(desk: Desk) -> None:
    """The view at ``/hardware``."""
    about = "What holds the model, its context and its users, cheapest first. Fit is no promise of speed."
    with frame("/hardware", "Hardware router", about):
        latest = Latest(lambda: show(), 0.03)
        with ui.row().classes("w-full gap-3"):
            model = choices.model()
            weights = choices.formats("Weights")
            kv = choices.word("KV cache", {"": "as the model has it", "bf16": "bf16", "fp8": "fp8"}, "")
        context = _slider("Context of each sequence", "tokens", [2**power for power in range(9, 18)], 4)
        users = _slider("Sequences at once", "", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], 3)
        for field in (model, weights, kv, context, users):
            field.on_value_change(latest.changed)
        cheapest = ui.column().classes("w-full gap-2").props("aria-live=polite")
        tree = ui.column().classes("w-full gap-2")

        async def show() -> None:
            asked = {
                "model": model.value,
                "context_tokens": context.steps[int(context.value)],
                "concurrency": users.steps[int(users.value)],
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


class _Steps(ui.slider):
    """A slider over some values."""

    def __init__(self, steps: list[int], value: int) -> None:
        super().__init__(min=0, max=len(steps) - 1, value=value, step=1)
        self.steps = steps


def _slider(label: str, unit: str, steps: list[int], value: int) -> _Steps:
    with ui.column().classes("gap-0 w-full sm:w-96"):
        shown = ui.label()
        made = _Steps(steps, value)
        made.props(f'aria-label="{label}"')
        shown.bind_text_from(made, "value", lambda at: f"{label}: {steps[int(at)]:,} {unit}")
    return made


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
    ui.table(columns=columns, rows=rows).classes("w-full").props("flat bordered dense")


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
