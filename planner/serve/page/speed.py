"""Throughput, latency and the roofline of one configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from planner import numbers
from planner.app.data import catalog_show
from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.charts import LOOK, Drawing
from planner.serve.page.latest import Latest
from planner.serve.page.parts import frame, heading, show_faults, small, text_block, words

_LOW, _HIGH = 0.25, 16.0
"""Of the axis of intensities: times the smallest and the largest that is shown."""


def view(desk: Desk) -> None:
    """The view at ``/speed``."""
    about = "One model on some GPUs under a load: memory, speed, cost, and what bounds each phase."
    with frame("/speed", "Throughput and latency", about):
        latest = Latest(lambda: show())
        with ui.row().classes("w-full gap-3"):
            model, gpu = choices.Model(), choices.gpu()
            degrees = {"1": "1 GPU", "2": "2 GPUs", "4": "4 GPUs", "8": "8 GPUs"}
            tp = choices.word("Tensor parallel", degrees, "1")
            weights, kv = choices.weights(), choices.kv()
            isl = choices.number("Input", 800, unit="tokens", least=1)
            osl = choices.number("Output", 300, unit="tokens", least=1)
            load = choices.number("Requests in flight", 16, least=1)
        model.own()
        for field in (*model.fields, gpu, tp, weights, kv, isl, osl, load):
            field.on_value_change(latest.changed)
        with ui.column().classes("w-full gap-3").props("aria-live=polite"):
            curve_part, roofline_part = _Curve(), _Roofline()
            place = ui.column().classes("w-full gap-3")

        async def show() -> None:
            asked: dict[str, Any] = {
                **model.asked,
                "gpu": gpu.value,
                "tp": int(tp.value or 1),
                "weights": weights.value or None,
                "kv": kv.value or None,
                "isl": int(isl.value or 0),
                "osl": int(osl.value or 0),
            }
            found, faults = await small(desk, "estimate", {**asked, "concurrency": int(load.value or 0)})
            curve, _ = await small(desk, "curve", asked)
            text = await words(desk, "estimate", found) if found else ""
            points = await words(desk, "curve", curve) if curve else ""
            if latest.overtaken:
                return
            curve_part.show(curve if found else None, points)
            roofline_part.show(found.get("efficiency") if found else None, str(gpu.value))
            place.clear()
            with place:
                if found is None:
                    show_faults(faults)
                    return
                heading("In words")
                text_block(text)

        ui.timer(0.1, latest.changed, once=True)


class _Curve:
    """Latency over throughput, as a chart and in the words of the command line."""

    def __init__(self) -> None:
        self._place, self._drawing = ui.column().classes("w-full gap-3"), Drawing()
        with self._place:
            heading("Latency over throughput, one replica")
            self._chart = ui.column().classes("w-full")
            with ui.expansion("The curve in words").classes("w-full"):
                self._words = ui.column().classes("w-full")
        self._place.set_visibility(False)

    def show(self, curve: dict[str, Any] | None, text: str) -> None:
        """Nothing without points."""
        known = bool(curve and curve.get("points"))
        self._place.set_visibility(known)
        if curve is None or not known:
            return
        with self._chart:
            self._drawing.show(_curve(curve))
        self._words.clear()
        with self._words:
            text_block(text)


def _curve(curve: dict[str, Any]) -> dict[str, Any]:
    points = [(one["output_tokens_per_s"], one) for one in curve["points"]]
    itl = [[x, one["itl_s"]["mean"] * 1000] for x, one in points if one["itl_s"]]
    ttft = [[x, one["ttft_s"]["mean"] * 1000] for x, one in points if one["ttft_s"]]
    return {
        **LOOK,
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0, "type": "scroll"},
        "grid": {"left": 60, "right": 65, "top": 58, "bottom": 45},
        "xAxis": {"type": "value", "name": "output tokens/s", "nameLocation": "middle", "nameGap": 28},
        "yAxis": [
            {"type": "value", "name": "ITL, ms"},
            {"type": "log", "name": "TTFT, ms"},
        ],
        "series": [
            {"name": "ITL, mean", "type": "line", "data": itl, "symbol": "circle"},
            {
                "name": "TTFT, mean",
                "type": "line",
                "data": ttft,
                "yAxisIndex": 1,
                "symbol": "triangle",
                "lineStyle": {"type": "dashed"},
            },
        ],
    }


class _Roofline:
    """The ceiling of one GPU, and where on it each phase stands, as a chart and in words."""

    def __init__(self) -> None:
        self._place, self._drawing = ui.column().classes("w-full gap-3"), Drawing()
        with self._place:
            heading("Roofline")
            self._chart = ui.column().classes("w-full")
            self._words = ui.column().classes("w-full gap-3")
        self._place.set_visibility(False)

    def show(self, efficiency: dict[str, Any] | None, gpu: str) -> None:
        """Nothing where it is not known."""
        self._place.set_visibility(bool(efficiency))
        if not efficiency:
            return
        ridge = float(efficiency["ridge_flops_per_byte"])
        phases = {name: float(value) for name, value in efficiency["arithmetic_intensity"].items()}
        with self._chart:
            self._drawing.show(_roofline(ridge, phases, gpu))
        self._words.clear()
        with self._words:
            _bounds(efficiency, ridge, phases)


def _roofline(ridge: float, phases: Mapping[str, float], gpu: str) -> dict[str, Any]:
    bandwidth = float(catalog_show(gpu)["memory_bandwidth_bytes_per_s"])
    low, high = min([*phases.values(), ridge]) * _LOW, max([*phases.values(), ridge]) * _HIGH

    def ceiling(intensity: float) -> float:
        return bandwidth * min(intensity, ridge) / 1e12

    roof = [[x, ceiling(x)] for x in (low, ridge, high)]
    series: list[dict[str, Any]] = [
        {"name": "ceiling of one GPU", "type": "line", "data": roof, "symbol": "none"}
    ]
    for (name, intensity), symbol in zip(phases.items(), ("circle", "triangle"), strict=False):
        point = {
            "name": name,
            "type": "scatter",
            "symbol": symbol,
            "symbolSize": 16,
            "data": [[intensity, ceiling(intensity)]],
        }
        series.append(point)
    return {
        **LOOK,
        "tooltip": {},
        "legend": {"top": 0, "type": "scroll"},
        "grid": {"left": 60, "right": 20, "top": 58, "bottom": 45},
        "xAxis": {
            "type": "log",
            "name": "FLOP per byte read",
            "nameLocation": "middle",
            "nameGap": 28,
            "min": low,
            "max": high,
            "axisLabel": {"showMinLabel": False, "showMaxLabel": False},
        },
        "yAxis": {"type": "log", "name": "TFLOP/s"},
        "series": series,
    }


def _bounds(efficiency: dict[str, Any], ridge: float, phases: Mapping[str, float]) -> None:
    for name, intensity in phases.items():
        bound = "memory" if intensity < ridge else "arithmetic"
        ui.label(
            f"{name}: {intensity:,.3g} FLOP per byte; the ridge is at {ridge:,.3g}: it waits for {bound}."
        )
    mbu = efficiency["mbu"]
    reached = f"MFU {numbers.share(efficiency['mfu'])}"
    reached += f", MBU {numbers.share(mbu)}" if mbu is not None else ""
    ui.label(f"Reached at this load: {reached}.").classes("planner-quiet")
