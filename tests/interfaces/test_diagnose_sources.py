"""Where a diagnosis gets its numbers from, and the loop over samples."""

import itertools
import json
from pathlib import Path

import pytest

import planner
from planner.errors import InputError
from planner.interfaces.cli import run
from tests.http_servers import reply, serving

OBSERVATIONS = Path(__file__).parents[2] / "problems" / "observations"
HEALTHY, CASCADE, HALF = (
    str(OBSERVATIONS / name)
    for name in ("01-chat-healthy.yaml", "02-chat-kv-cascade.yaml", "08-chat-half-seen.yaml")
)
PAGE = """# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{model_name="m"}} {waiting}
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{model_name="m"}} {kv}
"""


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_pages_of_metrics_are_diagnosed_with_notes(capsys, tmp_path):
    page = tmp_path / "metrics.txt"
    page.write_text(PAGE.format(waiting=40, kv=0.99))
    assert run(["diagnose", "--metrics", str(page), "--slo", "ttft_p99=1500ms", "--json"]) == 0
    document = said(capsys)
    assert document["exporters"] == ["vllm"]
    assert any(note["kind"] == "missing" and note["metric"] == "ttft_p99_s" for note in document["notes"])
    assert "requests-wait" in document["symptoms"]
    assert run(["diagnose", "--metrics", str(page), "--details"]) == 0
    assert "About the numbers" in capsys.readouterr().out


@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize(
    ("flag", "text", "words"),
    [
        ("--metrics", "# TYPE other_total counter\nother_total 3\nmore 1\n", "such as other_total, more"),
        ("--metrics", "# TYPE other_total counter\nother_total 3\n", "no series of a known exporter"),
        ("--observed", "{}\n", "no value that was observed"),
        ("--observed", '{"slo": {"ttft_p99_s": 1}}', "only limits (slo)"),
    ],
)
def test_nothing_read_is_no_good_news(capsys, tmp_path, flag, text, words, flags):
    page = tmp_path / "page"
    page.write_text(text)
    assert run(["diagnose", flag, str(page), *flags]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "page: found nothing was read: " in shown.err
    assert words in shown.err
    if flag == "--observed":
        assert run(["diagnose", flag, str(page), "--follow", *flags]) == 2
        assert "nothing was read" in capsys.readouterr().err


def test_limits_of_the_command_line_come_first(capsys):
    late = ["diagnose", "--observed", HEALTHY, "--json", "--slo"]
    assert run([*late, "ttft_p99=100ms"]) == 0
    assert "slow-first-token" in said(capsys)["symptoms"]
    assert run([*late, "ttft_p99=3 s"]) == 0
    assert said(capsys)["symptoms"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no source"),
        (["--observed", HEALTHY, "--metrics", "x", "y"], "each file behind its own flag"),
        (["--observed", HEALTHY, "--follow", "--logs", "x"], "--logs beside it"),
        (["--logs", "none.log"], "none.log"),
        (["--observed", HEALTHY, CASCADE], "--follow with all in order"),
        (["--observed", HEALTHY, "--range", "5m"], "it with --prometheus"),
        (["--observed", HEALTHY, "--interval", "3"], "it with --metrics"),
        (["--observed", HEALTHY, "--selector", 'a="b"'], "it with --metrics or --prometheus"),
        (["--observed", HEALTHY, "--workload", "chat"], "it with --plan"),
        (["--observed", HEALTHY, "--samples", "2"], "it with --follow"),
        (["--observed", HEALTHY, "--slo", "ttft_p98=1s"], "limits such as"),
        (["--metrics", "page.txt", "--follow"], "which stay the same"),
        (["--metrics", "http://127.0.0.1:9/metrics", "--follow", "--out", "a.json"], "redirect"),
        (["--metrics", "none.txt"], "none.txt"),
        (["--metrics", "http://127.0.0.1:9/metrics"], "127.0.0.1:9"),
        (["--prometheus", "http://127.0.0.1:9", "--range", "15m"], "127.0.0.1:9"),
        (["--prometheus", "http://127.0.0.1:9", "--range", "soon"], "--range"),
        (["--prometheus", "ftp://host"], "ftp://host"),
    ],
)
def test_bad_usage_is_refused_in_words(capsys, words, message):
    assert run(["diagnose", *words]) == 2
    assert message in capsys.readouterr().err


def test_python_takes_several_sources(tmp_path):
    with pytest.raises(InputError, match="no source"):
        planner.diagnose()
    page = tmp_path / "metrics.txt"
    page.write_text(PAGE.format(waiting=40, kv=0.99))
    found = planner.diagnose(HEALTHY, metrics=[str(page)])
    assert found.origins["kv_usage_ratio"] == "observed values"
    assert any(note.kind == "conflict" and note.metric == "kv_usage_ratio" for note in found.notes)


def test_files_in_order_say_what_moved(capsys):
    command = ["diagnose", "--follow", "--observed", HEALTHY, "--observed", CASCADE, HEALTHY, HEALTHY]
    assert run([*command, "--json"]) == 0
    steps = said(capsys)["steps"]
    assert steps[0]["move"] is None
    assert [step["move"]["kind"] for step in steps[1:]] == ["appeared", "solved", "healthy"]
    solved = steps[2]["move"]
    assert (solved["before"], solved["now"]) == ("kv-eviction-cascade", None)
    assert solved["turned"] == [{"knob": "kv_precision", "from": "bf16", "to": "fp8", "action": "halve-kv"}]
    assert {"metric": "eviction_ratio", "before": 0.27, "now": 0.01} in solved["evidence"]
    assert solved["stop"] == "Eviction is below 20 %."
    assert run(command) == 0
    assert "the bottleneck is gone" in capsys.readouterr().out


def test_a_bottleneck_moves_where_its_rule_says_or_elsewhere(capsys, tmp_path):
    fitting = {"eviction_ratio": 0.08, "kv_usage_ratio": 0.93, "preemptions_per_s": 0.2}
    for name, values, kind in (("next", fitting, "expected"), ("other", {"oom": "at-load"}, "elsewhere")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(values))
        assert run(["diagnose", "--follow", "--observed", CASCADE, str(path), "--json"]) == 0
        assert said(capsys)["steps"][1]["move"]["kind"] == kind


def test_servers_are_followed_line_by_line(capsys):
    waiting = itertools.chain([0, 0], itertools.repeat(40))  # two fetches a sample

    def handle(request, _):
        reply(request, PAGE.format(waiting=next(waiting), kv=0.99).encode(), "text/plain; version=0.0.4")

    with serving(handle) as url:
        words = ["diagnose", "--metrics", f"{url}/metrics", "--follow", "--interval", "0.1"]
        assert run([*words, "--samples", "3", "--json"]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [line["source"] for line in lines] == [f"{url}/metrics"] * 3
        assert lines[0]["move"] is None
        assert "requests-wait" not in lines[0]["diagnosis"]["symptoms"]
        assert "requests-wait" in lines[1]["diagnosis"]["symptoms"]
        assert lines[2]["move"]["kind"] in ("same", "healthy")


def test_a_server_that_fails_later_is_reported_and_asked_again(capsys):
    number = itertools.count()

    def handle(request, _):
        asked = next(number)
        page = PAGE.format(waiting=0, kv=0.5).encode()
        reply(request, page, "text/plain", status=500 if asked == 2 else 200)

    with serving(handle) as url:
        words = ["diagnose", "--metrics", f"{url}/metrics", "--follow", "--interval", "0.1"]
        assert run([*words, "--samples", "3", "--json"]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 2
    assert "HTTP status 500" in told.err


def test_ctrl_c_ends_the_loop_cleanly(capsys, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.app.observe.time.sleep", interrupted)
    with serving(lambda request, _: reply(request, PAGE.format(waiting=0, kv=0.5).encode())) as url:
        assert run(["diagnose", "--metrics", url, "--follow", "--json"]) == 130
    assert "Traceback" not in capsys.readouterr().err
