"""The whole model: all blocks, the purchases and the balance of every resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.solver.mip.block import BlockWriter
from planner.solver.mip.cuts import Cut
from planner.solver.mip.limits import Purchases
from planner.solver.mip.mip import Floats, Model
from planner.solver.mip.plan import Plan, read_plan
from planner.solver.mip.pool_rows import Block
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.purchases import PurchaseWriter, balance

Cuts = Mapping[tuple[str, str], Iterable[Cut]]


@dataclass
class Whole:
    """The whole model with its columns."""

    model: Model
    blocks: list[Block]
    purchases: Purchases
    rows: dict[int, int]
    """Balance row by resource."""
    prepared: Prepared

    def plan(self, columns: Floats) -> Plan:
        """The plan in a solution."""
        return read_plan(self.blocks, columns, self.purchases)


def whole(
    prepared: Prepared,
    cuts: Cuts,
    *,
    allowed: Sequence[frozenset[tuple[int, int]] | None] | None = None,
    least: Sequence[tuple[Mapping[int, float], Sequence[float]]] = (),
    sample: Sequence[int] = (),
) -> Whole:
    """Write the whole model.

    Args:
        prepared: the problem.
        cuts: rows of the pools.
        allowed: places that may be used, by block.
        least: pricing rows: prices by resource, and by block the proved least of ``sum price * use``.
        sample: only these periods, without workloads whose periods are tied; none: all.
    """
    model = Model()
    writer = BlockWriter(prepared, cuts)
    blocks = [
        writer.write(model, number, None if allowed is None else allowed[number])
        for number, (_, periods) in enumerate(prepared.blocks)
        if not sample or (len(periods) == 1 and periods[0] in sample)
    ]
    purchases = PurchaseWriter(prepared).write(model, sample or range(prepared.periods))
    uses = [(resource, terms) for block in blocks for resource, terms in sorted(block.uses.items())]
    rows = balance(model, uses, purchases)
    for prices, values in least:
        for block, value in zip(blocks, values, strict=True):
            terms = [
                (column, prices.get(resource, 0.0) * entry)
                for resource, mine in sorted(block.uses.items())
                for column, entry in mine
            ]
            if value > 1e-9 and any(entry for _, entry in terms):
                model.row([(c, e / value) for c, e in terms], lower=1.0)
    return Whole(model, blocks, purchases, rows, prepared)
