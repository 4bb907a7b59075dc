"""Random problems over tables of workers, with everything that such a problem may state."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

COLUMNS = (
    "option", "workload", "bucket", "role", "gpu", "gpus", "usd_per_hour", "max_rps",
    "ttft_ms", "itl_ms", "memory_fraction", "kv", "transfer_ms",
)  # fmt: skip
GPUS = ("g0", "g1", "g2")
PRICES = {"g0": "1.3", "g1": "2.9", "g2": "4.1"}
LIMIT_MS = {"ttft": 1100.1, "itl": 50.3}
_TERMS = ("owned", "reserved", "on_demand", "spot")


def random_table(seed: int) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """A problem as plain values, and the rows of its table."""
    r = random.Random(seed)
    fleet = r.random() < 0.5
    periods = r.choice([1, 2, 3]) if fleet else 1
    purchase = r.choice(["gpu", "gpu", "node"])
    rows: list[dict[str, str]] = []
    workloads = []
    for number in range(r.choice([1, 1, 2, 2, 3])):
        name = f"w{number}"
        buckets = [f"b{k}" for k in range(r.choice([0, 0, 2, 3]))]
        workloads.append(_workload(r, name, buckets, periods, fleet))
        rows += _rows(r, name, buckets, own_prices=purchase == "gpu" and r.random() < 0.3)
    problem: dict[str, Any] = {
        "name": f"table-{seed}",
        "workers": "workers.csv",
        "workloads": workloads,
        "fleet": _fleet(r, fleet, purchase, sorted({row["gpu"] for row in rows})),
        "objective": r.choice(["cost", "cost", "cost", "gpus"]),
    }
    search: dict[str, Any] = {}
    if r.random() < 0.25:
        search["mix"] = False
    if r.random() < 0.15:
        search["modes"] = [r.choice(["aggregated", "disaggregated"])]
    if search:
        problem["search"] = search
    return problem, rows


def written(folder: Path, seed: int) -> Path:
    """The problem file, with its table beside it."""
    problem, rows = random_table(seed)
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (folder / "workers.csv").write_text(out.getvalue(), encoding="utf-8")
    path = folder / "problem.yaml"
    path.write_text(json.dumps(problem), encoding="utf-8")
    return path


def _workload(r, name, buckets, periods, fleet):
    found: dict[str, Any] = {"name": name}
    if periods > 1 and r.random() < 0.8:
        found["demand"] = {"hourly_rps": [r.choice([0, 2.5, 5, 9, 14]) for _ in range(periods - 1)] + [7.5]}
    else:
        found["demand"] = {"peak_rps": r.choice([3, 7.7, 12, 25])}
    slo = {}
    for metric, limit in LIMIT_MS.items():
        if r.random() < 0.7:
            slo[f"{metric}_{r.choice(['mean', 'p95', 'p99'])}"] = f"{limit} ms"
            if r.random() < 0.3:
                slo[f"{metric}_p50"] = f"{round(limit * r.choice([0.5, 2]), 3)} ms"
    if slo:
        found["slo"] = slo
    if buckets:
        weights = [r.randint(1, 5) for _ in buckets]
        shares = [round(weight / sum(weights), 3) for weight in weights[:-1]]
        found["buckets"] = dict(zip(buckets, [*shares, round(1 - sum(shares), 3)], strict=True))
    if r.random() < 0.3:
        found["redundancy"] = _redundancy(r, fleet)
    if r.random() < 0.2:
        found["min_replicas"] = r.choice([1, 2, 3])
    if r.random() < 0.2:
        found["headroom"] = {"memory": r.choice(["5 %", "20 %"]), "capacity": r.choice(["0 %", "33 %"])}
    return found


def _redundancy(r, fleet):
    kinds = ["replicas", "per_option", "plain"] + (["zones", "providers"] if fleet else [])
    kind, count = r.choice(kinds), r.choice([1, 1, 2])
    return count if kind == "plain" else {kind: count}


def _rows(r, name, buckets, own_prices):
    ways = r.choice([("serve",), ("serve",), ("prefill", "decode"), ("serve", "prefill", "decode")])
    for role in ways:
        for number in range(r.choice([1, 2, 2, 3])):
            gpu = r.choice(GPUS)
            gpus = r.choice([1, 1, 2, 4])
            price = f"{float(PRICES[gpu]) * gpus * r.choice([0.8, 1, 1.2]):.2f}" if own_prices else ""
            fine = number == 0 and r.random() < 0.7
            kv = r.choice(["", "", "fp8", "bf16"]) if role != "serve" else ""
            # Buckets and workloads that nobody asks for may stand in the table.
            for bucket in [*buckets, *(["unasked"] if buckets and r.random() < 0.2 else [])] or [""]:
                if buckets and r.random() < 0.05:
                    continue
                yield {
                    "option": f"{role}-{number}",
                    "workload": name,
                    "bucket": bucket,
                    "role": role,
                    "gpu": gpu,
                    "gpus": str(gpus),
                    "usd_per_hour": price,
                    "max_rps": str(r.choice([1.5, 2.5, 4, 6, 10]) if r.random() < 0.9 else r.choice([0, ""])),
                    "kv": kv,
                    **_measured(r, role, fine=fine),
                }
    if r.random() < 0.2:
        yield {"option": "x", "workload": f"{name}-unasked", "gpu": "g0", "gpus": "1", "max_rps": "3",
               "ttft_ms": "9999", "itl_ms": "9999", "memory_fraction": "0.99"}  # fmt: skip


def _measured(r, role, *, fine):
    """What was measured, often at a limit or a little beyond; of a ``fine`` option well within."""
    most = {"ttft": LIMIT_MS["ttft"], "itl": LIMIT_MS["itl"]}
    ttft = [50, 100, 200] if fine else [200, 500.05, 700.7, most["ttft"], round(most["ttft"] + 0.1, 1), 3000]
    itl = [5, 10.1, 15] if fine else [20, 25.15, 30, most["itl"], round(most["itl"] + 0.1, 1), 120]
    transfer = [0, 10, 40] if fine else [0, 40, 100.1, 400, 900]
    memory = [0.4, 0.5, 0.6, 0.7, 0.8] if fine else [0.7, 0.8, 0.9, 0.91, 0.99]
    found = {}
    if role != "decode" and r.random() < 0.8:
        found["ttft_ms"] = str(r.choice(ttft))
    if role != "prefill" and r.random() < 0.8:
        found["itl_ms"] = str(r.choice(itl))
    if role != "serve" and r.random() < 0.8:
        found["transfer_ms"] = str(r.choice(transfer))
    if r.random() < 0.5:
        found["memory_fraction"] = str(r.choice(memory))
    return found


def _fleet(r, fleet, purchase, gpus):
    found = _market(r, fleet, purchase, gpus)
    chances: dict[str, tuple[float, Any]] = {
        "budget": (0.25, lambda: f"{r.randint(40, 250)} USD/h"),
        "max_gpus": (0.25, lambda: r.randint(15, 90)),
        "headroom": (
            0.4,
            lambda: {"memory": r.choice(["0 %", "10 %"]), "capacity": r.choice(["0 %", "25 %"])},
        ),
        "max_utilization": (0.3, lambda: r.choice(["70 %", "95 %"])),
        "min_replicas": (0.2, lambda: 2),
        "redundancy": (0.25, lambda: _redundancy(r, fleet)),
    }
    return found | {key: make() for key, (chance, make) in chances.items() if r.random() < chance}


def _market(r, fleet, purchase, gpus):
    found: dict[str, Any] = {}
    if fleet and r.random() < 0.8:
        found["supply"] = [line for gpu in gpus for line in _lines(r, gpu)]
        if r.random() < 0.3:
            found["start_cost"] = "50 %"
        if r.random() < 0.2:
            found["quota"] = {"eu": r.randint(20, 90)}
        return found
    found["prices"] = {gpu: f"{price} USD/h" for gpu, price in PRICES.items()}
    if purchase == "node":
        found |= {"purchase": "node", "node_size": r.choice([4, 8])}
    if r.random() < 0.3:
        found["stock"] = {r.choice(GPUS): r.randint(5, 40)}
    return found


def _lines(r, gpu):
    for term in sorted({"on_demand", r.choice(_TERMS)}):
        line = {
            "gpu": gpu,
            "term": term,
            "usd_per_gpu_h": round(float(PRICES[gpu]) * {"spot": 0.4, "owned": 0.1}.get(term, 1.0), 3),
            "max_gpus": r.randint(12, 80),
            "provider": r.choice(["p", "q"]),
            "region": "eu",
            "zone": r.choice(["a", "b"]),
        }
        yield line | ({"max_share": "50 %"} if term == "spot" else {})
