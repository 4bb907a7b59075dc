"""A process of the suite that dies: its test fails, and all others run."""

import subprocess
import sys
from pathlib import Path

CONFTEST = """
import sys
sys.path.insert(0, {tests!r})
def pytest_xdist_make_scheduler(config, log):
    from together import Together
    return Together(config, log)
"""
FILE = """
import os, pytest
@pytest.mark.parametrize("number", range(4))
def test_one(number):
    if {dies} and number == 2:
        os._exit(3)
def test_another():
    pass
"""


def test_the_rest_runs(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST.format(tests=str(Path(__file__).parents[1])))
    for number in range(5):
        (tmp_path / f"test_{number}.py").write_text(FILE.format(dies=number == 1))
    words = ["-n2", "--dist=loadgroup", "-pno:cacheprovider", "-pno:benchmark", "-o", "addopts="]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *words, "-c", "/dev/null", "--rootdir", ".", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "1 failed, 24 passed" in done.stdout, done.stdout + done.stderr
    assert "test_one[2]" in done.stdout
