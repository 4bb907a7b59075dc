"""Outside suppliers of a fleet: what the API takes for every bucket in every period."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.errors import input_error
from planner.planning.formulation.tokens import RequestTokens
from planner.schema.catalog_index import Catalog, folded
from planner.schema.fleet import Api, FleetDemand
from planner.schema.market import ApiPrice
from planner.schema.problem import Problem
from planner.schema.supply import ApiOffer

ANY = "any"
"""Stands for the cheapest supplier of the model."""
_HOUR_S = 3600
_MILLION = 1_000_000


def apis_of(
    catalog: Catalog,
    problem: Problem,
    demands: Sequence[FleetDemand],
    carried: Mapping[str, Fraction],
    tokens: Mapping[str, Mapping[str, RequestTokens] | None],
) -> tuple[Api, ...]:
    """The suppliers as the solver reads them.

    Args:
        catalog: prices of suppliers that the problem names.
        problem: with its ``api``.
        demands: of the fleet.
        carried: by workload, what really comes over the demand that replicas are sized for: without headroom,
            and at the mean rate where there is one period.
        tokens: by workload and bucket.

    Raises:
        InputError: a workload without lengths.
    """
    seen: Counter[str] = Counter()
    found = []
    for number, offer in enumerate(problem.api):
        demand = next(d for d in demands if d.workload == offer.workload)
        by_bucket = tokens[offer.workload]
        if by_bucket is None:
            raise input_error(
                f"api[{number}]", "workload", f"{offer.workload} without lengths",
                "lengths in the workload: an API is paid by the token",
            )  # fmt: skip
        priced, entry = _priced(catalog, problem, offer, list(by_bucket.values()))
        price = [_usd_per_request(priced, by_bucket[bucket]) for bucket in demand.buckets]
        name = f"{offer.workload}/api/{priced.name or 'api'}"
        seen[name] += 1
        found.append(
            Api(
                id=name if seen[name] == 1 else f"{name}#{seen[name]}",
                workload=offer.workload,
                entry=entry,
                usd_per_h=tuple(
                    tuple(
                        need * carried[offer.workload] * _HOUR_S * usd
                        for need, usd in zip(needs, price, strict=True)
                    )
                    for needs in demand.demand_rps
                ),
            )
        )
    return tuple(found)


def _priced(
    catalog: Catalog, problem: Problem, offer: ApiOffer, requests: Sequence[RequestTokens]
) -> tuple[ApiOffer, str]:
    """The offer with its prices, and whose entry they are.

    Of a supplier's entries for the model that is the cheapest for these requests; those whose context is
    shorter than the mean request of a bucket are left out.
    """
    if offer.supplier is None:
        return offer, ""
    model = next(w.model for w in problem.workloads if w.name == offer.workload)
    by_name = catalog.api_prices(model or "")
    names = list(by_name) if folded(offer.supplier) == ANY else [folded(offer.supplier)]
    longest = max((item.input_tokens + item.output_tokens for item in requests), default=0.0)
    fitting = [
        (_with_prices(offer, row), row)
        for name in names
        for row in by_name.get(name, ())
        if row.context_tokens is None or row.context_tokens >= longest
    ]
    if not fitting:
        raise input_error(
            "api", "supplier", f"{offer.supplier}, of which no entry of {model} holds {longest:,.0f} tokens",
            "a supplier with a longer context",
        )  # fmt: skip
    taken, row = min(
        fitting, key=lambda pair: (sum(_usd_per_request(pair[0], one) for one in requests), pair[1].entry)
    )
    prices = (
        f"{row.usd_per_million_input:f} USD in, {row.usd_per_million_output:f} USD out per million tokens"
    )
    return taken, f"{row.supplier} sells it as {row.entry}: {prices}"


def _with_prices(offer: ApiOffer, row: ApiPrice) -> ApiOffer:
    return offer.model_copy(
        update={
            "name": offer.name or row.supplier,
            "usd_per_million_input": row.usd_per_million_input,
            "usd_per_million_output": row.usd_per_million_output,
            "usd_per_million_cached_input": row.usd_per_million_cached_input,
        }
    )


def _usd_per_request(offer: ApiOffer, tokens: RequestTokens) -> Fraction:
    cached = offer.usd_per_million_cached_input
    read = tokens.input_tokens - (0.0 if cached is None else tokens.cached_tokens)
    assert offer.usd_per_million_input is not None
    assert offer.usd_per_million_output is not None
    usd = _exact(read) * Fraction(offer.usd_per_million_input)
    if cached is not None:
        usd += _exact(tokens.cached_tokens) * Fraction(cached)
    usd += _exact(tokens.output_tokens) * Fraction(offer.usd_per_million_output)
    return usd / _MILLION


def _exact(tokens: float) -> Fraction:
    return Fraction(round(tokens * 10**6), 10**6)
