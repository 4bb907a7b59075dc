"""What command lines mean: each engine's own words for the same layout."""

import itertools

import pytest
from export_samples import case_of, workload

from planner.commands.option_check import unknown_to
from planner.commands.shell import command_line
from planner.errors import CannotExpressError
from planner.loaders.launch_facts import load_engine_options
from planner.schema.launch import Placeholder

SPARSE = workload(model="deepseek-v3", engine="vllm")
MOE = {"model": "deepseek-v3", "weights": "fp8", "kv": "bf16"}


@pytest.fixture
def launch(make_plan, tmp_path):
    def launch(*pools, place=0, **keys):
        return case_of(make_plan, tmp_path, pools, **keys).deployments[place].launch

    return launch


def taken(argv):
    """Options of a command line with their values; a switch has none."""
    pairs = itertools.pairwise([*argv, "--"])
    return {
        name: None if isinstance(value, str) and value.startswith("--") else value
        for name, value in pairs
        if isinstance(name, str) and name.startswith("--")
    }


def test_vllm_states_every_choice(launch):
    found = taken(launch({}).argv)
    assert found == {
        "--served-model-name": "llama-3.3-70b",
        "--tensor-parallel-size": "2",
        "--max-num-seqs": "96",
        "--max-num-batched-tokens": "2048",
        "--max-model-len": "4743",
        "--kv-cache-dtype": "fp8",
    }


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        # Data parallelism multiplies tensor parallelism, and limits are those of a rank.
        ("vllm", {"--tensor-parallel-size": "2", "--data-parallel-size": "4",
                  "--enable-expert-parallel": None, "--max-num-seqs": "24",
                  "--max-num-batched-tokens": "2048"}),
        # Attention ranks are inside the tensor-parallel group, and limits are those of all together.
        ("sglang", {"--tp-size": "8", "--attn-dp-size": "4", "--ep-size": "8", "--max-running-requests": "96",
                    "--chunked-prefill-size": "8192"}),
    ],
)  # fmt: skip
def test_attention_ranks_by_engine(launch, engine, expected):
    pool = MOE | {"engine": engine, "gpu": "h200-sxm", "tp": 2, "attention_dp": 4, "ep": 8}
    found = taken(launch(pool, workloads=[SPARSE]).argv)
    assert expected.items() <= found.items()


def test_attention_ranks_of_tensorrt_llm_have_one_gpu_each(launch):
    pool = MOE | {"engine": "tensorrt-llm", "gpu": "h200-sxm", "ep": 8}
    found = launch(pool | {"tp": 1, "attention_dp": 8}, workloads=[SPARSE])
    assert {"--tp_size": "8", "--ep_size": "8", "--max_batch_size": "12"}.items() <= taken(found.argv).items()
    assert found.config["enable_attention_dp"] is True
    with pytest.raises(CannotExpressError, match="attention ranks of one GPU, not 4 of 2"):
        launch(pool | {"tp": 2, "attention_dp": 4}, workloads=[SPARSE])


def test_experts_of_vllm_are_spread_over_all_gpus_of_a_stage(launch):
    whole = {"model": "qwen3-30b-a3b", "tp": 4}
    sparse = [workload(model="qwen3-30b-a3b")]
    assert "--enable-expert-parallel" not in taken(launch(whole | {"ep": 1}, workloads=sparse).argv)
    assert "--enable-expert-parallel" in taken(launch(whole | {"ep": 4}, workloads=sparse).argv)
    with pytest.raises(CannotExpressError, match="over all 4 GPUs of a stage, not over 2"):
        launch(whole | {"ep": 2}, workloads=sparse)
    assert taken(launch(whole | {"ep": 2, "engine": "sglang"}, workloads=sparse).argv)["--ep-size"] == "2"


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_replica_over_several_servers_starts_alike_on_each(launch, engine):
    found = launch(MOE | {"engine": engine, "tp": 8, "pp": 2, "gpu": "h100-sxm"}, workloads=[SPARSE])
    assert (found.servers, found.gpus_per_server) == (2, 8)
    first, other = taken(found.argv), taken(found.other_argv)
    assert first["--nnodes"] == other["--nnodes"] == "2"
    assert first["--node-rank"] == Placeholder("SERVER_RANK")
    leader = "--master-addr" if engine == "vllm" else "--dist-init-addr"
    assert first[leader].variable == "LEADER_ADDRESS"
    assert set(other) - set(first) == ({"--headless"} if engine == "vllm" else set())


def test_stages_do_not_straddle_servers(launch):
    found = launch(MOE | {"engine": "sglang", "tp": 4, "pp": 3}, workloads=[SPARSE])
    # Two stages would fit into a server of 8, but then servers would differ.
    assert (found.servers, found.gpus_per_server) == (3, 4)


def test_disaggregated_prefill(launch):
    pools = [{"role": "prefill"}, {"role": "decode"}]
    found = launch(*pools)
    assert taken(found.argv)["--kv-transfer-config"] == '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
    assert found.environment["VLLM_NIXL_SIDE_CHANNEL_HOST"] == Placeholder("OWN_ADDRESS")
    for place, role in enumerate(("prefill", "decode")):
        argv = launch(*[pool | {"engine": "sglang"} for pool in pools], place=place).argv
        assert taken(argv)["--disaggregation-mode"] == role
    staged = launch({"role": "prefill", "pp": 2}, {"role": "decode"}, place=1)
    assert "NixlPushConnector" in taken(staged.argv)["--kv-transfer-config"]


def test_drafts(launch):
    drafts = {"kind": "draft-model", "tokens": 3, "acceptance": 0.7, "tokens_per_step": 2.5}
    small = drafts | {"draft": "llama-3.2-1b", "weights": "bf16"}
    found = taken(launch({"speculation": small}).argv)
    assert found["--speculative-config"] == (
        '{"method":"draft_model","num_speculative_tokens":3,"model":"meta-llama/Llama-3.2-1B-Instruct"}'
    )
    found = taken(launch({"speculation": drafts | {"kind": "ngram"}, "engine": "sglang"}).argv)
    assert (found["--speculative-algorithm"], found["--speculative-num-draft-tokens"]) == ("NGRAM", "4")
    found = launch({"speculation": drafts | {"kind": "eagle"}, "engine": "tensorrt-llm", "weights": "bf16"})
    assert found.config["speculative_config"]["decoding_type"] == "Eagle3"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
@pytest.mark.parametrize(("kind", "shared"), [("eagle", True), ("ngram", False)])
def test_prefill_has_the_layers_of_the_drafts_that_decode_writes(launch, engine, kind, shared):
    drafts = {"kind": kind, "tokens": 3, "acceptance": 0.7, "tokens_per_step": 2.5}
    pools = [{"role": "prefill"}, {"role": "decode", "speculation": drafts}]
    prefill, decode = (
        launch(*[pool | {"engine": engine, "weights": "bf16"} for pool in pools], place=place)
        for place in (0, 1)
    )

    def told(launched):
        found = {name: value for name, value in taken(launched.argv).items() if "speculative" in name}
        return found or launched.config.get("speculative_config")

    assert told(decode)
    assert told(prefill) == (told(decode) if shared else None)


def test_adapters_prefixes_and_blocks(launch):
    asked = workload(
        lora={"adapters": 20, "active": 4, "rank": 12}, prefix_cache_hit="40 %", kv_block_tokens=32
    )
    found = taken(launch({}, workloads=[asked]).argv)
    assert {"--max-loras": "4", "--max-cpu-loras": "20", "--block-size": "32"}.items() <= found.items()
    assert found["--max-lora-rank"] == "16", "the smallest that vLLM has kernels for"
    assert "--enable-prefix-caching" in found
    trt = launch({"engine": "tensorrt-llm", "weights": "bf16"}, workloads=[asked])
    assert trt.config["kv_cache_config"] == {
        "dtype": "fp8",
        "enable_block_reuse": True,
        "tokens_per_block": 32,
    }


REUSE = {"hit": 0.4, "held": 0.9, "cache_share": 0.2, "cache_bytes": 1e9}
OFFLOAD = {"tier": "nvme", "capacity_per_gpu": "200 GiB"}


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
@pytest.mark.parametrize(
    "pool",
    [
        {"speculation": {"kind": "ngram", "tokens": 4, "acceptance": 0.5, "tokens_per_step": 2.0}},
        {"speculation": {"kind": "eagle", "tokens": 4, "acceptance": 0.5, "tokens_per_step": 2.0}},
        {"speculation": {"kind": "draft-model", "tokens": 2, "acceptance": 0.5, "tokens_per_step": 2.0,
                         "draft": "llama-3.2-1b", "weights": "bf16"}},
        {"reuse": REUSE | {"tier": "nvme"}},
        {"pp": 2},
        {"kv": "bf16"},
    ],
)  # fmt: skip
def test_each_engine_takes_what_its_commands_say(launch, engine, pool):
    asked = workload(lora={"adapters": 20}, kv_offload=OFFLOAD, kv_block_tokens=64, prefix_cache_hit="10 %")
    found = launch({"engine": engine, "weights": "bf16"} | pool, workloads=[asked])
    assert found.argv, "checked against the options of its version, or it would have been refused"


def test_rooms_for_kv_outside_the_gpu(launch):
    pool, asked = {"reuse": REUSE | {"tier": "nvme"}, "weights": "bf16"}, [workload(kv_offload=OFFLOAD)]
    assert taken(launch(pool, workloads=asked).argv)["--kv-offloading-size"] == "400", "of both GPUs"
    found = taken(launch(pool | {"engine": "sglang"}, workloads=asked).argv)
    assert (found["--hicache-size"], found["--hicache-storage-backend"]) == ("214", "file"), (
        "of one GPU, in GB"
    )
    found = launch(pool | {"engine": "tensorrt-llm"}, workloads=asked)
    assert found.config["kv_cache_config"]["host_cache_size"] == 200 * 2**30


def test_a_gpu_without_bfloat16_is_told_so(launch):
    pool = {"gpu": "t4", "model": "llama-3.1-8b", "weights": "bf16", "kv": "bf16", "tp": 1}
    found = taken(launch(pool, workloads=[workload(model="llama-3.1-8b")]).argv)
    assert found["--dtype"] == "half"
    assert "--kv-cache-dtype" not in found


def test_what_no_engine_does_is_refused(launch):
    with pytest.raises(CannotExpressError, match="kv_eviction"):
        launch({}, workloads=[workload(kv_eviction={"keep": "50 %"})])
    with pytest.raises(CannotExpressError, match="no product"):
        launch({"engine": "naive"})
    with pytest.raises(CannotExpressError, match="rate was measured"):
        launch({"evidence": "measured", "engine": "measured"})


def test_lists_of_options_tell_what_they_lack(launch):
    options = load_engine_options()["vllm"]
    older = options.model_copy(
        update={"version": "0.9", "options": tuple(o for o in options.options if "--nnodes" not in o.names)}
    )
    several = launch(MOE | {"tp": 16}, workloads=[SPARSE])
    assert list(unknown_to(options, several, "vLLM")) == []
    assert "vLLM 0.9 has no option --nnodes." in list(unknown_to(older, several, "vLLM"))
    with pytest.raises(CannotExpressError, match=r"vLLM .* takes auto, .* for --kv-cache-dtype, not fp3"):
        launch({"kv": "fp3"})


def test_a_command_is_one_line_with_its_environment(launch):
    text = command_line(launch({"role": "prefill"}, {"role": "decode"}))
    assert text.startswith(
        'VLLM_NIXL_SIDE_CHANNEL_HOST="${OWN_ADDRESS:?}" VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve'
    )
    assert "\n" not in text
