"""Closed, full and broken streams, and what --out may name; through the real command line."""

import json
import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planner.interfaces import cli
from planner.loaders import files_out

SCRIPT = Path(sys.executable).parent / "planner"
LIST = f"{SCRIPT} rules list"


def shell(line, **options):
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True, timeout=60, check=False,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"{LIST} >&-", 2, "standard output: found it closed, expected it open"),
        (f"{LIST} >&- 2>&- <&-", 2, ""),
        (f"{LIST} --out list.json >&- <&-", 0, "planner: wrote list.json"),
        (f"{LIST} 2>&- | tail -1", 0, ""),
        (f"{LIST} >/dev/full", 2, "standard output: found no space left on device"),
        (f"{LIST} --json >/dev/full", 2, "standard output: found no space left on device"),
        (f"{SCRIPT} --help >/dev/full", 2, "no space left on device"),
        (f"{LIST} --out /dev/full >/dev/null", 2, "/dev/full: found no space left on device"),
        (f"{SCRIPT} schema plan | head -1", 0, ""),
        (f"{SCRIPT} schema reference | head -1", 0, ""),
        (f"{SCRIPT} plam 2>/dev/full", 2, ""),
    ],
)
def test_streams_that_do_not_work_end_in_words(tmp_path, line, code, words):
    done = shell(line, cwd=tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == bool(words)


def test_out_names_an_open_stream_a_pipe_or_a_device(tmp_path, capfd):
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    assert cli.run(["rules", "list", "--json", "--out", str(tmp_path / "pipe")]) == 0
    reader.join(10)
    expected = capfd.readouterr().out
    assert got == [expected.encode()]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert cli.run(["rules", "list", "--json", "--out", "/dev/null"]) == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    capfd.readouterr()
    assert cli.run(["rules", "list", "--json", "--out", "/dev/stdout"]) == 0
    assert capfd.readouterr().out == 2 * expected


def test_a_redirected_stdout_is_not_replaced(tmp_path):
    assert shell(f"{LIST} --json --out /dev/stdout >both", cwd=tmp_path).returncode == 0
    both = (tmp_path / "both").read_text()
    assert both == 2 * both[: len(both) // 2]
    assert json.loads(both[: len(both) // 2])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loop", "a loop of symbolic links"),
        ("no/list.json", "in a folder that does not exist"),
        ("dangling", "in a folder that does not exist"),
        (".", "the folder"),
        ("file/list.json", "in a file"),
    ],
)
def test_a_target_that_cannot_be_is_told_before_the_work(tmp_path, capsys, name, words):
    (tmp_path / "loop").symlink_to(tmp_path / "pool")
    (tmp_path / "pool").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "no" / "such")
    (tmp_path / "file").write_text("")
    assert cli.run(["rules", "list", "--out", str(tmp_path / name)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err


def test_links_are_followed_and_modes_kept(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to("target")
    before = os.umask(0o027)
    try:
        files_out.write_whole(link, b"first")
        assert (link.is_symlink(), target.read_bytes()) == (True, b"first")
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        target.chmod(0o600)
        files_out.write_whole(link, b"second")
        assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (b"second", 0o600)
    finally:
        os.umask(before)


def test_a_full_disk_leaves_the_old_file_alone(tmp_path):
    (tmp_path / "list.json").write_text("old")
    small = 4096
    done = shell(
        f"{LIST} --out list.json",
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (small, small)),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("list.json: found file too large")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("list.json", "old")]


@pytest.mark.parametrize("command", [[str(SCRIPT)], [sys.executable, "-m", "planner"]], ids=["script", "-m"])
def test_folders_beside_a_problem_are_no_modules(tmp_path, command):
    for name in ("numpy", "typer", "signal", "pathlib", "ortools"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"open('imported', 'a').write({name!r})")
    line = [*command, "fit", "--model", "llama-3.1-8b", "--json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "imported").exists()
