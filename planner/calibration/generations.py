"""Which generation of its engine a run was made with."""

from __future__ import annotations

import re

from planner.schema.engine import Engine, EngineGeneration

_NUMBER = re.compile(r"(?:^|[v -])(\d+(?:\.\d+)+)")


def generation_of(engine: Engine, product: str, version: str) -> EngineGeneration | None:
    """The former generation of a version; None: the present one.

    A version without a number of its own (a nightly build, a document) counts as present.

    Args:
        engine: with its generations.
        product: the name that the table gives the engine; some products count versions in their own way.
        version: as the table states it.
    """
    found = version_parts(version)
    if not found:
        return None
    for generation in engine.generations:
        own = (limit for name, limit in generation.products.items() if product.casefold().startswith(name))
        if found < version_parts(next(own, generation.before)):
            return generation
    return None


def version_parts(version: str) -> tuple[int, ...]:
    """Numbers of a version, without what follows them (``1.2.0rc5`` is 1, 2, 0); none without a number."""
    found = _NUMBER.search(version.strip())
    return () if found is None else tuple(int(part) for part in found[1].split("."))
