"""A debugger rule as a page: conditions in words, thresholds with their sources, actions in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.report.graph_colors import layer_title
from planner.report.parts import bullets, pairs, section, table

Document = Mapping[str, Any]


def view(rule: Document) -> RenderableType:
    """The document of a debugger rule as ``planner rules show`` prints it."""
    facts = [
        ("layer", layer_title(rule["layer"])),
        ("cause", rule["cause"]),
        ("why", rule["because"]),
        ("strength", rule["strength"]),
        ("source", sources(rule["source"])),
    ]
    if rule.get("disagreement"):
        facts.append(("sources differ", rule["disagreement"]))
    evidence = [f"it is so when {words(rule['when'])}"]
    evidence += [f"ruled out when {words(rule['unless'])}"] if rule.get("unless") else []
    evidence += [f"supported when {words(one)}" for one in rule["supports"]]
    evidence += [f"in doubt when {words(one)}" for one in rule["against"]]
    after = [("next", ", ".join(rule["next"]))] if rule["next"] else []
    after += [("explains", ", ".join(rule["explains"]))] if rule["explains"] else []
    if rule.get("stop"):
        after.append(("stop", f"{rule['stop']['text']} ({words(rule['stop']['when'])})"))
    return Group(
        Text(f"{rule['title']} ({rule['id']})", style="bold"),
        pairs(facts),
        section("Seen as", bullets(_symptom(one) for one in rule["symptoms"])),
        section("Evidence", bullets(evidence)),
        section("Thresholds", table(["name", "value", "range", "meaning", "source"], _thresholds(rule))),
        section("Do, in this order", table(["action", "turn", "expect", "takes"], _actions(rule))),
        section("Afterwards", pairs(after)),
    )


def words(condition: Document) -> str:
    """A condition as a sentence: ``queue_depth > 1 and not (batching == static)``."""
    for join, between in (("all", " and "), ("any", " or ")):
        if condition.get(join):
            return "(" + between.join(words(part) for part in condition[join]) + ")"
    if condition.get("not"):
        return f"not {words(condition['not'])}"
    return f"{condition['metric']} {condition['op']} {_right(condition)}"


def sources(source: Document | Sequence[Document]) -> str:
    """Documents and sections."""
    listed = [source] if isinstance(source, Mapping) else source
    return "; ".join(f"{one['document']}, {one['section']}" for one in listed)


def _right(condition: Document) -> str:
    if condition.get("of"):
        factor = f"{condition['times']} × " if condition.get("times") else ""
        substitute = f" (else {condition['otherwise']})" if condition.get("otherwise") else ""
        return f"{factor}{condition['of']}{substitute}"
    if condition.get("threshold"):
        return str(condition["threshold"])
    value = condition["value"]
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def _symptom(symptom: Document) -> str:
    return f"{symptom['title']} ({symptom['id']}, {symptom['severity']}): {words(symptom['when'])}"


def _thresholds(rule: Document) -> list[list[str]]:
    listed: dict[str, Document] = {
        **{name: one for symptom in rule["symptoms"] for name, one in symptom["thresholds"].items()},
        **rule["thresholds"],
    }
    return [
        [name, str(one["value"]), _range(one), one["meaning"], sources(one["source"])]
        for name, one in listed.items()
    ]


def _range(threshold: Document) -> str:
    low, high = threshold.get("low"), threshold.get("high")
    return f"{low} to {high}" if low and high else ""


def _actions(rule: Document) -> list[list[str]]:
    return [
        [one["text"], f"{one['knob']}: {one['direction']}{_to(one)}", one["expect"], _takes(one)]
        for one in rule["then"]
    ]


def _to(action: Document) -> str:
    to = action.get("to")
    if to is None or isinstance(to, bool):
        return ""
    if isinstance(to, Mapping):
        return f" to {to['times']} × {to['of']}" if to.get("times") else f" to {to['of']}"
    return f" to {to}"


def _takes(action: Document) -> str:
    return str(action["cost"]) if action["safe"] else f"{action['cost']}, with care"
