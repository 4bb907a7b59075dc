"""Documents as JSON bytes: the same document always gives the same bytes."""

from __future__ import annotations

import json
from typing import Any

from planner.characters import spelled
from planner.schema.answer import drop_unknown_times
from planner.schema.base import Noun
from planner.schema.estimate import Curve, Estimate
from planner.schema.plan import Plan


def encode(document: object) -> bytes:
    """UTF-8 JSON with an indent of two, keys in the order of the document, and one line break at the end.

    Raises:
        ValueError: a number that is infinite or not a number; JSON has no word for it.
    """
    return _encoded(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def line(noun: Noun) -> bytes:
    """A noun as one line of JSON, for answers that go on and on."""
    return _encoded(json.dumps(of(noun), ensure_ascii=False, allow_nan=False))


def _encoded(text: str) -> bytes:
    """UTF-8, with escapes for characters that steer terminals; JSON has its own for those below a space."""
    return ("\n".join(spelled(line) for line in text.split("\n")) + "\n").encode()


def of(noun: Noun) -> dict[str, Any]:
    """A noun as a document, under the names that the contract uses; wall times only where they are known."""
    document: dict[str, Any] = noun.model_dump(mode="json", by_alias=True)
    drop_unknown_times(document)
    return document


def of_plan(plan: Plan) -> dict[str, Any]:
    """A plan, GPU types in alphabetical order."""
    document = of(plan)
    document["gpus"] = dict(sorted(plan.gpus.items()))
    return document


def of_estimate(estimate: Estimate | Curve) -> dict[str, Any]:
    """An estimate or a curve, or only the reasons when the configuration cannot run."""
    document = of(estimate)
    if estimate.cannot_run:
        kept = ("option", "cannot_run", "memory_bytes", "warnings")
        return {key: document[key] for key in kept if document[key]}
    del document["cannot_run"]
    if isinstance(estimate, Curve) and estimate.before is not None:
        document["before"] = of_estimate(estimate.before)
    return document
