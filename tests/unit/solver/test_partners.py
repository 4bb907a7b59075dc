"""Replicas of prefill or decode that meet none of the other carry nothing, and are not kept."""

from fractions import Fraction

from planner.schema.choice import Coupling, Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.mip.finish import finish, with_partners
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.prepared import prepare

F = Fraction


def fleet():
    """Prefill and decode at two places, one request/s a replica, two hours."""
    options = tuple(
        Option(
            f"{role}-{place}", "w", role, place, place, 1, (F(1),), place=place, ttft_s=F(1), transfer_s=F(0)
        )
        for role in ("prefill", "decode")
        for place in ("east", "west")
    )
    demands = tuple(FleetDemand("w", role, ((F(1),), (F(1),))) for role in ("prefill", "decode"))
    sites = {place: Site("p", place) for place in ("east", "west")}
    lines = tuple(Line(place, place, place, "on_demand", F(1), site=site) for place, site in sites.items())
    hosts = tuple(Host(place, place) for place in ("east", "west"))
    return FleetProblem(
        2,
        options,
        hosts,
        lines,
        demands,
        couplings=(Coupling("w", F(2)),),
        places={k: (v,) for k, v in sites.items()},
    )


def days(prepared, replicas):
    """Blocks with one replica of each option named for an hour: (hour, option)."""
    found = []
    for number, (work, periods) in enumerate(prepared.blocks):
        counts = {
            (hour, pool, index): 1
            for hour, name in replicas
            if hour in periods
            for pool, mine in enumerate(prepared.works[work].pools)
            for index, place in enumerate(mine.places)
            if mine.options[place.option].id == name
        }
        found.append(BlockPlan(number, counts))
    return found


EAST = [(hour, f"{role}-east") for hour in (0, 1) for role in ("prefill", "decode")]


def test_lone_replicas_go():
    prepared = prepare(fleet(), dominance=False)
    lone = days(prepared, [*EAST, (0, "prefill-west"), (1, "decode-west")])
    kept = [with_partners(prepared, block) for block in lone]
    assert sum(len(block.counts) for block in kept) == 4
    assert finish(fleet(), prepared, lone).value == 4


def test_partners_stay():
    prepared = prepare(fleet(), dominance=False)
    every = [*EAST, *((hour, f"{role}-west") for hour in (0, 1) for role in ("prefill", "decode"))]
    blocks = days(prepared, every)
    assert [with_partners(prepared, block) for block in blocks] == blocks
