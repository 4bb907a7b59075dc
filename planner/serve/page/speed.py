"""Throughput, latency and the roofline of one configuration."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from planner.app.data import catalog_show
from planner.serve.desk import Desk
from planner.serve.page import choices
from planner.serve.page.charts import LOOK
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
            model, gpu = choices.model(), choices.gpu()
            degrees = {"1": "1 GPU", "2": "2 GPUs", "4": "4 GPUs", "8": "8 GPUs"}
            tp = choices.word("Tensor parallel", degrees, "1")
            weights = choices.formats("Weights")
            kv = choices.word("KV cache", {"": "as the model has it", "bf16": "bf16", "fp8": "fp8"}, "")
            isl = choices.number("Input", 800, unit="tokens", least=1)
            osl = choices.number("Output", 300, unit="tokens", least=1)
            load = choices.number("Requests in flight", 16, least=1)
        for field in (model, gpu, tp, weights, kv, isl, osl, load):
            field.on_value_change(latest.changed)
        place = ui.column().classes("w-full gap-3").props("aria-live=polite")

        async def show() -> None:
            asked: dict[str, Any] = {
                "model": model.value,
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
            place.clear()
            with place:
                if found is None:
                    show_faults(faults)
                    return
                if curve and curve.get("points"):
                    _curve(curve)
                if found.get("efficiency"):
                    _roofline(found["efficiency"], str(gpu.value))
                heading("In words")
                text_block(text)

        ui.timer(0.1, latest.changed, once=True)


def _curve(curve: dict[str, Any]) -> None:
    heading("Latency over throughput, one replica")
    points = [(one["output_tokens_per_s"], one) for one in curve["points"]]
    itl = [[x, one["itl_s"]["mean"] * 1000] for x, one in points if one["itl_s"]]
    ttft = [[x, one["ttft_s"]["mean"] * 1000] for x, one in points if one["ttft_s"]]
    ui.echart(
        {
            **LOOK,
            "tooltip": {"trigger": "axis"},
            "legend": {"top": 0},
            "grid": {"left": 60, "right": 65, "top": 40, "bottom": 45},
            "xAxis": {"type": "value", "name": "output tokens/s", "nameLocation": "middle", "nameGap": 28},
            "yAxis": [
                {"type": "value", "name": "gap, ms"},
                {"type": "log", "name": "first token, ms"},
            ],
            "series": [
                {"name": "gap between tokens, mean", "type": "line", "data": itl, "symbol": "circle"},
                {
                    "name": "first token, mean",
                    "type": "line",
                    "data": ttft,
                    "yAxisIndex": 1,
                    "symbol": "triangle",
                    "lineStyle": {"type": "dashed"},
                },
            ],
        }
    ).classes("w-full h-72")


def _roofline(efficiency: dict[str, Any], gpu: str) -> None:
    """The ceiling of one GPU, and where on it each phase stands."""
    heading("Roofline")
    bandwidth = float(catalog_show(gpu)["memory_bandwidth_bytes_per_s"])
    ridge = float(efficiency["ridge_flops_per_byte"])
    phases = {name: float(value) for name, value in efficiency["arithmetic_intensity"].items()}
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
    ui.echart(
        {
            **LOOK,
            "tooltip": {},
            "legend": {"top": 0},
            "grid": {"left": 60, "right": 20, "top": 40, "bottom": 45},
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
    ).classes("w-full h-72")
    for name, intensity in phases.items():
        bound = "memory" if intensity < ridge else "arithmetic"
        ui.label(
            f"{name}: {intensity:,.3g} FLOP per byte; the ridge is at {ridge:,.3g}: it waits for {bound}."
        )
    mbu = efficiency["mbu"]
    reached = f"MFU {efficiency['mfu']:.1%}" + (f", MBU {mbu:.1%}" if mbu is not None else "")
    ui.label(f"Reached at this load: {reached}.").classes("planner-quiet")
