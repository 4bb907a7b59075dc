"""The wheel holds the package and its data, and nothing else."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ("catalog", "rules", "problems")


def _files(folder):
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: the wheel was NOT checked")
    folder = tmp_path_factory.mktemp("wheel")
    # In this environment and without isolation, so that no network is needed.
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_only_one_package_and_its_metadata(names):
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"planner"}
    assert len(tops) == 2


def test_every_module_and_every_data_file_is_there(names):
    data = {f"planner/_data/{name}" for folder in DATA for name in _files(folder)}
    assert {name for name in names if name.startswith("planner/")} == _files("planner") | data
    for folder in DATA:
        assert any(name.startswith(f"planner/_data/{folder}/") for name in names), f"no file of {folder}"


def test_data_folders_hold_no_code(names):
    assert not [name for name in names if name.startswith("planner/_data/") and name.endswith(".py")]
