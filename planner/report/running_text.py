"""What runs today in words: pools, what could not be read, and what to do next."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.running import Running, RunningPool


def view(found: Running) -> RenderableType:
    """The page of what runs."""
    gpus = sum((pool.replicas or 0) * (pool.gpus_per_replica or 0) for pool in found.pools)
    headings = ("name", "model", "engine", "replicas", "layout", "weights")
    parts: list[RenderableType] = [
        Text(f"{numbers.count(len(found.pools), 'pool')} on {numbers.count(gpus, 'GPU')}", style="bold"),
        section("Pools", table(headings, map(_row, found.pools))),
    ]
    if found.unread:
        parts.append(section("Not read", bullets(found.unread)))
    if found.left_out:
        names = ", ".join(found.left_out)
        parts.append(section("Left out of --out", Text(f"{names}: GPU, GPUs or replicas are not known")))
    return Group(*parts)


def _row(pool: RunningPool) -> tuple[str, ...]:
    size = f"{_known(pool.gpus_per_replica)} {_known(pool.gpu)}"
    degrees = [("TP", pool.tp), ("PP", pool.pp), ("EP", pool.ep), ("attention DP", pool.attention_dp)]
    layout = ", ".join(f"{name} {_known(degree)}" for name, degree in degrees if degree != 1)
    return (
        pool.name,
        _known(pool.model),
        pool.engine if pool.role is None else f"{pool.engine} ({pool.role})",
        f"{_known(pool.replicas)} × {size}",
        layout,
        _known(pool.weights),
    )


def _known(value: str | int | None) -> str:
    return "?" if value is None else str(value)
