"""Contrast of charts and pages, by the formula of WCAG 2.2."""

import re
from importlib.resources import files

import pytest

from planner.report.charts.theme import FILLS, INK, ON_DARK, ON_FILL, PAGE, PLAIN, SOFT, STRONG


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("fill", sorted({*FILLS, STRONG, PLAIN}))
def test_fills_stand_out_on_both_pages_and_carry_black_letters(fill):
    assert contrast(fill, PAGE) >= 3
    assert contrast(fill, ON_DARK[PAGE]) >= 3
    assert contrast(fill, ON_FILL) >= 4.5


@pytest.mark.parametrize("ink", [INK, SOFT])
def test_letters_can_be_read_on_both_pages(ink):
    assert contrast(ink, PAGE) >= 4.5
    assert contrast(ON_DARK[ink], ON_DARK[PAGE]) >= 4.5


def test_the_page_has_the_colors_of_its_charts():
    css = (files("planner.report.renderers") / "report.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{[^}]*--ink[^}]*\}", css)[:2]
    for name, color in (("ink", INK), ("soft", SOFT), ("page", PAGE)):
        assert f"--{name}: {color}" in light
        assert f"--{name}: {ON_DARK[color]}" in dark
