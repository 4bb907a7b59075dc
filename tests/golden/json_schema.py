"""The part of JSON Schema that `planner schema` writes; an unknown keyword is an error, not a pass."""

NOTES = {"$schema", "$defs", "title", "description", "default", "examples", "deprecated"}
KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


def faults(value, schema, root=None, path="$"):
    """What a value breaks of a schema, as texts."""
    root = root or schema
    unknown = set(schema) - NOTES - set(CHECKS)
    assert not unknown, f"keywords that this validator does not know: {unknown}"
    return [
        fault
        for keyword, check in CHECKS.items()
        if keyword in schema
        for fault in check(value, schema, root, path)
    ]


def _kind(value, schema, root, path):
    name = schema["type"]
    if name == "integer":
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif name == "number":
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        fits = isinstance(value, KINDS[name])
    return [] if fits else [f"{path}: {value!r} is no {name}"]


def _at_least(value, schema, root, path):
    least = schema["minimum"]
    too_small = isinstance(value, int | float) and value < least
    return [f"{path}: {value!r} is below {least}"] if too_small else []


def _reference(value, schema, root, path):
    name = schema["$ref"].removeprefix("#/$defs/")
    return faults(value, root["$defs"][name], root, path)


def _any_of(value, schema, root, path):
    found = [faults(value, choice, root, path) for choice in schema["anyOf"]]
    return [] if any(not each for each in found) else [f"{path}: {value!r} fits none of the choices"]


def _properties(value, schema, root, path):
    if not isinstance(value, dict):
        return []
    known = schema["properties"]
    return [
        fault
        for key in value
        if key in known
        for fault in faults(value[key], known[key], root, f"{path}.{key}")
    ]


def _additional(value, schema, root, path):
    if not isinstance(value, dict):
        return []
    more, result = schema["additionalProperties"], []
    for key in value:
        if key in schema.get("properties", {}) or more is True:
            continue
        inner = f"{path}.{key}"
        result += [f"{inner}: not allowed"] if more is False else faults(value[key], more, root, inner)
    return result


def _required(value, schema, root, path):
    return [f"{path}: no {key}" for key in schema["required"] if isinstance(value, dict) and key not in value]


def _items(value, schema, root, path):
    items = value if isinstance(value, list) else []
    return [
        fault
        for number, item in enumerate(items)
        for fault in faults(item, schema["items"], root, f"{path}[{number}]")
    ]


def _one_of_these(value, schema, root, path):
    return [] if value in schema["enum"] else [f"{path}: {value!r} is none of {schema['enum']}"]


def _same(value, schema, root, path):
    return [] if value == schema["const"] else [f"{path}: {value!r} is not {schema['const']!r}"]


CHECKS = {
    "type": _kind,
    "$ref": _reference,
    "anyOf": _any_of,
    "properties": _properties,
    "additionalProperties": _additional,
    "required": _required,
    "items": _items,
    "enum": _one_of_these,
    "const": _same,
    "minimum": _at_least,
}
