"""The base of every noun: frozen, closed, documented on the field, with unit-bearing types."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from planner import units
from planner.schema.descriptions import DescribedJsonSchema
from planner.units import Dimension


class Noun(BaseModel):
    """A frozen record that refuses fields it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        arbitrary_types_allowed=False,
        # A command checks a few of the nouns that it loads: each is built when it is first used.
        defer_build=True,
    )

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """JSON Schema with the meaning of every field."""
        return super().model_json_schema(*args, **({"schema_generator": DescribedJsonSchema} | options))


def build_all() -> None:
    """Build every noun that is known now, before threads use them: two must not build one at a time."""
    waiting: list[type[Noun]] = [Noun]
    while waiting:
        noun = waiting.pop()
        noun.model_rebuild()
        waiting += noun.__subclasses__()


def earlier(name: str, old: str) -> AliasChoices:
    """Of a field: read by its name, or by the one that plans of earlier versions hold."""
    return AliasChoices(name, old)


def refused(found: str, expected: str, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """What a noun raises whose keys do not go together; ``at``: the place of the fault below the noun."""
    context = {"found": found, "expected": expected, "maybe": "", "at": at}
    return PydanticCustomError("problem", "found {found}, expected {expected}", context)


def _bounded(value: object) -> object:
    """A number whose exact arithmetic ends soon: as text and as ``Decimal`` it may have any exponent."""
    if isinstance(value, str | Decimal):
        try:
            number = Decimal(value) if len(str(value)) <= units.MAX_CHARACTERS else None
        except ArithmeticError:
            return value
        if number is None or (number.is_finite() and not units.is_moderate(number)):
            raise _quantity(value, f"a number between 1e-{units.MAX_EXPONENT} and 1e{units.MAX_EXPONENT}")
    return value


_WHOLE_PERCENT = 100
Exact = Annotated[Decimal, BeforeValidator(_bounded)]
"""An exact number of moderate size."""


_LEAST_USD = Decimal("1e-9")
_MOST_DIGITS = 15
"""Before the point: larger amounts are left as they are."""


def plain_usd(amount: Decimal) -> Decimal:
    """An amount to a billionth of a dollar, without what arithmetic in floats leaves behind it.

    1.2800000000000002 is 1.28: as exact numbers, such prices have denominators that no search can prove with.
    """
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int) or exponent >= _LEAST_USD.adjusted() or amount.adjusted() > _MOST_DIGITS:
        return amount
    near = amount.quantize(_LEAST_USD)
    if near == near.to_integral_value():
        return near.to_integral_value() if near else amount
    return near.normalize()


def _quantity(found: object, expected: str, maybe: str = "") -> PydanticCustomError:
    return PydanticCustomError(
        "quantity",
        "found {found}, expected {expected}",
        {"found": repr(found), "expected": expected, "maybe": maybe},
    )


def _reader(dimension: Dimension, positive: bool) -> Any:
    def read(value: object) -> Decimal:
        try:
            number = units.parse(value, dimension)
        except units.UnitError as problem:
            raise _quantity(problem.found, problem.expected, problem.maybe) from problem
        if (
            not number.is_finite()
            or number < 0
            or (positive and float(number) == 0)
            or not math.isfinite(float(number))
        ):
            bound = "above zero" if positive else "of zero or more"
            raise _quantity(value, f"a {dimension.name} {bound}")
        return number

    return read


def _part(value: object) -> Decimal:
    """``40 %``, or 0.4: what divides a whole has no other unit; 40 alone may be either."""
    try:
        bare = None if isinstance(value, bool) else Decimal(str(value))
    except ArithmeticError:
        bare = None
    if bare is None:
        return _share_limit(_reader(units.FRACTION, positive=False)(value)).normalize()
    if not bare.is_finite() or not 0 <= bare <= 1:
        maybe = f"{bare} %" if bare.is_finite() and 1 < bare <= _WHOLE_PERCENT else ""
        raise _quantity(str(value), 'a share between 0 and 1, such as 0.4 or "40 %"', maybe)
    return Decimal(str(_bounded(bare)))


def _share_limit(value: Decimal) -> Decimal:
    if value > 1:
        raise _quantity(units.text(value, units.FRACTION), "a share between 0 % and 100 %")
    return value


def _schema(dimension: Dimension) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": "string",
            "description": f"{dimension.name} with its unit ({dimension.unit_names()})",
            "examples": [dimension.example],
        }
    )


def _writer(dimension: Dimension) -> PlainSerializer:
    return PlainSerializer(lambda value: units.text(value, dimension), return_type=str)


Seconds = Annotated[
    Decimal,
    BeforeValidator(_reader(units.SECONDS, positive=True)),
    _writer(units.SECONDS),
    _schema(units.SECONDS),
]
"""A duration above zero, exact, in seconds."""
FirstTokenSeconds = Annotated[
    Decimal,
    BeforeValidator(_reader(units.FIRST_TOKEN, positive=True)),
    _writer(units.SECONDS),
    _schema(units.FIRST_TOKEN),
]
"""As `Seconds`, of the size of a time to first token: so a number without its unit is guessed."""
GapSeconds = Annotated[
    Decimal,
    BeforeValidator(_reader(units.GAP, positive=True)),
    _writer(units.SECONDS),
    _schema(units.GAP),
]
"""As `Seconds`, of the size of the time between two tokens."""
RequestSeconds = Annotated[
    Decimal,
    BeforeValidator(_reader(units.REQUEST, positive=True)),
    _writer(units.SECONDS),
    _schema(units.REQUEST),
]
"""As `Seconds`, of the size of a whole request."""
LeadSeconds = Annotated[
    Decimal,
    BeforeValidator(_reader(units.LEAD, positive=True)),
    _writer(units.SECONDS),
    _schema(units.LEAD),
]
"""As `Seconds`, of the size of the time from order to service."""
DeadlineSeconds = Annotated[
    Decimal,
    BeforeValidator(_reader(units.DEADLINE, positive=True)),
    _writer(units.SECONDS),
    _schema(units.DEADLINE),
]
"""As `Seconds`, of hours to days."""
Bytes = Annotated[
    Decimal, BeforeValidator(_reader(units.BYTES, positive=True)), _writer(units.BYTES), _schema(units.BYTES)
]
"""A memory size above zero, in bytes."""
BytesPerSecond = Annotated[
    Decimal,
    BeforeValidator(_reader(units.BYTES_PER_S, positive=True)),
    _writer(units.BYTES_PER_S),
    _schema(units.BYTES_PER_S),
]
"""A bandwidth above zero, one way, in bytes per second."""
Flops = Annotated[
    Decimal, BeforeValidator(_reader(units.FLOPS, positive=True)), _writer(units.FLOPS), _schema(units.FLOPS)
]
"""A dense compute rate above zero, in FLOP per second."""
Watts = Annotated[
    Decimal, BeforeValidator(_reader(units.WATTS, positive=True)), _writer(units.WATTS), _schema(units.WATTS)
]
"""A power above zero, in watts."""
UsdPerHour = Annotated[
    Decimal,
    BeforeValidator(_reader(units.USD_PER_H, positive=False)),
    AfterValidator(plain_usd),
    _writer(units.USD_PER_H),
    _schema(units.USD_PER_H),
]
"""Money per hour, zero or more, exact, in USD per hour."""
UsdPerKwh = Annotated[
    Decimal,
    BeforeValidator(_reader(units.USD_PER_KWH, positive=False)),
    _writer(units.USD_PER_KWH),
    _schema(units.USD_PER_KWH),
]
"""Price of electricity, zero or more, exact, in USD per kilowatt-hour."""
Share = Annotated[
    Decimal,
    BeforeValidator(_reader(units.FRACTION, positive=False)),
    AfterValidator(_share_limit),
    _writer(units.FRACTION),
    _schema(units.FRACTION),
]
"""A share between 0 % and 100 %, exact, as a fraction of one."""
Part = Annotated[
    Decimal,
    BeforeValidator(_part),
    WithJsonSchema(
        {
            "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}],
            "description": "share of a whole that is divided, with its unit or as a fraction of one",
            "examples": ["40 %", 0.4],
        }
    ),
]
"""One of the shares that a whole is divided into, exact, as a fraction of one; read in both forms."""
PartInPercent = Annotated[Part, _writer(units.FRACTION)]
"""As `Part`, written in percent."""
Percentage = Annotated[
    Decimal,
    BeforeValidator(_reader(units.FRACTION, positive=False)),
    _writer(units.FRACTION),
    _schema(units.FRACTION),
]
"""A percentage of zero or more (it may pass 100 %), exact, as a fraction of one."""
