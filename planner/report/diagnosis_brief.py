"""A diagnosis on the first screen: verdict, proof, alternatives, one setting and its way back, what to watch.

At most twelve lines of at most eighty columns; only a command that is longer than that stays whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.characters import spelled
from planner.report import baseline_text, diagnosis_text, effect_text
from planner.report.diagnosis_text import OPERATORS, words
from planner.report.parts import Unbroken
from planner.schema.debugger_words import LAYERS
from planner.schema.diagnosis import ActionAdvised, Diagnosis, EvidenceSeen, Finding
from planner.schema.metrics import METRICS

WIDTH, MOST = 80, 12
_LABEL = 9
_PROOFS = 2
_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}


def view(diagnosis: Diagnosis) -> RenderableType:
    """The screen."""
    lines = [*_lines(diagnosis)]
    if len(lines) >= MOST:
        lines = [*_lines(diagnosis, others=1)][: MOST - 1]
    return Group(*lines, *_clipped("", _rest(diagnosis), 1, "dim"))


def page(diagnosis: Diagnosis, *, details: bool = False) -> RenderableType:
    """The screen; below it prices on a plan and what changed, where asked for; with details everything."""
    parts = [view(diagnosis)]
    if diagnosis.plan is not None:
        parts.append(effect_text.section_of(diagnosis.plan, diagnosis.findings))
    if diagnosis.baseline is not None:
        parts.append(baseline_text.view(diagnosis.baseline, None if details else baseline_text.MOST))
    return Group(*parts, *([diagnosis_text.view(diagnosis)] if details else []))


def headline(diagnosis: Diagnosis) -> str:
    """What can honestly be said in one sentence."""
    seen = f"{len(diagnosis.judged)} of {diagnosis.measures} measures"
    if diagnosis.findings:
        first = diagnosis.findings[0]
        return f"{first.layer} {LAYERS[first.layer].title}: {first.title} ({_surely(first)})"
    if diagnosis.symptoms:
        names = "; ".join(diagnosis.titles.get(name, name) for name in diagnosis.symptoms)
        return f"No cause found for: {names}"
    if not diagnosis.judged:
        return "Nothing could be judged: no measure was read that could show a fault"
    return f"No finding: healthy as far as {seen} show"


def _surely(finding: Finding) -> str:
    rank = finding.ranking
    if rank.possible:
        return f"{_state(finding)}; possible, not shown"
    return f"{_state(finding)}; {rank.strength}{', in doubt' if rank.in_doubt else ''}"


def _state(finding: Finding) -> str:
    return "down" if finding.ranking.severity == "failure" else finding.ranking.severity


def _lines(diagnosis: Diagnosis, others: int = 2) -> Iterator[RenderableType]:
    yield from _clipped("", headline(diagnosis), 2, "bold")
    if diagnosis.findings:
        first = diagnosis.findings[0]
        yield from _proof(first)
        yield from _clipped("or", _others(diagnosis), others)
        yield from _action(diagnosis, first)
        yield from _clipped("watch", first.stop or "", 1)
    else:
        yield from _clipped("unjudged", ", ".join(diagnosis.unjudged), 2)
    need = diagnosis.findings[0].look_at if diagnosis.findings else diagnosis.need
    yield from _clipped("look at", ", ".join(need[:3]), 1)


def _proof(finding: Finding) -> Iterator[RenderableType]:
    """Two comparisons: what is seen, and what shows this cause; numbers first, nothing against it."""
    symptom = [one for one in finding.evidence if one.role == "symptom"]
    shows = [one for one in finding.evidence if one.role not in ("symptom", "against")]
    shown = [*symptom[:1], *shows, *symptom[1:]]
    numeric = [one for one in shown if not isinstance(one.value, bool | str | tuple)]
    others = [one for one in shown if one not in numeric]
    chosen = [*_once(numeric), *_once(others)][:_PROOFS]
    for one in chosen:
        yield from _clipped("seen", _comparison(one), 2 if _is_text(one) else 1)


def _once(evidence: Sequence[EvidenceSeen]) -> list[EvidenceSeen]:
    """One comparison a metric."""
    return list({one.metric: one for one in reversed(evidence)}.values())[::-1]


def _is_text(one: EvidenceSeen) -> bool:
    """Something that was said, which no comparison makes clearer."""
    return METRICS[one.metric].kind == "name" and not METRICS[one.metric].names and one.op == "!="


def _comparison(one: EvidenceSeen) -> str:
    if _is_text(one):
        return f"{one.metric} {words(one.value, '')}"
    unit = METRICS[one.metric].unit
    basis = "" if one.basis == "value" else f" ({one.basis})"
    op, right = OPERATORS.get(one.op, one.op), words(one.threshold, unit)
    return f"{one.metric} {words(one.value, unit)}, {op} {right}{basis}".replace(" 1/s", "/s")


def _others(diagnosis: Diagnosis) -> str:
    """What else it could be: other findings of the same symptom first, then what has no rule."""
    first, *rest = diagnosis.findings
    same = [one for one in rest if first.rule not in one.ranking.explained_by]
    names = [*(one.title for one in same), *first.alternatives]
    undecided = [one.title for one in diagnosis.open if one.symptom == first.symptom]
    if not names and undecided:
        return f"not decided: {'; '.join(undecided)}"
    ruled_out = any(one.symptom == first.symptom for one in diagnosis.excluded)
    none = "every other cause of this symptom is excluded" if ruled_out else "no other cause of it is known"
    return "; ".join(names) or none


def _action(diagnosis: Diagnosis, finding: Finding) -> Iterator[RenderableType]:
    if not finding.actions:
        yield from _clipped("do", "everything that its rule advises is done already", 1)
        return
    one = finding.actions[0]
    yield from _clipped("do", one.text, 2)
    yield from _setting(diagnosis, one)
    if not isinstance(one.effect, str):
        yield from _clipped("expect", effect_text.prediction(one.effect), 1)


def _setting(diagnosis: Diagnosis, one: ActionAdvised) -> Iterator[RenderableType]:
    if one.command is not None:
        now = "" if one.from_value is None else f"   # now: {words(one.from_value, '')}"
        yield Unbroken(spelled(f"{'set':<{_LABEL}}{one.command}{now}"))
        yield from _clipped("undo", one.undo or "", 1)
    elif diagnosis.engine in one.flags:
        flag = one.flags[diagnosis.engine].split(", ")[-1]
        turned = {"lower": ": a lower value", "raise": ": a higher value"}.get(one.direction, "")
        yield Unbroken(spelled(f"{'set':<{_LABEL}}{flag}{turned}"))
        yield from _clipped("undo", one.undo or _before(one), 1)
    elif diagnosis.engine is None and one.flags:
        texts = {**one.flags, **one.commands}
        named = [f"{_ENGINES.get(engine, engine)}: {text}" for engine, text in texts.items()]
        yield Unbroken(spelled(f"{'set':<{_LABEL}}{named[0]}"))
        yield from _clipped("", "; ".join(named[1:]), 1)
        yield from _clipped("undo", one.undo or f"{_before(one)}; --details has each engine", 1)
    else:
        yield from _clipped("undo", _before(one), 1)


def _before(one: ActionAdvised) -> str:
    if one.from_value is None or isinstance(one.from_value, bool):
        return "the value of before"
    return f"back to {words(one.from_value, '')}"


def _rest(diagnosis: Diagnosis) -> str:
    parts = [f"{diagnosis.severity}: {len(diagnosis.judged)} of {diagnosis.measures} measures"]
    if len(diagnosis.findings) > 1:
        parts.append(numbers.count(len(diagnosis.findings) - 1, "more finding"))
    if diagnosis.open:
        parts.append(f"{len(diagnosis.open)} undecided")
    return f"{'; '.join(parts)}; the rest: --details"


def _clipped(label: str, text: str, most: int, style: str = "") -> Iterator[RenderableType]:
    """Text in so many lines, cut with a mark; nothing for no text."""
    indent = _LABEL if label or style == "" else 0
    lines = wrap(" ".join(text.split()), WIDTH - indent, break_on_hyphens=False)
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: WIDTH - indent - 1].rstrip(" ,;") + "…"]
    for number, line in enumerate(lines):
        head = f"{label if number == 0 else '':<{indent}}" if indent else ""
        yield Text(f"{head}{line}", style, no_wrap=True)
