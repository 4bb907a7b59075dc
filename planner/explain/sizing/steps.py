"""The thirteen steps of sizing, walked with the numbers of one plan.

The order is the field guide's (section 9.1): each step narrows the next. The search takes all of them at
once; the walk shows where a plan stands at each, and what the method would still have one do.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.explain.sizing.context import Context
from planner.explain.sizing.demand import hardware, routing, workload
from planner.explain.sizing.fleet import fleet, tco, validate
from planner.explain.sizing.memory import floor, parallelism, quantization
from planner.explain.sizing.replica import batching, kv_strategy, operating_point, re_check
from planner.schema.explanation import Step
from planner.schema.plan import Plan
from planner.schema.policy import Alarms, RulesOfThumb

STEPS: tuple[Callable[[Context], Step], ...] = (
    workload, hardware, routing, floor, quantization, parallelism, operating_point,
    kv_strategy, batching, re_check, fleet, tco, validate,
)  # fmt: skip
"""In the order of the method."""


def steps(plan: Plan, rules: RulesOfThumb, alarms: Alarms) -> tuple[Step, ...]:
    """The thirteen steps of a plan; without a plan, what stands in the way at each.

    Args:
        plan: the document; needs nothing else.
        rules: of ``catalog/judgment/sizing.yaml``.
        alarms: of ``catalog/judgment/monitoring.yaml``.
    """
    at = Context(plan, rules, alarms)
    return tuple(step(at) for step in STEPS)
