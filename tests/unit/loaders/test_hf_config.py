"""Configurations in the published field names, one per architecture, against published counts."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError
from planner.loaders.hf_config import read_checkpoint_bytes, read_hf_config
from planner.loaders.hf_config.registry import BY_ARCHITECTURE, BY_MODEL_TYPE, FAMILIES
from planner.schema.catalog import Model
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import kv_bytes_per_token

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data" / "hf"
SHARED = ROOT.parent / "shared" / "facts" / "configs"

# name: total, active, KV bytes per token at 16 bit (all layers; growth past the window), published total
COUNTS = {
    "command-r-plus": (103810674688, 103810674688, 262144, 262144, 103.8e9),
    "deepseek-v2-lite": (15706484224, 2661150208, 31104, 31104, 15.7e9),
    "deepseek-v3": (671026419200, 37552297472, 70272, 70272, 671e9),
    "deepseek-v4-flash": (283811093248, 13278485248, 28597, 6069, 284e9),
    "falcon-180b": (179522565120, 179522565120, 163840, 163840, 179.5e9),
    "falcon-40b": (41303293952, 41303293952, 122880, 122880, 41.3e9),
    "gemma-2-27b": (27227128320, 27227128320, 376832, 188416, 27.2e9),
    "gemma-3-27b": (27432406640, 27009346304, 507904, 81920, 27.4e9),
    "gemma-4-26b-a4b": (25805592112, 3822188800, 225280, 20480, 25.8e9),
    "gemma-4-31b": (31273086512, 30697345280, 901120, 81920, 31.27e9),
    "glm-4.5": (352797829024, 33632266144, 376832, 376832, 355e9),
    "glm-4.5-air": (106852251264, 13424129664, 188416, 188416, 106e9),
    "glm-4.7-flash": (29943393920, 3896766080, 54144, 54144, 30e9),
    "glm-5.2": (743377019904, 41250530304, 92628, 92628, 744e9),
    "gpt-oss-120b": (116829156672, 5132849472, 73728, 36864, 116.83e9),
    "kimi-k2": (1026408232448, 32861500928, 70272, 70272, 1.03e12),
    "kimi-k3": (2779928314880, 105360143872, 27648, 27648, 2.78e12),
    "llama-2-7b": (6738415616, 6738415616, 524288, 524288, 6.738e9),
    "llama-3-70b": (70553706496, 70553706496, 327680, 327680, 70.6e9),
    "llama-4-maverick": (401583781376, 17184691200, 196608, 49152, 400e9),
    "llama-4-scout": (108641793536, 17172894720, 196608, 49152, 109e9),
    "mimo-7b": (7622619136, 7622619136, 147456, 147456, 7.62e9),
    "mimo-v2-flash": (308778780864, 15445936320, 222720, 23040, 309e9),
    "minimax-m3": (426174558336, 25962459264, 137472, 137472, 426e9),
    "ministral-3-8b": (8489553920, 8489553920, 139264, 139264, 8.49e9),
    "mistral-7b-v0.1": (7241732096, 7241732096, 131072, 0, 7.24e9),
    "mistral-small-24b": (23572403200, 23572403200, 163840, 163840, 23.6e9),
    "mixtral-8x7b": (46702792704, 12879925248, 131072, 131072, 46.7e9),
    "nemotron-3-nano-30b-a3b": (31577940288, 3580076352, 6144, 6144, 31.6e9),
    "nemotron-3-super-120b-a12b": (120668707840, 12770237440, 8192, 8192, 120.7e9),
    "nemotron-3-ultra-550b-a55b": (549308993536, 56058843136, 12288, 12288, 550e9),
    "nemotron-4-340b": (341029195776, 341029195776, 589824, 589824, 341e9),
    "phi-4": (14659507200, 14659507200, 204800, 204800, 14.7e9),
    "qwen2.5-7b": (7615616512, 7615616512, 57344, 57344, 7.61e9),
    "qwen2.5-vl-72b": (73410777344, 72706203648, 327680, 327680, 73.4e9),
    "qwen3-30b-a3b": (30532122624, 3353032704, 98304, 98304, 30.5e9),
    "qwen3-8b": (8190735360, 8190735360, 147456, 147456, 8.2e9),
    "qwen3-next-80b-a3b": (79674391296, 3874929408, 24576, 24576, 79.674e9),
    "qwen3.5-27b": (27356728560, 26895998464, 65536, 65536, 27.36e9),
    "step-3.7-flash": (195832700736, 10863894336, 184320, 49152, 196e9),
}
NATIVE = {
    "deepseek-v3": "fp8",
    "deepseek-v4-flash": "fp8",
    "gemma-4-31b": "nvfp4",
    "gpt-oss-120b": "mxfp4",
    "kimi-k2": "fp8",
    "kimi-k3": "mxfp4",
    "mimo-v2-flash": "fp8",
    "nemotron-3-super-120b-a12b": "fp8",
}
STATE = {
    "kimi-k3": 69 * (96 * 128 * 128 * 4 + 3 * 96 * 128 * 3 * 2),
    "nemotron-3-nano-30b-a3b": 49082368,
    "nemotron-3-super-120b-a12b": 40 * (128 * 64 * 128 * 4 + (8192 + 2 * 8 * 128) * 3 * 2),
    "nemotron-3-ultra-550b-a55b": 48 * (256 * 64 * 128 * 4 + (16384 + 2 * 8 * 128) * 3 * 2),
    "qwen3-next-80b-a3b": 77266944,
    "qwen3.5-27b": 48 * (48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2),
}


def config(name: str) -> dict[str, Any]:
    return json.loads((DATA / name / "config.json").read_text())


def write(folder: Path, values: Any) -> Path:
    file = folder / "config.json"
    file.write_text(values if isinstance(values, str) else json.dumps(values, indent=1))
    return folder


def faults(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_hf_config(path)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_counts_equal_the_published_model(name: str):
    total, active, all_layers, growth, published = COUNTS[name]
    model = read_hf_config(DATA / name)
    facts = model_facts(model)
    kv = kv_bytes_per_token(facts, 16)
    assert facts.params_total == total
    assert facts.params_total == pytest.approx(published, rel=0.01)
    assert facts.params_active == active
    assert (kv.all_layers_bytes, kv.growth_past_window_bytes) == (all_layers, growth)
    assert facts.state_bytes_per_sequence == STATE.get(name, 0)
    assert model.native_format == NATIVE.get(name, "bf16")
    assert model.id == name


def test_every_fixture_is_checked_and_a_file_reads_like_its_folder():
    assert {folder.name for folder in DATA.iterdir()} == set(COUNTS)
    assert read_hf_config(DATA / "phi-4" / "config.json") == read_hf_config(DATA / "phi-4")
    assert read_hf_config(DATA / "phi-4", model_id="My Phi").id == "my-phi"


@pytest.mark.parametrize(
    ("name", "total", "active", "native", "kv"),
    [
        ("glm-5", 744e9, 41.8e9, "fp8", 78 * (576 * 2 + 128 + 4)),
        ("kimi-k2.5", 1.027e12, 32.86e9, "int4", 61 * 576 * 2),
        ("minimax-m2.5", 230e9, 11.0e9, "fp8", 62 * 2 * 8 * 128 * 2),
        ("qwen3.5-397b-a17b", 397e9, 17.3e9, "bf16", 15 * 2 * 2 * 256 * 2),
    ],
)
def test_configurations_of_unseen_models(name: str, total: float, active: float, native: str, kv: int):
    file = SHARED / f"{name}.config.json"
    if not file.exists():
        pytest.skip(f"no {file.name} beside the repository")
    model = read_hf_config(file)
    facts = model_facts(model)
    assert model.id == name
    assert model.native_format == native
    assert facts.params_total == pytest.approx(total, rel=0.01)
    assert facts.params_active == pytest.approx(active, rel=0.01)
    assert kv_bytes_per_token(facts, 16).all_layers_bytes == kv


def test_every_configuration_of_the_facts_reads_with_the_count_of_others(tmp_path: Path):
    table = SHARED.parent / "config_sources.csv"
    if not table.exists():
        pytest.skip(f"no {table.name} beside the repository")
    # Small norms, router biases, sinks, and gates of linear layers are counted by one of the two only.
    loose = {"google--gemma-4-26B-A4B", "nvidia--Gemma-4-31B-IT-NVFP4", "moonshotai--Kimi-K3"}
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 38
    for row in rows:
        total = model_facts(read_hf_config(SHARED / row["file"])).params_total
        off = 2e-4 if row["file"].removesuffix(".config.json") in loose else 1e-7
        assert total == pytest.approx(int(row["params_total_computed"]), rel=off), row["file"]


def test_layers_of_a_kind_that_nobody_knows_are_named(tmp_path: Path):
    values = config("nemotron-3-ultra-550b-a55b")
    values["layers_block_type"][3] = "rwkv"
    assert "layers_block_type" in "".join(faults(write(tmp_path, values)))


def test_models_for_devices_are_refused_in_words(tmp_path: Path):
    values = config("gemma-4-31b")
    values["text_config"]["num_kv_shared_layers"] = 18
    assert "num_kv_shared_layers: found 18, expected 0" in "".join(faults(write(tmp_path, values)))


def test_lists_of_layers_have_one_entry_each(tmp_path: Path):
    values = config("mimo-v2-flash")
    values["moe_layer_freq"] = [1, 0]
    assert "moe_layer_freq: found 2 entries, expected 48" in "".join(faults(write(tmp_path, values)))
    values = config("deepseek-v4-flash")
    values["compress_ratios"] = [4]
    assert "compress_ratios: found 1 entries" in "".join(faults(write(tmp_path, values)))
    values = config("kimi-k3")
    values["text_config"]["linear_attn_config"]["kda_layers"] = [1, 2]
    assert "linear_attn_config.kda_layers" in "".join(faults(write(tmp_path, values)))


def test_names_of_architectures_are_unique():
    assert len(BY_MODEL_TYPE) == sum(len(family.model_types) for family in FAMILIES)
    assert len(BY_ARCHITECTURE) == sum(len(family.architectures) for family in FAMILIES)


def test_an_absent_window_is_the_default_and_null_is_none(tmp_path: Path):
    values = config("mistral-7b-v0.1")
    del values["sliding_window"]
    assert read_hf_config(write(tmp_path, values)).shape.attention.window_tokens == 4096
    values["sliding_window"] = None
    assert read_hf_config(write(tmp_path, values)).shape.attention.sliding_layers == 0


def test_qwen_windows_begin_at_max_window_layers(tmp_path: Path):
    values = config("qwen2.5-7b") | {
        "use_sliding_window": True,
        "sliding_window": 4096,
        "max_window_layers": 20,
    }
    attention = read_hf_config(write(tmp_path, values)).shape.attention
    assert (attention.full_layers, attention.sliding_layers, attention.window_tokens) == (20, 8, 4096)


def test_some_layers_of_a_qwen_mixture_may_be_dense(tmp_path: Path):
    values = config("qwen3-30b-a3b") | {"mlp_only_layers": [0, 1], "decoder_sparse_step": 2}
    shape = read_hf_config(write(tmp_path, values)).shape
    # Layers 1, 3, ..., 47 route, and layer 1 is taken out: 23.
    assert shape.moe is not None
    assert (shape.moe.layers, shape.dense_layers) == (23, 25)


def test_gemma_defaults_stand_in_for_absent_keys(tmp_path: Path):
    model = read_hf_config(DATA / "gemma-3-27b")
    assert model.shape.vocab_size == 262208
    assert model.max_context_tokens == 131072
    assert model.shape.tie_word_embeddings
    assert model.vision is not None
    assert model.vision.params == 423060336
    assert model.vision.tokens_per_image == 256


def test_model_type_or_architecture_alone_is_enough(tmp_path: Path):
    values = config("llama-2-7b")
    del values["model_type"]
    assert read_hf_config(write(tmp_path, values)).family == "llama"
    values = config("llama-2-7b")
    del values["architectures"]
    assert read_hf_config(write(tmp_path, values)).family == "llama"


@pytest.mark.parametrize(
    ("quantization", "native"),
    [
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "awq"}, "int4"),
        ({"quant_method": "compressed-tensors", "format": "float-quantized"}, "fp8"),
        ({"quant_method": "compressed-tensors", "format": "int-quantized"}, "int8"),
        ({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}, "nvfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "pack-quantized",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"}}},
            },
            "int8",
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
    ],
)
def test_native_format(tmp_path: Path, quantization: dict[str, Any], native: str):
    values = config("llama-2-7b") | {"quantization_config": quantization}
    assert read_hf_config(write(tmp_path, values)).native_format == native


@pytest.mark.parametrize(("section", "scales"), [({}, "row"), ({"weight_block_size": [128, 128]}, "block")])
def test_a_size_of_blocks_means_one_scale_a_block(tmp_path: Path, section: dict[str, Any], scales: str):
    values = config("llama-2-7b") | {"quantization_config": {"quant_method": "fp8"} | section}
    assert read_hf_config(write(tmp_path, values)).fp8_scales == scales


def test_unknown_quantization_names_the_nearest(tmp_path: Path):
    values = config("llama-2-7b") | {"quantization_config": {"quant_method": "gptk"}}
    (fault,) = faults(write(tmp_path, values))
    assert 'found "gptk"' in fault
    assert 'Maybe "gptq"?' in fault


def test_unknown_architecture_names_file_line_and_nearest(tmp_path: Path):
    values = config("llama-2-7b") | {"architectures": ["LlamaForCausalML"], "model_type": "lama"}
    found = faults(write(tmp_path, values))
    assert len(found) == 2
    assert found[0].startswith(f'{tmp_path / "config.json"}:5: model_type: found "lama"')
    assert 'Maybe "llama"?' in found[0]
    assert 'Maybe "LlamaForCausalLM"?' in found[1]


def test_names_of_two_architectures_are_refused(tmp_path: Path):
    (fault,) = faults(write(tmp_path, config("llama-2-7b") | {"model_type": "mixtral"}))
    assert "names of mixtral and of llama" in fault


def test_all_missing_and_wrong_keys_are_told_at_once(tmp_path: Path):
    values = config("llama-3-70b") | {"num_hidden_layers": "80", "vocab_size": -1, "num_key_value_heads": 7}
    values["hiden_size"] = values.pop("hidden_size")
    del values["intermediate_size"]
    text = "\n".join(faults(write(tmp_path, values)))
    assert 'hidden_size: found nothing, expected a whole number above zero. Maybe "hiden_size"?' in text
    assert 'num_hidden_layers: found "80"' in text
    assert "Maybe 80?" in text
    assert "vocab_size: found -1" in text
    assert "num_key_value_heads: found 7, expected a divisor of num_attention_heads (64)" in text
    assert "intermediate_size: found nothing" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "broken JSON"),
        ("", "broken JSON"),
        ("[1]", "found a list"),
        ('{"model_type": "llama", "a": 1, "a": 2}', "the key twice"),
        ('{"model_type": "llama", "hidden_size": NaN}', "found NaN"),
        ("[" * 100000, "nested too deeply"),
        ('{"model_type": "llama", "a": ' + "9" * 10000 + "}", "too many digits"),
        ("{}", "neither model_type nor architectures"),
        ('{"model_type": 3}', "expected a text"),
        ('{"model_type": "llama", "text_config": []}', "an object of keys and values"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, text: str, message: str):
    assert message in "\n".join(faults(write(tmp_path, text)))


def test_paths_that_are_no_configuration(tmp_path: Path):
    (tmp_path / "confg.json").write_text("{}")
    (without,) = faults(tmp_path)
    assert "a folder without config.json" in without
    assert 'Maybe "confg.json"?' in without
    (nothing,) = faults(tmp_path / "nowhere")
    assert "found nothing" in nothing
    (tmp_path / "bytes.json").write_bytes(b"{\xff")
    (binary,) = faults(tmp_path / "bytes.json")
    assert "expected text in UTF-8" in binary
    assert faults(Path("a\0b"))


def test_sizes_that_are_only_together_impossible(tmp_path: Path):
    values = config("llama-2-7b") | {
        "hidden_size": 9_000_000,
        "head_dim": 128,
        "intermediate_size": 9_000_000,
    }
    (fault,) = faults(write(tmp_path, values))
    assert "parameters" in fault


def test_checkpoint_bytes(tmp_path: Path):
    assert read_checkpoint_bytes(tmp_path) is None
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"metadata": {"total_size": 13476831232}, "weight_map": {}}')
    assert read_checkpoint_bytes(tmp_path) == 13476831232
    assert read_checkpoint_bytes(tmp_path / "config.json") == 13476831232
    index.write_text('{"metadata": {"total_size": "big"}}')
    with pytest.raises(InputError, match="total_size"):
        read_checkpoint_bytes(tmp_path)


STRANGE = (
    None,
    -1,
    0,
    1,
    3,
    1.5,
    1e300,
    2**70,
    "8",
    "",
    True,
    [],
    [1, "x"],
    ["full_attention"],
    {},
    {"a": 1},
)


def mutated(values: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The configuration with one to four keys removed, replaced or swapped."""
    changed = json.loads(json.dumps(values))
    for _ in range(chance.randint(1, 4)):
        target = changed
        nested = [part for part in changed.values() if isinstance(part, dict) and part]
        if nested and chance.random() < 0.7:
            target = chance.choice(nested)
        if not target:
            continue
        key = chance.choice(sorted(target))
        action = chance.randrange(3)
        if action == 0:
            del target[key]
        elif action == 1:
            target[key] = chance.choice(STRANGE)
        else:
            target[key] = target[chance.choice(sorted(target))]
    return changed


def outcome(path: Path) -> Model | InputError:
    """A model or its faults; any other exception fails the test."""
    try:
        return read_hf_config(path)
    except InputError as problem:
        return problem


def test_a_mutated_configuration_gives_a_model_or_faults(tmp_path: Path):
    chance = random.Random(20250101)
    names = sorted(COUNTS)
    models = 0
    for round_number in range(1500):
        values = mutated(config(names[round_number % len(names)]), chance)
        found = outcome(write(tmp_path, values))
        if isinstance(found, Model):
            assert model_facts(found).params_total > 0
            models += 1
        else:
            assert found.faults
            assert all(str(tmp_path) in str(fault) for fault in found.faults)
    assert 200 < models < 1300


def test_a_damaged_text_gives_a_model_or_faults(tmp_path: Path):
    chance = random.Random(7)
    text = (DATA / "qwen3-8b" / "config.json").read_text()
    for _ in range(200):
        place, length = chance.randrange(len(text)), chance.randrange(1, 6)
        damaged = text[:place] + chance.choice(["", "\0", '"', "{", "é", "NaN", "-"]) + text[place + length :]
        found = outcome(write(tmp_path, damaged))
        assert isinstance(found, Model) or found.faults
