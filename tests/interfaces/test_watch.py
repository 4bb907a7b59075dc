"""A watched server: told only where something changed."""

import itertools
import json

import pytest

from planner.interfaces.cli import run
from tests.prometheus_server import CALM, FULL, prometheus_of


def watched(capsys, values, *words):
    """Exit code and what was printed for these samples."""
    looks = iter(values)
    with prometheus_of(lambda: next(looks)) as url:
        looks_asked = ["--interval", "10ms", "--samples", str(len(values))]
        code = run(["watch", "--prometheus", url, *looks_asked, *words])
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return code, told


def test_only_what_changed_is_told(capsys):
    code, told = watched(capsys, [CALM, CALM, FULL, FULL, FULL, CALM], "--json")
    assert code == 0
    first, worse, better = [json.loads(line) for line in told.out.splitlines()]
    assert (first["was"], first["appeared"], first["gone"]) == (None, [], [])
    assert worse["was"] == first["severity"]
    assert worse["appeared"] == better["gone"]
    assert worse["appeared"]
    assert worse["diagnosis"]["findings"]
    assert worse["time"].endswith("Z")


def test_the_text_has_one_line_a_change_and_the_screen_of_a_new_cause(capsys):
    code, told = watched(capsys, [CALM, FULL, FULL, CALM])
    assert code == 0
    changes = [line for line in told.out.splitlines() if line[:2] == "20"]
    assert len(changes) == 3
    assert "new: " in changes[1]
    assert "gone: " in changes[2]
    assert "seen     queue_depth 60" in told.out


def test_it_ends_with_one_at_the_severity_asked_for(capsys):
    code, told = watched(capsys, [CALM, FULL, CALM, CALM], "--fail-on", "degraded", "--json")
    assert code == 1
    assert len(told.out.splitlines()) == 2


def test_a_server_that_fails_is_told_once_and_when_it_is_back(capsys):
    code, told = watched(capsys, [CALM, None, None, CALM], "--json")
    assert code == 0
    assert len(told.out.splitlines()) == 1
    assert told.err.count("found HTTP status 503") == 1
    assert told.err.count("answers again") == 1


def test_ctrl_c_ends_it_cleanly(capsys, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.interfaces.observed_sources.time.sleep", interrupted)
    with prometheus_of(itertools.repeat(CALM).__next__) as url:
        assert run(["watch", "--prometheus", url]) == 130
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert told.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--prometheus"),
        (["--prometheus", "http://127.0.0.1:9", "--interval", "soon"], "--interval"),
        (["--prometheus", "http://127.0.0.1:9", "--fail-on", "degrade"], 'maybe "degraded"'),
        (["--prometheus", "http://127.0.0.1:9"], "127.0.0.1:9"),
        (["--prometheus", "http://127.0.0.1:9", "--samples", "0"], "--samples"),
    ],
)
def test_bad_usage_is_refused_in_words(capsys, words, message):
    assert run(["watch", *words]) == 2
    assert message in capsys.readouterr().err
