"""Disaggregated serving: both sides at every division of the limits that may be of use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.performance.pair import Conditions, Pair, RoleCandidates, Side, SideEvaluation

__all__ = ["Conditions", "Pair", "RoleCandidates", "Side", "SideEvaluation", "Split", "evaluate_split"]

_FEW = 0.02
"""Fewer prompts than this share are not worth a way of their own."""


@dataclass(frozen=True, eq=False)
class Split:
    """Everything that the solver may choose from to serve prefill and decode disaggregated."""

    sides: tuple[SideEvaluation, ...]
    pairs: Mapping[int, Pair]
    """Both sides by the prompts that decode workers compute themselves (`Division.local_tokens`)."""

    @property
    def evaluations(self) -> int:
        """Operating points that were evaluated."""
        return sum(side.evaluation.capacities.evaluations for side in self.sides)

    @property
    def first_token_from(self) -> Side:
        """The side that sends the first token."""
        return next(iter(self.pairs.values())).given.first_token_from


def evaluate_split(
    given: Conditions, prefill: RoleCandidates, decode: RoleCandidates, local_prefill: bool
) -> Split:
    """Both sides at every division of the limits that some decode candidate keeps; if none, at one of them.

    Args:
        given: what both sides share.
        prefill: candidates that compute prompts.
        decode: candidates that write answers.
        local_prefill: the router can leave short prompts to decode workers.
    """
    sides: list[SideEvaluation] = []
    hopeless: list[SideEvaluation] = []
    pairs: dict[int, Pair] = {}
    for local_tokens in _local_tokens(given) if local_prefill else (0,):
        pair = pairs[local_tokens] = Pair(given, prefill, decode, local_tokens, pairs.get(0))
        for division in pair.divisions():
            answers = pair.decode_side(division)
            if (answers.evaluation.capacities.max_batch > 0).any():
                sides += [pair.prefill_side(division), answers]
            elif not hopeless:
                hopeless = [pair.prefill_side(division), answers]
    return Split(tuple(sides or hopeless), pairs)


def _local_tokens(given: Conditions) -> tuple[int, ...]:
    """No prompt, and those that are short by judgment, where there are some and not only such."""
    short = int(given.policy.local_prefill_tokens)
    share = float(given.traffic.input_weight[given.traffic.input_tokens <= short].sum())
    return (0, short) if _FEW < share < 1.0 - _FEW else (0,)
