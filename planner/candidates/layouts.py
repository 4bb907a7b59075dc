"""Parallel layouts of one model: what the search may try, and what its shape admits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from planner.schema.candidates import AllowedFormat, Lot
from planner.schema.catalog import Calibration, Engine, NumberFormat
from planner.schema.configuration import AS_FITTED, AdapterSlots, Drafting, ExpertTraffic
from planner.schema.facts import ModelFacts
from planner.schema.search import Search
from planner.steptime.splitting import heads_divide

POWERS = (1, 2, 4, 8, 16, 32, 64)
"""Degrees tried by default."""
STAGES = (1, 2, 4, 8, 16)
"""Pipeline stages tried by default."""
LARGEST_REPLICA_GPUS = 256
"""Ends the list of layouts; no model of the catalog needs more."""


@dataclass(frozen=True)
class Space:
    """What the configurations of one workload are made of."""

    model: ModelFacts
    engine: Engine
    calibration: Calibration
    weights: tuple[AllowedFormat, ...]
    kv: tuple[AllowedFormat, ...]
    find_format: Callable[[str], NumberFormat | None]
    search: Search
    network_bytes_per_s: float
    network_latency_s: float
    chunks: tuple[int, ...]
    """Tokens in one step at most: the chunks of chunked prefill to try."""
    stages_always: bool
    """Pipeline stages are tried everywhere (the rule against them inside a server is off)."""
    everything: bool = False
    """Degrees that the problem lists are tried where they cannot work, too, and marked so."""
    drafts: tuple[Drafting | None, ...] = (None,)
    """Ways of speculative decoding to try; None: without."""
    experts: ExpertTraffic = AS_FITTED
    adapters: AdapterSlots | None = None
    evicts: bool = False
    """Tokens are dropped from the KV of running requests."""
    caches: bool = False
    """Every configuration has a prefix cache."""
    wide_ep: bool = False
    """The experts of a replica may be spread over several servers."""
    max_quality_loss: Decimal | None = None
    fabric: bool = False
    """The network between servers is stated, so that servers of one GPU have one."""


class Layout(NamedTuple):
    """Parallel degrees of one replica."""

    tp: int
    pp: int
    ep: int
    attention_dp: int

    @property
    def group(self) -> int:
        """GPUs of one stage."""
        return self.tp * self.attention_dp

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.group * self.pp


def layouts(space: Space, group_limit_gpus: int, deeper: bool) -> Iterator[Layout]:
    """Layouts to try, one stage each or (``deeper``) with several.

    Impossible ones are left out, except those that the problem lists while ``space.everything``.

    Args:
        space: model, engine and search lists.
        group_limit_gpus: GPUs that a tensor-parallel group may span.
        deeper: several pipeline stages.
    """
    search, model = space.search, space.model
    stages = [value for value in search.pp or STAGES if (value > 1) == deeper]
    ranks = search.attention_dp or (
        POWERS if model.moe_layers and space.engine.supports.attention_dp else (1,)
    )
    for tp in dict.fromkeys(search.tp or POWERS):
        for attention_dp in dict.fromkeys(ranks):
            for ep in dict.fromkeys(_expert_degrees(space, tp * attention_dp, attention_dp)):
                for pp in dict.fromkeys(stages):
                    layout = Layout(tp, pp, ep, attention_dp)
                    if _tried(space, layout, group_limit_gpus):
                        yield layout


def _tried(space: Space, layout: Layout, group_limit_gpus: int) -> bool:
    if layout.gpus > LARGEST_REPLICA_GPUS:
        return False
    if layout.group > group_limit_gpus and not spreads_experts(space, layout, group_limit_gpus):
        listed = space.search.tp is not None or space.search.attention_dp is not None
        return space.everything and listed
    return divides(space, layout) or (space.everything and _listed(space.search))


def spreads_experts(space: Space, layout: Layout, group_limit_gpus: int) -> bool:
    """Attention ranks on several whole servers share their experts over the network; no rank straddles."""
    spread = space.wide_ep and layout.attention_dp > 1 and layout.ep == layout.group
    whole = layout.group > group_limit_gpus and layout.group % group_limit_gpus == 0
    return spread and whole and layout.pp == 1 and layout.tp <= group_limit_gpus


def _listed(search: Search) -> bool:
    return any(listed is not None for listed in (search.tp, search.pp, search.ep, search.attention_dp))


def _expert_degrees(space: Space, group: int, attention_dp: int) -> tuple[int, ...]:
    """Expert-parallel degrees: whole experts over all GPUs of a stage, or experts split like the rest.

    Copies of the attention are there for the experts that they share, so those are spread whole.
    """
    if not space.model.moe_layers:
        return (1,)
    return space.search.ep or ((group,) if attention_dp > 1 else (1, group))


def divides(space: Space, layout: Layout) -> bool:
    """Heads and experts split evenly, as the engine needs it, and every stage has a layer."""
    model = space.model
    return _experts_divide(space, layout) and layout.pp <= model.layers and heads_divide(model, layout.tp)


def _experts_divide(space: Space, layout: Layout) -> bool:
    """Every rank of experts has at least one, and all GPUs of a stage belong to ranks of one size."""
    if layout.ep == 1:
        return True
    supports, experts = space.engine.supports, space.model.experts
    ranks = layout.group % layout.ep == 0 if supports.cut_experts else layout.group == layout.ep
    return ranks and experts >= layout.ep and (experts % layout.ep == 0 or supports.uneven_experts)


def whole_units(lot: Lot, layout: Layout) -> int:
    """Units that a replica larger than one takes whole (0: it fits in one); stages never straddle units."""
    if layout.gpus <= lot.unit_gpus:
        return 0
    if layout.group > lot.unit_gpus:
        return math.ceil(layout.gpus / lot.unit_gpus)
    return math.ceil(layout.pp / (lot.unit_gpus // layout.group))
