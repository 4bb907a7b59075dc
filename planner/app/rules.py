"""Looking at the rules of planning and of the debugger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner import resources
from planner.app.diagnose import checked_rulebook
from planner.app.explain_plan import alarms
from planner.diagnosis import resize
from planner.errors import Fault, InputError, input_error, nearest
from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules
from planner.schema.base import Noun


def rules_list(overlays: tuple[Path, ...] = ()) -> list[dict[str, Any]]:
    """Id and title of every rule, with the effect of planning rules and the layer of debugger rules."""
    planning = [
        {"id": rule.id, "kind": "planning", "effect": rule.effect, "title": rule.title}
        for rule in load_planning_rules(overlays)
    ]
    debugger = [
        {"id": rule.id, "kind": "debugger", "layer": rule.layer, "title": rule.title}
        for rule in checked_rulebook(overlays).rules.values()
    ]
    built_in = [{"id": resize.RULE, "kind": "debugger", "layer": resize.LAYER, "title": resize.TITLE}]
    return [*planning, *debugger, *built_in]


def rules_show(rule_id: str, overlays: tuple[Path, ...] = ()) -> dict[str, Any]:
    """One rule as a document; one of the debugger with its symptoms.

    Raises:
        InputError: no rule has this id.
    """
    rulebook = checked_rulebook(overlays)
    planning = {rule.id: rule for rule in load_planning_rules(overlays)}
    if rule_id in planning:
        return {"id": rule_id, "kind": "planning"} | _document(planning[rule_id])
    if rule_id in rulebook.rules:
        rule = rulebook.rules[rule_id]
        symptoms = [_document(rulebook.symptoms[name]) for name in rule.symptoms]
        return {"id": rule_id, "kind": "debugger"} | _document(rule) | {"symptoms": symptoms}
    if rule_id == resize.RULE:
        return resize.document(alarms(load_catalog(overlays)))
    hint = nearest(rule_id, (*planning, *rulebook.rules, resize.RULE))
    raise input_error("planner rules show", "ID", f'"{rule_id}"', "the id of a rule", hint)


def rules_check(overlays: tuple[Path, ...] = ()) -> dict[str, int]:
    """Number of planning rules by effect and of debugger rules, after everything was read and checked.

    In a checkout the examples of the rules are checked too; an installed program has none.

    Raises:
        InputError: everything wrong with the rules.
    """
    counts: dict[str, int] = {}
    planning = load_planning_rules(overlays)
    for rule in planning:
        counts[rule.effect] = counts.get(rule.effect, 0) + 1
    examples = resources.own_folder("rules").parent / "tests" / "rules"
    rulebook = checked_rulebook(overlays, examples if examples.is_dir() and not overlays else None)
    twice = [rule.id for rule in planning if rule.id in rulebook.rules]
    if twice:
        places = [rulebook.places[f"rule/{name}"] for name in twice]
        raise InputError(
            Fault(place, "id", f'"{name}", which is a planning rule too', "an id of its own")
            for name, place in zip(twice, places, strict=True)
        )
    return counts | {"debugger": len(rulebook.rules), "symptoms": len(rulebook.symptoms)}


def _document(noun: Noun) -> dict[str, Any]:
    document: dict[str, Any] = noun.model_dump(mode="json", by_alias=True, exclude_none=True)
    return document
