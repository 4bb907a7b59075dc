"""The plan that the README shows: the first problem, up to its cost."""

from pathlib import Path

import planner
from planner.report import plan_text, terminal

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
START, END = "<!-- plan -->\n", "<!-- /plan -->"
LAST_SECTION = "\nAll GPU types"


def shown():
    """The block between the marks, as it should be."""
    plan = planner.load(ROOT / "problems" / "01-chat-70b.yaml").solve()
    text = terminal.render(plan_text.view(plan), width=100)
    return f"```text\n{text.split(LAST_SECTION, maxsplit=1)[0].rstrip()}\n…\n```\n"


def block():
    """The block between the marks, as it is."""
    return README.read_text(encoding="utf-8").split(START)[1].split(END)[0]


def update():
    """Write the block anew."""
    before, rest = README.read_text(encoding="utf-8").split(START)
    after = rest.split(END)[1]
    README.write_text(f"{before}{START}{shown()}{END}{after}", encoding="utf-8")
