"""What the fields of a noun mean: the string below each of them, read from the source when it is asked for.

Reading it for every class as it is made would take a tenth of the time to start.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema


@cache
def descriptions(noun: type[BaseModel]) -> Mapping[str, str]:
    """Name of a field -> its meaning; fields that a noun inherits keep theirs."""
    found: dict[str, str] = {}
    for kind in reversed(noun.__mro__):
        if issubclass(kind, BaseModel) and kind is not BaseModel:
            found |= _below_fields(kind)
    return found


def _below_fields(kind: type) -> dict[str, str]:
    """Of the fields that a class declares itself."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(made, ast.ClassDef), "the source of a class is one"
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(made.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


class DescribedJsonSchema(GenerateJsonSchema):
    """JSON Schema that says what every field means."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """Of one noun."""
        made: dict[str, Any] = super().model_schema(schema)
        noun: type[BaseModel] = schema["cls"]
        properties = made.get("properties", {})
        meanings = descriptions(noun)
        for name, field in noun.model_fields.items():
            shown = properties.get(name, properties.get(field.alias))
            if shown is not None and name in meanings:
                shown["description"] = meanings[name]
        return made
