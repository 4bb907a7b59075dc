"""How a replica is started: the engine's command line, what it needs beside it, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from planner.schema.pool import Pool


@dataclass(frozen=True)
class Placeholder:
    """A value that is known only where a server runs."""

    variable: Literal["OWN_ADDRESS", "LEADER_ADDRESS", "SERVER_RANK"]
    """Its own address; that of the first server of the replica; its number in the replica, from 0."""
    ending: str = ""
    """Follows the value: ``:20000``."""


Argument = str | Placeholder


@dataclass(frozen=True)
class WeightsSource:
    """The checkpoint that a pool loads."""

    name: str
    """Hugging Face id, or a folder."""
    quantize: bool = False
    """A wider checkpoint is loaded and made narrower while loading."""
    folder: bool = False
    """A folder on the server instead of an id: whoever runs the replica puts it there."""
    note: str = ""


@dataclass(frozen=True)
class Launch:
    """The command lines of one replica."""

    argv: tuple[Argument, ...]
    """Of the first server, or the only one."""
    weights: WeightsSource
    servers: int = 1
    """Servers of one replica, each with as many GPUs."""
    gpus_per_server: int = 1
    other_argv: tuple[Argument, ...] = ()
    """Of the other servers of the replica; the same but for what only the first one does."""
    environment: Mapping[str, Argument] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    """What the YAML file holds that the command line names."""
    config_name: str = ""
    """Its name; empty: no file."""
    host_cache_bytes: int = 0
    """Host memory that the replica keeps KV in, of all its servers."""
    notes: tuple[str, ...] = ()
    """What the operator must know or put in place."""


@dataclass(frozen=True)
class Deployment:
    """A pool of a plan as something that can be started."""

    pool: Pool
    name: str
    """A DNS label of its own among all pools of the plan."""
    launch: Launch
    served_name: str
    """The model as clients call it."""
    image: str
    port: int
    health_path: str
    """Answers when the server can take requests."""
    vendor: str
    accelerator: str
    """Its id in the catalog."""
    resource: str
    """What Kubernetes counts: GPUs, or hardware slices of them."""
    product_label: str | None
    """Label of nodes that names their GPU …"""
    product: str | None
    """… and its value; None where the catalog does not know it."""
    server_gpus: int
    """GPUs of the servers or instances that it is placed on."""
    replicas_by_hour: tuple[int, ...]
    """One number for a plan without hours."""
    hour: int
    """The one that is exported, from 0."""
    start_s: float | None = None
    """From an empty server to the first token, with the weights where the export says that they come from."""
    max_queue: int | None = None
    """Depth at which the circuit breaker of one replica opens."""

    @property
    def replicas(self) -> int:
        """Those of the exported hour."""
        return self.replicas_by_hour[self.hour]

    @property
    def most_replicas(self) -> int:
        """The most of any hour."""
        return max(self.replicas_by_hour)

    @property
    def least_replicas(self) -> int:
        """The fewest of any hour."""
        return min(self.replicas_by_hour)
