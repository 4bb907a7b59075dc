"""Limits that an answer names, moved in the problem as somebody would type them."""

import re

from table_problems import number

_STEP = re.compile(r"^([+-])([\d.e+-]+) (GPU|GPUs|replica|replicas|ms|s|USD/h|%)(?: .*)?$")


def moved(asked, name, to):
    """The problem with one limit at another value, or without it; False where it is not typed in here."""
    kind, _, owner = name.partition(":")
    fleet = asked.values["fleet"]
    if kind in ("ttft", "itl"):
        return _slo(asked, owner, f"{kind}_p99", to)
    if kind == "stock":
        return _put(fleet["stock"], owner, None if to is None else round(to))
    if kind == "vram":
        known = to is not None and 0 < to <= 1
        return known and _put(_headroom(asked, owner), "memory", percent(1 - to))
    if kind == "demand":
        workload = _workload(asked, owner or asked.values["workloads"][0]["name"])
        return to is not None and _put(workload["demand"], "peak_rps", to)
    keys = {
        "budget": ("budget", lambda value: f"{value!r} USD/h"),
        "max-gpus": ("max_gpus", round),
        "redundancy": ("redundancy", round),
        "min_replicas": ("min_replicas", round),
        "max_utilization": ("max_utilization", percent),
    }
    if name == "headroom" and to is not None:
        return _put(fleet["headroom"], "capacity", percent(to))
    if name not in keys:
        return False
    key, words = keys[name]
    return _put(fleet, key, None if to is None else words(to))


def percent(share):
    return f"{share * 100:.12g} %"


def _put(values, key, value):
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
    return True


def _workload(asked, name):
    return next(item for item in asked.values["workloads"] if item["name"] == name)


def _slo(asked, owner, key, to):
    workloads = asked.values["workloads"]
    workload = _workload(asked, owner) if owner else workloads[0]
    return _put(workload["slo"], key, None if to is None else f"{to!r} s")


def _headroom(asked, owner):
    """The headroom of one workload, both keys of it."""
    workload = _workload(asked, owner)
    return workload.setdefault("headroom", dict(asked.values["fleet"]["headroom"]))


def today(asked, name):
    """The value of a limit that steps are counted from; None for those not stepped here."""
    kind, _, owner = name.partition(":")
    fleet = asked.values["fleet"]
    if kind in ("ttft", "itl"):
        return number(_workload(asked, owner)["slo"][f"{kind}_p99"]) / 1000
    if kind == "stock":
        return fleet["stock"][owner]
    key = {"max-gpus": "max_gpus", "redundancy": "redundancy", "min_replicas": "min_replicas"}.get(name)
    return None if key is None else fleet[key]


def stepped(asked, name, text):
    """The value after a step such as ``+1 GPU``; None where it is not stepped here."""
    found, value = _STEP.match(text), today(asked, name)
    if found is None or value is None or found[3] == "%":
        return None
    distance = float(found[2]) / (1000 if found[3] == "ms" else 1)
    return value + distance if found[1] == "+" else value - distance
