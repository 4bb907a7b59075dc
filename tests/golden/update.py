"""Writes plans.yaml and the README's plan anew: `.venv/bin/python tests/golden/update.py`.

Look at what it changes before you keep it.
"""

from pathlib import Path

import readme

import planner

HERE = Path(__file__).parent
PROBLEMS = HERE.parents[1] / "problems"
HEADER = """\
# What the problems of problems/ cost. These numbers follow the catalog and the physics: after a change of
# either, `.venv/bin/python tests/golden/update.py` writes them anew; look at what changed before you keep it.
"""


def row(path):
    """One line of the table."""
    plan = planner.load(path).solve()
    cost = "null" if plan.cost_usd_per_hour is None else f"{plan.cost_usd_per_hour:.6g}"
    value = "null" if plan.objective.value is None else f"{plan.objective.value:.6g}"
    gap = "null" if plan.objective.gap is None else f"{plan.objective.gap:.2g}"
    gpus = ", ".join(f"{name}: {count}" for name, count in sorted(plan.gpus.items()))
    replicas = sum(pool.replicas for pool in plan.pools)
    return (
        f"{path.stem}: "
        f"{{status: {plan.status}, cost: {cost}, value: {value}, gap: {gap}, gpus: {{{gpus}}}, "
        f"replicas: {replicas}}}\n"
    )


if __name__ == "__main__":
    table = HEADER + "".join(row(path) for path in sorted(PROBLEMS.glob("*.yaml")))
    (HERE / "plans.yaml").write_text(table, encoding="utf-8")
    readme.update()
