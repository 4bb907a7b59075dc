"""Models by id, folder or hub, through the command line: what is read, pinned and refused. No network."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from http_servers import reply, serving

from planner.interfaces import cli
from planner.loaders import hub
from planner.loaders.catalog import load_catalog

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "tests" / "data" / "hf"
IDS = ROOT.parent / "shared" / "facts" / "model_ids.csv"
COMMIT = "0123456789abcdef" * 2 + "01234567"
LOAD = ["--rps", "2", "--isl", "800", "--osl", "300", "--gpu", "h100"]
SMALL = """
name: small
workloads:
  - name: w
    model: me/mine
    demand: {peak_rps: 1}
    lengths: {input: {fixed: 800}, output: {fixed: 300}}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [h100]}
search: {modes: [aggregated], tp: [1]}
"""
TWO = """- {name: v, model: me/strange, demand: {peak_rps: 1}, archetype: chat}
  - name: w
    model: me/gated"""
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}
FORMATS = {
    "fp8": {"fp8"}, "fp8-channel": {"fp8"}, "fp8-block": {"fp8"}, "nvfp4": {"nvfp4"},
    "nvfp4-mixed": {"nvfp4"}, "mxfp4": {"mxfp4"}, "w8a8": {"int8"}, "w8a16": {"w8a16"},
    "w4a16": {"awq", "int4"}, "bf16": {"bf16"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _forgets():
    hub.look_up.cache_clear()
    yield
    hub.look_up.cache_clear()
    hub._LOOKED_UP.clear()


def test_popular_ids_resolve_offline_with_the_format_of_their_checkpoint():
    if not IDS.is_file():
        pytest.skip(f"no table of ids beside the checkout: {IDS}")
    catalog, wrong, found = load_catalog(()), [], 0
    for row in csv.DictReader(IDS.read_text(encoding="utf-8").splitlines()):
        for name in (row["hf_id"], row["hf_id"].lower(), row["hf_id"].upper()):
            model = catalog.model(name)
            if model is None or (row["catalog_model"] and model.id != row["catalog_model"]):
                wrong += [name] if row["catalog_model"] else []
                continue
            found += 1
            expected = FORMATS.get(row["weight_format"])
            if expected is not None and model.native_format not in expected:
                wrong.append(f"{name}: {model.native_format}, not {row['weight_format']}")
    assert wrong == []
    assert found >= 3 * 290


def test_a_plan_names_the_checkpoint_and_the_price_of_16_bits(told, capsys):
    (one,) = told("plan", "--model", "Qwen/Qwen3-8B", *LOAD, "--weights", "fp8")["checkpoints"]
    assert one["ids"][0] == "Qwen/Qwen3-8B-FP8"
    assert one["sixteen_bit_ids"] == ["Qwen/Qwen3-8B", "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B"]
    wide = told("plan", "--model", "Qwen/Qwen3-8B", *LOAD, "--weights", "bf16")
    assert wide["checkpoints"][0]["sixteen_bit_cost_usd_per_hour"] is None
    assert wide["checkpoints"][0]["ids"][0] == "Qwen/Qwen3-8B"
    (awq,) = told("plan", "--model", "Qwen/Qwen3-8B-AWQ", *LOAD)["checkpoints"]
    assert awq["ids"][0] == "Qwen/Qwen3-8B-AWQ"
    assert awq["weights"] == "awq"
    assert awq["sixteen_bit_cost_usd_per_hour"] == pytest.approx(wide["cost_usd_per_hour"])
    assert cli.run(["plan", "--model", "Qwen/Qwen3-8B-AWQ", *LOAD, "--details"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "weights in AWQ: Qwen/Qwen3-8B-AWQ; in 16 bit (Qwen/Qwen3-8B) the fleet costs" in page


def _hub(request, _):
    """A hub with one model, one gated and no other."""
    if "/me/gated/" in request.path:
        reply(request, b"", status=403, X_Error_Code="GatedRepo")
    elif request.path.startswith("/me/mine/") and request.path.endswith("/config.json"):
        data = (CONFIGS / "llama-2-7b" / "config.json").read_bytes()
        reply(request, data, "application/json", ETag='"1"', X_Repo_Commit=COMMIT)
    elif request.path.startswith("/me/mine/"):
        reply(request, b"", status=404, X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
    else:
        reply(request, b"", status=401, X_Error_Code="RepoNotFound")


def _asked(address, home, *words):
    """The program on its own: the library reads its variables when it is imported."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    own = {"HF_ENDPOINT": address, "HF_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-m", "planner", *words]
    return subprocess.run(command, env=kept | own, capture_output=True, text=True, timeout=300, check=False)


def test_the_hub_is_read_kept_and_pinned_in_the_plan(tmp_path):
    (tmp_path / "p.yaml").write_text(SMALL)
    words = ("plan", str(tmp_path / "p.yaml"), "--json")
    with serving(_hub) as address:
        first = _asked(address, tmp_path / "home", *words)
        (tmp_path / "q.yaml").write_text(SMALL.replace("- name: w\n    model: me/mine", TWO))
        refused = _asked(address, tmp_path / "home", "plan", str(tmp_path / "q.yaml"))
    assert first.returncode == 0, first.stderr
    plan = json.loads(first.stdout)
    assert plan["inputs"]["revisions"] == {"me/mine": COMMIT}
    assert json.loads(plan["inputs"]["files"]["me/mine"])["model_type"] == "llama"
    assert plan["pools"][0]["model"] == "mine"
    later = _asked("http://127.0.0.1:9", tmp_path / "home", *words)  # nobody answers: from the cache
    assert later.stdout == first.stdout, later.stderr
    assert 'found "me/gated", gated: accept its terms on its page and set HF_TOKEN' in refused.stderr
    assert 'found "me/strange", which the hub does not show (private ones need HF_TOKEN)' in refused.stderr
    assert refused.returncode == 2


def test_without_hub_the_nearest_name_is_told_and_nobody_waits(capsys):
    assert cli.run(["plan", "--model", "Qwen/Qwen3-9B", *LOAD]) == 2
    said = capsys.readouterr().err
    assert 'planner plan: --model: found "Qwen/Qwen3-9B"; the hub cannot be reached, expected a model' in said
    assert 'Maybe "Qwen/Qwen3-8B"?' in said


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("google-t5/t5-large", "an encoder-decoder model"),
        ("openai/whisper-large-v3", "an encoder-decoder model"),
        ("google-bert/bert-base-uncased", "an encoder"),
    ],
)
def test_what_is_no_decoder_is_refused_by_name(capsys, name, what):
    assert cli.run(["fit", "--model", name]) == 2
    assert f'"{name}", {what}, expected a decoder-only language model' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            ("--model", "me/Llama-3.1-8B-exl2-4.0bpw"),
            "which ExLlamaV2 (TabbyAPI) runs, expected a checkpoint",
        ),
        (
            ("--model", "llama-3.1-8b", "--weights", "exl3"),
            '"exl3", which ExLlamaV3 (TabbyAPI) runs, expected',
        ),
    ],
)
def test_formats_of_other_engines_are_refused_with_their_engine(refused, flags, words):
    refused(words, "plan", *flags, *LOAD)


def test_a_gguf_file_is_no_configuration(tmp_path, refused):
    path = tmp_path / "model-Q4_K_M.gguf"
    path.write_bytes(b"GGUF\x03\x00\xff")
    refused("found a GGUF file, which holds no configuration, expected", "plan", "--model", str(path), *LOAD)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("training", {"batch": 8}),
        ("workloads.0.fine-tuning", True),
        ("workloads.0.task", "training"),
        ("workloads.0.archetype", "fine-tuning"),
        ("fleet.optimizer", "adamw"),
    ],
)
def test_training_is_refused_by_name(tmp_path, refused, place, value):
    workload = {
        "name": "one",
        "model": "llama-3.1-8b",
        "demand": {"peak_rps": 1},
        "lengths": {"input": {"fixed": 500}, "output": {"fixed": 100}},
    }
    values = {"name": "one", "workloads": [workload], "fleet": {"max_gpus": 8}}
    *path, key = place.split(".")
    holder = values
    for step in path:
        holder = holder[int(step)] if step.isdigit() else holder[step]
    holder[key] = value
    (tmp_path / "one.yaml").write_text(json.dumps(values))
    words = "found training, expected what is served: memory of training (gradients, optimizer states)"
    refused(words, "plan", str(tmp_path / "one.yaml"))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]},
            '"t5", an encoder-decoder model',
        ),
        ({"model_type": "bert", "architectures": ["BertModel"]}, '"bert", an encoder'),
        ({"model_type": "mine", "is_encoder_decoder": True}, '"mine", an encoder-decoder model'),
        ({"model_type": "qwen33", "architectures": ["Qwen3ForCausalLM"]}, "Maybe"),
        (
            {"model_type": "llama", "quantization_config": {"quant_method": "exl2", "bits": 4.0}} | LLAMA,
            '"exl2", which ExLlamaV2 (TabbyAPI) runs, expected a checkpoint that vLLM, SGLang or',
        ),
    ],
)
def test_configurations_that_are_not_planned_say_why(tmp_path, capsys, config, words):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert cli.run(["fit", "--model", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
