"""The first screen of a diagnosis, its picture, and its exit codes."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from planner.interfaces.cli import run

ROOT = Path(__file__).parents[2]
OBSERVATIONS = sorted((ROOT / "problems" / "observations").glob("*.yaml"))
CASCADE = ROOT / "problems" / "observations" / "02-chat-kv-cascade.yaml"
EAGER = "engine: vllm\nitl_p50_s: 0.09\nbatch_mean: 2\nqueue_depth: 0\n"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def seen(tmp_path):
    def written(text):
        path = tmp_path / "seen.yaml"
        path.write_text(text)
        return str(path)

    return written


def said(capsys, *words):
    code = run(["diagnose", *words])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("path", OBSERVATIONS[::3], ids=lambda path: path.stem)
def test_the_screen_has_twelve_lines_of_eighty_columns_at_most(capsys, path):
    code, text = said(capsys, "--observed", str(path))
    lines = text.splitlines()
    assert code == 0
    assert len(lines) <= 12
    assert all(len(line) <= 80 for line in lines if not line.startswith("set"))
    assert lines[-1].endswith("--details")


def test_the_screen_names_proof_setting_undo_and_what_to_watch(capsys, seen):
    _, text = said(capsys, "--observed", seen("engine: vllm\ncuda_graphs: false\nitl_p50_s: 0.09\n"))
    lines = dict(line.split(maxsplit=1) for line in text.splitlines() if not line.startswith((" ", "L")))
    assert lines["set"] == "--no-enforce-eager   # now: no"
    assert lines["undo"] == "--enforce-eager"
    assert lines["watch"] == "The limit on the time between tokens holds."
    assert "itl_p50_s 90.0 ms, > 50.0 ms (slow)" in text


@pytest.mark.parametrize(
    ("engine", "option"),
    [
        ("vllm", "--max-num-seqs: a lower value"),
        ("sglang", "--max-running-requests: a lower value"),
        ("tensorrt-llm", "--max_batch_size: a lower value"),
    ],
)
def test_the_screen_names_the_option_of_the_engine_where_its_value_is_unknown(capsys, seen, engine, option):
    _, text = said(capsys, "--observed", seen(f"engine: {engine}\noom: at-load\n"))
    assert f"set      {option}\n" in text
    assert "max_batch:" not in text


@pytest.mark.parametrize(
    ("known", "named", "unnamed"),
    [
        ("gpu_model: mi300x", "rocm-smi", "nvidia-smi"),
        ("gpu_vendor: AMD", "rocm-smi", "nvidia-smi"),
        ("gpu_model: h100-sxm", "nvidia-smi", "rocm-smi"),
        ("gpus: 8", "NVIDIA: nvidia-smi", "xpu-smi"),
        ("gpus: 8", "AMD: rocm-smi", "xpu-smi"),
        ("gpu_vendor: Intel", "Look at power limit", "-smi"),
    ],
)
def test_commands_for_devices_are_those_of_their_vendor(capsys, seen, known, named, unnamed):
    _, text = said(capsys, "--observed", seen(f"throttle_reason: thermal\nengine: vllm\n{known}\n"))
    assert named in text
    assert unnamed not in text


def test_no_screen_names_a_setting_by_our_word_for_it(capsys, seen):
    for asked in ("retry_ratio: 0.5", "queue_depth: 9\nqueue_growth_per_s: 1", "xid_error: 79"):
        _, text = said(capsys, "--observed", seen(f"engine: vllm\n{asked}\n"))
        assert "; undo: its value of before" not in text
        assert "undo " in text


def test_partial_evidence_is_possible_and_says_what_would_decide(capsys, seen):
    path = seen(EAGER)
    _, text = said(capsys, "--observed", path)
    assert "possible, not shown" in text
    assert "look at  cuda_graphs" in text
    _, text = said(capsys, "--observed", path, "--json")
    first = json.loads(text)["findings"][0]
    assert first["rule"] == "cuda-graphs-off"
    assert first["ranking"]["strength"] == "suggestive"
    assert first["ranking"]["in_doubt"] is True
    assert first["look_at"] == ["cuda_graphs"]


def test_headlines_are_honest(capsys, seen):
    _, text = said(capsys, "--observed", seen("tp: 2\n"))
    assert text.startswith("Nothing could be judged")
    _, text = said(capsys, "--observed", seen("queue_depth: 0\ngoodput_ratio: 0.99\n"))
    assert text.startswith("No finding: healthy as far as 2 of ")
    _, text = said(capsys, "--observed", seen("e2e_p99_s: 9\nslo: {e2e_p99_s: 5}\n"))
    assert text.startswith("No cause found for: Whole answers take too long")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("tp: 2\n", "unknown"),
        ("queue_depth: 0\n", "healthy"),
        ("cold_start_s: 400\n", "warning"),
        ("queue_depth: 9\n", "degraded"),
        ("oom: at-load\n", "down"),
    ],
)
def test_severities_decide_the_exit_code(capsys, seen, text, severity):
    path = seen(text)
    order = ["healthy", "unknown", "warning", "degraded", "down"]
    code, shown = said(capsys, "--observed", path, "--json")
    assert (code, json.loads(shown)["severity"]) == (0, severity)
    for asked in order[1:]:
        code, _ = said(capsys, "--observed", path, "--fail-on", asked)
        assert code == (1 if order.index(severity) >= order.index(asked) else 0)


def test_an_unknown_severity_is_bad_input(capsys, seen):
    assert run(["diagnose", "--observed", seen("queue_depth: 9\n"), "--fail-on", "degrade"]) == 2
    assert 'maybe "degraded"' in capsys.readouterr().err


def test_judged_metrics_are_measures_that_were_observed(capsys, seen):
    _, text = said(capsys, "--observed", seen("queue_depth: 0\ntp: 4\nmax_batch: 8\n"), "--json")
    found = json.loads(text)
    assert found["judged"] == ["queue_depth"]
    assert found["measures"] > 40


def test_details_hold_everything(capsys):
    _, text = said(capsys, "--observed", str(CASCADE), "--details")
    flat = " ".join(text.split())
    assert "a consequence of kv-eviction-cascade" in flat
    assert "Not decided" in flat
    assert "Excluded" in flat


def test_the_picture_keeps_words_inside_their_boxes(tmp_path, seen):
    out = tmp_path / "walk.svg"
    for path in (str(CASCADE), seen(EAGER)):
        assert run(["diagnose", "--observed", path, "--svg", str(out)]) == 0
        drawn = ElementTree.fromstring(out.read_text())
        words = [node for node in drawn.iter(f"{SVG}text") if node.get("font-size") == "13"]
        boxes = [node.attrib for node in drawn.iter(f"{SVG}rect") if node.get("rx")]
        assert boxes
        for box in boxes:
            x, y, width, height = (float(box[name]) for name in ("x", "y", "width", "height"))
            inside = [
                node
                for node in words
                if x <= float(node.get("x")) <= x + width and y < float(node.get("y")) < y + height
            ]
            assert inside
            # The widest average letter of Helvetica at 13 is 7.6 wide.
            assert all(float(node.get("x")) + 7.6 * len(node.text) <= x + width for node in inside)


def test_pictures_and_severities_speak_of_one_sample(capsys):
    words = ["diagnose", "--follow", "--observed", str(CASCADE), str(CASCADE), "--svg", "x.svg"]
    assert run(words) == 2
    assert "one sample" in capsys.readouterr().err
