"""Commands that make problem files: from flags or answers, and from the samples."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option, prompt

from planner.errors import input_error, nearest
from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, OutFile
from planner.interfaces.output import Answer, message, on_stdout
from planner.interfaces.problem_flags import with_problem_flags
from planner.loaders.files_out import check_target, write_whole

_QUESTIONS = (
    ("model", "Model (Hugging Face or catalog id, or a path to a config.json)", "Qwen/Qwen3-32B"),
    ("users", "How many people use it at the busiest hour", "50"),
    ("think_time", "Time from an answer to the same user's next request", "20 s"),
    ("isl", "Input tokens of a request", "800"),
    ("osl", "Output tokens of a request", "300"),
    ("ttft", "First token within (P95)", "1 s"),
    ("itl", "Each further token within (P95)", "50 ms"),
    ("gpu", "GPUs, such as h100=16,l40s (empty: whatever is cheapest)", ""),
)
"""What ``planner init`` asks at a terminal: flag, question, and the answer of the Enter key."""


@with_problem_flags
def init(
    out: Annotated[
        Path, Option("--out", metavar="FILE", help="Where to write the problem; - for standard output.")
    ] = Path("problem.yaml"),
    stated: Mapping[str, Any] | None = None,
) -> None:
    """Write a problem file with comments, from flags or from answers at the terminal."""
    to_stdout = str(out) == "-"
    if not to_stdout:
        check_target("--out", out)
        if out.exists():
            raise input_error("planner init", "--out", f'"{out}", which exists', "the name of a new file")
    answers = dict(stated or {}) or _asked()
    from planner.app.new_problem import new_problem

    text = new_problem("planner init", answers, None if to_stdout else out)
    if to_stdout:
        with on_stdout():
            print(text, end="")  # noqa: T201 - the file is the answer
    else:
        write_whole(out, text.encode())
        message(f'planner: wrote {out}. Next: "planner plan {out}"')
    raise Exit(faults.ANSWERED)


def _asked() -> dict[str, Any]:
    """Answers at the terminal.

    Raises:
        InputError: there is no terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        found, expected = "neither flags nor a terminal", "--model and what it has to serve"
        maybe = '"planner init --model Qwen/Qwen3-32B --users 50 --isl 800 --osl 300"'
        raise input_error("planner init", "--model", found, expected, maybe)
    given = {name: prompt(text, default=default, err=True) for name, text, default in _QUESTIONS}
    kept: dict[str, Any] = {name: answer for name, answer in given.items() if answer.strip()}
    return kept | ({"gpu": [kept["gpu"]]} if "gpu" in kept else {})


def example(
    number: Annotated[
        str | None, Argument(metavar="N", help="Number or name of a sample; without it all are listed.")
    ] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """List the sample problems, or print one to start from."""
    from planner.app import examples as examples_case
    from planner.report import catalog_text, json_document

    rows = examples_case.samples()
    if number is None:
        listed = [row.listed() for row in rows]
        answer = Answer(as_json=as_json, out=out)
        answer.give(
            lambda: json_document.encode(listed),
            lambda: catalog_text.listing_view(listed, examples_case.COLUMNS),
        )
        raise Exit(faults.ANSWERED)
    found = next((row for row in rows if row.is_named(number)), None)
    if found is None:
        names = [row.name for row in rows]
        expected = f"a number from 1 to {len(rows)} or a name"
        raise input_error("planner example", "N", f'"{number}"', expected, nearest(number, names))
    checks = Checks("planner example")
    if as_json:
        checks.refuse("--json", "it with a sample", "no --json: a sample is YAML")
    checks.done()
    if out is not None:
        check_target("--out", out)
        write_whole(out, found.text.encode())
        message(f"planner: wrote {out}")
    else:
        with on_stdout():
            print(found.text, end="")  # noqa: T201 - the file is the answer
    raise Exit(faults.ANSWERED)
