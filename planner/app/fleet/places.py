"""Places of prefill and decode: replicas of both work together where they stand together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from planner.schema.catalog_index import folded
from planner.schema.choice import Option, in_place
from planner.schema.fleet import FleetProblem, Site

Places = dict[str, tuple[Site, ...]]
"""Sites by the name of their place."""


def at_their_places(question: FleetProblem) -> FleetProblem:
    """The question with prefill and decode options told apart by place, where there are several.

    A workload keeps those places at which it can have both.
    """
    places = places_of({line.site for line in question.lines})
    if len(places) < 2:
        return question
    apart: dict[str, list[Option]] = defaultdict(list)
    for option in question.options:
        if option.role != "serve":
            apart[option.workload].append(option)
    placed = {name: _placed(question, options, places) for name, options in apart.items()}
    options = tuple(
        one
        for option in question.options
        for one in (placed[option.workload].get(option.id, ()) if option.role != "serve" else (option,))
    )
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


def _of(site: Site, region: str, provider: str) -> bool:
    mine = folded(site.region), folded(site.provider)
    return not mine[0] or (mine[0] == region and mine[1] in ("", provider))


def _placed(
    question: FleetProblem, options: list[Option], places: Mapping[str, tuple[Site, ...]]
) -> dict[str, list[Option]]:
    """The options of one workload at its places, by their ids."""
    sites = {option.id: set(question.sites_of(option)) for option in options}
    everywhere = set().union(*sites.values())
    if any(everywhere <= set(mine) for mine in places.values()):
        return {option.id: [option] for option in options}
    found: dict[str, list[Option]] = defaultdict(list)
    for name, mine in places.items():
        here = [option for option in options if not sites[option.id].isdisjoint(mine)]
        if len({option.role for option in here}) == 2:
            for option in here:
                found[option.id].append(replace(option, id=in_place(option.id, name), place=name))
    return found
