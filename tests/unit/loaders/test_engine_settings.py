"""Command lines, manifests and what they say of an engine's settings."""

import pytest

from planner.app.evidence import Evidence, gather
from planner.errors import InputError
from planner.loaders.launch_facts import load_engine_options

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.10.1
          args: [--model, some/model, --tensor-parallel-size, "2", --max-num-seqs, "128", --enforce-eager]
"""


def settings(text):
    return gather(Evidence(engine_args=text)).observation.model_dump(exclude_none=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "vllm serve m -tp 4 --enforce-eager --max-num-seqs=64 --gpu-memory-utilization 0.8",
            {"engine": "vllm", "tp": 4, "cuda_graphs": False, "max_batch": 64, "memory_share_ratio": 0.8},
        ),
        (
            "vllm serve m",
            {"tp": 1, "pp": 1, "cuda_graphs": True, "speculative": False, "adapters_max": 0},
        ),
        (
            "vllm serve m --no-enable-prefix-caching --no-enable-chunked-prefill --disable-custom-all-reduce",
            {"prefix_caching": False, "chunked_prefill": False, "custom_all_reduce": False},
        ),
        (
            """vllm serve m --speculative-config '{"method": "ngram", "num_speculative_tokens": 5}'""",
            {"speculative": True, "draft_tokens": 5},
        ),
        (
            """vllm serve m --compilation-config '{"cudagraph_mode": "NONE"}' --max-model-len 32k""",
            {"cuda_graphs": False, "context_limit_tokens": 32_000},
        ),
        ("vllm serve m --swap-space 4 --max-num-batched-tokens 8K", {"max_batched_tokens": 8192}),
        (
            "python -m sglang.launch_server --model-path m --tp 8 --disable-cuda-graph "
            "--chunked-prefill-size -1",
            {"engine": "sglang", "tp": 8, "cuda_graphs": False, "chunked_prefill": False},
        ),
        (
            "python -m sglang.launch_server --model-path m --disable-radix-cache --mem-fraction-static 0.85 "
            "--speculative-algorithm EAGLE --speculative-num-draft-tokens 4",
            {
                "prefix_caching": False, "memory_share_ratio": 0.85, "speculative": True, "draft_tokens": 4,
                "cuda_graphs": True,
            },
        ),
        (
            "trtllm-serve m --tp_size 2 --max_batch_size 64 --max_num_tokens 4096",
            {"engine": "tensorrt-llm", "tp": 2, "max_batch": 64, "max_batched_tokens": 4096},
        ),
        ("export TP=2; vllm serve m --tensor-parallel-size $TP", {"tp": 2}),
    ],
)  # fmt: skip
def test_flags_become_settings(text, expected):
    found = settings(text)
    assert {name: found.get(name) for name in expected} == expected


def test_a_manifest_is_read_as_today_reads_it(tmp_path):
    path = tmp_path / "chat.yaml"
    path.write_text(MANIFEST)
    found = settings(str(path))
    assert (found["engine"], found["tp"], found["max_batch"], found["cuda_graphs"]) == ("vllm", 2, 128, False)


def test_a_file_that_the_command_names_counts(tmp_path):
    (tmp_path / "extra.yaml").write_text("kv_cache_config: {enable_block_reuse: false, dtype: fp8}\n")
    (tmp_path / "run.sh").write_text("trtllm-serve m --extra_llm_api_options extra.yaml\n")
    found = settings(str(tmp_path / "run.sh"))
    assert (found["prefix_caching"], found["kv_precision"]) == (False, "fp8")


def test_where_servers_differ_nothing_is_known(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text("vllm serve a --max-num-seqs 8 -tp 2\nvllm serve b --max-num-seqs 16 -tp 2\n")
    readout = gather(Evidence(engine_args=str(path)))
    assert (readout.observation.tp, readout.observation.max_batch) == (2, None)
    assert any(note.metric == "max_batch" and "servers differ" in note.text for note in readout.notes)


@pytest.mark.parametrize("text", ["hello", "", "/nowhere/file", "vllm bench serve", "\x1b[31mvllm"])
def test_what_starts_no_engine_is_refused(text):
    with pytest.raises(InputError) as refused:
        settings(text)
    assert "--engine-args" in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_impossible_settings_and_unknown_flags_are_told():
    readout = gather(
        Evidence(engine_args="vllm serve m --max-num-seqs many --gpu-memory-utilization 90 --no-such 3")
    )
    assert readout.observation.max_batch is None
    assert readout.observation.memory_share_ratio is None
    texts = " ".join(note.text for note in readout.notes)
    assert "cannot be" in texts
    assert '"--no-such"' in texts


def test_a_setting_names_an_option_that_is_there(tmp_path):
    folder = tmp_path / "options"
    folder.mkdir()
    good = """
kind: options
id: mine
name: Mine
version: "1"
images: {NVIDIA: x}
health: /health
source: a
options: [{names: [--seats]}]
settings: {max_batch: [{option: --seats}]}
sources: {a: {title: a, date: 2026-11-21, grade: B}}
"""
    for old, new, said in (
        ("{option: --seats}", "{option: --seat}", "--seats"),
        ("max_batch:", "max_bach:", "max_batch"),
        ("{option: --seats}", "{option: --seats, config: seats}", "option or config"),
    ):
        (folder / "mine.yaml").write_text(good.replace(old, new))
        with pytest.raises(InputError) as refused:
            load_engine_options([tmp_path])
        assert said in str(refused.value)
