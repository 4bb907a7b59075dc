"""What forms are made of: the names of the catalog, words, numbers, sliders."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from nicegui import ui
from nicegui.binding import BindableProperty
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.elements.number import Number
from nicegui.elements.select import Select

from planner.app.data import catalog_list


@cache
def names(kind: str) -> dict[str, str]:
    """Names to show by id."""
    return {str(row["id"]): str(row["name"] or row["id"]) for row in catalog_list(kind=kind)}


class Model:
    """A model of the catalog, or one that it lacks: by its ``config.json``, for nothing is fetched."""

    def __init__(self, value: str = "qwen3-32b") -> None:
        """Put the list of names; `own` puts the rest where it should stand."""
        self._named = _select("Model", names("model"), value).classes("w-full sm:w-72")
        self._own: Own | None = None

    def own(self) -> Own:
        """Put the fields for a model that the catalog lacks."""
        self._own = Own()
        return self._own

    @property
    def fields(self) -> tuple[ValueElement[Any], ...]:
        """Whose changes count."""
        return (self._named, *(() if self._own is None else self._own.fields))

    @property
    def asked(self) -> dict[str, Any]:
        """The keys of a question that say which model."""
        models = {} if self._own is None else self._own.models
        return {"model": next(iter(models), self._named.value), "models": models}


class Own:
    """Name and ``config.json`` of a model that the catalog lacks."""

    def __init__(self, name: str = "", config: str = "") -> None:
        """Put the fields with what stands in them at first, folded where that is nothing."""
        with ui.expansion("A model that the catalog lacks", value=bool(config)).classes("w-full"):
            self._name = ui.input("Its name, organization/name", value=name or "my/model")
            self._name.props("outlined dense")
            self._config = area("Its config.json", rows=6).set_value(config)
        self._name.classes("w-full sm:w-72")

    @property
    def fields(self) -> tuple[ValueElement[Any], ...]:
        """Whose changes count."""
        return self._name, self._config

    @property
    def texts(self) -> dict[str, str]:
        """What stands in them, for another view."""
        return {"name": str(self._name.value or ""), "config": str(self._config.value or "").strip()}

    @property
    def models(self) -> dict[str, Any]:
        """As questions want them; what is no JSON stays text, which they refuse in words."""
        name, text = self.texts.values()
        if not text:
            return {}
        try:
            found = json.loads(text)
        except ValueError:
            found = f"{text[:40]}…"
        return {name: found}


def area(label: str, rows: int = 10, style: str = "max-height: 22rem") -> ui.textarea:
    """Many lines, pasted or typed."""
    made = ui.textarea(label).classes("w-full").props(f"outlined spellcheck=false rows={rows}")
    made.props["input-style"] = f"font: 13px/1.5 ui-monospace, monospace; {style}"
    return made


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


def weights(unset: str = "as the model has it") -> Select:
    """A format of weights, or ``unset``."""
    return word("Weights", {"": unset, "bf16": "bf16", "fp8": "fp8", "int4": "int4"}, "")


def kv(unset: str = "as the model has it") -> Select:
    """A format of the KV cache, or ``unset``."""
    return word("KV cache", {"": unset, "bf16": "bf16", "fp8": "fp8"}, "")


def number(label: str, value: float | None, *, unit: str = "", least: float = 0) -> Number:
    """A number."""
    made = ui.number(label, value=value, min=least, suffix=unit or None, format="%.10g")
    return made.classes("w-full sm:w-44").props("outlined dense")


class Slider(ui.element):
    """The browser's own slider: it follows every key at once, however late the server hears of it."""

    value: Any = BindableProperty()

    def __init__(
        self,
        label: str,
        low: int,
        high: int,
        value: int,
        said: Callable[[int], str],
        moved: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Put it below its label.

        Args:
            label: what is chosen.
            low: the smallest value.
            high: the largest.
            value: at first.
            said: a value in words.
            moved: done after each change.
        """
        shown = ui.label()
        super().__init__("input")
        self.value = value
        self._said, self._moved = said, moved
        # Only the attribute is the server's, where the slider begins: what the user has moved stays.
        self._props.update({"type": "range", "min": low, "max": high, "step": 1, "^value": value})
        self._props.update({"aria-label": label, "aria-valuetext": said(value)})
        self.classes("planner-slider w-full")
        shown.bind_text_from(self, "value", lambda now: f"{label}: {said(now)}")
        self.on("input", self._input, js_handler="event => emit(Number(event.target.value))", throttle=0.05)

    async def _input(self, event: Any) -> None:
        self.value = int(event.args)
        self.props["aria-valuetext"] = self._said(self.value)
        if self._moved is not None:
            await self._moved()


def _select(label: str, options: dict[str, str], value: str) -> Select:
    made = ui.select(
        options, label=label, value=value if value in options else next(iter(options)), with_input=True
    )
    return made.props("outlined dense")
