"""Where a replica more is put: into the cheapest layout of the hour whose GPUs are still to be had."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner.planning.answering.replicas_added import Room
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, PeriodChoice, Site

SITE = Site()
POOL = ("w", "serve")


def question(most_owned):
    def option(name, gpu, gpus, workload="w"):
        return Option(name, workload, "serve", gpu, gpu, gpus, (Fraction(gpus),))

    options = (
        option("own1", "own", 1),
        option("own4", "own", 4),
        option("rented1", "rented", 1),
        option("rented2", "rented", 2),
        option("other", "own", 1, workload="v"),
    )
    lines = (
        Line("own/owned", "own", "own", "owned", Fraction(1, 2), max_gpus=most_owned),
        Line("rented/on_demand", "rented", "rented", "on_demand", Fraction(4)),
        Line("rented/spot", "rented", "rented", "spot", Fraction(3), max_gpus=2),
    )
    demands = tuple(FleetDemand(name, "serve", ((Fraction(1),),)) for name in "vw")
    return FleetProblem(1, options, (Host("own", "own"), Host("rented", "rented")), lines, demands)


def hour(**counts):
    return PeriodChoice({(name, SITE): count for name, count in counts.items()})


@pytest.mark.parametrize(
    ("most_owned", "day", "expected"),
    [
        # A layout of the hour, the cheapest: four owned GPUs for 2 USD are less than two rented ones for 6.
        (16, [hour(own4=1, rented2=1), hour(rented1=1)], "own4"),
        # All owned GPUs are taken, those of another workload counted.
        (6, [hour(own4=1, rented2=1, other=2), hour(rented1=1)], "rented2"),
        (8, [hour(own4=1, own1=1, other=3, rented2=1)], "rented2"),
        (9, [hour(own4=1, own1=1, other=3, rented2=1)], "own1"),
        # Nothing of the hour has room: a layout of another hour.
        (4, [hour(own4=1), hour(rented1=1, rented2=1)], "rented1"),
        (4, [hour(own4=1), hour(own1=1)], None),
        # The layouts of other workloads are none.
        (4, [hour(own4=1), hour(other=1)], None),
    ],
)
def test_a_replica_more_goes_where_it_costs_least(most_owned, day, expected):
    at = Room(question(most_owned)).cheapest_more(POOL, 0, day)
    assert at == (None if expected is None else (expected, SITE))


def test_a_layout_may_stand_on_any_line_of_its_place():
    spot, on_demand = (Site("cloud", lot=lot) for lot in ("spot", "on_demand"))
    lines = (
        Line("g/spot", "g", "g", "spot", Fraction(1), max_gpus=2, site=spot),
        Line("g/on_demand", "g", "g", "on_demand", Fraction(3), site=on_demand),
        Line("g/away", "g", "g", "on_demand", Fraction(2), site=Site("other", lot="on_demand")),
    )
    option = Option("a", "w", "serve", "g", "g", 1, (Fraction(1),))
    demands = (FleetDemand("w", "serve", ((Fraction(1),),)),)
    room = Room(FleetProblem(1, (option,), (Host("g", "g"),), lines, demands))
    assert room.cheapest_more(POOL, 0, [PeriodChoice({("a", spot): 1})]) == ("a", spot)
    assert room.cheapest_more(POOL, 0, [PeriodChoice({("a", spot): 2})]) == ("a", on_demand)
