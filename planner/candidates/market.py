"""The lots of the market: instances of the price lists, or servers at the user's prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

from planner.constraints.plan.registry import counts_power
from planner.schema.accelerator import AcceleratorLink, Partition
from planner.schema.candidates import Lot
from planner.schema.catalog import Accelerator, Offer, PriceList
from planner.schema.catalog_index import folded
from planner.schema.hardware import Fleet
from planner.schema.pool import OfferTaken
from planner.schema.problem import Problem

_MESH = ("nvlink", "xgmi", "ici", "roce", "neuronlink")


def lots(
    fleet: Fleet,
    find: Callable[[str], Accelerator | None],
    price_lists: Iterable[PriceList],
    by_place: bool = False,
) -> tuple[Lot, ...]:
    """Every lot that the fleet may buy, cheapest first among equals.

    A GPU that has a price or a stock from the user, or is owned, is taken in servers of ``node_size``
    (the catalog's figure by default): singly, or whole under ``purchase: node``. Without a price of the
    user it costs what the cheapest offer asks for one GPU, and nothing where it is owned. Any other
    GPU is bought as an on-demand instance of a price list, whole. Of instances that differ only in
    price and place, the cheapest stays.

    Args:
        fleet: the problem's fleet.
        find: accelerator by id or alias.
        price_lists: of the catalog.
        by_place: places matter, so the cheapest instance of each provider and region stays.
    """
    named = _named(fleet, find)
    offers = usable_offers(fleet, price_lists)
    prices = {find_id(find, name): price for name, price in (fleet.prices or {}).items()}
    prices = {find_id(find, name): Decimal(0) for name in fleet.owned} | prices
    stocked = {find_id(find, name) for name in fleet.stock}
    result: list[Lot] = []
    by_id = by_accelerator(find, offers)
    for accelerator, name in _wanted(fleet, named, find, by_id):
        own = by_id.get(accelerator.id, [])
        by_gpu = accelerator.id in prices or accelerator.id in stocked or fleet.purchase == "gpu"
        if not by_gpu:
            result += _instances(accelerator, name, own, by_place)
            continue
        price = prices[accelerator.id] if accelerator.id in prices else _cheapest(own)
        if price is not None:
            result.append(_servers(fleet, accelerator, name, price))
    return _told_apart([*result, *_sliced(fleet, find, result)])


def _sliced(fleet: Fleet, find: Callable[[str], Accelerator | None], whole: Sequence[Lot]) -> Iterable[Lot]:
    """The hardware slices that the fleet allows, as lots of their own on the same devices."""
    for name, wanted in fleet.slices.items():
        for lot in whole:
            if lot.accelerator.id != find_id(find, name):
                continue
            for part in lot.accelerator.partitions:
                if part.name in wanted:
                    yield replace(
                        lot,
                        id=f"{lot.id}/{part.name}",
                        accelerator=slice_of(lot.accelerator, part),
                        unit_gpus=1,
                        group_limit_gpus=1,
                        fast_link=False,
                        link_gpus=1,
                        purchase="gpu",
                        usd_per_unit_h=lot.usd_per_gpu_h / part.per_device,
                        slices=part.per_device,
                        whole=lot.id,
                    )


def slice_of(accelerator: Accelerator, part: Partition) -> Accelerator:
    """A slice as an accelerator: its part of memory, bandwidth, units and power, and no link.

    Isolation is the hardware's: nothing that runs on another slice changes these numbers.
    """
    memory = Decimal(part.memory_eighths) / 8
    units = Decimal(part.compute_sevenths) / 7
    compute, power = accelerator.compute, accelerator.power
    rates = {
        key: None if (rate := getattr(compute, key)) is None else rate * units
        for key in ("bf16", "fp8", "int8", "fp4")
    }
    return accelerator.model_copy(
        update={
            "id": f"{accelerator.id}:{part.name}",
            "memory": accelerator.memory.model_copy(
                update={
                    "reported": accelerator.memory.reported * memory,
                    "bandwidth": accelerator.memory.bandwidth * memory,
                }
            ),
            "compute": compute.model_copy(update=rates),
            "link": AcceleratorLink(kind="none", domain=1, source=accelerator.link.source),
            "power": None if power is None else power.model_copy(update={"tdp": power.tdp / part.per_device}),
            "partitions": (),
        }
    )


def left_aside(
    fleet: Fleet, find: Callable[[str], Accelerator | None], sold: Sequence[Lot], by_power: bool
) -> dict[str, str]:
    """Accelerators that a fact is missing for, by the problem's names: what is not known of them.

    Neither the user nor a price list has a price; or power counts, and the catalog states none.

    Args:
        fleet: the problem's fleet.
        find: accelerator by id or alias.
        sold: the lots of this fleet.
        by_power: power is limited, minimized or compared.
    """
    known = {lot.accelerator.id for lot in sold}
    stocked = tuple(name for name, count in fleet.stock.items() if count)
    wanted = fleet.accelerators if fleet.accelerators is not None else (*(fleet.prices or {}), *stocked)
    found = {name: "no price is known" for name in wanted if find_id(find, name) not in known}
    if by_power:
        found |= {lot.name: "no rated power is known" for lot in sold if lot.accelerator.power is None}
    return found


def power_counts(problem: Problem) -> bool:
    """Power is minimized or limited, so an accelerator of unknown power cannot be judged."""
    return problem.objective == "power" or counts_power(problem)


def find_id(find: Callable[[str], Accelerator | None], name: str) -> str:
    """The catalog id behind a name."""
    accelerator = find(name)
    return accelerator.id if accelerator else name


def _named(fleet: Fleet, find: Callable[[str], Accelerator | None]) -> dict[str, str]:
    """Catalog id -> the name that the problem uses."""
    names = [*(fleet.accelerators or ()), *(fleet.prices or {}), *fleet.stock, *fleet.owned]
    return {find_id(find, name): name for name in reversed(names)}


def _wanted(
    fleet: Fleet,
    named: dict[str, str],
    find: Callable[[str], Accelerator | None],
    offered: Iterable[str],
) -> list[tuple[Accelerator, str]]:
    """The accelerators to consider, with the names to call them by.

    Those listed; else those with a price from the user or a stock beside it; else all that an offer
    sells; and those that are owned.
    """
    if fleet.accelerators is not None:
        ids = [find_id(find, name) for name in fleet.accelerators]
    elif fleet.prices is not None:
        ids = [find_id(find, name) for name in (*fleet.prices, *fleet.stock)]
    else:
        ids = sorted(offered)
    ids += [find_id(find, name) for name in fleet.owned]
    found = [(find(item), named.get(item, item)) for item in dict.fromkeys(ids)]
    return [(accelerator, name) for accelerator, name in found if accelerator is not None]


def usable_offers(fleet: Fleet, price_lists: Iterable[PriceList]) -> list[tuple[str, Offer]]:
    """Usable offers of the providers and regions that the fleet names, with the id of their price list.

    Marketplaces count only where they are named.
    """
    providers = None if fleet.providers is None else {folded(name) for name in fleet.providers}
    regions = None if fleet.regions is None else {folded(name) for name in fleet.regions}
    chosen = []
    for prices in price_lists:
        names = {folded(name) for name in (prices.id, prices.name, *prices.aliases)}
        if prices.marketplace if providers is None else not names & providers:
            continue
        chosen += [
            (prices.id, offer)
            for offer in prices.offers
            if offer.usable and (regions is None or folded(offer.region) in regions)
        ]
    return chosen


def by_accelerator(
    find: Callable[[str], Accelerator | None], offers: Iterable[tuple[str, Offer]]
) -> dict[str, list[tuple[str, Offer]]]:
    """Offers by the catalog id of what they sell; every name is looked up once, for lists may be long."""
    ids: dict[str, str] = {}
    found: dict[str, list[tuple[str, Offer]]] = {}
    for pair in offers:
        name = pair[1].accelerator
        if name not in ids:
            ids[name] = find_id(find, name)
        found.setdefault(ids[name], []).append(pair)
    return found


def _told_apart(found: Sequence[Lot]) -> tuple[Lot, ...]:
    """Lots with ids of their own: one name of an instance may stand for several sizes or accelerators."""
    seen: Counter[str] = Counter()
    result = []
    for lot in found:
        seen[lot.id] += 1
        result.append(lot if seen[lot.id] == 1 else replace(lot, id=f"{lot.id}#{seen[lot.id]}"))
    return tuple(result)


def _cheapest(offers: list[tuple[str, Offer]]) -> Decimal | None:
    """Lowest on-demand price per GPU-hour among the offers."""
    return min((offer.on_demand / offer.gpus for _, offer in offers), default=None)


def _instances(
    accelerator: Accelerator, name: str, offers: list[tuple[str, Offer]], by_place: bool
) -> list[Lot]:
    best: dict[tuple[int, bool, str, str], tuple[str, Offer]] = {}
    for provider, offer in sorted(
        offers, key=lambda pair: (pair[1].on_demand, pair[0], pair[1].region, pair[1].instance)
    ):
        place = (provider, offer.region) if by_place else ("", "")
        best.setdefault((offer.gpus, offer.bridged, *place), (provider, offer))
    return [_instance(accelerator, name, *pair) for pair in best.values()]


def _instance(accelerator: Accelerator, name: str, provider: str, offer: Offer) -> Lot:
    link_gpus = _link_gpus(accelerator, offer.gpus, offer.bridged)
    return Lot(
        id=f"{provider}/{offer.region}/{offer.instance}".replace(" ", "-"),
        accelerator=accelerator,
        name=name,
        unit_gpus=offer.gpus,
        group_limit_gpus=offer.gpus,
        fast_link=link_gpus > 1,
        link_gpus=link_gpus,
        purchase="unit",
        usd_per_unit_h=offer.on_demand,
        offer=OfferTaken(
            provider=provider,
            region=offer.region,
            instance=offer.instance,
            gpus=offer.gpus,
            usd_per_hour=float(offer.on_demand),
        ),
    )


def _servers(fleet: Fleet, accelerator: Accelerator, name: str, price: Decimal) -> Lot:
    unit = fleet.node_size or accelerator.host.node_size
    link = accelerator.link
    rack = link.domain if link.kind in _MESH else 1
    # A rack whose servers share the fast link (NVL72) carries tensor-parallel groups across servers.
    group_limit = max(unit, rack) if rack > accelerator.host.node_size else unit
    link_gpus = _link_gpus(accelerator, group_limit, bridged=False)
    whole = fleet.purchase == "node"
    return Lot(
        id=f"fleet/{name}",
        accelerator=accelerator,
        name=name,
        unit_gpus=unit,
        group_limit_gpus=group_limit,
        fast_link=link_gpus > 1,
        link_gpus=link_gpus,
        purchase="unit" if whole else "gpu",
        usd_per_unit_h=price * unit if whole else price,
        offer=None,
    )


def _link_gpus(accelerator: Accelerator, gpus: int, bridged: bool) -> int:
    """GPUs of a unit that share the fast link; 1 without one (an optional bridge must be stated)."""
    link = accelerator.link
    if link.kind == "none" or link.one_way is None or (link.optional and not bridged):
        return 1
    return min(link.domain, gpus)
