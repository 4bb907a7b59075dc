"""What `estimate` and `curve` say of memory is what they compute with."""

import json

TIGHT = ("--model", "gpt-oss-120b", "--gpu", "h100-sxm", "--isl", "1024", "--osl", "256")


def test_as_many_run_as_the_memory_that_is_shown_holds(told):
    found = told("estimate", *TIGHT, "--concurrency", "32")
    assert found["max_batch"] >= 32
    assert found["decoding"] > 16
    other = told("estimate", *TIGHT, "--concurrency", "32", "--max-batch", "64")
    assert other["memory_bytes"]["kv_cache"] > found["memory_bytes"]["kv_cache"]
    assert other["output_tokens_per_s"] == found["output_tokens_per_s"]
    curve = told("curve", *TIGHT)
    assert curve["max_batch"] == found["max_batch"]
    rates = [point["output_tokens_per_s"] for point in curve["points"]]
    assert rates[-1] > 4 * rates[0]


def test_where_cpu_and_gpu_share_the_memory_both_estimate_and_plan_say_so(told, tmp_path):
    said = "CPU and GPU share the memory"
    load = ("--model", "qwen3-8b", "--isl", "800", "--osl", "300")
    shared = told("estimate", *load, "--gpu", "gb10", "--concurrency", "4")["warnings"]
    assert any(said in line and "11.9 GiB that are left" in line for line in shared)
    assert not any(
        said in line for line in told("estimate", *load, "--gpu", "l4", "--concurrency", "4")["warnings"]
    )
    workload = {
        "name": "chat",
        "model": "qwen3-8b",
        "demand": {
            "sessions": {
                "per_hour": 60,
                "turns": {"fixed": 4},
                "think_time": "20 s",
                "first_input": 500,
                "growth": 200,
                "output": 200,
            }
        },
    }
    fleet = {"accelerators": ["gb10"], "prices": {"gb10": "1 USD/h"}}
    for offload, kept in ((None, False), ({"capacity_per_gpu": "10 GB"}, True)):
        path = tmp_path / "one.yaml"
        mine = workload if offload is None else workload | {"kv_offload": offload}
        path.write_text(json.dumps({"name": "one", "workloads": [mine], "fleet": fleet}))
        plan = told("plan", str(path))
        (line,) = [text for text in plan["warnings"] if said in text]
        taken = (plan["pools"][0].get("reuse") or {}).get("tier") == "host"
        assert ("offloaded to the host saves nothing" in line) == (taken and kept)
