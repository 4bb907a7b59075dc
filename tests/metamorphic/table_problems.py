"""Random problems over a small table of measured workers, as plain values and rows, and changes of them."""

import copy
import csv
import io
import random
from dataclasses import dataclass

from planner.app.session import Session
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem_document
from planner.loaders.rules import load_planning_rules
from planner.planning.run import Run

GPUS = ("a100", "h100", "l4", "b200")
COLUMNS = ("option", "workload", "bucket", "gpu", "gpus", "max_rps", "ttft_ms", "itl_ms", "memory_fraction")


@dataclass
class Asked:
    """A problem with its table."""

    values: dict
    rows: list

    def copy(self):
        return copy.deepcopy(self)


def random_asked(seed):
    """One or two workloads with one or two buckets, two to four GPU types, and limits that often bind."""
    r = random.Random(seed)
    gpus = r.sample(GPUS, r.choice([2, 3, 4]))
    workloads = [_workload(r, name) for name in ("chat", "docs")[: r.choice([1, 1, 2])]]
    fleet = {"prices": {gpu: f"{r.randint(50, 900) / 100} USD/h" for gpu in gpus}}
    if r.random() < 0.4:
        fleet["stock"] = {gpu: r.randint(2, 24) for gpu in gpus}
    if r.random() < 0.4:
        fleet["budget"] = f"{r.randint(4, 90)} USD/h"
    if r.random() < 0.3:
        fleet["max_gpus"] = r.randint(2, 30)
    fleet["headroom"] = {"memory": r.choice(["5 %", "10 %"]), "capacity": r.choice(["0 %", "20 %", "25 %"])}
    if r.random() < 0.3:
        fleet["redundancy"] = r.choice([1, 2])
    if r.random() < 0.3:
        fleet["min_replicas"] = r.choice([2, 3])
    if r.random() < 0.3:
        fleet["max_utilization"] = r.choice(["80 %", "90 %"])
    values = {
        "name": f"table-{seed}",
        "workers": "workers.csv",
        "workloads": workloads,
        "fleet": fleet,
        "search": {"mix": r.random() < 0.8},
    }
    return Asked(values, [row for workload in workloads for row in _rows(r, workload, gpus)])


def _workload(r, name):
    buckets = r.choice([{"all": 1}, {"short": "0.75", "long": "0.25"}])
    return {
        "name": name,
        "demand": {"peak_rps": r.choice([3, 8, 20, 45])},
        "buckets": {bucket: float(share) for bucket, share in buckets.items()},
        "slo": {"ttft_p99": f"{r.choice([300, 600, 1200])} ms", "itl_p99": f"{r.choice([30, 60])} ms"},
    }


def _rows(r, workload, gpus):
    for gpu in gpus:
        for size in r.sample([1, 2, 4], r.choice([1, 2])):
            rate = r.randint(4, 30) * size / 2
            for bucket in workload["buckets"]:
                slower = 1 if bucket in ("all", "short") else r.choice([2, 4])
                yield {
                    "option": f"{workload['name']}-{gpu}x{size}",
                    "workload": workload["name"],
                    "bucket": bucket,
                    "gpu": gpu,
                    "gpus": size,
                    "max_rps": rate / slower,
                    "ttft_ms": r.choice([150, 350, 700]) * slower,
                    "itl_ms": r.choice([15, 28, 55]),
                    "memory_fraction": r.choice([0.5, 0.8, 0.93]),
                }


def session(asked, folder):
    """The problem with its table beside it, ready to be asked."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(asked.rows)
    (folder / "workers.csv").write_text(text.getvalue(), encoding="utf-8")
    catalog, rules = load_catalog(), load_planning_rules()
    problem = load_problem_document(asked.values, catalog, "problem", folder, [rule.id for rule in rules])
    return Session(problem, asked.values, folder, catalog, rules)


def planned(asked, folder):
    """The plan; proved, or proved that there is none."""
    plan = session(asked, folder).plan(Run())
    assert plan.status in ("optimal", "infeasible")
    return plan


def number(text):
    """``4 USD/h`` as 4.0."""
    return float(str(text).split()[0])
