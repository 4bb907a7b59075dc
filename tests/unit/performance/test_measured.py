"""Tables of workers through to the solved plan, against hand calculations."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from one_hour import solve

from planner.candidates.measured import measured_case
from planner.errors import InputError
from planner.schema.problem import Problem
from planner.schema.workers import WorkerRow, WorkerTable


def row(option, rps, gpu="l4", gpus=1, **more):
    numbers = {key: Decimal(str(value)) for key, value in more.items() if not isinstance(value, str)}
    texts = {key: value for key, value in more.items() if isinstance(value, str)}
    return WorkerRow("t.csv:2", option, gpu, gpus, Decimal(str(rps)), **numbers, **texts)


def problem(workload=None, **more):
    first = {"name": "w", "demand": {"peak_rps": 50}, **(workload or {})}
    return Problem.model_validate({"name": "p", "workloads": [first], "workers": "t.csv", **more})


def solved(question, *rows):
    return solve(measured_case(question, WorkerTable(rows)).problem)


def test_headroom_is_exact():
    """50000 x 1.1 at 11000 is five replicas; in floats it is six."""
    question = problem({"demand": {"peak_rps": 50000}}, fleet={"headroom": {"capacity": "10 %"}})
    choice = solved(question, row("A", 11000, usd_per_hour=2.5))
    assert choice.counts == {"w/serve/A": 5}
    assert choice.cost_usd_per_h == Fraction("12.5")


def test_prices_by_gpu_and_by_option():
    """60 rps: six of A at 1.5 USD beat three of B at 2 x 2 USD."""
    question = problem(fleet={"prices": {"l4": "2 USD/h"}})
    choice = solved(question, row("A", 10, usd_per_hour=1.5), row("B", 20, gpus=2))
    assert choice.counts == {"w/serve/A": 6}
    assert choice.cost_usd_per_h == 9


def test_a_price_is_missing():
    with pytest.raises(InputError, match=r't\.csv:2: gpu: found no price of "l4".*Maybe "L4"'):
        solved(problem(fleet={"prices": {"L4": "2 USD/h"}}), row("A", 10))


def test_rows_that_break_a_limit_are_counted():
    question = problem({"slo": {"ttft_p95": "500 ms", "itl_mean": "50 ms"}})
    rows = (
        row("late", 10, usd_per_hour=1, ttft_ms=501),
        row("slow", 10, usd_per_hour=1, itl_ms=50.1),
        row("full", 10, usd_per_hour=1, memory_fraction=0.91),
        row("fine", 10, usd_per_hour=2, ttft_ms=500, itl_ms=50, memory_fraction=0.9),
    )
    case = measured_case(question, WorkerTable(rows))
    assert sorted(ids for _, ids in case.excluded) == [("itl:w",), ("ttft:w",), ("vram:w",)]
    assert solve(case.problem).counts == {"w/serve/fine": 6}


def test_buckets_split_freely():
    """30 + 30 rps: a serves short at 30, b serves long at 30; one of each."""
    question = problem({"buckets": {"short": 0.5, "long": 0.5}})
    rows = (
        row("a", 30, bucket="short", usd_per_hour=1), row("a", 5, bucket="long", usd_per_hour=1),
        row("b", 5, bucket="short", usd_per_hour=1), row("b", 30, bucket="long", usd_per_hour=1),
    )  # fmt: skip
    choice = solved(question, *rows)
    assert choice.counts == {"w/serve/a": 1, "w/serve/b": 1}


def test_a_bucket_without_a_worker_is_named():
    question = problem({"buckets": {"short": 0.5, "long": 0.5}})
    choice = solved(question, row("a", 30, bucket="short", usd_per_hour=1))
    assert choice.in_the_way == ("unservable:w/long",)


def test_whole_servers():
    """Four replicas of 3 GPUs need two servers of 8: 16 GPUs at 1 USD."""
    question = problem(fleet={"prices": {"l4": "1 USD/h"}, "purchase": "node", "node_size": 8})
    choice = solved(question, row("A", 15, gpus=3))
    assert (choice.counts, choice.units, choice.gpus) == ({"w/serve/A": 4}, {"l4": 2}, {"l4": 16})
    assert choice.value == 16


def test_prefill_and_decode_sized_together():
    question = problem({"slo": {"ttft_p99": "1 s"}})
    rows = (
        row("P", 20, role="prefill", usd_per_hour=2, ttft_ms=600, transfer_ms=100),
        row("near", 30, role="decode", usd_per_hour=3, transfer_ms=400),
        row("far", 60, role="decode", usd_per_hour=3, transfer_ms=401),
    )
    choice = solved(question, *rows)
    assert choice.counts == {"w/prefill/P": 3, "w/decode/near": 2}
    assert choice.cost_usd_per_h == 12


def test_the_cheaper_way_to_serve_is_taken():
    rows = (
        row("S", 30, usd_per_hour=9),
        row("P", 20, role="prefill", usd_per_hour=2), row("D", 60, role="decode", usd_per_hour=3),
    )  # fmt: skip
    choice = solved(problem(), *rows)
    assert (choice.value, choice.modes) == (9, {"w": "disaggregated"})
    only = problem(search={"modes": ["aggregated"]})
    assert solved(only, *rows).value == 18


@pytest.mark.parametrize(
    ("question", "rows", "words"),
    [
        (problem(), [row("A", 1, workload="ww", usd_per_hour=1)], ['"ww"', 'Maybe "w"']),
        (
            problem({"buckets": {"short": 1}}),
            [row("A", 1, bucket="shot", workload="w", usd_per_hour=1)],
            ['Maybe "short"'],
        ),
        (problem({"buckets": {"a": 0.5, "b": 0.5}}), [row("A", 1, usd_per_hour=1)], ["there are several"]),
        (
            problem(),
            [row("A", 1, bucket="x", usd_per_hour=1), row("A", 1, bucket="y", usd_per_hour=1)],
            ["no shares"],
        ),
        (problem(objective="power"), [row("A", 1, usd_per_hour=1)], ["power"]),
    ],
)
def test_refusals(question, rows, words):
    with pytest.raises(InputError) as caught:
        measured_case(question, WorkerTable(tuple(rows)))
    assert all(word in str(caught.value) for word in words), caught.value
