"""A file tells all that is wrong with it at once, whatever layer finds it."""

import pytest

from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def told(tmp_path, catalog, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_problem(path, catalog, ())
    faults = caught.value.faults
    return [(int(fault.where.rpartition(":")[2]), fault.key) for fault in faults]


SEVEN = """name: seven
workloads:
  - name: chat
    model: llama-3.3-70bb
    demand: {peak_rps: -4}
    lengths:
      buckets:
        - {name: a, share: 0.5, input: 100, output: 100}
        - {name: b, share: 0.4, input: 100, output: 100}
    slo: {ttft_p95: 1}
    owner: me
    engine: vllm
    engine: sglang
fleet:
  accelerators: [h100-sxmm]
"""


def test_seven_faults_of_one_file(tmp_path, catalog):
    assert told(tmp_path, catalog, SEVEN) == [
        (4, "workloads.chat.model"),
        (5, "workloads.chat.demand.peak_rps"),
        (7, "workloads.chat.lengths.buckets"),
        (10, "workloads.chat.slo.ttft_p95"),
        (11, "workloads.chat.owner"),
        (13, "workloads.chat.engine"),
        (15, "fleet.accelerators.0"),
    ]


TOGETHER = """name: twelve
workloads:
  - name: chat
    model: llama-3.3-70b
    demand: {peak_rps: 4, mean_rps: 9, peak_rpss: 3}
    lengths:
      input: {p50: 100, p95: 50, owner: me}
      output: {fixed: 100}
    buckets: {a: 0.5, b: 0.4}
    slo: {ttft_p95: 1}
fleet:
  max_gpus: -1
  supply:
    - {gpu: h100-sxm, term: owned, max_gpu: 3}
  redundancy: {replicas: 1, servers: 1, text: me}
"""


def test_what_keys_say_together_is_not_hidden_by_what_one_key_says(tmp_path, catalog):
    assert told(tmp_path, catalog, TOGETHER) == [
        (5, "workloads.chat.demand.peak_rpss"),
        (5, "workloads.chat.demand"),
        (7, "workloads.chat.lengths.input.owner"),
        (7, "workloads.chat.lengths.input"),
        (9, "workloads.chat.buckets"),
        (10, "workloads.chat.slo.ttft_p95"),
        (12, "fleet.max_gpus"),
        (14, "fleet.supply.0.max_gpu"),
        (14, "fleet.supply.0"),
        (15, "fleet.redundancy.text"),
        (15, "fleet.redundancy"),
    ]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("demand: {peak_rps: x}", ["workloads.w.demand.peak_rps"]),
        ("demand: {peak_rps: 1}, lengths: {input: {fixed: x}, output: {fixed: 1}}", [".lengths.input.fixed"]),
        ("demand: {peak_rps: 1}, lengths: {input: 3, output: {fixed: 1}}", [".lengths.input"]),
        ("demand: 3", ["workloads.w.demand"]),
        ("demand: {peak_rps: 1}, buckets: {a: x, b: 0.5}", ["workloads.w.buckets.a"]),
    ],
)
def test_no_fault_follows_from_another_one(tmp_path, catalog, text, keys):
    more = "" if "lengths" in text else ", lengths: {input: {fixed: 1}, output: {fixed: 1}}"
    whole = f"name: p\nworkloads: [{{name: w, model: llama-3.1-8b, {text}{more}}}]\n"
    found = [key for _, key in told(tmp_path, catalog, whole)]
    assert len(found) == len(keys)
    assert all(key.endswith(end) for key, end in zip(found, keys, strict=True))
