"""The picture of the rooms shows the imports as they are."""

import re
from pathlib import Path

import grimp

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
GROUND = {"schema", "errors", "numbers", "units", "characters", "resources", "extras", "__main__"}


def room(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def test_the_picture_shows_the_imports():
    graph = grimp.build_graph("planner", cache_dir=None)
    imports = {
        (room(module), room(target))
        for module in graph.modules
        for target in graph.find_modules_directly_imported_by(module)
    }
    rooms = {(a, b) for a, b in imports if a and b and a != b and not {a, b} & GROUND}
    drawn = set(re.findall(r"^    (\w+) --> (\w+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert drawn == rooms
