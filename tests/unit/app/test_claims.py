"""Claims of the manuals against values worked out by hand."""

from __future__ import annotations

import pytest

from planner.app.claims import judged, judged_claims
from planner.schema.claims import Claim


def claim(stated, bound=None):
    return Claim(
        document="lesson", section="1", about="x", stated=stated, unit="GB", quantity="kv_cache", bound=bound
    )


@pytest.mark.parametrize(
    ("stated", "bound", "verdict"),
    [
        (100.4, None, "right"),
        (104, None, "rounded"),
        (106, None, "inconsistent"),
        (94, "upper", "inconsistent"),
        (106, "upper", "impossible"),
    ],
)
def test_verdicts(stated, bound, verdict):
    assert judged(claim(stated, bound), 100.0).verdict == verdict


def test_values_worked_out_by_hand():
    ours = {(item.claim.document, item.claim.about): item.ours for item in judged_claims()}
    assert ours["web manual", "KV of one request of Llama-70B at 128K in 16 bit"] == pytest.approx(
        2 * 80 * 8 * 128 * 2 * 131072 / 1e9
    )
    assert ours["field guide", "bubble of 4 stages with 4 micro-batches"] == pytest.approx(300 / 7)
    touched = "experts that a Mixtral decode step reads in one layer (eight sequences)"
    assert ours["Dielabs manual", touched] == pytest.approx(8 * (1 - 0.75**8))
    assert ours["field guide", "KV of 50 requests of 4K in NVFP4"] == pytest.approx(
        50 * 4096 * 2 * 80 * 8 * 128 * 4.5 / 8 / 1e9
    )
