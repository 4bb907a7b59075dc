"""Limits to configure in front of the fleet so that the plan keeps its promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.planning.workload.case import Case
from planner.schema.plan import Guardrails, SharedGuardrails
from planner.schema.pool import Pool


def guardrails(case: Case, pools: Sequence[Pool]) -> Guardrails:
    """Guardrails of one workload.

    Input and output limits are a multiple of P95, at most the model's window. The circuit breaker
    opens at the queue that, by Little's law, uses up its share of the TTFT budget: rate x share x
    limit; without a TTFT limit, at one batch waiting. Where serving is disaggregated, requests
    wait in front of prefill, batches are those of decode, and the weaker side sets the rate.
    """
    policy, traffic, window = case.policy, case.traffic, case.facts.max_context_tokens
    answer = min(math.ceil(policy.output_guard_factor * traffic.output_p95_tokens), window - 1)
    prompt = min(math.ceil(policy.input_guard_factor * traffic.input_p95_tokens), window - answer)
    budget_s = min((limit for name, limit in case.limits_s.items() if name.startswith("ttft")), default=None)
    answering = [pool for pool in pools if pool.role != "prefill"]
    waiting = [pool for pool in pools if pool.role != "decode"]
    batch = min((pool.max_batch for pool in answering), default=0)
    rate = min((pool.capacity_rps for pool in waiting), default=0.0)
    queue = batch if budget_s is None else int(rate * policy.breaker_budget_fraction * budget_s)
    return Guardrails(
        max_input_tokens=max(prompt, 1),
        max_output_tokens=max(answer, 1),
        max_queue=max(queue, 1),
        max_batch=batch,
        max_rps=min(
            sum(pool.capacity_rps * pool.replicas for pool in group) for group in (waiting, answering)
        ),
    )


def shared_guardrails(by_workload: Mapping[str, Guardrails]) -> SharedGuardrails | None:
    """What all workloads have in common: a limit of one of them would refuse or admit too much of another."""
    if not by_workload:
        return None
    values = {
        name: {getattr(limits, name) for limits in by_workload.values()} for name in Guardrails.model_fields
    }
    return SharedGuardrails(
        **{name: found.pop() if len(found) == 1 else None for name, found in values.items()}
    )
