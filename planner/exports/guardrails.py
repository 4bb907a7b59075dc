"""The plan's guardrails in front of the fleet: rates, queues, times, and what one tenant may take of them.

Source: Envoy Gateway, BackendTrafficPolicy (gateway.envoyproxy.io/v1alpha1): rate limits, circuit breaker and
timeouts of an HTTPRoute. Field guide, section 9.4: limits by tenant at the gateway, runaway answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from planner import numbers
from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.http_routes import routes_by_workload
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment
from planner.schema.plan import Guardrails

TENANT_HEADER = "x-tenant"
"""Names who asks; whoever checks keys sets it."""
TENANT_SHARE = 0.5
"""Of a workload's admitted rate that one tenant may take alone: judgment, so that a second one is served."""
_GATEWAY = "gateway"
_UNITS = (("Second", 1), ("Minute", 60), ("Hour", 3600), ("Day", 86400))
_COARSE = 20
"""A whole number from here on is within 5 % of the rate."""
_ENGINE_LIMITS = {
    "vllm": ("--override-generation-config", '{{"max_new_tokens":{answer}}}'),
}
"""Option that ends every answer at a length, by engine; the others have none."""


def guardrails(case: ExportCase) -> Exported:
    """Policies for the routes of the plan, and limits that engines and gateways take by hand."""
    limits = _limits(case)
    routes = _routes(case)
    overall = [_policy(case, name, routes[name], one, tenants=False) for name, one in limits.items()]
    tenants = [_policy(case, name, routes[name], one, tenants=True) for name, one in limits.items()]
    values = {case.workloads[name]: _values(case, name, one) for name, one in limits.items()}
    files = (
        ExportFile("limits.yaml", documents_yaml(overall).encode()),
        ExportFile("tenant-limits.yaml", documents_yaml(tenants).encode()),
        ExportFile("engine-limits.yaml", documents_yaml([{"workloads": values}]).encode()),
    )
    steps = (
        "The routes: `planner export --to gateway`, on an Envoy Gateway; with other routes, put their names "
        "into targetRefs.",
        "`kubectl apply -f limits.yaml`: limits of each workload, of every proxy on its own. Divide the "
        "rates by the number of your proxies.",
        "Or `kubectl apply -f tenant-limits.yaml` instead: one count over all proxies, of it at most "
        f"{numbers.share(TENANT_SHARE)} for one value of the header {TENANT_HEADER}. It needs the rate limit "
        "service with Redis.",
        "Answers that run away: the options of `engine-limits.yaml` on the engines; where an engine has "
        "none, the gateway sets max_tokens.",
    )
    return Exported(files, steps, tuple(_notes(case, routes)))


def _limits(case: ExportCase) -> Mapping[str, Guardrails]:
    found, missing = {}, []
    for workload in case.workloads:
        limits = case.plan.guardrails_of(workload)
        if limits is None:
            missing.append(f"{workload}: the plan states no guardrails; plan it again with this version.")
        elif limits.max_rps <= 0:
            missing.append(f"{workload}: the plan admits no requests.")
        else:
            found[workload] = limits
    if missing:
        raise CannotExpressError(missing)
    return found


def _routes(case: ExportCase) -> Mapping[str, list[str]]:
    """Names of the HTTPRoutes of each workload, as the gateway's export calls them."""
    found = routes_by_workload(case.routes, case.where, _GATEWAY, case.deployments[0].port)
    return {
        name: [one["metadata"]["name"] for one in found.get(name, ())] or [label]
        for name, label in case.workloads.items()
    }


def _policy(
    case: ExportCase, workload: str, routes: list[str], limits: Guardrails, *, tenants: bool
) -> dict[str, Any]:
    pools = case.of_workload(workload)
    parallel = _parallel(pools, limits)
    waiting = sum(item.most_replicas * limits.max_queue for item in pools if item.pool.role != "decode")
    spec: dict[str, Any] = {
        "targetRefs": [
            {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": name} for name in routes
        ],
        "rateLimit": _tenant_rates(limits) if tenants else _rates(limits),
        "circuitBreaker": {
            "maxConnections": parallel,
            "maxPendingRequests": waiting,
            "maxParallelRequests": parallel,
        },
    }
    longest_s = _longest_s(pools, limits)
    if longest_s is not None:
        spec["timeout"] = {"http": {"requestTimeout": f"{longest_s}s"}}
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "BackendTrafficPolicy",
        "metadata": {"name": case.workloads[workload]},
        "spec": spec,
    }


def _parallel(pools: tuple[Deployment, ...], limits: Guardrails) -> int:
    """Requests that run and wait in all replicas when their queues are as long as they may be."""
    running = sum(item.most_replicas * item.pool.max_batch for item in pools if item.pool.role != "prefill")
    return running + sum(
        item.most_replicas * limits.max_queue for item in pools if item.pool.role != "decode"
    )


def _rates(limits: Guardrails) -> dict[str, Any]:
    return {"type": "Local", "local": {"rules": [{"limit": rate(limits.max_rps)}]}}


def _tenant_rates(limits: Guardrails) -> dict[str, Any]:
    each = [{"headers": [{"name": TENANT_HEADER, "type": "Distinct"}]}]
    own = {"clientSelectors": each, "limit": rate(limits.max_rps * TENANT_SHARE)}
    return {"type": "Global", "global": {"rules": [{"limit": rate(limits.max_rps)}, own]}}


def rate(rps: float) -> dict[str, Any]:
    """A rate as a whole number in the shortest unit in which it loses little; never more than it is."""
    for unit, seconds in _UNITS:
        if rps * seconds >= _COARSE or unit == "Day":
            return {"requests": max(math.floor(rps * seconds), 1), "unit": unit}
    raise AssertionError("the last unit takes every rate")


def _longest_s(pools: tuple[Deployment, ...], limits: Guardrails) -> int | None:
    """Time of the longest answer at the slowest planned pace, after the slowest first token."""
    first = max((item.pool.ttft_s.get("p99", 0.0) for item in pools), default=0.0)
    gaps = [item.pool.tpot_s.get("p99") or item.pool.itl_s.get("p99") for item in pools]
    gap = max((one for one in gaps if one), default=None)
    return None if gap is None else math.ceil(first + gap * limits.max_output_tokens)


def _values(case: ExportCase, workload: str, limits: Guardrails) -> dict[str, Any]:
    found: dict[str, Any] = {
        "max_input_tokens": limits.max_input_tokens,
        "max_output_tokens": limits.max_output_tokens,
    }
    options = {}
    for item in case.of_workload(workload):
        if item.pool.engine in _ENGINE_LIMITS:
            name, value = _ENGINE_LIMITS[item.pool.engine]
            options[item.name] = [name, value.format(answer=limits.max_output_tokens)]
    return found | ({"options": options} if options else {})


def _notes(case: ExportCase, routes: Mapping[str, list[str]]) -> Iterator[str]:
    yield "Prompts and answers together that are longer than the plan admits are refused by the engines."
    without = dict.fromkeys(
        item.pool.engine for item in case.deployments if item.pool.engine not in _ENGINE_LIMITS
    )
    for engine in without:
        yield f"{engine} has no option that ends every answer at a length: the gateway must set max_tokens."
    yield (
        "A request that takes longer than the longest admitted answer at the planned pace is ended: a tenant "
        "within its rate cannot hold a slot longer."
    )
    for workload, names in routes.items():
        if len(names) > 1:
            yield f"{case.workloads[workload]}: each of {len(names)} routes counts alone: divide the rate."
