"""Plans made by hand for exports: pools by what they choose, with a problem that fits."""

from __future__ import annotations

import functools
import itertools

from planner.app.export_plan import export_case
from planner.loaders.catalog import load_catalog
from planner.report import json_document

LENGTHS = {"input": {"p50": 1000, "p95": 3000}, "output": {"p50": 200, "p95": 500}}


@functools.cache
def catalog():
    return load_catalog()


def workload(name="chat", model="llama-3.3-70b", **keys):
    return {"name": name, "model": model, "demand": {"peak_rps": "5"}, "lengths": LENGTHS, **keys}


def sizing(name="chat", **changes):
    """What a plan says of the traffic of a workload."""
    return {
        "workload": name, "peak_rps": 5.0, "mean_rps": 2.0, "arrival_scv_ratio": 1.0,
        "input_tokens": {"mean": 1300.0, "p95": 3000.0, "p99": 4000.0},
        "output_tokens": {"mean": 240.0, "p95": 500.0, "p99": 600.0},
        "sequence_tokens": 1500, "cached_fraction": 0.0, "checkpoint": "bf16", "weights_bytes": {},
        "sequence_bytes": {},
    } | changes  # fmt: skip


def plan_of(make_plan, pools, workloads=None, fleet=None, **changes):
    """A plan of pools, each given by its differences from the sample pool (2 GPUs, tp 2, fp8, vllm)."""
    sample = make_plan().pools[0].model_dump(by_alias=True)
    numbers = itertools.count(1)
    made = []
    for pool in pools:
        role, name = pool.get("role", "serve"), pool.get("workload", "chat")
        layout = {key: pool.get(key, sample[key]) for key in ("tp", "pp", "attention_dp")}
        gpus = layout["tp"] * layout["pp"] * layout["attention_dp"]
        made.append(sample | {"id": f"{name}/{role}/{next(numbers)}", "gpus_per_replica": gpus} | pool)
    # Only the first pool of a role takes requests; the share of the others does not matter here.
    doors = {}
    for pool in made:
        doors.setdefault((pool["workload"], pool["role"]), pool["id"])
    routing = [
        {"workload": name, "bucket": "all", "pool": first, "share": 1.0} for (name, _), first in doors.items()
    ]
    problem = {
        "name": changes.get("problem", "chat-70b"),
        "workloads": workloads or [workload(name) for name in dict.fromkeys(p["workload"] for p in made)],
        "fleet": fleet or {},
    }
    inputs = {"problem": problem, "catalog": "sha256:aa", "calibration": "sha256:bb"}
    return make_plan(pools=made, routing=routing, inputs=inputs, **changes)


def case_of(make_plan, tmp_path, pools, workloads=None, fleet=None, **changes):
    """What targets are given of such a plan."""
    return export_case(plan_of(make_plan, pools, workloads, fleet, **changes), tmp_path / "plan.json")


def plan_file(plan, folder):
    """A plan as a file."""
    path = folder / "plan.json"
    path.write_bytes(json_document.encode(json_document.of_plan(plan)))
    return path
