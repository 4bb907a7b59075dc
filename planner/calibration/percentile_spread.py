"""What each percentile adds to the spread of its mean: the steady rows, and the estimate.

Plans stand below the knee, so only rows that do tell how sure a planned percentile is. A row counts where

- it is scored, and its number is no place in the queue of a start;
- requests came at a stated rate (a closed loop and a burst begin with a queue that no plan has);
- the table states its prompts (those of audited runs are recalled, and their offered load was searched until
  it was just carried: there ten percent of step time double the requests in flight);
- the service model puts it at `STEADY_LOAD` at most of what its replicas carry: beyond, an error of step
  times moves the load that is carried, and plans hold a margin on step times for that.

With l_p and l_m the logs of predicted over measured of a percentile and of the mean of the same run, the
percentile adds

    e = P80 of |l_p - l_m| / 1.28

in quadrature: what the mean errs by is in both of them, and its spread (`planner.performance.spread`) counts
it already. The difference does not depend on that spread, nor on how well a GPU is known. A model on a GPU
counts once, however many rates it was run at, and the quantile is one that no single one of them decides
(`planner.calibration.smooth_quantile`). Percentiles farther out are never surer than those below: where rows
say otherwise, neighbors share the mean of what they say (isotonic regression).

Source: Barlow, Bartholomew, Bremner, Brunk, Statistical inference under order restrictions, 1972.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from planner.calibration.accuracy import CONFIDENCE, SCORE
from planner.calibration.fit_summary import SIGNIFICANT
from planner.calibration.measured_ground import SOURCE as SPREAD_SOURCE
from planner.calibration.smooth_quantile import smooth_quantile
from planner.schema.catalog import Parameter
from planner.schema.percentiles import METRICS, PERCENTILES, PredictedPercentiles
from planner.schema.spread import BEYOND_MEAN

STEADY_LOAD = 0.9
"""Of what a service carries at most, the load up to which a run is steady."""
FEWEST_ROWS = 20
"""With fewer a percentile has no spread of its own."""
MOST_SIGMA = 2.0


def is_steady(row: PredictedPercentiles) -> bool:
    """Whether a row tells how sure planned percentiles are."""
    measured = row.row.measured
    below = row.utilization is not None and row.utilization <= STEADY_LOAD
    return row.scored and below and measured.kind == "open-loop" and measured.input_tokens > 0.0


def percentile_sigmas(rows: Sequence[PredictedPercentiles]) -> dict[str, Parameter]:
    """Log-standard deviation that each percentile adds in quadrature to that of its mean, by name."""
    steady = [row for row in rows if is_steady(row)]
    found: dict[str, Parameter] = {}
    for metric in METRICS:
        names = [f"{metric}_{percentile}" for percentile in PERCENTILES]
        told = [(name, *_added(steady, name)) for name in names]
        told = [one for one in told if one[2] >= FEWEST_ROWS]
        values = _never_falling([one[1] ** 2 for one in told])
        for (name, _, count), variance in zip(told, values, strict=True):
            found[f"{name}{BEYOND_MEAN}"] = _parameter(name, float(np.sqrt(variance)), count)
    return found


def _added(rows: Sequence[PredictedPercentiles], name: str) -> tuple[float, int]:
    """Log-standard deviation beyond the mean, and the rows that state both."""
    seen = [(row, beyond) for row in rows if (beyond := beyond_mean(row, name)) is not None]
    if not seen:
        return 0.0, 0
    pairs = [(row.row.measured.model, row.row.measured.gpu) for row, _ in seen]
    count = Counter(pairs)
    weights = np.array([1.0 / count[pair] for pair in pairs])
    sizes = np.abs([beyond for _, beyond in seen]) / SCORE
    return smooth_quantile(sizes, weights, CONFIDENCE, len(count)), len(seen)


def beyond_mean(row: PredictedPercentiles, name: str) -> float | None:
    """Log of predicted over measured of a percentile, less that of its mean; None where one is not stated."""
    names = (name, f"{name.split('_')[0]}_mean")
    predicted, observed = row.ms, row.row.observed_ms
    if row.row.is_place_in_queue(name) or any(
        one not in kept for one in names for kept in (predicted, observed)
    ):
        return None
    of_percentile, of_mean = (predicted[one] / observed[one] for one in names)
    return math.log(of_percentile / of_mean)


def _never_falling(values: Sequence[float]) -> Iterator[float]:
    """The nearest sequence (least squares) that never falls: falling neighbors take their mean."""
    pools: list[list[float]] = []
    for value in values:
        pools.append([value])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    for pool in pools:
        yield from [float(np.mean(pool))] * len(pool)


def _parameter(name: str, value: float, count: int) -> Parameter:
    metric, percentile = name.upper().split("_")
    return Parameter(
        value=float(f"{min(value, MOST_SIGMA):.{SIGNIFICANT}g}"),
        unit="1",
        low=0.0,
        high=MOST_SIGMA,
        meaning=f"What {metric} {percentile} adds to the log-spread of its mean: {count} steady runs",
        source=SPREAD_SOURCE,
    )
