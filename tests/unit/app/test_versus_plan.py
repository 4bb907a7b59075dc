"""Why not that, over a table: types, lines, suppliers, options and pools held against plans."""

from __future__ import annotations

import pytest
import yaml

import planner
from planner.app.versus_plan import why_not
from planner.errors import InputError
from planner.planning.run import Run

TABLE = """option,workload,gpu,gpus,max_rps,ttft_ms
small,chat,g,1,4,100
large,chat,g,2,10,100
other,chat,h,1,5,100
slow,chat,k,1,9,3000
"""
LENGTHS = {"input": {"fixed": 1000}, "output": {"fixed": 100}}
SUPPLY = [
    {"gpu": "g", "term": "owned", "usd_per_gpu_h": 1, "max_gpus": 2},
    {"gpu": "g", "term": "on_demand", "usd_per_gpu_h": 3},
    {"gpu": "h", "term": "on_demand", "usd_per_gpu_h": 4},
    {"gpu": "h", "term": "reserved", "usd_per_gpu_h": 6},
    {"gpu": "k", "term": "on_demand", "usd_per_gpu_h": 4},
]


@pytest.fixture
def asked(tmp_path):
    """The answer about a candidate: sentences, and the sentences of what it would take."""

    def told(candidate, limit_s=None, demand=None, **changes):
        chat = {"name": "chat", "demand": demand or {"peak_rps": 12}, "slo": {"ttft_p99": "1 s"}}
        values = {"name": "p", "workers": "t.csv", "workloads": [chat | {"lengths": LENGTHS}]}
        values |= {"fleet": {"headroom": {"capacity": "0 %"}, "supply": SUPPLY}} | changes
        (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
        (tmp_path / "p.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        session = planner.load(tmp_path / "p.yaml")
        answer, worth = why_not(session, session.solve(), candidate, Run(limit_s))
        return answer, [one.text for one in worth]

    return told


def test_a_type_that_is_used(asked):
    """Two owned GPUs carry 10 and one of 3 USD the rest: 5 USD. Three of h carry all for 12."""
    answer, worth = asked("g")
    assert answer[0].startswith("The plan uses it: chat/serve/1, 3 replicas.")
    assert answer[-1] == "Without it the best plan costs 12.00 USD per hour, 140 % more than the plan."
    assert [text.split(":")[0] for text in worth] == ["g", "g/owned", "g/on_demand"]
    assert "times today's prices, today from 1.00 USD per GPU-hour; is worth using down to" in worth[0]


def test_a_type_that_is_not_used(asked):
    """One of h in place of the third of g is one USD more."""
    answer, worth = asked("h")
    assert answer == ("The best plan that uses it costs 6.00 USD per hour, 20 % more than the plan.",)
    assert worth[0].startswith("h: would win at 0.75 times today's prices or less, today from 4.00 USD")
    assert worth[1:] == [
        "h/on_demand: would win at 3.00 USD per GPU-hour or less, today 4.00 USD.",
        "h/reserved: would win at 3.00 USD per GPU-hour or less, today 6.00 USD.",
    ]


def test_lines_of_the_supply(asked):
    answer, worth = asked("g/owned")
    assert answer[0] == "The plan buys it: 2 GPUs."
    assert answer[1] == "Without it the best plan costs 9.00 USD per hour, 80 % more than the plan."
    assert worth == ["g/owned: is worth using up to 3.00 USD per GPU-hour, today 1.00 USD."]
    answer, _ = asked("h/reserved")
    told = "The best plan that buys h this way alone costs 8.00 USD per hour, 60 % more than the plan."
    assert answer == (told,)


def test_options_and_pools(asked):
    """In place of three small ones a large one and one of h cost 6 USD; two large ones 8."""
    answer, worth = asked("small")
    assert answer == (
        "The plan uses it.",
        "It keeps every limit: one replica carries 4.00 req/s.",
        "Without it the best plan costs 6.00 USD per hour, 20 % more than the plan.",
        "The best plan with it alone costs 5.00 USD per hour, as much as the plan.",
    )
    assert worth == []
    assert asked("chat/serve/1") == (answer, worth)
    answer, _ = asked("large")
    assert answer == (
        "It keeps every limit: one replica carries 10.0 req/s.",
        "The best plan with it alone costs 8.00 USD per hour, 60 % more than the plan.",
    )


def test_rows_that_break_a_limit(asked):
    assert asked("k") == (("slow (t.csv:5) breaks ttft:chat.",), [])
    assert asked("slow") == asked("k")


def test_an_option_that_may_serve_one_bucket_only(tmp_path):
    table = """option,gpu,gpus,bucket,max_rps,ttft_ms
a,g,1,short,4,100
a,g,1,long,2,3000
b,h,1,short,4,100
b,h,1,long,2,100
"""
    chat = {"name": "chat", "demand": {"peak_rps": 4}, "slo": {"ttft_p99": "1 s"}}
    values = {"name": "p", "workers": "t.csv", "workloads": [chat | {"buckets": {"short": 0.5, "long": 0.5}}]}
    values["fleet"] = {"headroom": {"capacity": "0 %"}, "prices": {"g": "1 USD/h", "h": "2 USD/h"}}
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    session = planner.load(tmp_path / "p.yaml")
    answer, _ = why_not(session, session.solve(), "a", Run())
    assert answer[-1] == "a (t.csv:3) breaks ttft:chat."
    answer, (worth,) = why_not(session, session.solve(), "h/on_demand", Run())
    assert answer[-1] == "Without it there is no plan."
    assert worth.text == "h/on_demand: is used at any price, today 2.00 USD."


def test_what_the_problem_does_not_know(asked):
    assert asked("B200") == (("No row of the table on it serves anything within the limits.",), [])
    with pytest.raises(
        InputError, match="a GPU type of the problem, an option, a line of the supply"
    ) as found:
        asked("g/spto")
    assert "g/spot" not in str(found.value)
    with pytest.raises(InputError, match="other"):
        asked("othr")


API = {"api": [{"workload": "chat", "usd_per_million_input": 0.02, "usd_per_million_output": 0.2}]}


def test_an_outside_supplier_that_is_not_used(asked):
    """A request costs 0.00004 USD: 12 in a second for an hour 1.728 USD, less than anything."""
    answer, worth = asked("chat/api/api", **API)
    assert answer == (
        "The plan uses it: 100 % of the requests of chat.",
        "Without it the best plan costs 5.00 USD per hour, 189.4 % more than the plan.",
    )
    (text,) = worth
    assert text.startswith("chat/api/api: is worth using up to ")
    dear = {"api": [API["api"][0] | {"usd_per_million_output": 20}]}
    answer, worth = asked("chat/api/api", **dear)
    assert answer[0].startswith("The best plan with it alone costs 87.26 USD per hour")
    assert worth[0].startswith("chat/api/api: would win at ")


def test_hours_are_held_against_their_mean(asked):
    answer, worth = asked("h", demand={"hourly_rps": [4, 12]})
    assert answer[0].startswith("The best plan that uses it costs ")
    assert "USD per hour" in answer[0]
    assert len(worth) == 3
    assert asked("g/owned", demand={"hourly_rps": [4, 12]})[0][0] == "The plan buys it: up to 2 GPUs."


def test_without_time_nothing_is_claimed(asked):
    answer, worth = asked("h", limit_s=0.0)
    assert answer == (
        "The time limit ended the search before it knew what the best plan with and without it costs.",
    )
    assert all("a limit ended the search for its break-even" in text for text in worth)
