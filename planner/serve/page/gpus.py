"""The sheets of all GPUs of the catalog: dense rates, memory, links, prices."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from nicegui import ui

from planner import numbers
from planner.app.data import catalog_list, catalog_show
from planner.report import catalog_text
from planner.report.terminal import render
from planner.serve.desk import Desk
from planner.serve.page.parts import TEXT_WIDTH, frame, heading, table, text_block

_COLUMNS = (
    ("name", "GPU", "left"),
    ("architecture", "Architecture", "left"),
    ("memory", "Memory", "right"),
    ("bandwidth", "Bandwidth, TB/s", "right"),
    ("bf16", "BF16, TFLOP/s", "right"),
    ("fp8", "FP8, TFLOP/s", "right"),
    ("ridge", "Ridge, FLOP/B", "right"),
    ("link", "Link", "left"),
    ("power", "W", "right"),
    ("price", "from USD/h", "right"),
    ("worth", "TB/s per USD", "right"),
)
_HEADING = """
<q-th :props="props">
  <span role="button" tabindex="0" @keydown.enter.space.prevent="props.sort(props.col)">
    {{ props.col.label }}</span>
</q-th>"""
"""Sorts by keys too."""


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
                sheets = table(
                    "GPUs of the catalog", [_column(*one) for one in _COLUMNS], rows, pagination=15
                )
                sheets.bind_filter_from(wanted, "value").add_slot("header-cell", _HEADING)
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
                            text_block(render(catalog_text.entry_view(entry), width=TEXT_WIDTH))

                sheet.on_value_change(one)

        ui.timer(0.1, show, once=True)


def _column(key: str, label: str, side: str) -> dict[str, Any]:
    shown = {":format": f"(_, row) => row.shown.{key}"}
    return {"name": key, "label": label, "field": key, "align": side, "sortable": True, **shown}


@cache
def _rows() -> list[dict[str, Any]]:
    return [
        _row(str(entry["id"]), catalog_show(str(entry["id"]))) for entry in catalog_list(kind="accelerator")
    ]


def _row(name: str, sheet: dict[str, Any]) -> dict[str, Any]:
    """Values to sort by, and in ``shown`` the same in words."""
    rates, ridge = sheet["dense_flops_per_s"], sheet["ridge_flops_per_byte"]
    prices = [one["usd_per_hour"] / one["gpus"] for one in sheet["offers"] if one["usable"] and one["gpus"]]
    bandwidth, price = sheet["memory_bandwidth_bytes_per_s"] / 1e12, min(prices, default=None)
    values = {
        "memory": sheet["memory_bytes"],
        "bandwidth": bandwidth,
        "bf16": _tera(rates.get("bf16")),
        "fp8": _tera(rates.get("fp8")),
        "ridge": ridge.get("bf16"),
        "power": sheet.get("power_w"),
        "price": price,
        "worth": bandwidth / price if price else None,
    }
    words = {"name": sheet["name"], "architecture": sheet["architecture"], "link": sheet["link"]["kind"]}
    shown = {key: _said(key, value) for key, value in values.items()}
    return {"id": name, **words, **values, "shown": words | shown}


def _said(key: str, value: float | None) -> str:
    if value is None:
        return ""
    if key == "memory":
        return numbers.size(value)
    return f"{value:,.2f}" if key == "price" else numbers.significant(value)


def _tera(rate: float | None) -> float | None:
    return None if rate is None else rate / 1e12
