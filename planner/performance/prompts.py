"""The requests of a workload in order of their prompts, cut into length classes and weighed anew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.performance.running import running_of_pairs
from planner.performance.traffic import Trimmed, known, pairs
from planner.queueing import lengths as formulas
from planner.schema.lengths import Lengths
from planner.schema.traces import TraceLengths
from planner.schema.traffic import Traffic
from planner.schema.workload import Workload

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_ATOMS = len(formulas.BIN_EDGES) - 1


@dataclass(frozen=True, eq=False)
class Prompts:
    """Requests in order of their prompts: points of a distribution, each in one length class.

    Prompts are as the engine sees them: after trimming, with the tokens of images.
    """

    whole: Traffic
    weight: FloatArray
    """Of each point, summing to 1."""
    tokens: FloatArray
    """Prompts, never falling."""
    answers: FloatArray | None
    """Answer of each point; None: answers do not depend on prompts."""
    longest_fraction: float
    edges: FloatArray | None = None
    """Of percentiles: probabilities between the points."""
    stated: tuple[FloatArray, FloatArray] | None = None
    """Of percentiles: their probabilities and tokens, without images."""
    image_tokens: float = 0.0
    class_of: IntArray | None = None
    """Of each point its class; None: one class."""
    classes: int = 1

    @property
    def shares(self) -> FloatArray:
        """Share of requests by class."""
        return np.asarray(np.bincount(self._classes, self.weight, self.classes), dtype=np.float64)

    @property
    def work(self) -> FloatArray:
        """Share of the tokens that are read and written, by point."""
        answers = self.whole.output_mean_tokens if self.answers is None else self.answers
        tokens = self.weight * (self.tokens + answers)
        return np.asarray(tokens / tokens.sum())

    @property
    def _classes(self) -> IntArray:
        return np.zeros(self.weight.size, dtype=np.int64) if self.class_of is None else self.class_of

    def share_up_to(self, tokens: FloatArray) -> FloatArray:
        """Share of the requests whose prompts have at most so many tokens."""
        if self.stated is not None:
            return formulas.probability_up_to(*self.stated, tokens - self.image_tokens)
        cumulative = np.append(0.0, np.cumsum(self.weight))
        return np.asarray(cumulative[np.searchsorted(self.tokens, tokens, side="right")])

    def cut(self, up_to_tokens: Sequence[int]) -> Prompts:
        """Classes of prompts up to each of these lengths (rising), and of all longer ones.

        Percentiles are cut at the exact share of the requests up to a length. Classes without requests
        keep their number and have the share 0.
        """
        tops = np.asarray(up_to_tokens, dtype=np.float64)
        if self.edges is None:
            own = np.searchsorted(tops, self.tokens, side="left")
            return replace(self, class_of=own, classes=tops.size + 1)
        at = np.clip(self.share_up_to(tops), 0.0, 1.0)
        edges = np.unique(np.concatenate((self.edges, at)))
        middle = (edges[:-1] + edges[1:]) / 2.0
        cell = np.minimum(np.searchsorted(self.edges, middle, side="right"), self.weight.size) - 1
        return replace(
            self,
            weight=np.diff(edges),
            tokens=self.tokens[cell],
            edges=edges,
            class_of=np.searchsorted(at, middle, side="right"),
            classes=tops.size + 1,
        )

    def tops(self, parts: int) -> tuple[int, ...]:
        """Prompt lengths that cut the requests into so many classes of equal work, as far as they differ.

        The work of a request is its prompt and its answer in tokens.
        """
        wanted = np.arange(1, parts) / parts
        done = np.cumsum(self.work)
        if self.stated is None or self.edges is None:
            return self._between(wanted, done)
        probability = np.interp(wanted, np.append(0.0, done), self.edges)
        at = formulas.quantiles_from_percentiles(*self.stated, probability) + self.image_tokens
        found = np.unique(np.round(at).astype(np.int64))
        share = self.share_up_to(found.astype(np.float64))
        kept = (np.diff(np.append(0.0, share)) > 1e-6) & (share < 1.0 - 1e-6)
        return tuple(found[kept].tolist())

    def _between(self, wanted: FloatArray, done: FloatArray) -> tuple[int, ...]:
        """Of single prompts the lengths after which the work done is nearest to what is wanted."""
        lengths, first = np.unique(np.ceil(self.tokens - 1e-9).astype(np.int64), return_index=True)
        after = done[first[1:] - 1]
        if after.size > wanted.size:
            chosen = np.abs(after[None, :] - wanted[:, None]).argmin(axis=1)
            return tuple(lengths[np.unique(chosen)].tolist())
        return tuple(lengths[:-1].tolist())

    def traffic(self, kept: Sequence[float]) -> Traffic:
        """The traffic that is left of the workload when so much of each class is kept (1 = all of it).

        Arrivals are thinned at random, which brings their variation nearer to that of a Poisson process;
        what is burstier stays as bursty, since bursts may be of one class.
        """
        factor = np.asarray(kept, dtype=np.float64)
        if np.all(factor == factor[0]):
            return self.whole
        weight = self.weight * factor[self._classes]
        left = float(weight.sum())
        weight = weight / left
        prompt = _atoms(weight, self.tokens)
        found = replace(
            self.whole,
            input_weight=prompt[0],
            input_tokens=prompt[1],
            input_mean_tokens=float(weight @ self.tokens),
            input_p95_tokens=self._quantile(weight, 0.95),
            input_p99_tokens=self._quantile(weight, 0.99),
            arrival_scv_ratio=self._arrivals(left / float(factor.max())),
        )
        if self.answers is None:
            total = formulas.sum_atoms(*prompt, found.output_weight, found.output_tokens)
            return replace(found, kv_tokens=self._kv_tokens(*total))
        answer = _atoms(weight, self.answers)
        mean = float(weight @ self.answers)
        return replace(
            found,
            output_weight=answer[0],
            output_tokens=answer[1],
            output_mean_tokens=mean,
            output_p95_tokens=formulas.atom_quantile(weight, self.answers, 0.95),
            output_p99_tokens=formulas.atom_quantile(weight, self.answers, 0.99),
            kv_tokens=self._kv_tokens(weight, self.tokens + self.answers),
            answer_input_tokens=float((weight * self.answers) @ self.tokens / mean),
            running=running_of_pairs(weight, self.tokens, self.answers),
        )

    def _arrivals(self, share: float) -> float:
        """Variation of arrivals of which a share is kept: 1 - p + p c^2, or c^2 where that is more."""
        stated = self.whole.arrival_scv_ratio
        return max(stated, 1.0 - share + share * stated)

    def _kv_tokens(self, weight: FloatArray, tokens: FloatArray) -> int:
        return math.ceil(formulas.atom_quantile(weight, tokens, self.longest_fraction) - 1e-9)

    def _quantile(self, weight: FloatArray, probability: float) -> float:
        """Of percentiles the exact one: the point that reaches the probability, and how far into it."""
        if self.edges is None or self.stated is None:
            return formulas.atom_quantile(weight, self.tokens, probability)
        cumulative = np.cumsum(weight)
        point = int(np.searchsorted(cumulative, probability - 1e-12))
        into = 1.0 - (cumulative[point] - probability) / weight[point]
        at = self.edges[point] + into * (self.edges[point + 1] - self.edges[point])
        found = formulas.quantiles_from_percentiles(*self.stated, np.array([at]))
        return float(found[0]) + self.image_tokens


def _atoms(weight: FloatArray, tokens: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As many atoms as the whole distribution has, or the points themselves where they are fewer."""
    there = weight > 0.0
    weight, tokens = weight[there], tokens[there]
    if weight.size <= _ATOMS:
        return weight, tokens
    return formulas.coarse_atoms(weight, tokens, formulas.BIN_EDGES[1:])


def prompts(
    workload: Workload,
    lengths: Lengths,
    trace: TraceLengths | None,
    whole: Traffic,
    image_tokens: float,
    longest_fraction: float,
) -> Prompts:
    """The requests of a workload, from the lengths that its traffic was made of.

    Args:
        workload: for what is trimmed.
        lengths: two sides, buckets, or a trace.
        trace: the file that lengths or demand name, already read.
        whole: the traffic of all requests.
        image_tokens: tokens of images in every prompt.
        longest_fraction: quantile of prompt + answer that the longest planned request has.
    """
    trimmed = Trimmed.of(workload.trim)
    if lengths.input is None:
        weight, inputs, answers = pairs(lengths, trace, trimmed)
        order = np.argsort(inputs, kind="stable")
        tokens = inputs[order] + image_tokens
        return Prompts(whole, weight[order], tokens, answers[order], longest_fraction)
    if lengths.input.fixed is not None:
        return Prompts(whole, np.ones(1), whole.input_tokens, None, longest_fraction)
    stated = known(lengths.input, trimmed.scale)
    edges = formulas.cell_edges()
    tokens = formulas.quantiles_from_percentiles(*stated, (edges[:-1] + edges[1:]) / 2.0) + image_tokens
    return Prompts(whole, np.diff(edges), tokens, None, longest_fraction, edges, stated, image_tokens)
