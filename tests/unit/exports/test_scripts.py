"""Start scripts, run: what the engine is called with, on each server."""

import json
import subprocess

import pytest
import yaml
from export_samples import case_of, workload

from planner.errors import CannotExpressError
from planner.exports.registry import target

MOE = {"model": "deepseek-v3", "weights": "fp8", "kv": "bf16", "tp": 8, "pp": 2}
SPARSE = [workload(model="deepseek-v3")]
ECHO = """#!/usr/bin/env python3
import json, os, sys
print(json.dumps({"argv": [os.path.basename(sys.argv[0]), *sys.argv[1:]], "env": dict(os.environ)}))
"""


@pytest.fixture
def started(make_plan, tmp_path):
    """Writes the scripts of a plan, starts one with engines that only say how they were called."""
    engines = tmp_path / "bin"
    engines.mkdir()
    for name in ("vllm", "trtllm-serve", "sglang-python"):
        (engines / name).write_text(ECHO)
        (engines / name).chmod(0o755)

    def started(name, *pools, script="chat-serve-1.sh", environment=None, **keys):
        case = case_of(make_plan, tmp_path, pools, **keys)
        for item in target(name).build(case).files:
            (tmp_path / item.name).write_bytes(item.content)
        path = f"{engines}:/usr/bin:/bin"
        done = subprocess.run(
            ["bash", str(tmp_path / script)],
            env={"PATH": path, **(environment or {})}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    return started


def test_one_server(started):
    found = started("vllm", {})
    assert found["argv"][:3] == ["vllm", "serve", "nvidia/Llama-3.3-70B-Instruct-FP8"]


def test_the_first_and_the_other_servers_of_a_replica(started):
    servers = [
        started(
            "vllm", MOE, workloads=SPARSE, environment={"LEADER_ADDRESS": "ten.0.0.1", "SERVER_RANK": rank}
        )["argv"]
        for rank in ("0", "1")
    ]
    for rank, argv in enumerate(servers):
        assert argv[argv.index("--node-rank") + 1] == str(rank)
        assert argv[argv.index("--master-addr") + 1] == "ten.0.0.1"
    assert ["--headless" in argv for argv in servers] == [False, True]


def test_what_is_not_given_is_asked_for(started):
    said = started("vllm", MOE, workloads=SPARSE, environment={"SERVER_RANK": "0"})
    assert "LEADER_ADDRESS: address of the first server of the replica" in said


def test_kv_transfer_between_servers(started):
    pools = [{"role": "prefill"}, {"role": "decode"}]
    found = started("vllm", *pools, script="chat-prefill-1.sh", environment={"OWN_ADDRESS": "10.0.0.7"})
    assert found["env"]["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "10.0.0.7"
    argv = found["argv"]
    assert json.loads(argv[argv.index("--kv-transfer-config") + 1])["kv_role"] == "kv_both"


def test_a_configuration_file_lies_beside_its_script(started, tmp_path):
    found = started("trtllm", {"engine": "tensorrt-llm", "weights": "bf16"})
    name = found["argv"][-1]
    assert yaml.safe_load((tmp_path / name).read_text())["kv_cache_config"] == {"dtype": "fp8"}


def test_servers_in_front_of_prefill_and_decode(make_plan, tmp_path):
    pools = [
        {"engine": "tensorrt-llm", "weights": "bf16", "role": role, "replicas": count}
        for role, count in (("prefill", 2), ("decode", 3))
    ]
    case = case_of(make_plan, tmp_path, pools)
    files = {item.name: item.content for item in target("trtllm").build(case).files}
    document = yaml.safe_load(files["disaggregated-chat.yaml"])
    assert document["context_servers"]["urls"] == ["chat-prefill-1-0:8000", "chat-prefill-1-1:8000"]
    assert document["generation_servers"]["num_instances"] == 3
    assert yaml.safe_load(files["chat-prefill-1.yaml"])["disable_overlap_scheduler"] is True
    with pytest.raises(CannotExpressError, match="behind a server of its own: export to dynamo"):
        target("kubernetes").build(case)


def test_each_engine_has_its_own_target(make_plan, tmp_path):
    case = case_of(make_plan, tmp_path, [{}, {"engine": "sglang"}])
    with pytest.raises(CannotExpressError, match="chat/serve/2 runs sglang: export it to sglang"):
        target("vllm").build(case)
    assert target("kubernetes").build(case).files, "manifests may hold several engines"
