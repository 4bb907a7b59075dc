"""Reads a problem file: shape, values, and every name in it, with all faults together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from planner.loaders.names import name_faults
from planner.loaders.rules import planning_rule_ids
from planner.loaders.said_lengths import in_tokens
from planner.loaders.trace_hours import with_hours
from planner.loaders.validation import validated
from planner.loaders.yaml_source import Document, read_asked_document
from planner.schema.catalog_index import Catalog
from planner.schema.problem import Problem


def load_problem(
    path: Path, catalog: Catalog, rules: Collection[str] | None = None, inside: Sequence[Path] = ()
) -> Problem:
    """The problem in a YAML file, with every name looked up in the catalog.

    Files and models that the problem names by path are looked for relative to the problem file; the problem
    keeps them as written.

    Args:
        path: The problem file, ``-`` for standard input.
        catalog: Where ids and aliases are looked up.
        rules: Ids of the planning rules that may be switched off; default: those of the program.
        inside: Folders in which named files must lie (see `named_files.roots`).

    Raises:
        InputError: everything wrong with the file, by line.
    """
    return problem_in(read_asked_document(path), path.parent, catalog, rules, inside)


def problem_in(
    document: Document,
    folder: Path,
    catalog: Catalog,
    rules: Collection[str] | None = None,
    inside: Sequence[Path] = (),
) -> Problem:
    """As `load_problem`, of a file that was read; ``folder`` is where the files that it names lie.

    Raises:
        InputError: everything wrong with the file, by line.
    """
    known = planning_rule_ids() if rules is None else tuple(rules)
    document = in_tokens(document, catalog)
    problem = validated(Problem, document, name_faults(document, catalog, known, folder, inside))
    return with_hours(problem, folder)


def load_problem_document(
    values: Mapping[str, Any],
    catalog: Catalog | None = None,
    name: str = "problem",
    folder: Path | None = None,
    rules: Collection[str] | None = None,
    inside: Sequence[Path] = (),
) -> Problem:
    """The problem in plain values, such as ``inputs.problem`` of a plan or a changed problem.

    Args:
        values: What the YAML or JSON text says.
        catalog: Where names are looked up; without it they are taken as they are.
        name: What messages call the document.
        folder: Where the files that the problem names lie; without it they are not looked for.
        rules: Ids of the planning rules that may be switched off; default: those of the program.
        inside: Folders in which named files must lie (see `named_files.roots`).

    Raises:
        InputError: everything wrong with the values.
    """
    document = Document(name, b"", _exact(dict(values)))
    if catalog is None:
        return validated(Problem, document)
    document = in_tokens(document, catalog)
    known = planning_rule_ids() if rules is None else tuple(rules)
    problem = validated(Problem, document, name_faults(document, catalog, known, folder, inside))
    return problem if folder is None else with_hours(problem, folder)


def _exact(value: Any) -> Any:
    """Floats of JSON as the decimals they were written as."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, Mapping):
        return {str(key): _exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(inner) for inner in value]
    return value
