"""Why not that GPU, option, line or supplier: held against the plan of a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from planner import numbers
from planner.app.fleet.kept import Kept, kept
from planner.app.fleet.plan import posed_settings
from planner.app.fleet.several import without_kinds
from planner.app.fleet.worth import PriceWorth, api_worth, line_worth
from planner.candidates.market import find_id
from planner.errors import input_error, nearest
from planner.schema.explanation import Worth
from planner.schema.fleet import FleetChoice, FleetProblem

if TYPE_CHECKING:
    from planner.app.run import Run
    from planner.app.session import Session

Answer = tuple[tuple[str, ...], tuple[Worth, ...]]


def why_not_in_fleet(session: Session, candidate: str, run: Run) -> Answer:
    """Sentences about a candidate: a GPU type, an option, a line ``GPU/TERM`` or an outside supplier.

    Raises:
        InputError: nothing of that name; with the nearest that there is.
    """
    case = posed_settings(session.study, session.problem)[1][0][1]
    aside = {} if case.posed is None else _by_id(session, case.posed.aside)
    what = aside.get(find_id(session.catalog.accelerator, candidate))
    if what is not None:
        return (f"{candidate}: {what}, so it was not considered.",), ()
    asked = _asked(session, case.question, candidate)
    if asked is None:
        return (f"{candidate} is not among what this problem can buy.",), ()
    kinds, lines, apis = asked
    ready = kept(session.study, session.problem, run)
    worths = (*_worths(ready, sorted(lines)), *(_api_worth(ready, api) for api in sorted(apis)))
    return _about(ready, candidate, kinds | apis, lines), worths


def _by_id(session: Session, aside: Mapping[str, str]) -> dict[str, str]:
    return {find_id(session.catalog.accelerator, name): what for name, what in aside.items()}


Asked = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""Options, lines of the supply, and outside suppliers."""


def _asked(session: Session, question: FleetProblem, candidate: str) -> Asked | None:
    """What a candidate stands for; None for a GPU that exists and is not on offer.

    Raises:
        InputError: nothing of that name.
    """
    none: frozenset[str] = frozenset()
    gpus = {line.gpu for line in question.lines} | {option.gpu for option in question.options}
    find = session.catalog.accelerator
    named = {find_id(find, gpu): gpu for gpu in gpus}
    gpu = candidate if candidate in gpus else named.get(find_id(find, candidate))
    if gpu is not None:
        return none, frozenset(line.id for line in question.lines if line.gpu == gpu), none
    if any(line.id == candidate for line in question.lines):
        return none, frozenset((candidate,)), none
    options = frozenset(o.id for o in question.options if candidate in (o.id, o.label))
    apis = frozenset(api.id for api in question.apis if candidate == api.id)
    if options or apis:
        return options, none, apis
    if find(candidate) is not None:
        return None
    known = [*sorted(gpus), *(line.id for line in question.lines), *(api.id for api in question.apis)]
    known += [option.label or option.id for option in question.options]
    raise input_error(
        "--candidate", "", f'"{candidate}"', "a GPU type, an option, a line of the supply or a supplier",
        nearest(candidate, known),
    )  # fmt: skip


def _about(ready: Kept, name: str, kinds: frozenset[str], lines: frozenset[str]) -> tuple[str, ...]:
    question, choice = ready.case.question, ready.answer.choice
    if choice.value is None:
        return ("There is no plan to hold it against: planner relax PROBLEM.",)
    return tuple(_sentences(ready, question, choice, name, kinds, lines))


def _sentences(
    ready: Kept,
    question: FleetProblem,
    choice: FleetChoice,
    name: str,
    kinds: frozenset[str],
    lines: frozenset[str],
) -> Iterator[str]:
    used = any(period.bought.get(line) for period in choice.periods for line in lines) or any(
        share.option in kinds for period in choice.periods for share in period.shares
    )
    if not used:
        yield f"The plan does without {name}."
        return
    other = ready.solve(without_kinds(question, kinds, lines))
    if other.value is None:
        why = "there is no plan" if other.status == "infeasible" else "no plan was found in time"
        yield f"The plan uses {name}; without it {why}."
        return
    more = float((other.cost_usd - choice.cost_usd) / question.periods)
    yield f"The plan uses {name}; without it the best plan costs {numbers.usd(more)}/h more."


def _worths(ready: Kept, lines: list[str]) -> tuple[Worth, ...]:
    gpus = {line.id: line.gpu for line in ready.case.question.lines}
    if ready.answer.choice.value is None:
        return ()
    return tuple(
        _worth(gpus[line], line, line_worth(ready.case.question, line, ready.solve)) for line in lines
    )


def _worth(gpu: str, line: str, found: PriceWorth) -> Worth:
    return Worth(
        gpu=gpu,
        usd_per_gpu_hour=float(found.today),
        price=found.verdict,
        wins_at_usd_per_gpu_hour=None if found.price is None else float(found.price),
        speed="unknown",
        text=f"{line}: {_in_words(found)}",
    )


def _in_words(found: PriceWorth) -> str:
    today = f"today {numbers.usd(float(found.today))}"
    if found.verdict == "always":
        return f"part of every plan at any price: nothing else serves; {today}."
    if found.verdict == "never":
        return f"no part of the best plan even for nothing; {today}."
    if found.price is None:
        return f"a limit ended the search for its break-even; {today}."
    return f"part of the best plan below {numbers.usd(float(found.price))} per GPU-hour, {today}."


def _api_worth(ready: Kept, api: str) -> Worth:
    found = api_worth(ready.case.question, api, ready.solve)
    words = {
        "always": "needed at any price: nothing else serves all of it.",
        "never": "no part of the best plan even for nothing.",
        "unknown": "a limit ended the search for its break-even.",
    }
    factor = None if found.price is None else float(found.price)
    text = words.get(found.verdict) or f"part of the best plan below {factor or 0.0:.3g} times its prices."
    return Worth(
        gpu=api,
        usd_per_gpu_hour=0.0,
        price=found.verdict,
        wins_at_usd_per_gpu_hour=None,
        speed="unknown",
        text=f"{api}: {text}",
    )
