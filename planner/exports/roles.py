"""What targets ask that run one prefill and one decode layout together."""

from __future__ import annotations

from collections.abc import Iterator

from planner.exports.case import ExportCase


def one_of_each(case: ExportCase, workload: str, what: str) -> Iterator[str]:
    """Why ``what`` cannot hold the pools of a workload that serves prefill and decode disaggregated."""
    roles = {role: len(case.of_workload(workload, role)) for role in ("serve", "prefill", "decode")}
    if roles["serve"] or roles["prefill"] > 1 or roles["decode"] > 1:
        counts = ", ".join(f"{count} {role}" for role, count in roles.items() if count)
        yield (
            f"{workload}: {what} has one prefill and one decode layout, the plan has {counts}; "
            "max_layouts_per_workload: 1 asks for one."
        )
