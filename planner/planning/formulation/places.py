"""Places of prefill and decode: replicas of both work together where they stand together."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.schema.catalog_index import folded
from planner.schema.choice import Option, in_place
from planner.schema.fleet import FleetProblem, Site
from planner.schema.supply import PlaceLink

Places = dict[str, tuple[Site, ...]]
"""Sites by the name of their place."""


@dataclass(frozen=True)
class Linked:
    """A link, and what prefill and decode do over it."""

    link: PlaceLink
    options: Sequence[Option]


def at_their_places(question: FleetProblem, links: Sequence[Linked] = ()) -> FleetProblem:
    """The question with prefill and decode options told apart by place, where there are several.

    A workload keeps those places at which it can have both. Two linked places are one more place, at which
    every KV transfer has the speed of the link: a replica works for one place, or over one link.
    """
    places = places_of({line.site for line in question.lines})
    if len(places) < 2:
        return question
    joined = linked_places(places, [one.link for one in links])
    by_workload: dict[str, list[Option]] = defaultdict(list)
    for option in question.options:
        if option.role != "serve":
            by_workload[option.workload].append(option)
    placed = {name: _placed(question, options, places) for name, options in by_workload.items()}
    options = tuple(
        one
        for option in question.options
        for one in (placed[option.workload].get(option.id, ()) if option.role != "serve" else (option,))
    )
    options += tuple(
        one
        for name, (sites, number) in joined.items()
        for one in _over_link(question, links[number].options, name, sites, places)
    )
    places |= {name: sites for name, (sites, _) in joined.items()}
    used = {option.place for option in options if option.place}
    return replace(question, options=options, places={n: s for n, s in places.items() if n in used})


def places_of(sites: Iterable[Site]) -> Places:
    """Every region of every provider with its sites.

    A part that nobody states keeps nothing apart: a site without a region is of every place, and one without
    a provider of every place in its region.
    """
    sites = sorted(sites)
    keys: dict[tuple[str, str], str] = {}
    for site in sites:
        if site.region:
            name = "/".join(part for part in (site.provider, site.region) if part)
            keys.setdefault((folded(site.region), folded(site.provider)), name)
    owned = {region for region, provider in keys if provider}
    return {
        name: tuple(site for site in sites if _of(site, region, provider))
        for (region, provider), name in keys.items()
        if provider or region not in owned
    }


def linked_places(
    places: Mapping[str, tuple[Site, ...]], links: Sequence[PlaceLink]
) -> dict[str, tuple[tuple[Site, ...], int]]:
    """Pairs of places by name, with their sites and the number of their link; of two links the first."""
    found: dict[str, tuple[tuple[Site, ...], int]] = {}
    for number, link in enumerate(links):
        first, second = (
            [name for name, sites in places.items() if _named(end, sites)] for end in link.between
        )
        for one, other in itertools.product(first, second):
            if one != other:
                sites = tuple(sorted({*places[one], *places[other]}))
                found.setdefault(" + ".join(sorted((one, other))), (sites, number))
    return found


def _named(end: str, sites: Iterable[Site]) -> bool:
    """A place that a link names: all of its sites that state a region are of this region or provider."""
    stated = [site for site in sites if site.region]
    return all(folded(end) in (folded(site.region), folded(site.provider)) for site in stated)


def _over_link(
    question: FleetProblem,
    options: Sequence[Option],
    name: str,
    sites: Sequence[Site],
    places: Mapping[str, tuple[Site, ...]],
) -> list[Option]:
    """The options over one link of workloads that may have prefill or decode at either end only."""
    found: dict[str, list[Option]] = defaultdict(list)
    for option in options:
        if option.role != "serve" and not set(sites).isdisjoint(question.sites_of(option)):
            found[option.workload].append(option.but(id=in_place(option.id, name), place=name))
    return [
        option
        for mine in found.values()
        if len({option.role for option in mine}) == 2 and not _at_one_place(question, mine, places)
        for option in mine
    ]


def _at_one_place(
    question: FleetProblem, options: Iterable[Option], places: Mapping[str, tuple[Site, ...]]
) -> bool:
    """All of them can only stand at one and the same place."""
    every = set().union(*(question.sites_of(option.but(place="")) for option in options))
    return any(every <= set(mine) for mine in places.values())


def _of(site: Site, region: str, provider: str) -> bool:
    mine = folded(site.region), folded(site.provider)
    return not mine[0] or (mine[0] == region and mine[1] in ("", provider))


def _placed(
    question: FleetProblem, options: list[Option], places: Mapping[str, tuple[Site, ...]]
) -> dict[str, list[Option]]:
    """The options of one workload at its places, by their ids."""
    sites = {option.id: set(question.sites_of(option)) for option in options}
    if _at_one_place(question, options, places):
        return {option.id: [option] for option in options}
    found: dict[str, list[Option]] = defaultdict(list)
    for name, mine in places.items():
        here = [option for option in options if not sites[option.id].isdisjoint(mine)]
        if len({option.role for option in here}) == 2:
            for option in here:
                found[option.id].append(option.but(id=in_place(option.id, name), place=name))
    return found
