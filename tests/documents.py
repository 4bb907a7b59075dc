"""What a plan document may never say about itself: a broken limit, or parts that do not add up.

Everything is counted again from the problem's plain values, the rows of its table and the document alone.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

NEAR = 1e-9
_LIMITED = ("ttft", "itl", "tpot", "e2e")
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}


def contradictions(plan: dict[str, Any]) -> list[str]:
    """What the document of a plan says against itself, in words."""
    if plan["status"] not in ("optimal", "feasible"):
        return [] if not plan["pools"] else ["pools without a plan"]
    return [*_slack(plan), *_pools(plan), *_money(plan), *_shares(plan), *_objective(plan)]


def _slack(plan):
    for state in plan["constraints"]:
        if state["slack"] < 0 or state["value"] > state["limit"]:
            yield f"{state['id']}: {state['value']} of {state['limit']}, slack {state['slack']}"


def _pools(plan):
    problem = plan["inputs"]["problem"]
    workloads = {workload["name"]: workload for workload in problem["workloads"]}
    most = _fraction(problem["fleet"].get("max_utilization", "100 %"))
    for pool in plan["pools"]:
        limits = workloads[pool["workload"]].get("slo", {})
        for name, text in limits.items():
            metric, statistic = name.split("_")
            value = pool[f"{metric}_s"].get(statistic)
            if metric in _LIMITED and value is not None and value > _seconds(text):
                yield f"{pool['id']}: {name} {value} over {text}"
        if pool["utilization"] > most * (1 + NEAR):
            yield f"{pool['id']}: utilization {pool['utilization']} over {most}"
        if not math.isclose(pool["load_rps"], pool["utilization"] * pool["capacity_rps"], rel_tol=1e-6):
            yield f"{pool['id']}: load {pool['load_rps']} is not utilization x capacity"


def _money(plan):
    hours, cost = plan.get("periods") or (), plan["cost_usd_per_hour"]
    pools = sum(pool["usd_per_hour"] for pool in plan["pools"])
    if not hours:
        yield from _unlike({"pools": pools}, cost)
        used = defaultdict(int)
        for pool in plan["pools"]:
            used[pool["gpu"]] += pool["replicas"] * pool["gpus_per_replica"]
        for gpu, count in used.items():
            if count > plan["gpus"].get(gpu, 0):
                yield f"gpus: {count} of {gpu} in use, {plan['gpus'].get(gpu, 0)} bought"
        return
    beside = sum(hour["start_usd"] + hour["api_usd"] for hour in hours)
    sums = {
        "pools": pools + beside / len(hours),
        "hours": sum(hour["usd"] for hour in hours) / len(hours),
        "lines of supply": (sum(line["usd"] for line in plan["supply"]) + beside) / len(hours),
    }
    yield from _unlike(sums, cost)
    for gpu, count in plan["gpus"].items():
        if count != max(hour["gpus"].get(gpu, 0) for hour in hours):
            yield f"gpus: {count} of {gpu}, not the most of any hour"


def _unlike(sums, cost):
    yield from (
        f"{name} add up to {usd}, the cost is {cost}" for name, usd in sums.items() if not _same(usd, cost)
    )


def _objective(plan):
    value, bound = plan["objective"]["value"], plan["objective"]["lower_bound"]
    hours = len(plan.get("periods") or (1,))
    if plan["objective"]["name"] == "cost" and not _same(value, plan["cost_usd_per_hour"] * hours):
        yield f"objective {value}, cost {plan['cost_usd_per_hour']}"
    if bound is not None and bound > value * (1 + NEAR):
        yield f"lower bound {bound} over {value}"
    if plan["status"] == "optimal" and plan["objective"]["gap"]:
        yield f"optimal with a gap of {plan['objective']['gap']}"


def _shares(plan):
    """Every bucket is served whole, by each stage of serving, in every hour.

    Short prompts may go straight to decode: the share of prefill pools is then below 1, and said.
    """
    straight = {text.split("/")[0] for text in plan["warnings"] if "straight to decode" in text}
    hours = [hour["routing"] for hour in plan.get("periods") or ()] or [plan["routing"]]
    for routing in hours:
        total = defaultdict(float)
        for route in routing:
            role = route["pool"].split("/")[1] if "/" in route["pool"] else "outside"
            for stage in {"outside": (0, 1), "serve": (0, 1), "prefill": (0,), "decode": (1,)}[role]:
                total[route["workload"], route["bucket"], stage] += route["share"]
        for key, share in total.items():
            if not _same(share, 1.0) and not (key[0] in straight and key[2] == 0 and share < 1.0):
                yield f"shares of {key} add up to {share}"


# -- against the table --------------------------------------------------------------------------------------


def against_table(plan: dict[str, Any], problem: dict[str, Any], rows: list[dict[str, str]]) -> list[str]:
    """What the plan does that the table does not allow, hour by hour."""
    if plan["status"] not in ("optimal", "feasible"):
        return []
    known = {
        (r["workload"], r.get("role") or "serve", r["option"], r.get("bucket") or "all"): r for r in rows
    }
    pools = {pool["id"]: pool for pool in plan["pools"]}
    hours = [(hour["replicas"], hour["routing"]) for hour in plan.get("periods") or ()]
    hours = hours or [({name: pool["replicas"] for name, pool in pools.items()}, plan["routing"])]
    found = []
    for t, (replicas, routing) in enumerate(hours):
        for workload in problem["workloads"]:
            mine = {name: n for name, n in replicas.items() if pools[name]["workload"] == workload["name"]}
            sent = [route for route in routing if route["workload"] == workload["name"]]
            found += [f"hour {t}: {text}" for text in _hour(problem, workload, t, pools, mine, sent, known)]
    if problem.get("search", {}).get("mix") is False:
        used = defaultdict(set)
        for pool in pools.values():
            used[pool["workload"], pool["role"]].add(pool["option"])
        found += [f"mix: {key} uses {sorted(some)}" for key, some in used.items() if len(some) > 1]
        modes = defaultdict(set)
        for pool in pools.values():
            modes[pool["workload"]].add(pool["mode"])
        found += [f"mix: {name} is served {sorted(some)}" for name, some in modes.items() if len(some) > 1]
    return found


def _hour(problem, workload, t, pools, replicas, sent, known):
    name, fleet = workload["name"], problem["fleet"]
    headroom = (
        {"memory": "10 %", "capacity": "20 %"} | fleet.get("headroom", {}) | workload.get("headroom", {})
    )
    slo = {key: _seconds(text) for key, text in workload.get("slo", {}).items()}
    least = {
        m: min((v for k, v in slo.items() if k.startswith(m)), default=math.inf) for m in ("ttft", "itl")
    }
    demand = workload["demand"]
    hours = demand.get("hourly_rps") or [demand.get("peak_rps")]
    rate = hours[t if len(hours) > 1 else 0] * (1 + _fraction(headroom["capacity"]))
    load = defaultdict(float)
    for route in sent:
        pool = pools[route["pool"]]
        row = known[name, pool["role"], pool["option"], route["bucket"]]
        share = workload.get("buckets", {}).get(route["bucket"], 1)
        if rate * share * route["share"] == 0:
            continue
        load[pool["role"], pool["option"]] += rate * share * route["share"] / float(row["max_rps"])
        if pool["role"] != "decode" and float(row.get("ttft_ms") or 0) > least["ttft"] * 1e3 * (1 + NEAR):
            yield f"{pool['id']} serves {route['bucket']} with a TTFT of {row['ttft_ms']} ms"
        if pool["role"] != "prefill" and float(row.get("itl_ms") or 0) > least["itl"] * 1e3 * (1 + NEAR):
            yield f"{pool['id']} serves {route['bucket']} with an ITL of {row['itl_ms']} ms"
        if float(row.get("memory_fraction") or 0) > 1 - _fraction(headroom["memory"]) + NEAR:
            yield f"{pool['id']} serves {route['bucket']} with {row['memory_fraction']} of the memory"
    held = defaultdict(int)
    for place, count in replicas.items():
        held[pools[place]["role"], pools[place]["option"]] += count
    most = _fraction(fleet.get("max_utilization", "100 %"))
    for key, busy in load.items():
        if busy > held[key] * most * (1 + NEAR) + NEAR:
            yield f"{name}: {key} carries {busy} on {held[key]} replicas"
    yield from _pairs(name, [pools[place] for place in replicas], known, sent, least["ttft"])


def _pairs(name, pools, known, sent, limit_s):
    def row_of(pool):
        return [
            row for (w, r, o, _), row in known.items() if (w, r, o) == (name, pool["role"], pool["option"])
        ]

    by_role = {role: [pool for pool in pools if pool["role"] == role] for role in ("prefill", "decode")}
    if bool(by_role["prefill"]) != bool(by_role["decode"]):
        yield f"{name}: prefill without decode, or decode without prefill"
    for first, second in itertools.product(by_role["prefill"], by_role["decode"]):
        if first["kv"] and second["kv"] and first["kv"] != second["kv"]:
            yield f"{first['id']} and {second['id']} do not agree in kv"
        served = [
            known[name, "prefill", first["option"], s["bucket"]] for s in sent if s["pool"] == first["id"]
        ]
        other = [
            known[name, "decode", second["option"], s["bucket"]] for s in sent if s["pool"] == second["id"]
        ]
        for one, two in itertools.product(served, other):
            ttft = float(one.get("ttft_ms") or 0)
            after = max(float(one.get("transfer_ms") or 0), float(two.get("transfer_ms") or 0))
            if ttft and ttft + after > limit_s * 1e3 * (1 + NEAR):
                yield f"{first['id']} with {second['id']}: TTFT of {ttft + after} ms"


def _same(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def _seconds(text):
    number, unit = str(text).split()
    return float(number) * _UNITS[unit] if unit != "ms" else float(number) / 1000


def _fraction(text):
    number, unit = str(text).split()
    return float(number) / 100 if unit == "%" else float(number)
