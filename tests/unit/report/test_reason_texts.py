"""Pages of what-ifs, differences, fronts, alternatives, relaxations and explanations at 80 columns."""

import pytest

from planner.explain.difference import difference
from planner.report import (
    alternatives_text,
    difference_text,
    explain_text,
    json_document,
    pareto_text,
    relax_text,
    steps_text,
    terminal,
    whatif_text,
)
from planner.schema.answers import Plans, Sweep, SweepRow, WhatIf
from planner.schema.explanation import Explanation, Figure, Step, Target, Worth


def page(view):
    text = terminal.render(view, width=80)
    assert all(len(line) <= 80 for line in text.splitlines())
    return text


def words(view):
    return " ".join(page(view).split())


def has_line(text, words):
    """Whether a line has just these words, however far apart."""
    return words.split() in [line.split() for line in text.splitlines()]


def inputs(**problem):
    return {"problem": problem, "catalog": "sha256:aa", "calibration": "sha256:bb"}


@pytest.fixture
def cheaper(make_plan, chat_plan):
    """The sample on other GPUs, after a limit was loosened."""
    pool = chat_plan.pools[0].model_dump()
    return make_plan(
        inputs=inputs(name="chat-70b", budget="60 USD/h"),
        cost_usd_per_hour=30.0,
        gpus={"l40s": 24},
        pools=[pool | {"gpu": "l40s", "tp": 4, "gpus_per_replica": 4, "replicas": 6, "itl_s": {"p99": 0.09}}],
    )


def what_if(before, after):
    return WhatIf(before=before, after=after, difference=difference(before, after))


def test_what_if_shows_the_question_both_plans_and_sentences(chat_plan, cheaper):
    text = page(whatif_text.view(what_if(chat_plan, cheaper)))
    assert text.splitlines()[:2] == ["chat-70b: what if", "• budget is 60 USD/h; before, it was not set."]
    assert has_line(text, "cost 40.00 USD/h 30.00 USD/h")
    assert has_line(text, "fleet 16 × h100-sxm 24 × l40s")
    assert has_line(text, "replicas 8 × 2 GPUs 6 × 4 GPUs")
    assert has_line(text, "ITL P99 59.8 ms 90.0 ms")
    assert "• Costs 10.00 USD/h less (-25 %): 30.00 USD/h instead of 40.00 USD/h." in text
    # The question is not repeated among the effects.
    assert text.count("budget") == 1


def test_what_if_that_changes_nothing_says_so(chat_plan):
    text = words(whatif_text.view(what_if(chat_plan, chat_plan)))
    assert "Nothing is changed." in text
    assert "The plan stays the same." in text


def test_what_if_without_a_plan_afterwards(chat_plan, no_plan):
    text = words(whatif_text.view(what_if(chat_plan, no_plan)))
    assert "answer optimal, proved no plan" in text
    assert "In the way: ttft:chat." in text


def test_workloads_are_told_apart_side_by_side(two_pools):
    text = words(whatif_text.view(what_if(two_pools, two_pools)))
    assert "ITL P99 of chat" in text
    assert "replicas of docs 1 × 4 GPUs 1 × 4 GPUs" in text


def test_a_difference_ends_with_its_reasons(chat_plan, cheaper):
    text = page(difference_text.view(what_if(chat_plan, cheaper)))
    assert text.startswith("chat-70b: two plans\n")
    assert text.index("What changes") < text.index("Why") < text.index("budget is 60 USD/h")


def test_a_difference_without_reasons_says_how_that_can_be(make_plan, chat_plan, two_pools):
    assert "Problem, catalog and calibration are the same, and both plans are optimal." in words(
        difference_text.view(what_if(chat_plan, chat_plan))
    )
    other = two_pools.model_copy(update={"cost_usd_per_hour": 80.0})
    assert "a search that is not proved may end anywhere" in words(
        difference_text.view(what_if(two_pools, other))
    )


def test_a_sweep_is_held_against_its_cheapest_row(chat_plan, cheaper, no_plan):
    path = "workloads.chat.slo.itl_p99"
    plans = {"60 ms": chat_plan, "100 ms": cheaper, "5 ms": no_plan}
    sweep = Sweep(rows=tuple(SweepRow(set={path: value}, plan=plan) for value, plan in plans.items()))
    text = page(whatif_text.rows(sweep))
    assert text.splitlines()[0] == "chat-70b: what if workloads.chat.slo.itl_p99"
    assert has_line(text, "60 ms 16 × h100-sxm 40.00 USD/h +33.3 % 1.41 s 59.8 ms")
    assert has_line(text, "100 ms 24 × l40s 30.00 USD/h cheapest 1.41 s 90.0 ms")
    assert has_line(text, "5 ms no plan: budget and ttft:chat")


def test_a_sweep_over_keys_of_one_name_shows_whole_paths(chat_plan):
    row = SweepRow(set={"a.peak": 1, "b.peak": True, "c": [1, {"x": None}]}, plan=chat_plan)
    text = words(whatif_text.rows(Sweep(rows=(row,))))
    assert "a.peak b.peak c fleet" in text
    assert "1 true 1, x: none 16 ×" in text
    assert words(whatif_text.rows(Sweep(rows=()))) == "No values to try."


def test_alternatives_each_in_a_line_against_the_best(chat_plan, cheaper):
    text = words(alternatives_text.view(Plans(plans=(cheaper, chat_plan))))
    assert text.startswith("chat-70b: the best plan and 1 other")
    assert "2 16 × h100-sxm 40.00 USD/h +33.3 % 1.41 s 59.8 ms" in text
    assert "2: 16 × h100-sxm instead of 24 × l40s, TP 2 instead of TP 4." in text
    alone = words(alternatives_text.view(Plans(plans=(cheaper,), complete=False)))
    assert "the best plan, and no other" in alone
    assert "There may be more" in alone
    assert "No plan keeps every limit" in words(alternatives_text.view(Plans(plans=())))


def test_alternatives_that_are_better_than_an_unproved_plan_are_said_to_be(chat_plan, cheaper):
    objective = chat_plan.objective
    lower = objective.model_copy(update={"value": objective.value - 1})
    better = cheaper.model_copy(update={"objective": lower})
    text = words(alternatives_text.view(Plans(plans=(chat_plan, better, chat_plan))))
    assert text.startswith("chat-70b: the plan and 2 others, 1 of them better: no search ended with a proof")


def test_a_front_marks_the_best_of_each_axis_and_the_knee(make_plan, chat_plan):
    pool = chat_plan.pools[0].model_dump()

    def at(cost, itl_s, gpus):
        pools = [pool | {"itl_s": {"p99": itl_s}}]
        return make_plan(cost_usd_per_hour=cost, gpus={"h100-sxm": gpus}, pools=pools)

    plans = (at(10.0, 0.06, 4), at(12.0, 0.028, 5), at(30.0, 0.02, 12))
    text = page(pareto_text.view(Plans(plans=plans, axes=("cost", "itl_p99"), max_cost_ratio=3)))
    assert "chat-70b: cost and ITL P99 traded in 3 plans" in text
    assert has_line(text, "10.00 USD/h 60.0 ms 4 × h100-sxm TP 2 best cost")
    assert has_line(text, "12.00 USD/h 28.0 ms 5 × h100-sxm TP 2 knee")
    assert has_line(text, "30.00 USD/h 20.0 ms 12 × h100-sxm TP 2 best ITL P99")
    assert "Knee: nearest to the best of every axis" in text
    assert "Plans at more than 3 times the cheapest cost are left out" in text
    assert "No plan" in words(pareto_text.view(Plans(plans=(), axes=("cost", "itl"))))


def relaxed(no_plan, **changes):
    return no_plan.model_validate(no_plan.model_dump(by_alias=True) | changes)


def test_relax_says_what_has_to_give_and_how_to_see_it(no_plan):
    ways = [
        {
            "changes": [
                {"id": "ttft:chat", "from": 0.1, "to": 0.1215, "unit": "s",
                 "path": "workloads.chat.slo.ttft_p99"},
                {"id": "budget", "from": 20.0, "to": 26.1, "unit": "USD/h", "path": "fleet.budget"},
            ],
            "cost_usd_per_hour": 26.1,
        },
        {"changes": [{"id": "whole-servers", "from": "on", "to": "off", "unit": ""}],
         "cost_usd_per_hour": 30.0},
    ]  # fmt: skip
    text = words(relax_text.view(relaxed(no_plan, relaxations=ways, conflicts_complete=False)))
    assert "budget and ttft:chat (time to first token, P99, 100 ms): one of them has to give." in text
    assert "There may be more" in text
    assert "ttft:chat 100 ms 121.5 ms (+21.5 %) 26.10 USD/h budget 20 USD/h 26.1 USD/h (+30.5 %)" in text
    assert "whole-servers on off 30.00 USD/h" in text
    assert (
        "planner whatif PROBLEM \\ --set 'workloads.chat.slo.ttft_p99=121.5 ms' \\ "
        "--set 'fleet.budget=26.1 USD/h'"
    ) in text


def test_relax_without_a_way_out(no_plan):
    text = words(relax_text.view(relaxed(no_plan, relaxations=[], conflicts=[["vram:chat"]])))
    assert "vram:chat (memory of one GPU, 128 GiB) cannot hold, whatever the other limits are." in text
    assert "No change of the limits that was tried gives a plan." in text


def test_relax_without_a_way_that_can_be_typed(no_plan):
    ways = [{"changes": [{"id": "whole-servers", "from": "on", "to": "off", "unit": ""}],
             "cost_usd_per_hour": None}]  # fmt: skip
    assert "To see the first" not in words(relax_text.view(relaxed(no_plan, relaxations=ways)))


def price(name, saves, removed, **more):
    return {
        "id": name,
        "step": "+10 %",
        "saves_usd_per_hour": saves,
        "removed_saves_usd_per_hour": removed,
    } | more


def test_prices_come_with_the_dearest_first_and_the_free_in_one_line(make_plan):
    prices = [
        price("budget", 0.0, 0.0),
        price("ttft:chat", 1.0, 2.0, proved=False),
        price("itl:chat", 5.0, 10.0),
        price("stock:l40s", 0.0, 0.0),
        price("power", 0.0, 3.0, proved=False),
        price("max-gpus", 0.0, 0.0, proved=False),
    ]
    text = page(relax_text.view(make_plan(prices=prices)))
    flat = " ".join(text.split())
    assert text.index("itl:chat") < text.index("ttft:chat") < text.index("budget")
    assert "itl:chat +10 % 5.00 USD/h 10.00 USD/h" in flat
    assert "ttft:chat +10 % ≥ 1.00 USD/h ≥ 2.00 USD/h" in flat
    assert "power +10 % not known ≥ 3.00 USD/h" in flat
    assert "Loosening changes nothing: budget and stock:l40s." in flat
    assert "What loosening saves is not known: max-gpus." in flat
    assert "no limit that could be loosened" in words(relax_text.view(make_plan(prices=[])))


def test_limits_without_a_sure_price_are_named(make_plan):
    """A problem with limits was said to state none, where the search ended before any price was sure."""
    unsure = "no price for max-layouts:chat: the time limit ended the search, and so on"
    for known in ([], [price("itl:chat", 5.0, 10.0)]):
        text = words(relax_text.view(make_plan(prices=known, warnings=["another", unsure])))
        assert unsure in text
        assert "another" not in text
        assert "no limit that could be loosened" not in text


def test_prices_in_the_unit_of_the_objective(make_plan):
    objective = {"name": "gpus", "value": 16.0, "lower_bound": 16.0, "gap": 0.0}
    prices = [price("itl:chat", -2.0, -3.0, saves_objective=2.0, removed_saves_objective=4.0)]
    assert "itl:chat +10 % 2 GPUs 4 GPUs" in words(
        relax_text.view(make_plan(prices=prices, objective=objective))
    )


TARGETS = [
    {"pool": "chat/serve/1", "gpu": "h100-sxm", "metric": "ttft_p99_s", "expected": 1.1, "high": 1.43,
     "unit": "s", "why": "30 % above the plan: size anew", "section": "9.1"},
    {"pool": "chat/serve/1", "gpu": "h100-sxm", "metric": "batch_mean", "expected": 18.81, "high": 51.0,
     "unit": "sequences", "why": "the batch is full: requests queue", "section": "8.4"},
]  # fmt: skip


def test_explain_says_why_what_limits_cost_and_what_to_watch(chat_plan):
    targets = [Target.model_validate(item) for item in TARGETS]
    text = words(explain_text.view(Explanation(plan=chat_plan, targets=tuple(targets))))
    for part in (
        "Why this plan • chat/serve/1: 8 replicas of h100-sxm",
        "What holds the plan back: itl:chat",
        "What a limit costs limit one step saves without it itl:chat +5 ms 5.00 USD/h 10.00 USD/h",
        "Next best, and why not",
        "ttft_p99_s 1.10 s 1.43 s 30 % above the plan: size anew",
        "batch_mean 18.8 51 the batch is full: requests queue",
    ):
        assert part in text


def test_alarms_of_several_pools_are_explained_once(chat_plan):
    both = [Target.model_validate(item | {"pool": pool}) for pool in ("a", "b") for item in TARGETS]
    text = words(explain_text.view(Explanation(plan=chat_plan, targets=tuple(both))))
    assert text.count("ttft_p99_s") == 2
    assert text.count("size anew") == 1
    assert "b on h100-sxm" in text


def test_explain_points_to_the_prices_that_nobody_asked_for(make_plan):
    text = words(explain_text.view(Explanation(plan=make_plan(prices=[]))))
    assert "What each limit costs: planner relax PROBLEM" in text


def test_explain_answers_why_not(chat_plan, no_plan):
    answer = ("would win at 2.91 USD/h, today 3.59 USD/h.",)
    text = words(explain_text.view(Explanation(plan=chat_plan, asked="h200-sxm", answer=answer)))
    assert "Why not h200-sxm • would win at 2.91 USD/h" in text
    assert "Limits that cannot hold together" in words(explain_text.view(Explanation(plan=no_plan)))


def test_explain_tells_what_it_would_take(chat_plan):
    line = "h200-sxm: would win at 2.91 USD per GPU-hour or less, today 3.59 USD."
    worth = Worth(gpu="h200-sxm", usd_per_gpu_hour=3.59, price="at", wins_at_usd_per_gpu_hour=2.9199,
                  speed="unknown", text=line)  # fmt: skip
    text = words(explain_text.view(Explanation(plan=chat_plan, worth=(worth,))))
    assert f"What it would take • {line}" in text


def test_steps_say_where_something_is_left_to_do(chat_plan):
    rows = (
        Step(number=1, title="Workload", asks="Know it.", section="1", verdict=("Known.",),
             figures=(Figure(name="peak rate", value=40.0, unit="req/s"),)),
        Step(number=2, title="Hardware", asks="Choose it.", section="2", verdict=("One.", "Two."), open=True,
             figures=(Figure(name="GPU", value="a", of="chat/serve/1"),
                      Figure(name="GPU", value="b", of="chat/serve/2"))),
    )  # fmt: skip
    explanation = Explanation(plan=chat_plan, steps=rows)
    text = page(steps_text.view(explanation))
    assert "Something is left to do at 2 (!)." in words(steps_text.view(explanation))
    assert " 1  Workload  (field guide 1)\n    Know it.\n    peak rate  40 req/s\n    Known.\n" in text
    assert " 2  Hardware !  (field guide 2)\n" in text
    assert "    chat/serve/1\n      GPU  a\n    chat/serve/2\n      GPU  b\n    One.\n    Two.\n" in text
    # The steps are the page where they were asked for.
    assert page(explain_text.view(explanation)) == text


def test_wall_times_that_nobody_asked_for_are_in_no_document(chat_plan, make_plan):
    made = chat_plan.provenance.model_dump()
    timed = make_plan(provenance=made | {"timing_s": {"load": 0.1}})
    document = json_document.of(what_if(chat_plan, timed))
    assert "timing_s" not in document["before"]["provenance"]
    assert document["after"]["provenance"]["timing_s"] == {"load": 0.1}


def test_a_limited_latency_is_told_as_it_is_held_against_its_limit(make_plan, chat_plan):
    """320 ms with the KV transfer, where the slowest pool alone takes 300 ms."""
    pool = chat_plan.pools[0].model_dump() | {"evidence": "measured", "ttft_s": {"p99": 0.3}}
    state = {"id": "ttft:chat", "value": 0.32, "limit": 0.8, "unit": "s", "slack": 0.48, "binding": False}
    plan = make_plan(pools=[pool], constraints=[state | {"text": "time to first token"}])
    assert has_line(page(whatif_text.view(what_if(plan, plan))), "TTFT P99 320 ms 320 ms")
    # A limit on the mean says nothing about P99.
    modelled = pool | {"evidence": "modelled"}
    plan = make_plan(pools=[modelled], constraints=[state | {"text": "TTFT mean"}])
    assert has_line(page(whatif_text.view(what_if(plan, plan))), "TTFT P99 300 ms 300 ms")


def test_measured_options_stand_where_layouts_would(make_plan, chat_plan):
    pool = chat_plan.pools[0].model_dump() | {"evidence": "measured", "option": "W-1"}
    text = words(pareto_text.view(Plans(plans=(make_plan(pools=[pool]),), axes=("cost", "gpus"))))
    assert "16 × h100-sxm W-1" in text
