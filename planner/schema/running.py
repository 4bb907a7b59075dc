"""Servers that run today: as files describe them, and as pools that a problem may start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.schema.base import Noun
from planner.schema.choice import Role


@dataclass(frozen=True)
class Started:
    """One kind of server that a file describes, before anything is looked up."""

    name: str
    source: str
    """File and object, or file and line."""
    words: tuple[str, ...]
    """The command line, variables put in."""
    replicas: int | None = 1
    """None: not known."""
    gpus_per_server: int | None = None
    servers: int = 1
    """Servers of one replica."""
    products: tuple[str, ...] = ()
    """What labels of its nodes say of the GPU or the machine."""
    image: str = ""
    model: str = ""
    """Stated beside the command line."""
    stated: Mapping[str, int | bool] = field(default_factory=dict)
    """``tp, pp, dp, ep`` stated beside the command line."""
    role: Role | None = None
    folder: Path = Path()
    """Where files that the command line names may lie."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """Texts of configuration files by name, out of the same source."""

    def named(self, name: str) -> Started:
        """The same under another name."""
        return replace(self, name=name)


class RunningPool(Noun):
    """Equal replicas that run; null: the files do not say."""

    name: str
    model: str | None
    """Catalog id, or the name as written where the catalog does not know it."""
    engine: str
    gpu: str | None
    tp: int | None
    pp: int | None
    ep: int | None
    """Ranks of whole experts; 1: experts are cut like everything else."""
    attention_dp: int | None = None
    """Copies of the attention within a replica."""
    replicas: int | None
    gpus_per_replica: int | None = None
    weights: str | None
    kv: str | None = None
    role: Role | None = None
    source: str


class Running(Noun):
    """What runs, and what of it could not be read."""

    pools: tuple[RunningPool, ...]
    unread: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Pools that no problem can start from: their GPU, GPUs or replicas are not known."""
