"""Whatever layout a plan has, each engine's command says it, or says that it cannot."""

import itertools

import pytest
import yaml
from export_samples import case_of, workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_schemas import gpus, problems

from planner.errors import CannotExpressError
from planner.exports.registry import TARGETS, target
from planner.schema.launch import Placeholder

ENGINES = ("vllm", "sglang", "tensorrt-llm")
degrees = st.sampled_from([1, 2, 3, 4, 8, 16])
layouts = st.fixed_dictionaries(
    {
        "engine": st.sampled_from(ENGINES),
        "tp": degrees,
        "pp": degrees,
        "attention_dp": degrees,
        "whole_experts": st.booleans(),
        "replicas": st.integers(1, 9),
        "max_batch": st.integers(1, 3000),
        "batched_tokens": st.sampled_from([512, 2048, 8192]),
        "kv": st.sampled_from(["bf16", "fp8"]),
        "gpu": st.sampled_from(["h100-sxm", "mi300x", "gb200-nvl72"]),
    }
).filter(lambda layout: layout["tp"] * layout["pp"] * layout["attention_dp"] <= 256)


def pool_of(layout):
    pool = {key: value for key, value in layout.items() if key != "whole_experts"}
    ep = layout["tp"] * layout["attention_dp"] if layout["whole_experts"] else 1
    return pool | {"ep": ep, "model": "deepseek-v3", "weights": "fp8"}


def read_back(engine, launch):
    """The layout of one replica out of its command line, as the documentation of each engine has it."""
    words = [word for word in launch.argv if not isinstance(word, Placeholder)]
    options = dict(itertools.pairwise(words))
    number = lambda name, default=1: int(options.get(name, default))  # noqa: E731 - a word for one line
    if engine == "vllm":
        tp, dp, pp = (number(f"--{part}-parallel-size") for part in ("tensor", "data", "pipeline"))
        ep = tp * dp if "--enable-expert-parallel" in words else 1
        batch = number("--max-num-seqs") * dp
    elif engine == "sglang":
        dp, pp, ep = number("--attn-dp-size"), number("--pp-size"), number("--ep-size")
        tp = number("--tp-size") // dp
        batch = number("--max-running-requests")
    else:
        group, pp, ep = number("--tp_size"), number("--pp_size"), number("--ep_size")
        dp = group if launch.config["enable_attention_dp"] else 1
        tp = group // dp
        batch = number("--max_batch_size") * dp
    return {"tp": tp, "pp": pp, "attention_dp": dp, "ep": ep}, batch


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(layout=layouts)
def test_a_command_read_back_is_the_layout(make_plan, tmp_path, layout):
    pool, asked = pool_of(layout), [workload(model="deepseek-v3", engine=layout["engine"])]
    try:
        case = case_of(make_plan, tmp_path, [pool], workloads=asked)
    except CannotExpressError:
        return
    (item,) = case.deployments
    found, batch = read_back(layout["engine"], item.launch)
    assert found == {key: pool[key] for key in found}
    # Ranks have one batch size each, so all together may have a few more than planned.
    assert 0 <= batch - layout["max_batch"] < layout["attention_dp"]
    gpus_planned = item.pool.gpus_per_replica * layout["replicas"]
    assert item.launch.servers * item.launch.gpus_per_server == item.pool.gpus_per_replica
    for one in TARGETS:
        try:
            files = one.build(case).files
        except CannotExpressError:
            continue
        documents = [d for f in files if f.name.endswith(".yaml") for d in yaml.safe_load_all(f.content)]
        assert not [wrong for d in documents if "kind" in d and (wrong := problems(d))]
        if one.id == "kubernetes":
            assert gpus(documents) == {item.resource: gpus_planned}


def test_plain_layouts_are_never_refused(make_plan, tmp_path):
    for engine, tp in itertools.product(ENGINES, (1, 2, 4, 8)):
        case = case_of(make_plan, tmp_path, [{"engine": engine, "tp": tp, "weights": "bf16"}])
        assert target("kubernetes").build(case).files


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_options_and_metrics(make_plan, tmp_path, engine):
    case = case_of(make_plan, tmp_path, [{"engine": engine, "weights": "bf16"}])
    assert case.deployments[0].image.rpartition(":")[2]
    assert any(exporter.id == engine for exporter in case.metrics.exporters)
