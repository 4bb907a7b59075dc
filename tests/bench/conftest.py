"""Prints what a second holds, below the table of times."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    session = getattr(config, "_benchmarksession", None)
    told = [bench for bench in getattr(session, "benchmarks", ()) if bench.extra_info]
    if not told:
        return
    terminalreporter.section("rates")
    for bench in told:
        facts = ", ".join(f"{name} {_number(value)}" for name, value in sorted(bench.extra_info.items()))
        terminalreporter.write_line(f"{bench.name}: {facts}")


def _number(value):
    if isinstance(value, int | float) and abs(value) >= 1e6:
        return f"{value / 1e6:.2f} million"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
