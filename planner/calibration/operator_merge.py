"""Operators of fitted tables beside those of the calibration that no table speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.calibration.fit_operators import FittedOperators
from planner.errors import Fault, InputError
from planner.schema.calibration import OperatorError
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorTable
from planner.steptime.operators import (
    ALL_REDUCE,
    EXCHANGE,
    SIXTEEN_BIT_PRODUCT,
    SMALL_KERNEL,
    architecture_names,
)

NEEDED = (
    SIXTEEN_BIT_PRODUCT,
    SMALL_KERNEL,
    "decode_attention.bf16",
    "prefill_attention.bf16",
    "mla_decode.bf16",
    "mla_prefill.bf16",
    "moe.bf16",
)
"""A step of an architecture is made of all of them, or of none."""
_TABLES = {
    ALL_REDUCE: "collectives",
    EXCHANGE: "expert_exchange",
    SMALL_KERNEL.split(".", maxsplit=1)[0]: "gated_delta_net",
}
"""Operator -> its table, where that has another name."""

Numbers = Mapping[str, dict[str, dict[str, float]]]


def with_operators(
    catalog: Catalog, tables: Iterable[OperatorTable], found: FittedOperators
) -> tuple[Calibration, tuple[OperatorError, ...]]:
    """The catalog's calibration with what was fitted.

    Operators of which no table has rows of an architecture stay as they are there, with their errors.

    Raises:
        InputError: an architecture that would have some of the operators of a step and not all.
    """
    calibration = catalog.calibration
    seen = {(name, table.kind) for table in tables for name in _architectures(table, catalog)}
    numbers = {name: dict(operators) for name, operators in found.numbers.items()}
    for architecture, operators in calibration.operators.items():
        kept = {name: item for name, item in operators.items() if (architecture, _table_of(name)) not in seen}
        if kept:
            numbers[architecture] = dict(sorted((numbers.get(architecture, {}) | kept).items()))
    _check(numbers)
    before = calibration.fit.operators if calibration.fit else ()
    errors = [one for one in before if (one.architecture, _table_of(one.operator)) not in seen]
    return calibration.model_copy(update={"operators": dict(sorted(numbers.items()))}), tuple(
        sorted((*found.errors, *errors), key=lambda one: (one.operator, one.architecture))
    )


def _architectures(table: OperatorTable, catalog: Catalog) -> set[str]:
    known = (catalog.accelerator(name) for name in set(table.words["gpu"]))
    return {architecture_names(gpu)[0] for gpu in known if gpu is not None}


def _table_of(operator: str) -> str:
    name = operator.split(".", maxsplit=1)[0]
    return _TABLES.get(name, name)


def _check(numbers: Numbers) -> None:
    faults = []
    for architecture, operators in numbers.items():
        lacking = [name for name in NEEDED if name not in operators]
        if lacking:
            words = f"numbers of {', '.join(operators)} alone"
            expected = f"tables from which {', '.join(lacking)} can be fitted too: steps need all of them"
            faults.append(Fault("--operators", architecture, words, expected))
    if faults:
        raise InputError(faults)
