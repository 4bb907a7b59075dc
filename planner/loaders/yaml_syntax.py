"""What the YAML parser refuses, in plain words."""

from __future__ import annotations

import yaml

from planner.errors import Fault


def syntax_fault(name: str, data: bytes, problem: yaml.YAMLError) -> Fault:
    """Where a text stops being YAML, and why, as far as the parser knows."""
    mark = getattr(problem, "problem_mark", None)
    if mark is None:  # a reader error: bytes that YAML does not allow
        position = getattr(problem, "position", 0) or 0
        line = data.count(b"\n", 0, position) + 1
        return Fault(f"{name}:{line}", "", "a control character", "printable text")
    where = f"{name}:{mark.line + 1}"
    text = str(getattr(problem, "problem", "") or "a syntax error")
    lines = data.decode("utf-8").splitlines()
    line_text = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line_text[: mark.column + 1]:
        return Fault(where, "", "a tab", "spaces for indentation")
    return Fault(
        where, "", f"text that is no YAML ({text})", 'lines of the form "key: value", indented alike'
    )
