"""What each percentile adds to the spread of its mean: the steady rows, and the estimate.

Plans stand below the knee, so only rows that do tell how sure a planned percentile is. A row counts where

- it is scored, and its number is no place in the queue of a start;
- requests came at a stated rate (a closed loop and a burst begin with a queue that no plan has);
- the table states its prompts (those of audited runs are recalled, and their offered load was searched until
  it was just carried: there ten percent of step time double the requests in flight);
- the service model puts it at `STEADY_LOAD` of what its replicas carry at most: beyond, an error of step
  times moves the load that is carried, and plans hold a margin on step times for that.

With l the log of predicted over measured and s the spread of the mean for that configuration (model, GPU,
engine, format and load: `planner.performance.spread`), a percentile adds

    e^2 = P80 of (l / 1.28)^2 - s^2, 0 at least

so that the interval of 80 % from sqrt(s^2 + e^2) holds 80 % of the rows. A server that was run at many rates
counts once: its rows share one weight. Percentiles farther out are never surer than those below: where rows
say otherwise, neighbors share the mean of what they say (isotonic regression).

Source: Barlow, Bartholomew, Bremner, Brunk, Statistical inference under order restrictions, 1972.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from planner.calibration.accuracy import CONFIDENCE, SCORE
from planner.calibration.fit_summary import SIGNIFICANT
from planner.calibration.measured_ground import SOURCE as SPREAD_SOURCE
from planner.physics.arrays import FloatArray
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
        values = _never_falling([one[1] for one in told])
        for (name, _, count), variance in zip(told, values, strict=True):
            found[f"{name}{BEYOND_MEAN}"] = _parameter(name, float(np.sqrt(variance)), count)
    return found


def _added(rows: Sequence[PredictedPercentiles], name: str) -> tuple[float, int]:
    """Variance beyond that of the mean, 0 at least, and the rows that state the percentile."""
    seen = [row for row in rows if name in row.ms and name in row.row.observed_ms]
    seen = [row for row in seen if not row.row.is_place_in_queue(name)]
    if not seen:
        return 0.0, 0
    logs = np.log([row.ms[name] / row.row.observed_ms[name] for row in seen])
    mean = "ttft" if name.startswith("ttft") else "tpot"
    own = np.array([row.sigma_log[mean] for row in seen])
    servers = [_server(row) for row in seen]
    count = Counter(servers)
    weight = np.array([1.0 / count[server] for server in servers])
    return max(_quantile((logs / SCORE) ** 2 - own**2, weight, CONFIDENCE), 0.0), len(seen)


def _server(row: PredictedPercentiles) -> tuple[object, ...]:
    """Runs that differ in their rate alone."""
    one, measured = row.row, row.row.measured
    software = (measured.engine, measured.engine_version, measured.weights, one.router)
    return (one.source.split("@")[0], measured.model, measured.gpu, measured.gpus, measured.tp, *software)


def _quantile(values: FloatArray, weight: FloatArray, probability: float) -> float:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    place = np.searchsorted(below, probability * below[-1] * (1.0 - 1e-12))
    return float(values[order][min(int(place), values.size - 1)])


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
