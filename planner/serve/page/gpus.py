"""The sheets of all GPUs of the catalog: dense rates, memory, links, prices."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from nicegui import ui

from planner.app.data import catalog_list, catalog_show
from planner.report import catalog_text
from planner.report.terminal import render
from planner.serve.desk import Desk
from planner.serve.page.parts import frame, heading, text_block

_COLUMNS = (
    ("name", "GPU", "left"),
    ("architecture", "Architecture", "left"),
    ("memory", "Memory, GiB", "right"),
    ("bandwidth", "Bandwidth, TB/s", "right"),
    ("bf16", "BF16, TFLOP/s", "right"),
    ("fp8", "FP8, TFLOP/s", "right"),
    ("ridge", "Ridge, FLOP/B", "right"),
    ("link", "Link", "left"),
    ("power", "W", "right"),
    ("price", "from USD/h", "right"),
    ("worth", "TB/s per USD", "right"),
)


def view(_: Desk) -> None:
    """The view at ``/gpus``."""
    about = (
        "Dense rates, never sparse ones. Decoding wants bandwidth; memory beyond the model's need is idle."
    )
    with frame("/gpus", "GPU sheets", about):
        place = ui.column().classes("w-full gap-3")

        async def show() -> None:
            rows = await asyncio.to_thread(_rows)
            with place:
                wanted = ui.input("Find").props("outlined dense clearable").classes("w-full sm:w-72")
                columns = [
                    {"name": key, "label": label, "field": key, "align": side, "sortable": True}
                    for key, label, side in _COLUMNS
                ]
                table = ui.table(columns=columns, rows=rows, pagination=15).classes("w-full")
                table.props("flat bordered dense").bind_filter_from(wanted, "value")
                sheet = ui.select(
                    {row["id"]: row["name"] for row in rows},
                    label="Everything about",
                    value=None,
                    with_input=True,
                )
                sheet.props("outlined dense").classes("w-full sm:w-72")
                whole = ui.column().classes("w-full")

                async def one() -> None:
                    whole.clear()
                    if sheet.value:
                        entry = await asyncio.to_thread(catalog_show, str(sheet.value))
                        with whole:
                            heading(str(entry["name"]))
                            text_block(render(catalog_text.entry_view(entry)))

                sheet.on_value_change(one)

        ui.timer(0.1, show, once=True)


@cache
def _rows() -> list[dict[str, Any]]:
    return [
        _row(str(entry["id"]), catalog_show(str(entry["id"]))) for entry in catalog_list(kind="accelerator")
    ]


def _row(name: str, sheet: dict[str, Any]) -> dict[str, Any]:
    rates, ridge = sheet["dense_flops_per_s"], sheet["ridge_flops_per_byte"]
    prices = [one["usd_per_hour"] / one["gpus"] for one in sheet["offers"] if one["usable"] and one["gpus"]]
    bandwidth = sheet["memory_bandwidth_bytes_per_s"] / 1e12
    return {
        "id": name,
        "name": sheet["name"],
        "architecture": sheet["architecture"],
        "memory": round(sheet["memory_bytes"] / 2**30),
        "bandwidth": round(bandwidth, 2),
        "bf16": _tera(rates.get("bf16")),
        "fp8": _tera(rates.get("fp8")),
        "ridge": None if "bf16" not in ridge else round(ridge["bf16"]),
        "link": sheet["link"]["kind"],
        "power": sheet.get("power_w"),
        "price": round(min(prices), 2) if prices else None,
        "worth": round(bandwidth / min(prices), 2) if prices and min(prices) > 0 else None,
    }


def _tera(rate: float | None) -> int | None:
    return None if rate is None else round(rate / 1e12)
