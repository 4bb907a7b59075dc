"""Links between places: the question once more for each, with every KV transfer at its speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.candidates.space import network
from planner.planning.formulation.places import linked_places, places_of
from planner.planning.formulation.study import Formulation
from planner.schema.catalog_index import Catalog
from planner.schema.choice import ChoiceProblem
from planner.schema.fleet import FleetProblem
from planner.schema.problem import Problem
from planner.schema.supply import PlaceLink


def links_of(problem: Problem) -> Sequence[PlaceLink]:
    """Links that matter: prompts and answers may be served disaggregated."""
    return problem.fleet.links if "disaggregated" in problem.search.modes else ()


def over_link(problem: Problem, link: PlaceLink) -> Problem:
    """The problem with the network between servers as slow as a link."""
    update = {"network": link.network, "network_latency": link.latency, "links": ()}
    return problem.model_copy(update={"fleet": problem.fleet.model_copy(update=update)})


def measured_over_link(
    problem: Problem, question: ChoiceProblem, link: PlaceLink, catalog: Catalog
) -> ChoiceProblem:
    """The question with KV transfers as much slower as the link is than the network they were measured on."""
    measured = Fraction(network(problem.fleet, catalog)[0])
    slower, latency_s = max(Fraction(1), measured / Fraction(link.network)), Fraction(link.latency or 0)
    options = tuple(
        option
        if option.role == "serve"
        else replace(option, transfer_s=(option.transfer_s or Fraction(0)) * slower + latency_s)
        for option in question.options
    )
    return replace(question, options=options)


def by_place(
    question: FleetProblem, problem: Problem, linked: Sequence[Formulation]
) -> Mapping[str, Formulation]:
    """What stands behind the options over a link, by the name of the two places that it joins."""
    places = places_of({line.site for line in question.lines})
    joined = linked_places(places, problem.fleet.links) if linked else {}
    return {name: linked[number] for name, (_, number) in joined.items() if name in question.places}
