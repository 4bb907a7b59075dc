"""What may be done to a problem, and what its cost then does: fall, rise, stay, or scale."""

from table_problems import number

SCALE = 4


def _looser_slo(asked):
    for workload in asked.values["workloads"]:
        workload["slo"] = {name: f"{number(text) * 1.3:g} ms" for name, text in workload["slo"].items()}


def _fleet(key, change):
    def changed(asked):
        fleet = asked.values["fleet"]
        if key not in fleet:
            return False
        value = change(fleet.pop(key))
        if value is not None:
            fleet[key] = value
        return True

    return changed


def _more_stock(stock):
    return {gpu: count + 2 for gpu, count in stock.items()}


def _less_demand(asked):
    for workload in asked.values["workloads"]:
        workload["demand"]["peak_rps"] *= 0.75


def _mix(asked):
    asked.values["search"]["mix"] = True


def _one_more_option(asked):
    """A replica of any kind that there is, at every rate twice as fast."""
    first = asked.rows[0]["option"]
    asked.rows += [
        {**row, "option": "faster", "max_rps": row["max_rps"] * 2}
        for row in asked.rows
        if row["option"] == first
    ]


LOOSER = {
    "slo 30 % longer": _looser_slo,
    "two more in stock": _fleet("stock", _more_stock),
    "no stock limit": _fleet("stock", lambda _: None),
    "a tenth more budget": _fleet("budget", lambda text: f"{number(text) * 1.1:g} USD/h"),
    "no budget": _fleet("budget", lambda _: None),
    "one GPU more": _fleet("max_gpus", lambda count: count + 1),
    "less headroom": _fleet("headroom", lambda _: {"memory": "5 %", "capacity": "0 %"}),
    "a spare less": _fleet("redundancy", lambda count: count - 1),
    "one replica is enough": _fleet("min_replicas", lambda _: None),
    "full use": _fleet("max_utilization", lambda _: None),
    "a quarter less demand": _less_demand,
    "mixes too": _mix,
    "one more option": _one_more_option,
}
"""Each allows every plan that was allowed before: the cost may not rise. False: nothing to loosen."""


def _permuted(asked):
    asked.values["workloads"].reverse()
    asked.rows.reverse()
    for workload in asked.values["workloads"]:
        for key in ("buckets", "slo"):
            workload[key] = dict(reversed(workload[key].items()))
    asked.values["fleet"] = {
        key: dict(reversed(value.items())) if isinstance(value, dict) else value
        for key, value in reversed(asked.values["fleet"].items())
    }
    asked.values = dict(reversed(asked.values.items()))


def _renamed(asked):
    """Names sort the other way round."""
    named = {gpu: f"{'zyxw'[place]}-gpu" for place, gpu in enumerate(sorted(asked.values["fleet"]["prices"]))}
    for row in asked.rows:
        row["gpu"] = named[row["gpu"]]
        row["option"] = f"{999 - row['gpus']}-{row['workload']}-{row['gpu']}"
    for key in ("prices", "stock"):
        if key in asked.values["fleet"]:
            asked.values["fleet"][key] = {named[gpu]: v for gpu, v in asked.values["fleet"][key].items()}


def _duplicated(asked):
    """Every option once more under another name."""
    asked.rows += [{**row, "option": f"{row['option']}-again"} for row in asked.rows]


def _dominated(asked):
    """A GPU type that does the same as another and costs more."""
    gpu = sorted(asked.values["fleet"]["prices"])[0]
    price = number(asked.values["fleet"]["prices"][gpu])
    if "stock" in asked.values["fleet"]:
        return False
    asked.values["fleet"]["prices"]["worse"] = f"{price + 1} USD/h"
    asked.rows += [
        {**row, "gpu": "worse", "option": f"worse-{row['option']}"} for row in asked.rows if row["gpu"] == gpu
    ]
    return True


def _faster_in_step(asked):
    """Rates and demand grow alike."""
    for row in asked.rows:
        row["max_rps"] *= SCALE
    for workload in asked.values["workloads"]:
        workload["demand"]["peak_rps"] *= SCALE


SAME = {
    "permuted": _permuted,
    "renamed": _renamed,
    "duplicated": _duplicated,
    "a dominated GPU": _dominated,
    "rates and demand scaled": _faster_in_step,
}
"""Each says the same in other words: the cost stays."""


def dearer(asked):
    """Every price and the budget times `SCALE`: so is the cost."""
    fleet = asked.values["fleet"]
    fleet["prices"] = {gpu: f"{number(text) * SCALE:g} USD/h" for gpu, text in fleet["prices"].items()}
    if "budget" in fleet:
        fleet["budget"] = f"{number(fleet['budget']) * SCALE:g} USD/h"
