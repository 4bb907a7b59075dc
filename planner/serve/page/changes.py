"""What can be done with a plan: levers for what-ifs, limits to move with one click, the document to keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from nicegui import ui

from planner import numbers
from planner.serve.desk import Desk
from planner.serve.page.choices import Slider
from planner.serve.page.parts import go, heading

_PERCENT = 100


def levers(desk: Desk, plan: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Sliders over demand, limits and safety, and the plan that they would give."""
    problem = plan["inputs"]["problem"]
    found: dict[str, tuple[Slider, Any]] = {}
    heading("What if")
    with ui.grid().classes("w-full grid-cols-1 sm:grid-cols-2 gap-x-8 gap-y-2"):
        for workload in problem.get("workloads", ()):
            _of_workload(workload, found)
        fleet = problem.get("fleet") or {}
        spare = _slider("replicas to spare", 0, 4, int(_count(fleet.get("redundancy"))), "")
        found["fleet.redundancy"] = (spare, lambda value: int(value))
        room = _percent(str((fleet.get("headroom") or {}).get("capacity") or "0 %"))
        warm = _slider("warm pool (capacity kept free)", 0, 100, room, " %")
        found["fleet.headroom.capacity"] = (warm, lambda value: f"{value:g} %")
    begun = {path: slider.value for path, (slider, _) in found.items()}

    async def ask() -> None:
        moved = {
            path: say(slider.value) for path, (slider, say) in found.items() if slider.value != begun[path]
        }
        if not moved:
            ui.notify("Move a slider first.")
            return
        await go(desk, "whatif", {**formulation(plan, asked), "set": moved, "seed": asked.get("seed", 0)})

    ui.button("What would that cost?", on_click=ask)


def _of_workload(workload: Mapping[str, Any], found: dict[str, tuple[Slider, Any]]) -> None:
    name = workload["name"]
    hours = (workload.get("demand") or {}).get("hourly_rps")
    rates = [_number(rate) for rate in hours] if isinstance(hours, list) else []
    if rates and None not in rates:
        most = max(rate for rate in rates if rate is not None)
        slider = _slider(f"{name}: demand, of {most:,g} rps in the busiest hour", 10, 400, _PERCENT, " %")
        found[f"workloads.{name}.demand.hourly_rps"] = (
            slider,
            lambda percent: [_times(rate)(percent) for rate in rates if rate is not None],
        )
    for key in ("peak_rps", "users", "concurrency", "requests_per_day", "tokens_per_day"):
        value = _number((workload.get("demand") or {}).get(key))
        if value is not None:
            amount = f"{value:,.10g} {key.replace('_', ' ')}"
            slider = _slider(f"{name}: demand, of {amount}", 10, 400, _PERCENT, " %")
            found[f"workloads.{name}.demand.{key}"] = (slider, _times(value, whole=key != "peak_rps"))
    for key, limit in (workload.get("slo") or {}).items():
        seconds = _number(str(limit).partition(" ")[0]) if str(limit).endswith(" s") else None
        if seconds is not None:
            label = f"{name}: {key.upper().replace('_', ' ')}, of {seconds * 1000:g} ms"
            found[f"workloads.{name}.slo.{key}"] = (
                _slider(label, 20, 400, _PERCENT, " %"),
                _times(seconds, " s"),
            )


def _slider(label: str, low: int, high: int, value: int, unit: str) -> Slider:
    with ui.column().classes("gap-0 w-full"):
        return Slider(label, low, max(high, value), value, lambda now: f"{now:g}{unit}")


def _times(value: float, unit: str = "", *, whole: bool = False) -> Any:
    def said(percent: float) -> str | int:
        product = value * percent / _PERCENT
        return max(1, round(product)) if whole else f"{product:.12g}{unit}"

    return said


def _number(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(Decimal(str(value)))
    except InvalidOperation:
        return None


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _percent(text: str) -> int:
    return round(_number(text.removesuffix("%").strip()) or 0)


def formulation(plan: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The problem of a plan to be asked again, with the models that came along."""
    return {"problem": plan["inputs"]["problem"], "models": asked.get("models") or {}}


def relaxed(desk: Desk, plan: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Every relaxation with a button that makes it so."""
    if plan["relaxations"]:
        heading("Changes that give a plan, or a cheaper one")
    for way in plan["relaxations"]:
        moved = {one["path"]: _value(one) for one in way["changes"] if one.get("path")}
        with ui.row().classes("items-center gap-3 w-full"):
            ui.label("; ".join(map(_said, way["changes"])))
            cost = way["cost_usd_per_hour"]
            ui.label("" if cost is None else f"then {cost:,.2f} USD/h").classes("planner-quiet")
            if len(moved) == len(way["changes"]):
                change = {**formulation(plan, asked), "set": moved}
                ui.button("Make it so", on_click=lambda change=change: go(desk, "whatif", change)).props(
                    "outline dense"
                )


def _value(change: Mapping[str, Any]) -> Any:
    to, unit = change["to"], str(change["unit"])
    return f"{to:.12g} {unit}" if isinstance(to, float | int) and unit in ("s", "ms", "USD/h", "%") else to


def _said(change: Mapping[str, Any]) -> str:
    unit = str(change["unit"])
    return f"{change['id']}: {numbers.exact(change['from'], unit)} → {numbers.exact(change['to'], unit)}"


def take_out(job_id: str, document: Mapping[str, Any]) -> None:
    """The document as a file; the address of the page is the link to share."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    with ui.row().classes("gap-3"):
        save = f"{job_id[:8]}.json"
        ui.button("Save as JSON", on_click=lambda: ui.download.content(text, save)).props("flat")
