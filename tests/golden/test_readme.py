"""The README shows a real plan."""

import readme


def test_the_readme_shows_the_plan_of_today():
    assert readme.block() == readme.shown(), "run `.venv/bin/python tests/golden/update.py`"
