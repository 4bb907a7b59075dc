"""What the Python interface works with: a problem that answers for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.app.loaded_problem import LoadedProblem
from planner.planning.run import Run
from planner.schema.answers import Plans, Sweep, WhatIf
from planner.schema.plan import Plan


class Session(LoadedProblem):
    """A checked problem with the catalog and the rules that answer it."""

    def whatif(self, changes: Mapping[str, Any], *, run: Run | None = None) -> WhatIf:
        """The plans before and after changes by path, and what differs.

        Raises:
            InputError: as for `changed`.
        """
        from planner.app.what_if import what_if

        return what_if(self, changes, run or Run())

    def sweep(self, axes: Mapping[str, Sequence[Any]], *, run: Run | None = None) -> Sweep:
        """A plan for every combination of values along paths.

        Raises:
            InputError: as for `changed`.
        """
        from planner.app.what_if import sweep

        return sweep(self, axes, run or Run())

    def capacity(self, workloads: Sequence[str] = (), *, run: Run | None = None) -> Plan:
        """The plan at the largest load that the fleet carries; the demand is the mix.

        Raises:
            InputError: nothing limits the fleet, or an unknown workload.
        """
        from planner.app.capacity import capacity

        return capacity(self, run or Run(), workloads)

    def capacities(
        self, axes: Mapping[str, Sequence[Any]], workloads: Sequence[str] = (), *, run: Run | None = None
    ) -> Sweep:
        """The same for every combination of values along paths.

        Raises:
            InputError: as for `changed`.
        """
        from planner.app.capacity import capacities

        return capacities(self, axes, run or Run(), workloads)

    def relax(self, *, run: Run | None = None) -> Plan:
        """The plan with its conflicts, its cheapest relaxations and the price of every limit."""
        from planner.app.relax import relax

        return relax(self, run or Run())

    def pareto(
        self,
        axes: Sequence[str] = ("cost", "itl"),
        *,
        max_cost_ratio: float | None = 2.0,
        run: Run | None = None,
    ) -> Plans:
        """Plans of which none is better than another on every axis.

        Where cost is an axis, plans at more than ``max_cost_ratio`` times the cheapest are left out (None:
        none is).

        Raises:
            InputError: an unknown axis.
        """
        from planner.app.pareto import pareto

        return pareto(self, tuple(axes), run or Run(), max_cost_ratio)

    def alternatives(self, k: int = 3, *, run: Run | None = None) -> Plans:
        """The k best plans that differ in what they buy."""
        from planner.app.alternatives import alternatives

        return alternatives(self, k, run or Run())
