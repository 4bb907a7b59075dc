"""The plan that the README shows: the first problem on one screen."""

from pathlib import Path

import planner
from planner.report import plan_brief, terminal

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
START, END = "<!-- plan -->\n", "<!-- /plan -->"


def shown():
    """The block between the marks, as it should be."""
    plan = planner.load(ROOT / "problems" / "01-chat-70b.yaml").solve()
    return f"```text\n{terminal.render(plan_brief.view(plan), width=100)}```\n"


def block():
    """The block between the marks, as it is."""
    return README.read_text(encoding="utf-8").split(START)[1].split(END)[0]


def update():
    """Write the block anew."""
    before, rest = README.read_text(encoding="utf-8").split(START)
    after = rest.split(END)[1]
    README.write_text(f"{before}{START}{shown()}{END}{after}", encoding="utf-8")
