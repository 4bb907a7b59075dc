"""What contradicts itself in the fleet part of a problem, found on the plain values with the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.errors import Fault, nearest
from planner.loaders.messages import show
from planner.loaders.places import Key, dotted
from planner.loaders.yaml_source import Document
from planner.schema.catalog_index import Catalog, folded
from planner.schema.market import HOURS_PER_DAY


def fleet_faults(document: Document, catalog: Catalog) -> Iterator[Fault]:
    """Hours that differ in number, and names of workloads, places and today's GPUs that mean nothing.

    Args:
        document: The problem.
        catalog: Where regions of offers and accelerators are looked up.
    """
    look = _Look(document, catalog)
    yield from look.hours()
    yield from look.workloads_named()
    yield from look.places_named()
    yield from look.owned_twice()
    yield from look.quotas()
    yield from look.links()
    yield from look.tiers_share()
    yield from look.suppliers()
    yield from look.start()


class _Look:
    def __init__(self, document: Document, catalog: Catalog) -> None:
        self.document, self.catalog = document, catalog
        self.workloads = list(_items(document.at(("workloads",))))
        self.names = [str(w["name"]) for _, w in self.workloads if "name" in w]
        self.supply = [line for _, line in _items(document.at(("fleet", "supply")))]

    def fault(self, path: Key, found: str, expected: str, maybe: str = "") -> Fault:
        return Fault(self.document.where(path), dotted(self.document.value, path), found, expected, maybe)

    def hours(self) -> Iterator[Fault]:
        """All workloads have the same number of hours; one number alone is constant."""
        stated: list[tuple[Key, int]] = []
        for place, workload in self.workloads:
            demand = workload.get("demand")
            hours = demand.get("hourly_rps") if isinstance(demand, Mapping) else None
            if isinstance(hours, list | tuple) and len(hours) > 1:
                stated.append((("workloads", place, "demand", "hourly_rps"), len(hours)))
            if isinstance(demand, Mapping) and demand.get("shape") is not None:
                stated.append((("workloads", place, "demand", "shape"), HOURS_PER_DAY))
        for path, number in stated[1:]:
            if number != stated[0][1]:
                first = (
                    self.names[int(stated[0][0][1])] if len(self.names) == len(self.workloads) else "first"
                )
                yield self.fault(
                    path, f"{number} hourly rates", f"{stated[0][1]}, as in workload {first}, or one"
                )

    def workloads_named(self) -> Iterator[Fault]:
        places: list[tuple[Key, Any]] = []
        for number, tier in _items(self.document.at(("tiers",))):
            for stage, item in _items(tier.get("stages")):
                places.append((("tiers", number, "stages", stage, "workload"), item.get("workload")))
        for number, offer in _items(self.document.at(("api",))):
            places.append((("api", number, "workload"), offer.get("workload")))
        for path, name in places:
            if isinstance(name, str) and name not in self.names:
                yield self.fault(
                    path, show(name), f"one of {', '.join(self.names)}", nearest(name, self.names)
                )

    def _known(self, key: str) -> dict[str, str]:
        """Places of a kind (region, provider) by folded name: of the supply, else of the price lists."""
        stated = [str(line[key]) for line in self.supply if isinstance(line.get(key), str)]
        if not self.supply:
            # Each name once before any is compared: price lists may have a hundred thousand lines.
            lists = [prices for prices in self.catalog.price_lists if prices.offers]
            regions = dict.fromkeys(offer.region for prices in lists for offer in prices.offers)
            stated = list(regions) if key == "region" else [prices.id for prices in lists]
        return {folded(name): name for name in stated}

    def places_named(self) -> Iterator[Fault]:
        """Residency of a workload names places of the supply."""
        for place, workload in self.workloads:
            for key in ("regions", "providers"):
                known = self._known(key[:-1])
                for number, name in enumerate(workload.get(key) or ()):
                    if isinstance(name, str) and folded(name) not in known:
                        names = sorted(known.values())
                        expected = f"a {key[:-1]} of the supply: {', '.join(names[:10]) or 'none is stated'}"
                        path = ("workloads", place, key, number)
                        yield self.fault(path, show(name), expected, nearest(name, names))

    def owned_twice(self) -> Iterator[Fault]:
        """GPUs that are there anyway are stated in one place."""
        owned = self.document.at(("fleet", "owned"))
        for number, line in _items(self.document.at(("fleet", "supply"))):
            name = line.get("gpu")
            if line.get("term") == "owned" and isinstance(owned, Mapping) and name in owned:
                path = ("fleet", "supply", number, "gpu")
                yield self.fault(path, f"{show(name)}, owned in fleet.owned too", "one of them")

    def quotas(self) -> Iterator[Fault]:
        """Every quota names one region or one provider, once."""
        value = self.document.at(("fleet", "quota"))
        regions, providers = self._known("region"), self._known("provider")
        seen: dict[str, str] = {}
        for name in value if isinstance(value, Mapping) else ():
            path, same = ("fleet", "quota", name), folded(str(name))
            if same in seen:
                yield self.fault(
                    path, f"{show(name)}, another name of {show(seen[same])}", "each region or provider once"
                )
            elif same in regions and same in providers:
                yield self.fault(path, f"{show(name)}, a region and a provider", "names that tell them apart")
            elif same not in regions and same not in providers:
                names = sorted({*regions.values(), *providers.values()})
                some = ", ".join(names[:10]) or "none is stated"
                expected = f"a region or provider of the supply: {some}"
                yield self.fault(path, show(name), expected, nearest(str(name), names))
            seen.setdefault(same, str(name))

    def links(self) -> Iterator[Fault]:
        """Links join places of the supply, each pair once; KV transfers of a table need their own speed."""
        known = {**self._known("region"), **self._known("provider")} if self.supply else {}
        seen: set[frozenset[str]] = set()
        for number, link in _items(self.document.at(("fleet", "links"))):
            ends = link.get("between")
            names = [name for name in ends if isinstance(name, str)] if isinstance(ends, list | tuple) else []
            for place, name in enumerate(names):
                if folded(name) not in known:
                    some = sorted(known.values())
                    expected = (
                        f"a region or provider of the supply: {', '.join(some[:10]) or 'none is stated'}"
                    )
                    at = ("fleet", "links", number, "between", place)
                    yield self.fault(at, show(name), expected, nearest(name, some))
            pair = frozenset(map(folded, names))
            if pair in seen:
                path = ("fleet", "links", number, "between")
                yield self.fault(path, f"{' and '.join(names)} again", "one link between two places")
            seen.add(pair)
        unknown = self.document.at(("fleet", "network")) is None
        if seen and unknown and self.document.at(("workers",)) is not None:
            expected = "fleet.network: the speed at which transfer_ms of the table was measured"
            yield self.fault(("fleet", "links"), "no fleet.network beside it", expected)

    def tiers_share(self) -> Iterator[Fault]:
        """Names of tiers differ, and no workload is a stage of two."""
        owner: dict[str, str] = {}
        seen: set[str] = set()
        for number, tier in _items(self.document.at(("tiers",))):
            name = str(tier.get("name", number))
            if name in seen:
                yield self.fault(("tiers", number, "name"), f"{show(name)} again", "names that differ")
            seen.add(name)
            for stage, item in _items(tier.get("stages")):
                workload = item.get("workload")
                if isinstance(workload, str) and owner.setdefault(workload, name) != name:
                    path = ("tiers", number, "stages", stage, "workload")
                    yield self.fault(path, f"{show(workload)}, a stage of {owner[workload]} too", "one tier")

    def suppliers(self) -> Iterator[Fault]:
        """Outside suppliers of one workload have names that differ."""
        seen: set[tuple[object, object]] = set()
        for number, offer in _items(self.document.at(("api",))):
            yield from self._supplier(number, offer)
            key = (offer.get("workload"), offer.get("name") or offer.get("supplier"))
            if key in seen:
                found = show(key[1]) + " again" if key[1] is not None else "no name"
                expected = f"a name of its own for each supplier of {key[0]}"
                yield self.fault(("api", number, "name"), found, expected)
            seen.add(key)

    def _supplier(self, number: int, offer: Mapping[str, Any]) -> Iterator[Fault]:
        """A supplier by name sells the model of its workload."""
        name, workload = offer.get("supplier"), offer.get("workload")
        if not isinstance(name, str):
            return
        stated = [item.get("model") for _, item in self.workloads if item.get("name") == workload]
        model = next((item for item in stated if isinstance(item, str)), None)
        known = self.catalog.api_prices(model) if model is not None else {}
        if not known or folded(name) not in (*known, "any"):
            sold = (
                f"one of any, {', '.join(sorted(known))}" if known else "prices: no price list has this model"
            )
            found = f"{show(name)} for {model or 'a workload without a model'}"
            yield self.fault(("api", number, "supplier"), found, sold, nearest(name, sorted(known)))

    def start(self) -> Iterator[Fault]:
        """Today's GPUs are known; a bound on changes has a fleet to change."""
        if self.document.at(("fleet", "max_changes")) is not None and self.document.at(("start",)) is None:
            yield self.fault(("fleet", "max_changes"), "a bound on changes", "start: the fleet of today")
        if self.document.at(("workers",)) is not None:
            return
        for number, pool in _items(self.document.at(("start",))):
            name = pool.get("gpu")
            if isinstance(name, str) and self.catalog.accelerator(name) is None:
                known = self.catalog.names("accelerators")
                path = ("start", number, "gpu")
                yield self.fault(path, show(name), "an accelerator of the catalog", nearest(name, known))


def _items(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from ((number, item) for number, item in enumerate(value) if isinstance(item, Mapping))
