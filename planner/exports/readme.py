"""The README of an export: in which order to apply what."""

from __future__ import annotations

from planner.characters import spelled
from planner.exports.case import ExportCase, Target
from planner.schema.exported import Exported, ExportFile

NAME = "README.md"


def readme(case: ExportCase, target: Target, made: Exported) -> ExportFile:
    """A short page of Markdown; names of the user are shown as they are, with nothing in them obeyed."""
    lines = [f"# {plain(case.plan.problem)}: {target.title}", ""]
    lines.append("Written by `planner export` from a plan; export again instead of editing.")
    lines += ["", "## In this order", ""]
    lines += [f"{number}. {step}" for number, step in enumerate(made.steps, 1)]
    if made.notes:
        lines += ["", "## Mind", "", *(f"- {plain(note)}" for note in made.notes)]
    lines += [
        "",
        "## Pools",
        "",
        "| name | pool | replicas | GPUs of one | GPU | engine |",
        "|---|---|---|---|---|---|",
    ]
    for item in case.deployments:
        least, most = item.least_replicas, item.most_replicas
        count = f"{most}" if least == most else f"{least} to {most}"
        cells = (
            item.name,
            item.pool.id,
            count,
            f"{item.pool.gpus_per_replica}",
            item.pool.gpu,
            item.pool.engine,
        )
        lines.append("| " + " | ".join(plain(cell) for cell in cells) + " |")
    return ExportFile(NAME, ("\n".join(lines) + "\n").encode())


def plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{mark}" if mark in "\\`*_[]<>|#" else mark for mark in spelled(text))
