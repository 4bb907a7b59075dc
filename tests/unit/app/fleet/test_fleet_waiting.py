"""Work that may wait whose mean rate never ends as a decimal: as many replicas as do it exactly."""

import pytest
from fleet_files import planned

LENGTHS = {"input": {"fixed": 500}, "output": {"fixed": 100}}


def test_three_replicas_do_three_requests_a_second(tmp_path):
    # The mean of 3, 0, 2 is 5/3. The deadline leaves no choice: 3, 0, 2 replicas, and 6, 4, 4 for chat.
    line = {"term": "on_demand", "gpu": "x"}
    supply = [line | {"usd_per_gpu_h": 4.18, "max_gpus": 2}]
    for term, usd, most in (("reserved", 1.96, 4), ("on_demand", 3.66, 4), ("owned", 0.86, 3)):
        supply.append({"gpu": "y", "term": term, "usd_per_gpu_h": usd, "max_gpus": most})
    batch = {"name": "b", "class": "batch", "demand": {"hourly_rps": [3, 0, 2], "deadline": "1 h"}}
    problem = {
        "name": "b",
        "workers": "workers.csv",
        "workloads": [{"name": "chat", "demand": {"hourly_rps": [6, 4, 4]}}, batch],
        "fleet": {"headroom": {"capacity": "0 %"}, "supply": supply},
    }
    table = "option,workload,gpu,gpus,max_rps\nx1,chat,x,1,3\ny1,chat,y,1,3\nx1,b,x,1,1\ny1,b,y,1,1\n"
    plan = planned(tmp_path, problem, table)
    # Hours need 2 + 3, 2 and 2 + 2 GPUs of type y: one reserved (1.96 in each hour), 3, 1 and 3 owned ones,
    # and one more on demand in the first hour.
    assert plan.status == "optimal"
    assert plan.objective.value == pytest.approx(7 * 0.86 + 3 * 1.96 + 3.66)


@pytest.mark.parametrize(
    "demand",
    [
        {"requests_per_day": 360_000},
        {"tokens_per_day": 36_000_000},
        {"hourly_rps": [12.5, 0, 0]},
    ],
)
@pytest.mark.parametrize("headroom", ["0 %", "20 %"])
def test_a_mean_rounded_up_needs_no_replica_more(tmp_path, demand, headroom):
    # 25/6 requests/s on average: 12.5 replica-hours x 1 request/s in three hours, with a fifth more 15.
    batch = {"name": "b", "class": "batch", "demand": demand | {"deadline": "3 h"}, "lengths": LENGTHS}
    problem = {
        "name": "b",
        "workers": "workers.csv",
        "workloads": [
            {"name": "chat", "demand": {"hourly_rps": [1, 1, 1]}, "headroom": {"capacity": "0 %"}},
            batch,
        ],
        "fleet": {
            "headroom": {"capacity": headroom},
            "supply": [{"gpu": "x", "term": "on_demand", "usd_per_gpu_h": 1}],
        },
    }
    plan = planned(tmp_path, problem, "option,workload,gpu,gpus,max_rps\nx1,chat,x,1,1\nx1,b,x,1,2.5\n")
    # At 2.5 requests/s each 5 or 6 of them, and 3 for chat.
    assert (plan.status, plan.objective.value) == ("optimal", {"0 %": 8, "20 %": 9}[headroom])
