"""What is asked of every file of problems/: each verb as somebody types it, and the commands of the pages."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from planner.exports.registry import TARGETS

ROOT = Path(__file__).parents[2]
PROBLEMS = sorted((ROOT / "problems").glob("*.yaml"))
OBSERVATIONS = sorted((ROOT / "problems" / "observations").glob("*.yaml"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ENDLESS = "planner serve"
"""What does not end by itself; `tests/serve` starts it."""
_REFUSED = {
    ("routes", "08-infeasible"): "found none (status infeasible)",
    ("schedule", "08-infeasible"): "found none (status infeasible)",
    ("export", "08-infeasible"): "found none (status infeasible)",
    ("diagnose", "08-infeasible"): "found none: the plan is infeasible",
    ("replay", "08-infeasible"): "a plan with a fleet",
}
"""Verbs that mean nothing for the plan of a problem, and what they then say (exit 2)."""


@dataclass(frozen=True)
class Asked:
    """One command line; ``limited``: it takes --time-limit; ``refused``: the words of its exit 2."""

    arguments: tuple[str, ...]
    limited: bool = True
    json: tuple[str, ...] = ("--json",)
    refused: str = ""

    @property
    def verb(self):
        return self.arguments[0]

    def within(self, limit_s):
        """The arguments under a time limit, where there is one and the verb takes it."""
        limit = ("--time-limit", str(limit_s)) if limit_s is not None and self.limited else ()
        return (*self.arguments, *limit)


def of_problem(path):
    """Every verb that takes a problem."""
    problem = str(path)
    return [
        Asked(("whatif", problem, "--set", "fleet.max_utilization=85 %")),
        Asked(("relax", problem)),
        Asked(("alternatives", problem, "-k", "2")),
        Asked(("robust", problem)),
        Asked(("pareto", problem)),
        Asked(("whatif", problem, "--sweep", "fleet.min_replicas=1,3")),
    ]


def plan_of(path, out):
    """The verb that makes the plan which the others take."""
    return Asked(("plan", str(path), "--out", str(out)))


def of_plan(path, plan, other):
    """Every verb that takes a plan, here the one of a problem; ``other`` is a plan to compare with."""
    plan, other = str(plan), str(other)

    def handed_on(verb, form):
        refused = _REFUSED.get((verb, path.stem), "")
        return Asked((verb, plan, "--format", form), limited=False, json=(), refused=refused)

    def exported(target):
        folder = Path(plan).parent / f"export-{target}"
        refused = _REFUSED.get(("export", path.stem), "")
        return Asked(
            ("export", plan, "--to", target, "--out", str(folder)), limited=False, json=(), refused=refused
        )

    quick = ("--seeds", "1", "--duration", "30", "--no-change")
    refused = _REFUSED.get(("replay", path.stem), "")
    return [
        Asked(("replay", plan, *quick), limited=False, refused=refused),
        Asked(("explain", plan)),
        Asked(("explain", plan, "--steps")),
        Asked(("explain", plan, "--candidate", "h100-sxm")),
        Asked(("diff", plan, other), limited=False),
        Asked(("diff", plan, plan), limited=False),
        *(handed_on("routes", form) for form in ("table", "json", "csv", "httproute")),
        *(handed_on("schedule", form) for form in ("table", "json", "csv")),
        *(exported(target.id) for target in TARGETS),
        Asked(("report", plan, "--out", f"{plan}.html"), limited=False, json=()),
    ]


def of_observation(observed, path=None, plan=None):
    """The debugger on observed values, alone or held against the plan of a problem."""
    held = () if plan is None else ("--plan", str(plan))
    refused = "" if path is None else _REFUSED.get(("diagnose", path.stem), "")
    return Asked(("diagnose", "--observed", str(observed), *held), limited=False, refused=refused)


ANYWHERE = [
    Asked(words, limited=False, json=())
    for words in (
        *(("schema", noun) for noun in ("problem", "plan", "observation", "reference", "claims")),
        *((data, verb) for data in ("catalog", "rules") for verb in ("list", "check")),
        ("catalog", "show", "h100-sxm"),
        ("catalog", "show", "llama-3.3-70b"),
        ("rules", "show", "whole-servers"),
        *(("rules", "graph", "--format", form) for form in ("dot", "mermaid", "graphml", "svg")),
        ("--help",),
        ("--version",),
    )
]
"""Verbs that take no file."""


def fenced(page):
    """The `planner` commands in the fenced blocks of a page, continued lines joined."""
    blocks = _FENCED.findall(page.read_text(encoding="utf-8"))
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith("planner ") and not line.startswith(_ENDLESS)]


def typed(line, folder):
    """The arguments of a line, wildcards filled in as a shell does, and the file that `>` names."""
    words = shlex.split(line, comments=True)[1:]
    written = None
    if ">" in words:
        at = words.index(">")
        written, words = words[at + 1], words[:at] + words[at + 2 :]
    filled = []
    for word in words:
        found = sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else []
        filled += found or [word]
    return filled, written
