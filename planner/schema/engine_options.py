"""What a version of an engine takes on its command line, and how its server is reached: data, no code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Exact, Noun
from planner.schema.catalog_entry import CatalogEntry, Positive, Source

Vendor = Literal["NVIDIA", "AMD", "Intel", "Google", "AWS"]


class EngineOption(Noun):
    """One option."""

    names: Annotated[tuple[str, ...], Field(min_length=1)]
    takes: Literal["value", "values", "nothing"] = "value"
    choices: tuple[str, ...] = ()
    """Values that it takes; empty: any."""
    default: str | int | float | bool | None = None
    """Where it is a plain value."""


class EngineOptions(CatalogEntry):
    """The options of one version of an engine."""

    kind: Literal["options"] = "options"
    version: str
    """Of the engine whose options were read."""
    images: dict[Vendor, str]
    """Container image by vendor of the accelerator."""
    health: str
    """Path that answers when the server can take requests."""
    config: tuple[str, ...] = ()
    """Keys of its configuration file that exports may write, with dots."""
    options: Annotated[tuple[EngineOption, ...], Field(min_length=1)]
    source: Source

    @cached_property
    def by_name(self) -> Mapping[str, EngineOption]:
        """Every name of an option with the option."""
        return {name: option for option in self.options for name in option.names}


class VendorDevices(Noun):
    """How a platform counts and names the accelerators of one vendor."""

    resource: str
    slice_resource: str | None = None
    """Of hardware slices, with ``{slice}`` for the name of the slice."""
    label: str | None = None
    """Label of a node that names the product."""


class Probes(Noun):
    """How often servers are asked whether they can take requests."""

    period_s: Positive
    startup_factor: Annotated[Exact, Field(ge=1)]
    """Times the predicted cold start after which a server that does not answer is started again."""
    failures: Positive
    """Missing answers in a row of a server that had answered, after which it gets no requests …"""
    failures_until_restart: Positive
    """… and after which it is started again."""
    unknown_cold_start_s: Positive
    """Taken for a cold start that the plan does not state."""
    source: Source


class Platform(CatalogEntry):
    """Somewhere that exports run: what it calls accelerators, and how it watches servers."""

    kind: Literal["platform"] = "platform"
    probes: Probes
    devices: dict[Vendor, VendorDevices]
    products: dict[str, str] = {}
    """Accelerator of the catalog -> what the platform calls it; Kubernetes: the label of its nodes."""
    clouds: dict[str, str] = {}
    """Provider of the catalog -> what the platform calls it."""
    cloud_products: dict[str, dict[str, str]] = {}
    """Names of ``products`` that are others at one provider."""
    source: Source
