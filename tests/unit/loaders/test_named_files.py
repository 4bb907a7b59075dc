"""Files that a problem names travel with its plan."""

import shutil
from pathlib import Path

from planner.loaders.named_files import MAX_BYTES, laid_out, texts

VALUES = {
    "workers": "table.csv",
    "workloads": [
        {"name": "a", "model": "llama-3.3-70b", "lengths": {"trace": "deep/trace.csv"}},
        {"name": "b", "model": "own", "demand": {"trace": "missing.csv"}},
    ],
}


def made(folder):
    (folder / "deep").mkdir()
    (folder / "own").mkdir()
    (folder / "table.csv").write_text("option\n")
    (folder / "deep" / "trace.csv").write_text("1,2\n")
    (folder / "own" / "config.json").write_text("{}")
    return folder


def test_files_that_are_there_are_read(tmp_path):
    found = texts(VALUES, made(tmp_path))
    assert found == {"deep/trace.csv": "1,2\n", "own": "{}", "table.csv": "option\n"}


def test_large_and_binary_files_are_left_out(tmp_path):
    made(tmp_path)
    (tmp_path / "table.csv").write_bytes(b"x" * (MAX_BYTES + 1))
    (tmp_path / "deep" / "trace.csv").write_bytes(b"\xff\xfe\x00")
    assert texts(VALUES, tmp_path) == {"own": "{}"}


def test_files_are_laid_out_where_they_are_missing(tmp_path):
    files = texts(VALUES, made(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "table.csv").write_text("mine\n")
    moved, folder = laid_out(VALUES, files, elsewhere)
    assert folder is not None
    assert folder.is_dir()
    assert moved["workers"] == "table.csv"
    assert Path(moved["workloads"][0]["lengths"]["trace"]).read_text() == "1,2\n"
    assert Path(moved["workloads"][1]["model"]).name == "config.json"
    assert moved["workloads"][0]["model"] == "llama-3.3-70b"
    assert moved["workloads"][1]["demand"] == {"trace": "missing.csv"}
    assert VALUES["workloads"][0]["lengths"] == {"trace": "deep/trace.csv"}
    shutil.rmtree(folder)


def test_nothing_is_made_where_nothing_is_missing(tmp_path):
    files = texts(VALUES, made(tmp_path))
    assert laid_out(VALUES, files, tmp_path) == (VALUES, None)
