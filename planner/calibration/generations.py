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
    found = _NUMBER.search(version.strip())
    if found is None:
        return None
    for generation in engine.generations:
        own = (limit for name, limit in generation.products.items() if product.casefold().startswith(name))
        if _parts(found[1]) < _parts(next(own, generation.before)):
            return generation
    return None


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
