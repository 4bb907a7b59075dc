"""Damaged pages of metrics are read or refused in words, and never invent a value that cannot be."""

import math
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.app.observe import from_metrics
from planner.errors import InputError
from tests.metric_pages import saturate, serve_well, vllm

EXPORTER = vllm()
serve_well(EXPORTER)
BEFORE = EXPORTER.text()
saturate(EXPORTER)
AFTER = EXPORTER.text()
LINES = AFTER.count(b"\n")

pieces = st.sampled_from(
    [
        b"",
        b"\n",
        b"{",
        b"}",
        b'"',
        b"NaN",
        b"-1",
        b"+Inf",
        b"1e400",
        b" ",
        b"#",
        b"\\",
        b"\xff",
        b"le=",
        b"9" * 5000,
    ]
)
damages = st.lists(st.tuples(st.integers(0, len(AFTER)), st.integers(0, 40), pieces), min_size=1, max_size=6)


def damaged(page, damage):
    for place, length, piece in damage:
        page = page[:place] + piece + page[place + length :]
    return page


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damages, st.booleans())
def test_damaged_pages(damage, earlier):
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before"), Path(folder, "after")
        before.write_bytes(damaged(BEFORE, damage) if earlier else BEFORE)
        after.write_bytes(AFTER if earlier else damaged(AFTER, damage))
        try:
            readout = from_metrics([str(before), str(after)], interval_s=15)
        except InputError:
            return
    assert set(readout.readings) <= readout.observation.model_fields_set
    for name, reading in readout.readings.items():
        assert reading.low <= reading.value <= reading.high, name
        assert math.isfinite(reading.value), name


@settings(max_examples=25, deadline=None)
@given(st.integers(0, LINES), st.integers(0, LINES))
def test_missing_lines_only_take_values_away_or_widen_them(first, last):
    """Whole series that are missing never make a value appear."""
    with tempfile.TemporaryDirectory() as folder:
        lines = AFTER.split(b"\n")
        whole, part = Path(folder, "whole"), Path(folder, "part")
        whole.write_bytes(AFTER)
        part.write_bytes(b"\n".join([*lines[:first], *lines[max(first, last) :]]))
        everything = from_metrics([str(whole)])
        try:
            less = from_metrics([str(part)])
        except InputError:
            return
    assert less.observation.model_fields_set <= everything.observation.model_fields_set
