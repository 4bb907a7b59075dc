"""Curves: the same numbers as estimates, a knee where power is largest, the largest load within limits."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from planner.app import curve as curve_case
from planner.app import estimate as estimate_case
from planner.errors import InputError
from planner.report import curve_text, terminal
from planner.report.charts.draw import picture

ASKED = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": 1000, "osl": 200}


def curve(**changes):
    return curve_case.curve(**ASKED | changes)


def test_points_are_the_estimates_at_their_loads():
    found = curve(concurrency_max=64)
    assert [point.concurrency for point in found.points] == sorted({p.concurrency for p in found.points})
    for point in (found.points[0], found.points[-1]):
        one = estimate_case.estimate(**ASKED, concurrency=int(point.concurrency))
        assert point.output_tokens_per_s == pytest.approx(one.output_tokens_per_s)
        assert point.ttft_s == pytest.approx(one.ttft_s)
        assert point.itl_s == pytest.approx(one.itl_s)


def test_rates_are_those_of_estimates_and_little_s_law_holds():
    found = curve(rps_max=10.0)
    assert found.load == "rate"
    assert found.points[-1].rate_rps == pytest.approx(10.0, rel=1e-3)
    for point in found.points:
        assert point.concurrency == pytest.approx(point.rate_rps * point.e2e_s["mean"])
    one = estimate_case.estimate(**ASKED, rps=found.points[12].rate_rps)
    assert found.points[12].ttft_s == pytest.approx(one.ttft_s, rel=1e-3)


def test_a_rate_beyond_the_capacity_ends_at_the_capacity():
    found = curve(rps_max=1e6)
    assert found.points[-1].rate_rps < 1e4
    assert all("p99" in point.ttft_s for point in found.points)
    rates = [point.rate_rps for point in found.points]
    assert rates == sorted(rates)


def test_the_knee_has_the_largest_power():
    found = curve()
    powers = [point.output_tokens_per_s / point.e2e_s["mean"] for point in found.points]
    assert found.knee == found.points[powers.index(max(powers))]
    assert found.points[0].power < found.knee.power > found.points[-1].power


def test_the_largest_load_keeps_the_limits_and_one_more_does_not():
    found = curve(slo_s={"itl_p99": 0.05, "ttft_p99": 1.0})
    assert found.largest.itl_s["p99"] <= 0.05
    assert found.largest.ttft_s["p99"] <= 1.0
    more = estimate_case.estimate(**ASKED, concurrency=int(found.largest.concurrency) + 1)
    name, statistic = found.broken_by.split("_")
    assert getattr(more, f"{name}_s")[statistic] > found.slo[found.broken_by]
    assert [point.keeps_slo for point in found.points if point.concurrency <= found.largest.concurrency] == [
        True for point in found.points if point.concurrency <= found.largest.concurrency
    ]


def test_no_load_keeps_an_impossible_limit():
    found = curve(slo_s={"ttft_p99": 1e-4})
    assert (found.largest, found.broken_by) == (None, "ttft_p99")
    assert not any(point.keeps_slo for point in found.points)


def test_a_limit_that_never_binds_leaves_the_whole_range():
    found = curve(concurrency_max=8, slo_s={"e2e_mean": 3600.0})
    assert found.largest.concurrency == 8
    assert found.broken_by is None


@pytest.mark.parametrize(
    "changes", [{"isl": 1, "osl": 1}, {"concurrency_max": 1}, {"concurrency_max": 10**6}, {"rps_max": 1e-6}]
)
def test_edges_give_finite_numbers(changes):
    found = curve(**changes)
    assert found.points
    numbers = [value for point in found.points for value in (*point.ttft_s.values(), *point.itl_s.values())]
    assert all(0.0 <= value < 1e9 for value in numbers)
    terminal.render(curve_text.view(found))
    ElementTree.fromstring(picture(curve_text.chart(found)))


def test_what_cannot_run_says_why():
    found = curve(model="llama-3.3-70b")
    assert [reason.id for reason in found.cannot_run] == ["vram"]
    assert "cannot run" in terminal.render(curve_text.view(found))


def test_unknown_names_are_told():
    with pytest.raises(InputError, match="h100-sxm"):
        curve(gpu="h100-smx")


def test_the_page_names_knee_and_limit():
    found = curve(slo_s={"itl_p99": 0.05})
    text = terminal.render(curve_text.view(found))
    assert "knee (largest output tokens/s over mean end-to-end time)" in text
    assert "largest load within itl_p99 50.0 ms" in text
    plain = terminal.render(curve_text.view(found), unicode=False)
    assert plain.isascii()
    assert "?" not in plain


def test_the_picture_is_drawn_to_scale():
    """Three points on a straight line of the logarithmic axis lie on a diagonal of the picture."""
    point = curve(concurrency_max=1).points[0]
    points = tuple(
        point.model_copy(
            update={"output_tokens_per_s": x, "ttft_s": {"p99": y}, "itl_s": {}, "e2e_s": {"mean": 1.0}}
        )
        for x, y in ((0.0, 0.01), (500.0, 0.1), (1000.0, 1.0))
    )
    drawn = curve_text.picture(curve(concurrency_max=1).model_copy(update={"points": points, "knee": None}))
    lines = drawn.splitlines()
    assert lines[0].startswith("   1.00 s")
    assert lines[curve_text.ROWS - 1].startswith("  10.0 ms")
    assert lines[0].rstrip().endswith("•")
    assert lines[curve_text.ROWS - 1].index("•") == 11


def test_the_chart_has_limits_and_what_tokens_cost():
    found = curve(slo_s={"itl_p99": 0.05, "e2e_p99": 60.0})
    latency, cost = curve_text.chart(found).panels
    assert latency.limits == (("itl_p99 50.0 ms", 0.05),)
    assert [track.name for track in latency.tracks] == ["TTFT P99", "ITL P99"]
    last = found.points[-1]
    millions_per_h = last.output_tokens_per_s * 0.0036
    assert cost.tracks[0].points[-1][1] == pytest.approx(found.usd_per_hour / millions_per_h)


def test_without_a_price_there_is_no_cost_to_draw():
    found = curve().model_copy(update={"usd_per_hour": None})
    assert len(curve_text.chart(found).panels) == 1
