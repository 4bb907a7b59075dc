"""`planner export`: a folder for another program, whole or not at all."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from export_samples import plan_file, plan_of, workload

from planner.exports.registry import TARGETS
from planner.interfaces import cli
from planner.loaders.folder_out import RECORD


@pytest.fixture
def plan(make_plan, tmp_path):
    return plan_file(plan_of(make_plan, [{}]), tmp_path)


def test_files_and_what_to_do_with_them(plan, tmp_path, told):
    out = tmp_path / "deep" / "out"
    answer = told("export", str(plan), "--to", "vllm", "--out", str(out))
    files = [str(out / name) for name in ("README.md", "chat-serve-1.sh")]
    assert answer == {"target": "vllm", "files": files, "cannot_express": []}
    assert sorted(path.name for path in out.iterdir()) == [RECORD, "README.md", "chat-serve-1.sh"]
    script = out / "chat-serve-1.sh"
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    assert "1. `chat-serve-1.sh`: 8 replicas, each on 2 GPUs of its own" in (out / "README.md").read_text()


def test_the_answer_in_words(plan, tmp_path, capsys):
    assert cli.run(["export", str(plan), "--to", "vllm", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "2 files for vllm:" in shown.out
    assert "README.md" in shown.out
    assert shown.err == ""


def test_the_same_again_gives_the_same_bytes(plan, tmp_path, told):
    for name in ("a", "b", "a"):
        told("export", str(plan), "--to", "vllm", "--out", str(tmp_path / name))
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_target_that_cannot_say_it_writes_nothing(plan, tmp_path, told, capsys):
    out = tmp_path / "out"
    answer = told("export", str(plan), "--to", "sglang", "--out", str(out), code=1)
    assert answer["files"] == []
    assert answer["cannot_express"] == ["chat/serve/1 runs vllm: export it to vllm."]
    assert not out.exists()
    assert cli.run(["export", str(plan), "--to", "sglang", "--out", str(out)]) == 1
    shown = capsys.readouterr()
    assert "cannot express this plan; nothing was written" in shown.out
    assert "chat/serve/1 runs vllm" in shown.err


def test_pools_that_are_gone_are_taken_away(make_plan, tmp_path, told):
    out = tmp_path / "out"
    two = plan_file(plan_of(make_plan, [{}, {"tp": 4}]), tmp_path)
    told("export", str(two), "--to", "vllm", "--out", str(out))
    assert (out / "chat-serve-2.sh").exists()
    (out / "mine.txt").write_text("mine")
    told("export", str(plan_file(plan_of(make_plan, [{}]), tmp_path)), "--to", "vllm", "--out", str(out))
    assert sorted(path.name for path in out.iterdir()) == [RECORD, "README.md", "chat-serve-1.sh", "mine.txt"]


def test_what_somebody_changed_is_kept(plan, tmp_path, told):
    out = tmp_path / "out"
    told("export", str(plan), "--to", "vllm", "--out", str(out))
    script = out / "chat-serve-1.sh"
    script.write_text("mine")
    again = ("export", str(plan), "--to", "vllm", "--out", str(out))
    said = told(*again, code=2)
    assert f"--out: found {script}, which no export left so, expected another folder, or --force" in said
    assert script.read_text() == "mine"
    told(*again, "--force")
    assert script.read_text() != "mine"


def test_all_or_nothing(plan, tmp_path, told, monkeypatch):
    from planner.loaders import folder_out

    out = tmp_path / "out"
    out.mkdir()
    (out / "README.md").write_text("of another")
    written = []

    def full(path, content):
        if written:
            raise OSError(28, "No space left on device", str(path))
        written.append(path)
        path.write_bytes(content)

    monkeypatch.setattr(folder_out, "write_whole", full)
    said = told("export", str(plan), "--to", "vllm", "--out", str(out), "--force", code=2)
    assert "no space left on device" in said
    monkeypatch.undo()
    assert [path.name for path in out.iterdir()] == ["README.md"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "vlm"], 'planner export: --to: found "vlm", expected one of vllm, '),
        (["--to", "vllm", "--out", "FILE"], "which is no folder, expected a folder"),
        (["--to", "vllm", "--out", "FILE/in"], "expected a folder that can be written"),
    ],
)
def test_bad_usage(plan, tmp_path, told, words, said):
    (tmp_path / "FILE").write_text("")
    words = [str(tmp_path / word) if word.startswith("FILE") else word for word in words]
    out = [] if "--out" in words else ["--out", str(tmp_path / "out")]
    assert said in told("export", str(plan), *words, *out, code=2)


def test_documents_that_hold_no_fleet(plan, tmp_path, told, make_plan):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert "JSON" in told("export", str(broken), "--to", "vllm", "--out", str(tmp_path / "o"), code=2)
    none = json.loads(plan.read_text()) | {"pools": [], "status": "infeasible"}
    broken.write_text(json.dumps(none))
    said = told("export", str(broken), "--to", "vllm", "--out", str(tmp_path / "o"), code=2)
    assert "expected a plan that serves requests" in said
    strange = json.loads(plan.read_text())
    strange["inputs"]["problem"]["workloads"] = [workload(name="other")]
    broken.write_text(json.dumps(strange))
    said = told("export", str(broken), "--to", "vllm", "--out", str(tmp_path / "o"), code=2)
    assert "chat" in said


def test_an_older_engine_in_an_overlay_is_believed(plan, tmp_path, told):
    overlay = tmp_path / "overlay" / "options"
    overlay.mkdir(parents=True)
    (overlay / "vllm.yaml").write_text(
        "kind: options\nid: vllm\nname: old\nversion: '0.1'\nimages: {NVIDIA: x}\nhealth: /health\n"
        "source: s\n"
        "options: [{names: [--tensor-parallel-size]}]\nsources: {s: {title: t, date: 2024-01-01}}\n"
    )
    words = ("export", str(plan), "--to", "vllm", "--out", str(tmp_path / "o"))
    answer = told(*words, "--catalog", str(overlay.parent), code=1)
    assert "chat/serve/1: vLLM 0.1 has no option --max-num-seqs." in answer["cannot_express"]


def test_targets_have_names_and_titles():
    assert len({item.id for item in TARGETS}) == len(TARGETS)
    assert all(item.title and item.id == item.id.lower() for item in TARGETS)


def test_an_hour_of_a_fleet(make_plan, tmp_path, told):
    hours = [
        {"period": t, "replicas": {"chat/serve/1": n}, "gpus": {}, "usd": 1.0} for t, n in enumerate((3, 8))
    ]
    plan = plan_file(plan_of(make_plan, [{}], periods=hours), tmp_path)
    for words, replicas in (((), 8), (("--period", "0"), 3)):
        told("export", str(plan), "--to", "kubernetes", "--out", str(tmp_path / "out"), *words)
        deployment = next(yaml.safe_load_all((tmp_path / "out" / "chat-serve-1.yaml").read_bytes()))
        assert deployment["spec"]["replicas"] == replicas
    page = (tmp_path / "out" / "README.md").read_text()
    assert "Replicas are those of hour 0" in page
    assert "| chat-serve-1 | chat/serve/1 | 3 to 8 |" in page
    words = ("export", str(plan), "--to", "kubernetes", "--out", str(tmp_path / "out"))
    assert "an hour from 0 to 1" in told(*words, "--period", "2", code=2)
    assert "--period" in told(*words, "--period", "x", code=2)


def test_the_help_and_the_page_name_every_target(capsys):
    assert cli.run(["export", "--help"]) == 0
    shown = capsys.readouterr().out.replace("│", " ")
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    for item in TARGETS:
        assert re.search(rf"\b{item.id}\b", shown), item.id
        assert f"`{item.id}`" in page, item.id
