"""Conflicts and relaxations of instances whose answers were worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from question_asker import QuestionAsker

from planner.explain.conflicts import minimal_conflicts
from planner.explain.oracle import Oracle
from planner.explain.relaxations import relaxations
from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Spares, Supply
from planner.schema.reasons import NamedLimit

F = Fraction
GPU = Supply("s", "g", "gpu", 1, F(1))
OTHER = Supply("t", "h", "gpu", 1, F(3))


def option(name, gpus, rate, supply="s", workload="w", role="serve", **more):
    gpu = {"s": "g", "t": "h"}[supply]
    return Option(name, workload, role, supply, gpu, gpus, (F(rate),), **more)


def need(rps, workload="w", role="serve", **more):
    return PoolDemand(workload, role, (F(rps),), **more)


def budget(usd):
    return NamedLimit("budget", "budget", "", "USD/h", F(usd), path="fleet.budget")


def stock(gpus, gpu="g"):
    return NamedLimit(f"stock:{gpu}", "stock", "", "GPUs", F(gpus), whole=True)


def max_gpus(gpus):
    return NamedLimit("max-gpus", "max-gpus", "", "GPUs", F(gpus), whole=True)


def latency(metric, value, *steps, workload="w"):
    return NamedLimit(
        f"{metric}:{workload}", "latency", "", "s", F(str(value)), values=tuple(F(str(one)) for one in steps)
    )


def demand(rps, workload="w"):
    return NamedLimit(f"demand:{workload}", "demand", "", "requests/s", F(rps), False, True)


def reasons(asker):
    """Conflicts, and the changes and cost of every relaxation by kind."""
    oracle = Oracle(asker)
    conflicts = minimal_conflicts(oracle)
    assert conflicts.complete
    found = relaxations(oracle, conflicts)
    return conflicts.sets, {
        (row.kind, *((change.id, change.to) for change in row.changes)): row.cost_usd_per_hour
        for row in found
    }


def only(found, kind):
    return {key[1:]: cost for key, cost in found.items() if key[0] == kind}


def test_rounding():
    """One request a second too many: 55001 at 11000 a replica takes six, not five."""
    question = ChoiceProblem((option("o", 2, 11000),), (GPU,), (need(55001),))
    sets, found = reasons(QuestionAsker(question, [budget(10), max_gpus(11), demand(55001)]))
    assert sets == (("budget",), ("max-gpus",))
    assert only(found, "single") == {(("demand:w", 55000.0),): 10.0}
    assert found["mixed", ("budget", 12.0), ("max-gpus", 12.0)] == 12.0


def test_capacity_equal_to_demand_is_enough():
    question = ChoiceProblem((option("o", 2, 11000),), (GPU,), (need(55000),))
    asker = QuestionAsker(question, [budget(10), demand(55000)])
    conflicts = minimal_conflicts(asker)
    assert conflicts.feasible
    assert relaxations(asker, conflicts) == ()


def test_a_spare_flips_the_winner():
    """One large replica of 8 GPUs carries it; with a spare, five small ones of 3 are cheapest."""
    question = ChoiceProblem(
        (option("large", 8, 10), option("small", 3, 3)), (GPU,), (need(10, spares=Spares("replicas", 1)),)
    )
    spare = NamedLimit("redundancy", "redundancy", "", "replicas", F(1), False, True, True, most=F(0))
    sets, found = reasons(QuestionAsker(question, [budget(9), stock(15), spare]))
    assert sets == (("budget",),)
    assert only(found, "single") == {(("budget", 15.0),): 15.0, (("redundancy", 0.0),): 8.0}
    assert only(found, "mixed") == {}


def test_the_slower_transfer_counts():
    """Prefill 300 ms + the larger KV transfer: 400 ms with the cheap decode, 350 ms with the dear one."""
    question = ChoiceProblem(
        (
            option("p", 1, 10, role="prefill", ttft_s=F("0.3"), transfer_s=F("0.02")),
            option("cheap", 1, 10, role="decode", transfer_s=F("0.1")),
            option("dear", 4, 10, role="decode", transfer_s=F("0.05")),
        ),
        (GPU,),
        (need(10, role="prefill"), need(10, role="decode")),
        couplings=(Coupling("w"),),
    )
    ttft = latency("ttft", "0.36", "0.32", "0.35", "0.4")
    sets, found = reasons(QuestionAsker(question, [ttft, budget(4)]))
    assert sets == (("budget", "ttft:w"),)
    assert found == {("single", ("ttft:w", 0.4)): 2.0, ("single", ("budget", 5.0)): 5.0}


def test_the_slower_transfer_counts_where_every_limit_may_be_asked():
    question = ChoiceProblem(
        (
            option("p", 1, 10, role="prefill", ttft_s=F("0.3"), transfer_s=F("0.1")),
            option("d", 1, 10, role="decode", transfer_s=F("0.0537")),
        ),
        (GPU,),
        (need(10, role="prefill"), need(10, role="decode")),
        couplings=(Coupling("w"),),
    )
    sets, found = reasons(QuestionAsker(question, [latency("ttft", "0.05")]))
    assert sets == (("ttft:w",),)
    assert found == {("single", ("ttft:w", 0.4)): 2.0}


def test_scarce_stock():
    """Six of g or, too slow for today's limit, two of h."""
    question = ChoiceProblem((option("o", 2, 4), option("slow", 1, 6, "t")), (GPU, OTHER), (need(12),))
    limits = [stock(4), latency("itl", "0.02", "0.02", "0.05"), demand(12)]
    slow = {"slow": {"itl:w": F("0.05")}}
    sets, found = reasons(QuestionAsker(question, limits, slow))
    assert sets == (("itl:w", "stock:g"),)
    assert found == {
        ("single", ("demand:w", 8.0)): 4.0,
        ("single", ("stock:g", 6.0)): 6.0,
        ("single", ("itl:w", 0.05)): 6.0,
    }


@pytest.mark.parametrize(
    ("cheap", "usd", "found"),
    [
        # One cheap and three dear ones cost 10, two of each 8: no third way.
        (1, 9, {("single", ("budget", 10.0)): 10.0, ("single", ("stock:g", 2.0)): 8.0}),
        # Four dear ones cost 12, three cheap ones with a dear one 6, two of each 8, one with three 10.
        (
            0,
            7,
            {
                ("single", ("budget", 12.0)): 12.0,
                ("single", ("stock:g", 3.0)): 6.0,
                ("mixed", ("budget", 10.0), ("stock:g", 1.0)): 10.0,
            },
        ),
    ],
)
def test_a_mixture_takes_less_of_each(cheap, usd, found):
    """Four replicas, at 1 USD/h as far as the stock goes, else at 3."""
    question = ChoiceProblem((option("o", 1, 1), option("dear", 1, 1, "t")), (GPU, OTHER), (need(4),))
    assert reasons(QuestionAsker(question, [stock(cheap), budget(usd)])) == ((("budget", "stock:g"),), found)


def two_workloads():
    """Each workload has a fast dear option and a slow cheap one."""
    options, latencies = [], {}
    for workload in ("a", "b"):
        options += [option(f"{workload}-fast", 4, 10, workload=workload)]
        options += [option(f"{workload}-slow", 1, 10, workload=workload)]
        latencies[f"{workload}-fast"] = {f"ttft:{workload}": F("0.2")}
        latencies[f"{workload}-slow"] = {f"ttft:{workload}": F("0.9")}
    question = ChoiceProblem(tuple(options), (GPU,), (need(10, "a"), need(10, "b")))
    return question, latencies


def test_disjoint_conflicts_must_both_give():
    question, latencies = two_workloads()
    limits = [latency("ttft", "0.1", "0.2", "0.9", workload=name) for name in "ab"]
    sets, found = reasons(QuestionAsker(question, limits, latencies))
    assert sets == (("ttft:a",), ("ttft:b",))
    assert found == {("mixed", ("ttft:a", 0.2), ("ttft:b", 0.2)): 8.0}


def test_conflicts_that_share_a_name():
    """Eight GPUs when both are fast, five when one is: each latency stands against the budget."""
    question, latencies = two_workloads()
    limits = [budget(4), *(latency("ttft", "0.3", "0.2", "0.9", workload=name) for name in "ab")]
    sets, found = reasons(QuestionAsker(question, limits, latencies))
    assert sets == (("budget", "ttft:a"), ("budget", "ttft:b"))
    assert only(found, "single") == {(("budget", 8.0),): 8.0}
    assert only(found, "mixed") == {(("budget", 5.0), ("ttft:a", 0.9)): 5.0}


def test_no_conflict_among_given_limits():
    """Three spares of two replicas that a market allows: nothing that can be granted is in the way."""
    question = ChoiceProblem((option("o", 1, 10),), (GPU,), (need(10),), Limits(stock_gpus={"g": 2}))
    limits = [
        NamedLimit("redundancy", "redundancy", "", "replicas", F(3), False, True, True, most=F(0)),
        budget(9),
    ]
    asker = QuestionAsker(question, limits)
    conflicts = minimal_conflicts(asker)
    assert (conflicts.given, conflicts.sets) == (True, ())
    found = relaxations(asker, conflicts)
    assert [(change.id, change.from_, change.to) for row in found for change in row.changes] == [
        ("redundancy", 3.0, 1.0)
    ]


@pytest.mark.parametrize("scale", [1, 10**6, 10**12])
def test_magnitudes(scale):
    """Demand, rates and prices a million million times as large give the same reasons."""
    supply = Supply("s", "g", "gpu", 1, F(scale))
    question = ChoiceProblem((option("o", 1, scale),), (supply,), (need(3 * scale),))
    sets, found = reasons(QuestionAsker(question, [budget(2 * scale), demand(3 * scale)]))
    assert sets == (("budget",),)
    assert only(found, "single") == {
        (("budget", 3.0 * scale),): 3.0 * scale,
        (("demand:w", 2.0 * scale),): 2.0 * scale,
    }


def test_tiny_prices_are_rounded_up_to_what_a_document_can_carry():
    """Three replicas at 1/7 USD/h: the stated budget is a little above 3/7 and suffices as typed."""
    supply = Supply("s", "g", "gpu", 1, F(1, 7))
    question = ChoiceProblem((option("o", 1, 1),), (supply,), (need(3),))
    asker = QuestionAsker(question, [budget(F(1, 10))])
    row = relaxations(asker, minimal_conflicts(asker))[0]
    stated = F(repr(row.changes[0].to))
    assert F(3, 7) < stated < F(3, 7) * (1 + F(1, 10**11))
    assert asker.ask({"budget": stated}).status == "optimal"


def test_changes_say_where_the_problem_states_them():
    question = ChoiceProblem((option("o", 1, 1),), (GPU,), (need(3),))
    asker = QuestionAsker(question, [budget(2)])
    (row,) = relaxations(asker, minimal_conflicts(asker))
    assert row.model_dump(by_alias=True) == {
        "changes": ({"id": "budget", "from": 2.0, "to": 3.0, "unit": "USD/h", "path": "fleet.budget"},),
        "cost_usd_per_hour": 3.0,
        "kind": "single",
        "relative_change": 0.5,
        "gap": 0.0,
    }


def test_weights_decide_which_way_is_first():
    question = ChoiceProblem((option("o", 1, 1), option("dear", 1, 1, "t")), (GPU, OTHER), (need(4),))
    asker = QuestionAsker(question, [stock(2), budget(6)])
    conflicts = minimal_conflicts(asker)
    first = relaxations(asker, conflicts)[0]
    assert [change.id for change in first.changes] == ["budget"]
    weighted = relaxations(asker, conflicts, weights={"budget": F(10)})[0]
    assert [change.id for change in weighted.changes] == ["stock:g"]


def test_an_asker_that_did_not_see_the_conflicts_found_gives_the_same():
    question, latencies = two_workloads()
    limits = [budget(4), *(latency("ttft", "0.3", "0.2", "0.9", workload=name) for name in "ab")]
    oracle = Oracle(QuestionAsker(question, limits, latencies))
    conflicts = minimal_conflicts(oracle)
    fresh = QuestionAsker(question, limits, latencies)
    assert relaxations(fresh, conflicts) == relaxations(oracle, conflicts)
    assert fresh.asked <= 6


def test_given_limits_alone_are_found_for_an_asker_that_did_not_see_it():
    """With three spares of two replicas nothing granted helps: no question is spent on the budget."""
    question = ChoiceProblem((option("o", 1, 10),), (GPU,), (need(10),), Limits(stock_gpus={"g": 2}))
    spares = NamedLimit("redundancy", "redundancy", "", "replicas", F(3), False, True, True, most=F(0))
    conflicts = minimal_conflicts(QuestionAsker(question, [spares, budget(9)]))
    fresh = QuestionAsker(question, [spares, budget(9)])
    assert [row.kind for row in relaxations(fresh, conflicts)] == ["single"]
    assert fresh.asked <= 5


def test_a_limit_that_no_value_satisfies_is_taken_away():
    """The only option takes a day to the first token."""
    question = ChoiceProblem((option("o", 1, 10),), (GPU,), (need(10),))
    limits = [latency("ttft", "0.5"), latency("itl", "0.02", "0.02", "0.05")]
    needs = {"o": {"ttft:w": F(86400), "itl:w": F("0.05")}}
    _, found = reasons(QuestionAsker(question, limits, needs))
    assert found == {("mixed", ("itl:w", 0.05), ("ttft:w", None)): 1.0}
