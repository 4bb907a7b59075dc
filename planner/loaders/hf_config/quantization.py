"""The format of a published checkpoint, from ``quantization_config``."""

from __future__ import annotations

from typing import Literal

from planner.errors import nearest
from planner.loaders.hf_config.elsewhere import EXPECTED, run_elsewhere
from planner.loaders.hf_config.fields import Fields

NativeFormat = Literal["bf16", "fp8", "int8", "mxfp4", "int4", "nvfp4"]
METHODS = (
    "awq",
    "bitsandbytes",
    "compressed-tensors",
    "fbgemm_fp8",
    "fp8",
    "gptq",
    "modelopt",
    "mxfp4",
)
DTYPES = ("bfloat16", "float16", "float32")
COMPRESSED: dict[str, NativeFormat] = {
    "float-quantized": "fp8",
    "int-quantized": "int8",
    "nvfp4-pack-quantized": "nvfp4",
    "mxfp4-pack-quantized": "mxfp4",
}


def read_native_format(fields: Fields) -> NativeFormat:
    """The weight format of the checkpoint; 16 bit where nothing says otherwise."""
    section = fields.section("quantization_config")
    if section is None:
        _check_dtype(fields)
        return "bf16"
    method = section.text("quant_method") or ("modelopt" if section.written("quant_algo") else "")
    if method in ("fp8", "fbgemm_fp8"):
        return "fp8"
    if method == "mxfp4":
        return "mxfp4"
    if method in ("gptq", "awq"):
        return _integer(section, section.count("bits", 4), "bits")
    if method == "compressed-tensors":
        return _compressed(section)
    if method == "modelopt":
        return _modelopt(section)
    if method == "bitsandbytes":
        return "int8" if section.flag("load_in_8bit", False) else "int4"
    who = run_elsewhere(method)
    if who:
        section.fault("quant_method", f'"{method}", {who}', EXPECTED)
        return "bf16"
    expected = f"one of {', '.join(METHODS)}"
    section.fault("quant_method", f'"{method}"' if method else "nothing", expected, nearest(method, METHODS))
    return "bf16"


def read_fp8_scales(fields: Fields) -> Literal["row", "block"]:
    """Scales of an FP8 checkpoint: a size of blocks means one a block."""
    section = fields.section("quantization_config")
    return "block" if section is not None and section.written("weight_block_size") else "row"


def _check_dtype(fields: Fields) -> None:
    for key in ("dtype", "torch_dtype"):
        dtype = fields.text(key).removeprefix("torch.")
        if dtype and dtype not in DTYPES:
            fields.fault(key, f'"{dtype}"', f"one of {', '.join(DTYPES)}", nearest(dtype, DTYPES))


def _integer(section: Fields, bits: int, key: str) -> NativeFormat:
    if bits not in (4, 8):
        section.fault(key, str(bits), "4 or 8")
    return "int8" if bits == 8 else "int4"


def _compressed(section: Fields) -> NativeFormat:
    """Named layouts say the format; packed and naive ones say the bits in their groups."""
    layout = section.text("format")
    if layout in COMPRESSED:
        return COMPRESSED[layout]
    if layout not in ("pack-quantized", "naive-quantized"):
        known = ("pack-quantized", "naive-quantized", *COMPRESSED)
        section.fault("format", f'"{layout}"', f"one of {', '.join(known)}", nearest(layout, known))
        return "bf16"
    groups = section.section("config_groups")
    for name in sorted(groups.values) if groups else ():
        group = groups.section(name) if groups else None
        weights = group.section("weights") if group else None
        if weights is not None:
            bits = weights.count("num_bits", 4)
            return (
                "fp8"
                if weights.text("type") == "float" and bits == 8
                else _integer(weights, bits, "num_bits")
            )
    return "int4"


def _modelopt(section: Fields) -> NativeFormat:
    algorithms: dict[str, NativeFormat] = {
        "FP8": "fp8",
        "NVFP4": "nvfp4",
        "MXFP4": "mxfp4",
        "W4A16_AWQ": "int4",
        "MIXED_PRECISION": "nvfp4",  # chosen layer by layer; the file names the layers that are wider
    }
    name = section.text("quant_algo").upper()
    if name in algorithms:
        return algorithms[name]
    section.fault("quant_algo", f'"{name}"' if name else "nothing", f"one of {', '.join(algorithms)}")
    return "bf16"
