"""A Hugging Face ``config.json`` becomes a model of the catalog."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import ValidationError

from planner.errors import input_error, nearest
from planner.loaders.hf_config.common import SOURCE
from planner.loaders.hf_config.document import Document, read_document
from planner.loaders.hf_config.fields import LARGEST_PRODUCT, Fields
from planner.loaders.hf_config.not_decoders import EXPECTED, NOT_DECODERS
from planner.loaders.hf_config.quantization import read_fp8_scales, read_native_format
from planner.loaders.hf_config.registry import BY_ARCHITECTURE, BY_MODEL_TYPE, Family
from planner.schema.catalog import Model, ModelShape, SourceText, Vision

CONFIG = "config.json"
INHERITED = ("tie_word_embeddings", "model_type")
"""Keys that a wrapper may hold for its text part."""


def read_hf_config(path: Path, *, model_id: str | None = None) -> Model:
    """Read a model from a configuration file, or from a folder that holds ``config.json``.

    Args:
        path: the file or the folder.
        model_id: the id to give; default: the name of the folder or file in lower-case kebab.

    Raises:
        InputError: no such file, broken JSON, an unknown architecture, missing, wrong or implausible
            keys; all faults at once.
    """
    file = config_file(path)
    document = read_document(file)
    top = Fields(document, document.values)
    text = _text_part(top)
    family = _family(top, text)
    if family is None:
        document.raise_faults()
        raise AssertionError("an unknown family is always a fault")
    quantized = text if text.written("quantization_config") else top
    native, scales = read_native_format(quantized), read_fp8_scales(quantized)
    reading = family.reader(text)
    vision = _vision(top, family, reading.shape.hidden_size)
    _check_size(top, reading.shape)
    document.raise_faults()
    name = model_id or _default_name(file)
    try:
        return Model(
            id=_kebab(name),
            name=name,
            sources={SOURCE: SourceText(title=f"{_default_name(file)}, {file.name}", date=_read_date(file))},
            note=reading.note,
            family=family.name,
            native_format=native,
            fp8_scales=scales,
            max_context_tokens=reading.max_context_tokens,
            active_excludes_embedding=reading.active_excludes_embedding,
            shape=reading.shape,
            vision=vision,
        )
    except ValidationError as problem:
        raise _refused(document, problem) from problem


def config_file(path: Path) -> Path:
    """The configuration file that a path means.

    Raises:
        InputError: the path does not exist, or is a folder without ``config.json``.
    """
    try:
        folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as problem:
        raise input_error(
            repr(str(path)), "", "no usable path", f"a folder with {CONFIG}, or the file"
        ) from problem
    if folder:
        file = path / CONFIG
        if not file.is_file():
            names = sorted(item.name for item in path.glob("*.json"))
            found = f"a folder without {CONFIG}"
            raise input_error(str(path), "", found, CONFIG, nearest(CONFIG, names) or ", ".join(names[:3]))
        return file
    if not exists:
        raise input_error(str(path), "", "nothing", f"a folder with {CONFIG}, or the file itself")
    if path.suffix == ".gguf":
        expected = f"the {CONFIG} of the model, and its format, such as --weights gguf-q4-k-m"
        raise input_error(str(path), "", "a GGUF file, which holds no configuration", expected)
    return path


def _text_part(top: Fields) -> Fields:
    """The language model's own fields: the file, or ``text_config`` with what only the wrapper says."""
    section = top.section("text_config")
    if section is None:
        return top
    outer = {key: top.values[key] for key in INHERITED if top.values.get(key) is not None}
    inner = {key: value for key, value in section.values.items() if value is not None or key not in outer}
    return Fields(section.document, outer | inner, section.path)


def _family(top: Fields, text: Fields) -> Family | None:
    """The reader's line; every name that the file gives must be known and mean the same architecture."""
    found: list[Family] = []
    kind = top.text("model_type")
    what = NOT_DECODERS.get(kind) or (
        "an encoder-decoder model" if top.flag("is_encoder_decoder", False) else ""
    )
    if what:
        top.fault("model_type", f'"{kind}", {what}', EXPECTED)
        return None
    for fields in (text, top) if text is not top else (top,):
        kind = fields.text("model_type")
        if kind:
            found += _known(fields, "model_type", kind, BY_MODEL_TYPE)
        for name in fields.texts("architectures"):
            found += _known(fields, "architectures", name, BY_ARCHITECTURE)
    if top.document.faults:
        return None
    if not found:
        expected = f"model_type, one of {', '.join(BY_MODEL_TYPE)}"
        top.fault("model_type", "neither model_type nor architectures", expected)
        return None
    family = found[0]
    others = [other.name for other in found if other.reader is not family.reader]
    if others:
        top.fault("architectures", f"names of {family.name} and of {others[0]}", "names of one architecture")
        return None
    return next((other for other in found if other.vision is not None), family)


def _known(fields: Fields, key: str, name: str, table: dict[str, Family]) -> list[Family]:
    if name in table:
        return [table[name]]
    near = nearest(name, list(table))
    known = f"one of the {len(table)} known names" if near else f"a known name: {', '.join(sorted(table))}"
    fields.fault(key, f'"{name}"', known, near)
    return []


def _vision(top: Fields, family: Family, hidden: int) -> Vision | None:
    section = top.section("vision_config")
    if section is None:
        return None
    if family.vision is None:
        top.fault("vision_config", "an image encoder", f"none, as for other models of {family.name}")
        return None
    return family.vision(section, top, hidden)


def _check_size(top: Fields, shape: ModelShape) -> None:
    """Sizes that are each possible and together are not."""
    width = max(shape.attention.query_heads * shape.attention.head_dim, shape.hidden_size)
    inner = shape.mlp.intermediate_size if shape.mlp else 0
    if shape.moe:
        inner = max(inner, shape.moe.experts * shape.moe.expert_intermediate_size)
    count = shape.layers * shape.hidden_size * (width + inner) + shape.hidden_size * shape.vocab_size
    if count > LARGEST_PRODUCT:
        top.document.fault(
            (), f"about {count:.1e} parameters", f"a model of fewer than {LARGEST_PRODUCT:.0e}"
        )


def _refused(document: Document, problem: ValidationError) -> Exception:
    """Sizes that read well and yet make no model."""
    for error in problem.errors():
        place = ".".join(str(part) for part in error["loc"])
        document.fault((), f"{place} = {str(error.get('input'))[:60]}", str(error["msg"]))
    try:
        document.raise_faults()
    except Exception as fault:
        return fault
    return problem


def _default_name(file: Path) -> str:
    """The folder's name for ``config.json``; else the file's name up to its first ``.config`` or suffix."""
    if file.name == CONFIG:
        return file.resolve().parent.name or "model"
    return file.name.removesuffix(".json").removesuffix(".config") or "model"


def _kebab(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "model"


def _read_date(file: Path) -> date:
    """The day on which the file was last written."""
    return datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date()
