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
