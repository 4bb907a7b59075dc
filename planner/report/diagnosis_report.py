"""A diagnosis as a report to put into a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from planner.report.diagnosis_brief import headline
from planner.report.diagnosis_text import OPERATORS, words
from planner.report.effect_text import fit_lines, row_cells
from planner.report.sections.build import bullets, section
from planner.schema.debugger_words import LAYERS
from planner.schema.diagnosis import ActionAdvised, Diagnosis, Finding
from planner.schema.metrics import METRICS
from planner.schema.report import Block, Chapter, Column, Command, Paragraph, Report, Section, Table


def report_of(diagnosis: Diagnosis) -> Report:
    """Verdict, proof, what to do and how to undo it, other causes, prices, what is not known."""
    sections = (
        _verdict(diagnosis),
        *(_finding(number, one) for number, one in enumerate(diagnosis.findings, start=1)),
        _prices(diagnosis),
        section("open", "Not decided", bullets(_open(diagnosis))),
        section("need", "Measure next", bullets(_needs(diagnosis))),
        section("notes", "About the numbers", bullets(one.text for one in diagnosis.notes)),
    )
    chapter = Chapter("", tuple(one for one in sections if one is not None))
    return Report("Diagnosis", (chapter,), "planner diagnose")


def _verdict(diagnosis: Diagnosis) -> Section | None:
    seen = [diagnosis.titles.get(name, name) for name in diagnosis.symptoms]
    judged = f"{len(diagnosis.judged)} of {diagnosis.measures} measures were observed"
    lines = (f"Severity: {diagnosis.severity}; {judged}", *([f"Seen: {'; '.join(seen)}"] if seen else []))
    return section("verdict", "Verdict", Paragraph(headline(diagnosis), "lead"), bullets(lines))


def _finding(number: int, finding: Finding) -> Section | None:
    doubt = ", in doubt" if finding.ranking.in_doubt else ""
    layer = f"{finding.layer} {LAYERS[finding.layer].title}, {LAYERS[finding.layer].authority}"
    facts = [
        f"Layer: {layer}",
        f"Why: {finding.because}",
        f"How sure: {'possible' if finding.ranking.possible else finding.ranking.strength}{doubt}",
        *(f"Or: {one}" for one in finding.alternatives),
        *([f"To decide look at: {', '.join(finding.look_at)}"] if finding.look_at else []),
        *([f"Until: {finding.stop}"] if finding.stop else []),
        f"Rule: {finding.rule} ({finding.source.document}, {finding.source.section})",
    ]
    blocks = [block for place, one in enumerate(finding.actions, start=1) for block in _action(place, one)]
    evidence = _evidence(number, finding)
    title = f"{number}. {finding.title}"
    return section(f"finding-{number}", title, Paragraph(finding.cause), bullets(facts), evidence, *blocks)


def _evidence(number: int, finding: Finding) -> Table | None:
    rows = []
    for one in finding.evidence:
        unit = METRICS[one.metric].unit
        limit = f"{OPERATORS.get(one.op, one.op)} {words(one.threshold, unit)}"
        rows.append((one.metric, words(one.value, unit), limit, one.role))
    columns = tuple(Column(title) for title in ("metric", "value", "compared with", "role"))
    return Table(f"evidence-{number}", "Evidence", columns, tuple(rows)) if rows else None


def _action(place: int, one: ActionAdvised) -> Iterator[Block]:
    expect = one.effect if isinstance(one.effect, str) else one.effect.text
    yield Paragraph(f"Do {place}: {one.text}. Expect: {expect}. Takes: {one.cost}.")
    texts = {"": one.command} if one.command else {**one.flags, **one.commands}
    undo = f" (undo: {one.undo})" if one.undo else ""
    for engine, text in texts.items():
        yield Command(f"{f'Set, {engine}' if engine else 'Set'}{undo}", text)


def _prices(diagnosis: Diagnosis) -> Section | None:
    plan = diagnosis.plan
    if plan is None:
        return None
    titles = ("", "TTFT P99", "ITL P99", "capacity", "cost", "limits")
    rows = tuple(tuple(row_cells(one)) for one in plan.table)
    title = f"On the plan {plan.problem}, workload {plan.workload}"
    table = Table("prices", title, tuple(map(Column, titles)), rows)
    return section("prices", "What each action would do", bullets(fit_lines(plan)), table if rows else None)


def _open(diagnosis: Diagnosis) -> Iterator[str]:
    for one in diagnosis.open:
        yield f"{one.layer} {one.title}: {', '.join(one.unknown)}"


def _needs(diagnosis: Diagnosis) -> Iterator[str]:
    for name in diagnosis.need:
        yield f"{name}: {METRICS[name].meaning}" if METRICS[name].meaning else name
