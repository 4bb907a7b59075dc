"""What an export starts is read back as the layout of the plan that it came from."""

import pytest
from export_samples import case_of, workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.app.running import today
from planner.errors import CannotExpressError
from planner.exports.registry import target

TARGETS = ("kubernetes", "kserve", "compose", "vllm", "sglang", "trtllm")
degrees = st.sampled_from([1, 2, 4, 8])
ENGINES = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
LAYOUT = ("engine", "tp", "pp", "attention_dp", "ep", "weights")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    engine=st.sampled_from(["vllm", "sglang", "tensorrt-llm"]),
    tp=degrees,
    pp=degrees,
    attention_dp=degrees,
    whole_experts=st.booleans(),
    replicas=st.integers(1, 5),
    to=st.sampled_from(TARGETS),
)
def test_an_export_is_read_back(
    make_plan, tmp_path_factory, engine, tp, pp, attention_dp, whole_experts, replicas, to
):
    if tp * pp * attention_dp > 64:
        return
    folder = tmp_path_factory.mktemp("export")
    ep = tp * attention_dp if whole_experts else 1
    pool = {
        "engine": engine,
        "tp": tp,
        "pp": pp,
        "attention_dp": attention_dp,
        "ep": ep,
        "replicas": replicas,
    }
    pool |= {"model": "deepseek-v3", "weights": "fp8", "kv": "bf16", "gpu": "h100-sxm"}
    try:
        case = case_of(make_plan, folder, [pool], workloads=[workload(model="deepseek-v3", engine=engine)])
        files = target(to).build(case).files
    except CannotExpressError:
        return
    for file in files:
        (folder / file.name).write_bytes(file.content)
    paths = [folder / file.name for file in files if file.name.endswith((".yaml", ".sh")) and _starts(file)]
    found = today(paths, "h100-sxm")
    assert found.pools
    for read in found.pools:
        assert {key: getattr(read, key) for key in LAYOUT} == {key: pool[key] for key in LAYOUT}
        assert read.model == "deepseek-v3"
    # A script is that of one replica; whoever runs it starts it as often as the plan says.
    copies = 1 if to in ENGINES.values() else replicas
    planned = tp * pp * attention_dp * copies
    assert sum((one.replicas or 0) * (one.gpus_per_replica or 0) for one in found.pools) == planned


def _starts(file):
    return any(word in file.content for word in (b"vllm", b"sglang", b"trtllm-serve"))


@pytest.mark.parametrize("to", ["kubernetes", "compose"])
def test_a_plain_layout_is_never_skipped(make_plan, tmp_path, to):
    case = case_of(make_plan, tmp_path, [{"engine": "vllm", "tp": 2, "weights": "bf16"}])
    files = target(to).build(case).files
    assert any(_starts(file) for file in files)
