"""Outside suppliers of a fleet: what the API takes for every bucket in every period."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.errors import input_error
from planner.planning.posing.tokens import RequestTokens
from planner.schema.fleet import Api, FleetDemand
from planner.schema.problem import Problem
from planner.schema.supply import ApiOffer

_HOUR_S = 3600
_MILLION = 1_000_000


def apis_of(
    problem: Problem,
    demands: Sequence[FleetDemand],
    carried: Mapping[str, Fraction],
    tokens: Mapping[str, Mapping[str, RequestTokens] | None],
) -> tuple[Api, ...]:
    """The suppliers as the solver reads them.

    Args:
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
        price = [_usd_per_request(offer, by_bucket[bucket]) for bucket in demand.buckets]
        name = f"{offer.workload}/api/{offer.name or 'api'}"
        seen[name] += 1
        found.append(
            Api(
                id=name if seen[name] == 1 else f"{name}#{seen[name]}",
                workload=offer.workload,
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


def _usd_per_request(offer: ApiOffer, tokens: RequestTokens) -> Fraction:
    cached = offer.usd_per_million_cached_input
    read = tokens.input_tokens - (0.0 if cached is None else tokens.cached_tokens)
    usd = _exact(read) * Fraction(offer.usd_per_million_input)
    if cached is not None:
        usd += _exact(tokens.cached_tokens) * Fraction(cached)
    usd += _exact(tokens.output_tokens) * Fraction(offer.usd_per_million_output)
    return usd / _MILLION


def _exact(tokens: float) -> Fraction:
    return Fraction(round(tokens * 10**6), 10**6)
