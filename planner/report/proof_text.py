"""What the replays of a plan said, on its page."""

from __future__ import annotations

from rich.console import RenderableType

from planner import numbers
from planner.report.parts import bullets, section
from planner.schema.plan import Plan


def proof_section(plan: Plan) -> RenderableType | None:
    """Every round of ``--prove``; nothing where none was asked for."""
    proof = plan.proof
    if proof is None:
        return None
    rows = []
    for one in proof.rounds if len(proof.rounds) > 1 else ():
        price, gpus = numbers.usd(one.cost_usd_per_hour), numbers.count(one.gpus, "GPU")
        rows.append(f"{price}/h, {gpus}: {one.verdict}, {one.nearest}")
    return section("Proof by replay", bullets([proof.text, *rows]))
