"""A problem in a few words: what the flags of ``planner plan`` and the arguments of `planner.plan` say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

Amount = int | float | str
"""A number, or text such as ``"50k"``."""
Words = str | Sequence[str]
"""One word or several."""
Counts = Words | Mapping[str, int | None]
"""GPUs with how many there are: ``"h100=16"``, or a mapping; None: as many as wanted."""


class ProblemWords(TypedDict, total=False):
    """Parts of a problem, named as the flags of ``planner plan``; times are text with a unit."""

    model: str
    """Hugging Face or catalog id, or a path to a config.json."""
    rps: Amount
    """Requests per second at the peak; or one of the next four."""
    concurrency: Amount
    users: Amount
    requests_per_day: Amount
    tokens_per_day: Amount
    think_time: str
    """Of ``users``."""
    shape: str
    """Hours of a day: office, consumer or flat."""
    isl: Amount
    """Input tokens of a request."""
    osl: Amount
    """Output tokens of a request."""
    archetype: str
    """Lengths and limits of a kind of work."""
    golden: bool
    """With ``archetype``: its safe batch and KV format."""
    prefix_cache_hit: str
    """Share of prompt tokens, such as ``"30%"``."""
    ttft: str
    """Limit on the P95 of the time to first token; the other limits alike."""
    itl: str
    tpot: str
    e2e: str
    ttft_mean: str
    ttft_p50: str
    ttft_p90: str
    ttft_p95: str
    ttft_p99: str
    itl_mean: str
    itl_p50: str
    itl_p90: str
    itl_p95: str
    itl_p99: str
    tpot_mean: str
    tpot_p50: str
    tpot_p90: str
    tpot_p95: str
    tpot_p99: str
    e2e_mean: str
    e2e_p50: str
    e2e_p90: str
    e2e_p95: str
    e2e_p99: str
    gpu: Counts
    """Only these GPUs."""
    owned: Counts
    """GPUs that are there and paid anyway."""
    budget: str
    """Money at most, such as ``"60 USD/h"``."""
    engine: Words
    weights: Words
    """Formats to choose from."""
    kv: Words
    name: str
