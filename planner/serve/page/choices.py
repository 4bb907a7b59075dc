"""What forms offer: the names of the catalog."""

from __future__ import annotations

from functools import cache

from nicegui import ui
from nicegui.elements.number import Number
from nicegui.elements.select import Select

from planner.app.data import catalog_list


@cache
def names(kind: str) -> dict[str, str]:
    """Names to show by id."""
    return {str(row["id"]): str(row["name"] or row["id"]) for row in catalog_list(kind=kind)}


def model(value: str = "qwen3-32b") -> Select:
    """A model of the catalog."""
    return _select("Model", names("model"), value).classes("w-full sm:w-72")


def gpu(value: str = "h100-80gb-sxm") -> Select:
    """A GPU type."""
    return _select("GPU", names("accelerator"), value).classes("w-full sm:w-72")


def gpus(label: str) -> Select:
    """Several GPU types, or none."""
    made = ui.select(
        names("accelerator"), label=label, multiple=True, with_input=True, value=[], clearable=True
    )
    return made.classes("w-full sm:w-72").props("use-chips outlined dense")


def word(label: str, options: dict[str, str], value: str) -> Select:
    """One of a few words."""
    return ui.select(options, label=label, value=value).classes("w-full sm:w-44").props("outlined dense")


def formats(label: str, value: str = "") -> Select:
    """A number format, or any."""
    return word(label, {"": "as the model has it", "bf16": "bf16", "fp8": "fp8", "int4": "int4"}, value)


def number(label: str, value: float | None, *, unit: str = "", least: float = 0) -> Number:
    """A number."""
    made = ui.number(label, value=value, min=least, suffix=unit or None, format="%.10g")
    return made.classes("w-full sm:w-44").props("outlined dense")


def _select(label: str, options: dict[str, str], value: str) -> Select:
    made = ui.select(
        options, label=label, value=value if value in options else next(iter(options)), with_input=True
    )
    return made.props("outlined dense")
