"""Sessions -> atoms: the prompts of all turns, and what of each was in the turn before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance.reuse import shares
from planner.queueing import lengths as formulas
from planner.schema.reuse import PrefixCache
from planner.schema.sessions import MOST_TURNS, Sessions
from planner.schema.traffic import Reuse

FloatArray = NDArray[np.float64]
Atoms = tuple[FloatArray, FloatArray]

_LATER = tuple((np.arange(100) + 1.0) / 100.0)
"""Bins into which the prompts of later turns are merged."""


@dataclass(frozen=True, eq=False)
class SessionPrompts:
    """Prompts of the requests of all sessions, and what may be found again."""

    prompt: Atoms
    reuse: Reuse
    turns_mean: float


def turn_weights(turns: Atoms) -> FloatArray:
    """Share of requests that are turn 1, 2, …: sessions that get so far, over the mean number of turns."""
    weight, number = turns[0], np.clip(np.round(turns[1]), 1, MOST_TURNS)
    index = np.arange(1, int(number.max()) + 1)
    reached = (weight[None, :] * (number[None, :] >= index[:, None])).sum(axis=1)
    return np.asarray(reached / reached.sum())


def session_prompts(
    sessions: Sessions,
    turns: Atoms,
    first: Atoms,
    answer_mean_tokens: float,
    scale: float,
    image_tokens: float,
    cache: PrefixCache | None,
    default_share: float,
) -> SessionPrompts:
    """The prompts of all turns.

    A session at rest holds its last prompt and answer. By Little's law a rate of one request per second has
    ``think time x (1 - 1 / mean turns)`` sessions at rest: every turn but the last is followed by a rest.

    Args:
        sessions: growth, think time, what is shared.
        turns: atoms of the number of turns.
        first: atoms of the first prompt, not scaled.
        answer_mean_tokens: mean answer.
        scale: what trimming leaves of a prompt.
        image_tokens: tokens of images in every prompt; never found again.
        cache: routing and share.
        default_share: blocks for sessions at rest beyond those of active requests.

    Assumes: turns end independently of lengths; the prompt of the turn before is found whole, its answer is
    not (templates often change it).
    """
    weight = turn_weights(turns)
    shared = scale * float(sessions.shared_input)
    start = scale * first[1]
    grown = scale * sessions.growth * np.arange(weight.size)
    prompts = start[None, :] + grown[:, None]
    both = weight[:, None] * first[0][None, :]
    later_weight, later = _later(both[1:], prompts[1:])
    tokens = np.concatenate([start, later])
    found = np.concatenate([np.full(start.size, shared), np.maximum(later - scale * sessions.growth, shared)])
    followed = np.append(weight[1:], 0.0)
    resting = float(followed.sum())
    rest_tokens = float((followed[:, None] * first[0][None, :] * prompts).sum() / resting) if resting else 0.0
    atom_weight = np.concatenate([both[0], later_weight])
    reuse = Reuse(
        weight=atom_weight,
        tokens=tokens + image_tokens,
        found_tokens=found,
        always_tokens=np.full(tokens.size, shared),
        entries_per_rps=float(sessions.think_time) * resting,
        entries=0.0,
        entry_tokens=rest_tokens + answer_mean_tokens,
        scattered=cache is not None and cache.routing == "round-robin",
        shares=shares(cache, default_share, known=True),
        open_share=cache is None or cache.share is None,
        shared_tokens=shared,
    )
    return SessionPrompts((atom_weight, tokens + image_tokens), reuse, float(1.0 / weight[0]))


def _later(weight: FloatArray, tokens: FloatArray) -> Atoms:
    """Prompts of the turns after the first, many merged into a hundred."""
    if weight.size <= len(_LATER):
        return weight.ravel(), tokens.ravel()
    total = float(weight.sum())
    merged, found = formulas.coarse_atoms(weight.ravel(), tokens.ravel(), _LATER)
    return merged * total, found
