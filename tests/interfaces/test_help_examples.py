"""What helps at the keyboard: an example in every help, and what the shell completes."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from planner.interfaces import cli
from planner.interfaces.help_examples import EXAMPLES

SCRIPT = Path(sys.executable).parent / "planner"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_help_of_every_command_shows_an_example_that_its_parser_takes(capsys, name):
    words = name.split()
    assert cli.run([*words, "--help"]) == 0
    assert f"Example: planner {name}" in " ".join(capsys.readouterr().out.split())
    command, context = get_command(cli.app), None
    for word in words:
        context = command.context_class(command, info_name=word, parent=context)
        command = command.get_command(context, word)
    command.make_context(name, shlex.split(EXAMPLES[name]), parent=context)


@pytest.mark.parametrize(
    ("line", "found"),
    [("planner pl", "plan"), ("planner plan --ow", "--owned"), ("planner catalog sh", "show")],
)
def test_the_shell_completes_commands_and_flags(line, found):
    words = {"_PLANNER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [SCRIPT], env=os.environ | words, capture_output=True, text=True, timeout=60, check=False
    )
    assert found in done.stdout.split(), done.stderr
