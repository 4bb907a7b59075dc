"""Folders of files: all or none, and nothing of others."""

import json
import os

import pytest

from planner.errors import InputError
from planner.loaders.folder_out import RECORD, write_folder
from planner.schema.exported import ExportFile


def file(name, text, executable=False):
    return ExportFile(name, text.encode(), executable)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_files_in_folders_of_their_own(tmp_path):
    out = tmp_path / "a" / "b"
    written = write_folder(out, [file("x.sh", "1", True), file("deep/y", "2")])
    assert written == (out / "deep" / "y", out / "x.sh")
    assert os.access(out / "x.sh", os.X_OK)
    assert not os.access(out / "deep" / "y", os.X_OK)
    assert sorted(json.loads((out / RECORD).read_text())) == ["deep/y", "x.sh"]


def test_the_next_one_takes_away_what_is_gone(tmp_path):
    write_folder(tmp_path, [file("x", "1"), file("y", "2")])
    (tmp_path / "mine").write_text("mine")
    write_folder(tmp_path, [file("x", "3")])
    assert names(tmp_path) == [RECORD, "mine", "x"]


def test_a_file_of_another_is_refused_and_everything_stays(tmp_path):
    (tmp_path / "y").write_text("of another")
    with pytest.raises(InputError, match=f"{tmp_path / 'y'}, which no export left so"):
        write_folder(tmp_path, [file("x", "1"), file("y", "2")])
    assert names(tmp_path) == ["y"]
    write_folder(tmp_path, [file("x", "1"), file("y", "of another")])  # the same bytes are no loss
    assert names(tmp_path) == [RECORD, "x", "y"]


def test_a_changed_file_that_is_gone_is_refused_too(tmp_path):
    write_folder(tmp_path, [file("x", "1"), file("y", "2")])
    (tmp_path / "y").write_text("changed")
    with pytest.raises(InputError, match="which no export left so"):
        write_folder(tmp_path, [file("x", "1")])
    write_folder(tmp_path, [file("x", "1")], force=True)
    assert names(tmp_path) == [RECORD, "x"]


@pytest.mark.parametrize("record", ["{", "[]", '{"../outside": "x", "/etc/hosts": "y"}'])
def test_a_record_that_somebody_spoiled_reaches_nothing_outside(tmp_path, record):
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.write_text("here")
    out.mkdir()
    (out / RECORD).write_text(record)
    write_folder(out, [file("x", "1")], force=True)
    assert outside.read_text() == "here"


def test_a_failure_leaves_everything_as_it_was(tmp_path):
    write_folder(tmp_path / "out", [file("a", "1")])
    (tmp_path / "out" / "b").mkdir()  # in the way of a file
    with pytest.raises(InputError, match="a folder that can be written"):
        write_folder(tmp_path / "out", [file("a", "2"), file("b", "3")], force=True)
    assert (tmp_path / "out" / "a").read_text() == "1"
    with pytest.raises(InputError, match="a folder that can be written"):
        write_folder(tmp_path / "out" / "a" / "deeper", [file("x", "1")])
