"""Now against a time before: two files, two ranges of a Prometheus server, since a moment."""

import json
import time
import urllib.parse
from datetime import datetime
from pathlib import Path

import pytest

from planner.interfaces.cli import run
from planner.interfaces.moments import moment_s
from tests.http_servers import reply, serving

ROOT = Path(__file__).parents[2]
HEALTHY, CASCADE = (
    str(ROOT / "problems" / "observations" / name)
    for name in ("01-chat-healthy.yaml", "02-chat-kv-cascade.yaml")
)
NOW = datetime.fromisoformat("2026-11-23T14:30:00+00:00")


def said(capsys):
    return json.loads(capsys.readouterr().out)


def changes(document):
    return {row["metric"]: row for row in document["baseline"]["changed"]}


def test_two_observations_are_held_against_each_other(capsys):
    assert run(["diagnose", "--compare", HEALTHY, CASCADE, "--json"]) == 0
    document = said(capsys)
    assert document["findings"][0]["rule"] == "kv-eviction-cascade"
    rows = changes(document)
    assert (rows["kv_precision"]["before"], rows["kv_precision"]["now"]) == ("fp8", "bf16")
    assert rows["eviction_ratio"]["change_ratio"] == pytest.approx(27)
    assert document["baseline"]["same"] > 0
    assert run(["diagnose", "--compare", HEALTHY, CASCADE]) == 0
    page = capsys.readouterr().out
    assert "Changed:" in page
    assert "27.0 x" in page


def test_a_file_is_told_by_what_it_holds(capsys, tmp_path):
    page, log = tmp_path / "before", tmp_path / "now"
    page.write_text('vllm:num_requests_waiting{engine="0"} 2\nvllm:num_requests_running{engine="0"} 9\n')
    log.write_bytes((ROOT / "tests" / "data" / "logs" / "vllm-v1.log").read_bytes())
    assert run(["diagnose", "--compare", str(page), str(log), "--json"]) == 0
    rows = changes(said(capsys))
    assert (rows["queue_depth"]["before"], rows["queue_depth"]["now"]) == (2, 20)
    assert rows["cuda_graphs"]["before"] is None


def test_at_the_same_load_the_gaps_before_are_a_baseline(capsys, tmp_path):
    before, now = tmp_path / "a.yaml", tmp_path / "b.yaml"
    before.write_text("batch_mean: 30\nitl_p50_s: 0.02\nengine_version: '0.9.1'\noutput_tokens_per_s: 1500\n")
    now.write_text("batch_mean: 31\nitl_p50_s: 0.04\nengine_version: '0.10.0'\noutput_tokens_per_s: 750\n")
    assert run(["diagnose", "--compare", str(before), str(now), "--json"]) == 0
    document = said(capsys)
    assert "slower-since-change" in {finding["rule"] for finding in document["findings"]}
    now.write_text("batch_mean: 90\nitl_p50_s: 0.04\nengine_version: '0.10.0'\n")
    assert run(["diagnose", "--compare", str(before), str(now), "--json"]) == 0
    assert "slower-since-change" not in {finding["rule"] for finding in said(capsys)["findings"]}


def gauges(asked):
    """A server whose queue depends on the time that is asked for."""

    def handle(request, body):
        form = {key: value[0] for key, value in urllib.parse.parse_qs(body.decode()).items()}
        at_s = float(form.get("time", time.time()))
        asked.append(at_s)
        depth = 40 if time.time() - at_s < 60 else 4
        name = "vllm:num_requests_waiting"
        rows = []
        if "count by" in form["query"]:
            rows = [{"metric": {"__name__": name}, "value": [at_s, "1"]}]
        elif form["query"].startswith("{"):
            rows = [{"metric": {"__name__": name, "engine": "0"}, "value": [at_s, str(depth)]}]
        answer = {"status": "success", "data": {"resultType": "vector", "result": rows}}
        reply(request, json.dumps(answer).encode(), "application/json")

    return handle


@pytest.mark.parametrize(
    ("flags", "apart_s", "names"),
    [
        (["--since", "30m"], 604_800, ["the same 30 min a week before", "since 30m"]),
        (["--compare", "2h/90m", "10m/now"], 5400, ["2h/90m", "10m/now"]),
    ],
)
def test_two_ranges_of_a_server(capsys, flags, apart_s, names):
    asked = []
    with serving(gauges(asked)) as url:
        assert run(["diagnose", "--prometheus", url, *flags, "--json"]) == 0
    document = said(capsys)
    row = changes(document)["queue_depth"]
    assert (row["before"], row["now"], row["change_ratio"]) == (4, 40, 10)
    assert [document["baseline"]["before"], document["baseline"]["now"]] == names
    assert max(asked) - min(asked) == pytest.approx(apart_s, abs=5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--since", "14:00"], "it with --prometheus"),
        (["--prometheus", "http://h", "--since", "soon"], "a moment at least a minute ago"),
        (["--prometheus", "http://h", "--since", "1h", "--range", "5m"], "--since says how long"),
        (["--prometheus", "http://h", "--since", "1h", "--compare", "a", "b"], "one of them"),
        (["--prometheus", "http://h", "--compare", "13:00", "soon/now"], "START/END of the past"),
        (["--compare", "none.yaml", HEALTHY], "none.yaml"),
        (["--compare", HEALTHY, "none.log"], "none.log"),
        (["--observed", HEALTHY, "--compare", HEALTHY, CASCADE], "--engine-args beside it"),
        (["--compare", HEALTHY, CASCADE, "--follow"], "one way to look at several times"),
    ],
)
def test_bad_times_are_refused_in_words(capsys, words, message):
    assert run(["diagnose", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "ago_s"),
    [
        ("now", 0),
        ("14:00", 1800),
        ("15:00", 84_600),
        ("2h", 7200),
        ("7d", 604_800),
        ("2026-11-23T14:20", 600),
        ("2026-11-23T14:20:00+00:00", 600),
        ("2026-11-23T15:20:00+01:00", 600),
    ],
)
def test_moments_are_said_in_many_ways(text, ago_s):
    assert NOW.timestamp() - moment_s(text, NOW) == ago_s


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "-1h", "14:61"])
def test_other_words_are_no_moment(text):
    assert moment_s(text, NOW) is None
