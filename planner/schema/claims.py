"""Numbers that source documents state, and what they are checked against."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Noun
from planner.schema.catalog_entry import CatalogEntry

Quantity = Literal[
    "kv_cache",
    "kv_transfer",
    "weights",
    "params",
    "params_active",
    "experts_per_token",
    "experts_touched",
    "decode_ceiling",
    "sequences_held",
    "decode_compute",
    "bandwidth_ratio",
    "pipeline_bubble",
    "peak",
    "bandwidth",
    "link",
    "pcie",
    "storage",
    "load_time",
]


class Claim(Noun):
    """One stated number with the question it answers."""

    document: Literal["web manual", "field guide", "Dielabs manual", "lesson", "summary article"]
    section: str
    about: str
    """The claim in our words."""
    stated: Annotated[float, Field(gt=0)]
    unit: str
    quantity: Quantity
    """What computes our value."""
    given: dict[str, str | int] = Field(default={}, alias="with")
    """Names of the catalog and counts that the quantity needs."""
    bound: Literal["upper"] | None = None
    """Our value is a physical ceiling: more than that is impossible."""


class ClaimList(CatalogEntry):
    """The checkable claims."""

    kind: Literal["claims"] = "claims"
    claims: tuple[Claim, ...]


class JudgedClaim(Noun):
    """A claim with our value and the verdict."""

    claim: Claim
    ours: float
    verdict: Literal["right", "rounded", "inconsistent", "impossible"]
