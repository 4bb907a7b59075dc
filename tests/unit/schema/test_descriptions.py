"""What fields mean, read from the strings below them."""

from __future__ import annotations

from planner.schema.base import Noun
from planner.schema.descriptions import descriptions


class Wheel(Noun):
    """Turns."""

    spokes: int
    """How many.

    At least none.
    """
    rim: str = ""


class Cog(Wheel):
    """A wheel with teeth."""

    teeth: int
    """Around it."""
    axle: Wheel | None = None
    """What it sits on."""


def test_fields_are_described_by_the_string_below_them():
    assert descriptions(Wheel) == {"spokes": "How many.\n\nAt least none."}


def test_a_noun_inherits_what_its_base_says():
    assert list(descriptions(Cog)) == ["spokes", "teeth", "axle"]


def test_the_schema_says_what_every_field_means():
    properties = Cog.model_json_schema()["properties"]
    assert properties["teeth"]["description"] == "Around it."
    assert properties["axle"]["description"] == "What it sits on."
    assert "description" not in properties["rim"]
