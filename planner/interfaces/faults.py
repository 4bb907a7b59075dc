"""From exceptions to exit codes: every fault in words, a traceback only for those who ask for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from typer import Abort, Exit

from planner.errors import Fault, InputError, PlannerError, nearest
from planner.interfaces import interrupts
from planner.interfaces.output import message, reader_left

ANSWERED = 0
NO = 1
"""An honest no: infeasible, or a configuration that cannot run."""
BAD_INPUT = 2
NO_ANSWER_YET = 3
BUG = 70
"""EX_SOFTWARE of sysexits.h."""


def guarded(work: Callable[[], object]) -> int:
    """Run a command line and turn whatever happens into an exit code and words on standard error."""
    code = _done(work)
    if code == interrupts.exit_code():
        message("planner: interrupted")
    return code


def _done(work: Callable[[], object]) -> int:
    try:
        work()
    except Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, Abort):
        return interrupts.exit_code()
    except Exception as problem:
        # A module or a library may turn an interrupt into an error of its own.
        return interrupts.exit_code() if interrupts.came() else _failed(problem)
    return ANSWERED


def _failed(problem: Exception) -> int:
    if isinstance(problem, PlannerError):
        message(str(problem))
        return problem.exit_code
    if isinstance(problem, BrokenPipeError) and reader_left():
        return ANSWERED
    if isinstance(problem, OSError):
        message(str(_file_fault(problem)))
        return BAD_INPUT
    # typer's exceptions for bad usage live in private modules, which move between versions;
    # what they have in common is this method.
    if not hasattr(problem, "format_message"):
        return _bug(problem)
    message(_usage(problem))
    return BAD_INPUT


def _usage(problem: Any) -> str:
    context = getattr(problem, "ctx", None)
    where = context.command_path if context else "planner"
    wrong = problem.format_message().strip().rstrip(".")
    if context is None:
        return str(Fault(where, "", f'"{wrong}"', "a command line as --help shows it", f'"{where} --help"'))
    if not wrong or wrong == context.get_help().strip().rstrip("."):
        known = f"one of {', '.join(getattr(context.command, 'commands', ()))}"
        return f"{context.get_help()}\n{Fault(where, 'COMMAND', 'nothing', known)}"
    return str(_usage_fault(problem, context, wrong))


def _usage_fault(problem: Any, context: Any, wrong: str) -> Fault:
    """A fault of a command whose context is known."""
    where, parameters = context.command_path, context.command.params
    if hasattr(problem, "possibilities"):
        known = [flag for parameter in parameters for flag in parameter.opts if flag.startswith("--")]
        maybe = nearest(problem.option_name, known) or f'"{where} --help"'
        return Fault(where, "", f'option "{problem.option_name}"', f"one of {', '.join(known)}", maybe)
    if hasattr(problem, "option_name"):
        flag = problem.option_name
        named = next((one for one in parameters if flag in one.opts), None)
        if "not take a value" in wrong:
            return Fault(where, flag, "a value", "the flag alone")
        return Fault(where, flag, "nothing", f"a value: {_meaning(named)}")
    named = getattr(problem, "param", None)
    if named is not None and wrong.startswith("Missing"):
        name = named.opts[0] if named.opts[0].startswith("-") else named.metavar or named.name
        return Fault(where, name, "nothing", _meaning(named))
    extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)$", wrong, re.DOTALL)
    if extra is not None:
        taken = [one.metavar or one.name for one in parameters if not one.opts[0].startswith("-")]
        expected = f"{' '.join(taken)} alone" if taken else "no arguments but options"
        return Fault(where, "", f'the further argument "{extra[1]}"', expected, f'"{where} --help"')
    return Fault(where, "", wrong, "a command line as --help shows it", f'"{where} --help"')


def _meaning(parameter: Any) -> str:
    meaning = (getattr(parameter, "help", None) or "a value").rstrip(".")
    return f"{meaning[:1].lower()}{meaning[1:]}"


def _file_fault(problem: OSError) -> Fault:
    reason = (problem.strerror or type(problem).__name__).lower()
    return Fault(str(problem.filename or "planner"), "", reason, "a file that can be read or written")


def _bug(bug: Exception) -> int:
    debugging = os.environ.get("PLANNER_DEBUG") == "1"
    if debugging:
        import traceback

        traceback.print_exception(bug)
    more = "" if debugging else " and what the same command says with PLANNER_DEBUG=1"
    message(
        f"planner: this is a bug in the planner ({type(bug).__name__}: {bug}).\n"
        f"Please report it with the input that shows it{more}."
    )
    return BUG


def choice_fault(where: str, key: str, found: str, known: list[str]) -> InputError:
    """A word that is none of the known ones."""
    expected = f"one of {', '.join(known)}"
    return InputError([Fault(where, key, f'"{found}"', expected, nearest(found, known))])
