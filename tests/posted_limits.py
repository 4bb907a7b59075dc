"""What a limit of the plan posts in both engines, as text, for a toy fleet."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check import bill
from planner.constraints.fleet_check_market import broken_limits
from planner.constraints.plan.limit import Stated
from planner.loaders.catalog import load_catalog
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetLimits, FleetProblem, Host, Line, PeriodChoice, Site
from planner.schema.problem import Problem
from planner.solver.cp.canonical import distinct_periods, in_order
from planner.solver.cp.engine import Engine
from planner.solver.mip.mip import INF, Model
from planner.solver.mip.prepared import prepare
from planner.solver.mip.purchases import PurchaseWriter

F = Fraction
EAST, WEST = Site("p", "east"), Site("q", "west")
OPTIONS = (
    Option("small", "chat", "serve", "g", "g", 1, (F(2),), power_w=F(100)),
    Option("large", "code", "serve", "h", "h", 2, (F(5),), power_w=F(300)),
)
LINES = (
    Line("g/owned", "g", "g", "owned", F(1), site=EAST),
    Line("g/spot", "g", "g", "spot", F(2), site=WEST),
    Line("h/on_demand", "h", "h", "on_demand", F(3), 2, site=WEST),
)


def toy(*rows, lines=LINES, periods=1, **limits):
    """Two workloads on two types of GPUs, three lines, two places."""
    demands = tuple(
        FleetDemand(name, "serve", tuple((F(need + t),) for t in range(periods)))
        for name, need in (("chat", 6), ("code", 4))
    )
    return FleetProblem(
        periods, OPTIONS, (Host("g", "g"), Host("h", "h", 2)), lines, demands, FleetLimits(rows, **limits)
    )


def problem(fleet=None, **workload):
    """A problem file with these keys."""
    workloads = [{"name": name, "demand": {"peak_rps": 1}, **workload} for name in ("chat", "code")]
    return Problem.model_validate(
        {"name": "toy", "workers": "rows.csv", "workloads": workloads, "fleet": fleet or {}}
    )


def plan(bought, small=0, large=0, site=EAST):
    """One period."""
    counts = {("small", site): small, ("large", WEST): large}
    return PeriodChoice({place: n for place, n in counts.items() if n}, bought)


def faults(question, *periods):
    """What the check without a solver says of limits."""
    paid = bill(question, periods).periods
    return list(broken_limits(question, periods, [one.usd for one in paid], [one.gpus for one in paid]))


def stated(limit, fleet=None, lines=LINES, **workload):
    """Ids, values and paths of the rows that a problem file asks for."""
    found = problem(fleet, **workload)
    rows = limit.rows(Stated(found, lines, found.fleet.stock, load_catalog()))
    return [(row.id, row.most, row.path) for row in rows]


def in_cp(question):
    """Rows and bounds that CP-SAT gets beyond those of the same fleet without limits."""
    return _beyond(_cp(question), _cp(_bare(question)))


def in_mip(question):
    """The same for HiGHS, over the purchases of every period."""
    return _beyond(_mip(question), _mip(_bare(question)))


def _bare(question):
    lines = tuple(replace(line, max_gpus=None, max_share=None) for line in question.lines)
    return replace(question, lines=lines, limits=FleetLimits(objective=question.limits.objective))


def _beyond(rows, others):
    left = Counter(rows) - Counter(others)
    return sorted(left.elements())


def _cp(question):
    ordered = in_order(question)
    engine = Engine(ordered, distinct_periods(ordered), frozenset(), deadline_s=None, seed=0, workers=1)
    proto = engine.model.cp.proto
    names = [variable.name for variable in proto.variables]
    found = [f"{name} <= {list(v.domain)[-1]}" for name, v in zip(names, proto.variables, strict=True)]
    for row in proto.constraints:
        if row.has_linear():
            terms = sorted(zip((names[v] for v in row.linear.vars), row.linear.coeffs, strict=True))
            low, *_, high = list(row.linear.domain)
            found.append(_row([(name, float(a)) for name, a in terms], low, high, abs(low) > 2**60))
    return found


def _mip(question):
    prepared, model = prepare(question, dominance=False), Model()
    found = PurchaseWriter(prepared).write(model, range(question.periods))
    names = defaultdict(lambda: "x")
    for (t, index), column in found.units.items():
        names[column] = f"buy[{question.lines[index].id}@{t}]"
    for t in range(question.periods):
        for number, weight in enumerate(prepared.counted):
            ((column, _),) = found.provides[prepared.counted_at(t, number)]
            names[column] = f"{type(weight).__name__}@{t}"
    rows = [f"{names[c]} <= {high:g}" for c, high in enumerate(model.upper) if c in names]
    entries = defaultdict(list)
    for row, column, entry in zip(model.row_of, model.column_of, model.entries, strict=True):
        entries[row].append((names[column], entry))
    for row, terms in entries.items():
        low, high = model.row_lower[row], model.row_upper[row]
        rows.append(_row(sorted(terms), low, high, low == -INF))
    return rows


def _row(terms, low, high, free):
    left = " + ".join(name if a == 1 else f"{a:g} {name}" for name, a in terms)
    return f"{left} <= {high:g}" if free else f"{left} >= {low:g}"
