"""Workflows ask for what the Makefile has, and a release has notes."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def lines(path):
    """Every command line of a workflow."""
    jobs = yaml.safe_load(path.read_text())["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    return [line for step in steps for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_a_workflow_asks_for_targets_and_scripts_that_there_are(path):
    text = "\n".join(lines(path))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert asked
    assert asked <= targets
    for script in re.findall(r"(\.ci/\w+)", text):
        assert os.access(ROOT / script, os.X_OK), script


def test_pull_requests_plan_and_test():
    text = "\n".join(lines(ROOT / ".github/workflows/ci.yml"))
    assert {"make plan", "make test", "make wheel"} <= set(text.splitlines())


def notes(version):
    return subprocess.run(
        [ROOT / ".ci/notes", version], capture_output=True, text=True, check=False, timeout=30
    )


def test_this_version_has_notes_of_its_own():
    told = notes(VERSION)
    assert told.returncode == 0
    assert "### Added" in told.stdout
    assert "\n## " not in told.stdout
    assert told.stdout in (ROOT / "CHANGELOG.md").read_text()
    assert notes("9.9.9").returncode == 1
