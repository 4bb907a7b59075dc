"""What a version of an engine takes on its command line, and how its server is reached: data, no code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.errors import nearest
from planner.schema.base import Exact, Noun, refused
from planner.schema.catalog_entry import CatalogEntry, Positive, Source
from planner.schema.observation import Observation
from planner.schema.vendor import Vendor

_FIELDS = tuple(name for name in Observation.model_fields if name != "slo")


class EngineOption(Noun):
    """One option."""

    names: Annotated[tuple[str, ...], Field(min_length=1)]
    takes: Literal["value", "values", "nothing"] = "value"
    choices: tuple[str, ...] = ()
    """Values that it takes; empty: any."""
    default: str | int | float | bool | None = None
    """Where it is a plain value."""


class EngineSetting(Noun):
    """How an observed setting is read from a command line, or from the file that it names."""

    option: str = ""
    """One of the names of the option."""
    config: str = ""
    """Key of the configuration file, with dots."""
    key: str = ""
    """Key inside the option's value, which is JSON; with dots."""
    on: bool | str | None = None
    """What a switch says that is on; one that is turned off says the opposite of true or false."""
    present: bool | str | None = None
    """What any value says."""
    words: dict[str, bool | str] = {}
    """Text of the value -> observed value; others say nothing. Without ``words``, ``on`` and ``present`` the
    value itself counts."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """Factor to the unit of the observation."""
    absent: bool | int | str | None = None
    """What a command line without the option says, where that was so in every version."""

    @model_validator(mode="after")
    def _one_place(self) -> EngineSetting:
        if bool(self.option) == bool(self.config):
            raise refused("a setting with option and config, or neither", "option or config")
        return self


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
    earlier: tuple[EngineOption, ...] = ()
    """Options of other versions, which command lines may still have."""
    settings: dict[str, tuple[EngineSetting, ...]] = {}
    """Field of an observation -> where it is read, the first place that says something."""
    source: Source

    @model_validator(mode="after")
    def _known_settings(self) -> EngineOptions:
        known = {name for option in (*self.options, *self.earlier) for name in option.names}
        for name, places in self.settings.items():
            if name not in Observation.model_fields or name == "slo":
                raise refused(f'"{name}"', f"a value of the observation: {nearest(name, _FIELDS)}")
            for one in places:
                if one.option and one.option not in known:
                    raise refused(f'the option "{one.option}"', f"an option: {nearest(one.option, [*known])}")
        return self

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
