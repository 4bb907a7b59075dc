"""Options as the solver reads them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.schema.choice import Option

OPTION = Option("chat: h100 tp1", "chat", "serve", "rent", "h100", 1, (Fraction(3, 2),))


def test_a_copy_is_what_dataclasses_make_of_it():
    fields = {"id": "chat: h100 tp1 in east", "place": "east", "ttft_s": Fraction(1, 3)}
    copy = OPTION.but(**fields)
    assert copy == replace(OPTION, **fields)
    assert hash(copy) == hash(replace(OPTION, **fields))
    assert OPTION.place == ""


def test_a_copy_has_no_fields_of_its_own():
    with pytest.raises(TypeError, match="colour"):
        OPTION.but(colour="red")
