"""A screen of the command line, and a browser on a server."""

import pytest
from browser import Visit, chromium
from serve_process import server_in

from planner.interfaces import cli


@pytest.fixture
def printed(capsys, tmp_path, monkeypatch):
    """The screen of a command line, 80 columns wide; a problem stands for its file."""
    monkeypatch.setenv("COLUMNS", "80")

    def printed(*words):
        for number, word in enumerate(words):
            if "\n" in word:
                file = tmp_path / "problem.yaml"
                file.write_text(word)
                words = (*words[:number], str(file), *words[number + 1 :])
        assert cli.run(list(words)) == 0
        return capsys.readouterr().out

    return printed


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with server_in(tmp_path_factory.mktemp("jobs")) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def visit(browser, site):
    """Opens windows; in none of them anything may go wrong, nor ask another server."""
    opened = []

    def visit(**look):
        opened.append(Visit(browser, site, **look))
        return opened[-1]

    yield visit
    for one in opened:
        one.context.close()
        assert one.faults == []
