"""Whatever stands in a file, the command ends with a known exit code, in words, and without a traceback."""

import random
from importlib import import_module

import pytest
from more import seeds
from test_mutations import PROBLEMS, ROOT, mutated

from planner.errors import InputError
from planner.interfaces import cli
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem
from planner.schema.catalog_index import FOLDERS

CASES = 250
"""Mutated problem files, half of them in the suite. A thousand and more were run when this was written."""
OVERLAYS = 60
ANSWERED = 10
"""Valid ones of so many that are solved to the end; the others stop after the loader."""
ENTRIES = sorted(path for kind in FOLDERS for path in (ROOT / "catalog" / kind).glob("*.yaml"))


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def run_checked(capsys, arguments):
    """The exit code, after the promises of every exit code were checked."""
    code = cli.run(arguments)
    printed = capsys.readouterr()
    assert code in (0, 1, 2, 3), printed.err
    assert "Traceback" not in printed.err
    assert "this is a bug" not in printed.err
    if code == 2:
        assert printed.out == ""
        assert printed.err.strip()
    else:
        # Stopped before anything was chosen, a command has only words to say.
        assert (printed.out or (printed.err if code == 3 else "")).strip()
    return code


def is_valid(path, catalog):
    try:
        load_problem(path, catalog)
    except InputError:
        return False
    return True


@pytest.mark.more
def test_mutated_problem_files(tmp_path, capsys, catalog, monkeypatch):
    # The command reads the catalog anew for every file; here it is always the same one.
    monkeypatch.setattr(import_module("planner.app.plan"), "load_catalog", lambda overlays: catalog)
    path, solved, codes = tmp_path / "problem.yaml", 0, set()
    cases = seeds(CASES, start=50_000)
    most = ANSWERED * len(cases) // CASES
    for seed in cases:
        path.write_bytes(mutated(seed, PROBLEMS[seed % len(PROBLEMS)]))
        valid = is_valid(path, catalog)
        if valid and solved == most:
            continue
        solved += valid
        code = run_checked(capsys, ["plan", str(path), "--time-limit", "3"])
        assert valid or code == 2
        codes.add(code)
    assert solved == most
    assert codes >= {0, 2}


@pytest.mark.more
def test_mutated_catalog_overlays(tmp_path, capsys):
    codes = set()
    for seed in seeds(OVERLAYS):
        source = random.Random(seed).choice(ENTRIES)
        target = tmp_path / str(seed) / source.parent.name / source.name
        target.parent.mkdir(parents=True)
        target.write_bytes(mutated(seed + 70_000, source))
        folder = str(tmp_path / str(seed))
        codes.add(run_checked(capsys, ["catalog", "check", "--catalog", folder]))
    assert codes == {0, 2}
