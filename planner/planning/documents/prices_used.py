"""The prices that a plan pays, each with who says so and when it held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from planner.candidates.market import by_accelerator, find_id, usable_offers
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.catalog_entry import SourceText, last_day
from planner.schema.catalog_index import Catalog
from planner.schema.fleet import FleetChoice, Line
from planner.schema.fleet_plan import PriceUsed
from planner.schema.market import Offer, PriceList

OLD_DAYS = 90
"""Prices of GPUs move within a quarter."""
_Offers = Mapping[str, Sequence[tuple[str, Offer]]]
"""By accelerator, with the id of the price list."""


def prices_used(case: FleetCase, choice: FleetChoice, catalog: Catalog, as_of: date) -> tuple[PriceUsed, ...]:
    """One entry for every line that anything is bought from, in the order of the lines; aged on a day."""
    bought = {name for period in choice.periods for name, gpus in period.bought.items() if gpus}
    offers = by_accelerator(catalog.accelerator, usable_offers(case.problem.fleet, catalog.price_lists))
    found = [_used(case, line, catalog, offers) for line in case.question.lines if line.id in bought]
    return tuple(item.model_copy(update={"age_days": _age_days(item, as_of)}) for item in found)


def newest(catalog: Catalog) -> date:
    """The day of the newest source of any price list: what prices are old against, if nobody says."""
    days = (said.date for prices in catalog.price_lists for said in prices.sources.values())
    return max(days, default=date.min)


def old_prices(used: Sequence[PriceUsed], as_of: date) -> Iterator[str]:
    """A warning for every provider whose prices are older than three months."""
    old: dict[tuple[str, str, int], list[str]] = {}
    for item in used:
        if item.age_days is not None and item.date is not None and item.age_days > OLD_DAYS:
            old.setdefault((item.provider or "", item.date, item.age_days), []).append(item.gpu)
    for (provider, day, age_days), gpus in old.items():
        names = ", ".join(dict.fromkeys(gpus))
        yield (
            f"the price of {names} at {provider} is of {day}, at least {age_days} days before {as_of}: "
            "ask again before you buy (planner catalog import-prices takes in new ones; --as-of sets the day)"
        )


def _age_days(item: PriceUsed, as_of: date) -> int | None:
    """From the last day that its date may mean; a price that may be newer is not old."""
    return None if item.date is None else max(0, (as_of - last_day(item.date)).days)


def _used(case: FleetCase, line: Line, catalog: Catalog, offers: _Offers) -> PriceUsed:
    found = _offer_behind(case, line, catalog, offers)
    if found is None:
        provider, said = line.site.provider or None, None
        text = _own(case, line, catalog)
    else:
        prices, offer = found
        provider, said = prices.id, source_of(prices, offer)
        text = said.title
    return PriceUsed(
        line=line.id,
        gpu=line.gpu,
        term=line.term,
        usd_per_gpu_hour=float(line.usd_per_gpu_h),
        provider=provider,
        date=None if said is None else said.as_of or said.date.isoformat(),
        dated=said is not None and said.as_of is not None,
        source=text,
    )


def source_of(prices: PriceList, offer: Offer) -> SourceText:
    """Who states the price of an offer; of several the first."""
    name = offer.source if isinstance(offer.source, str) else offer.source[0]
    return prices.sources[name]


def _own(case: FleetCase, line: Line, catalog: Catalog) -> str:
    """Where the user states the price of a line."""
    fleet = case.problem.fleet
    key = find_id(catalog.accelerator, line.gpu)

    def named(names: object) -> bool:
        assert isinstance(names, dict | list)
        return any(find_id(catalog.accelerator, name) == key for name in names)

    if named([item.gpu for item in fleet.supply or ()]):
        return "problem file, fleet.supply"
    if named(dict(fleet.prices or {})):
        return "problem file, fleet.prices"
    return "table of workers"


def _offer_behind(
    case: FleetCase, line: Line, catalog: Catalog, offers: _Offers
) -> tuple[PriceList, Offer] | None:
    """The offer that a line is; the cheapest one where GPUs have no price of the user's; else None."""
    fleet = case.problem.fleet
    if case.formulation is None or any(item.gpu == line.gpu for item in fleet.supply or ()):
        return None
    lot = next(lot for lot in case.formulation.lots if lot.id == line.host)
    accelerator = lot.accelerator.id
    if any(find_id(catalog.accelerator, name) == accelerator for name in fleet.prices or ()):
        return None
    mine = [(catalog.by_folder["prices"][name], offer) for name, offer in offers.get(accelerator, ())]
    if lot.offer is None:
        return min(mine, key=lambda pair: pair[1].on_demand / pair[1].gpus, default=None)
    taken = lot.offer
    stated = (taken.provider, taken.region, taken.instance, taken.gpus, taken.usd_per_hour)
    return next(
        pair
        for pair in mine
        if (pair[0].id, pair[1].region, pair[1].instance, pair[1].gpus, float(pair[1].on_demand)) == stated
    )
