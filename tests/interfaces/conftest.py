"""Commands as somebody types them, with their answers as JSON."""

import json

import pytest

from planner.interfaces import cli


@pytest.fixture
def told(capsys):
    """The answer of a command line, or what it says on stderr where it gives none."""

    def told(*words, code=0):
        ended = cli.run([*words, "--json"])
        found = capsys.readouterr()
        assert ended == code, found.err
        return json.loads(found.out) if found.out else found.err

    return told


@pytest.fixture
def refused(capsys):
    """A command line is bad usage, and says so in these words."""

    def refused(said, *words):
        capsys.readouterr()
        assert cli.run(list(words)) == 2
        told = capsys.readouterr()
        assert said in told.err
        assert not told.out

    return refused
