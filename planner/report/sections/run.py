"""How to run it: command lines, weights, and the limits to configure in front."""

from __future__ import annotations

from planner.report.cells import number, table
from planner.report.sections.build import bullets, section
from planner.schema.plan import Guardrails, Plan
from planner.schema.report import Block, Cell, Command, Section, Table


def run(plan: Plan) -> Section | None:
    """The commands of one replica of each pool, and what belongs to them."""
    commands: list[Block | None] = [
        Command(pool.id, pool.command) for pool in plan.pools if pool.command is not None
    ]
    if commands:
        commands.append(
            Command("as scripts and manifests", "planner export plan.json --to kubernetes --out deploy")
        )
    weights = bullets(f"{one.workload}: {one.text}" for one in plan.checkpoints)
    return section("run", "Commands to run it", *commands, weights, _guardrails(plan))


def _guardrails(plan: Plan) -> Table | None:
    names = dict.fromkeys(pool.workload for pool in plan.pools)
    known = {name: limits for name in names if (limits := plan.guardrails_of(name)) is not None}
    rows = [(name, *_cells(limits)) for name, limits in known.items()]
    headings = ("workload", "longest input", "longest output", "queue of a replica", "batch of a replica",
                "admitted rate")  # fmt: skip
    return table("guardrails", "Guardrails to configure", headings, rows)


def _cells(limits: Guardrails) -> tuple[Cell, ...]:
    return (
        number(limits.max_input_tokens, "tokens"),
        number(limits.max_output_tokens, "tokens"),
        number(limits.max_queue, "requests"),
        number(limits.max_batch, "sequences"),
        number(limits.max_rps, "req/s"),
    )
