"""Help must come at once: nobody waits for a solver to read a list of options."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).parent / "planner"


@pytest.mark.bench
def test_help(benchmark):
    def show_help():
        subprocess.run([SCRIPT, "--help"], capture_output=True, timeout=60, check=True)

    benchmark(show_help)


@pytest.mark.bench
def test_the_catalog_is_read_again(benchmark):
    from planner.loaders.catalog import load_catalog

    benchmark(load_catalog)
