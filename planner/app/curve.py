"""One configuration over a range of loads: its curve, its knee, and the largest load within limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from planner.app.asked_service import latencies, most_sequences, service_of
from planner.app.one_configuration import (
    Asked,
    Told,
    ask,
    build,
    cannot_run,
    option_text,
    rule_title,
)
from planner.app.replica_price import replica_price
from planner.errors import input_error
from planner.performance.outside import outside_measured
from planner.performance.replica import load_point
from planner.performance.service import serve
from planner.performance.service_result import ServiceResult
from planner.performance.user_factors import TAILS, evidence, limit_sigma_log
from planner.planning.documents.pool_document import memory_document
from planner.schema.candidates import FloatArray
from planner.schema.estimate import Curve, CurvePoint
from planner.schema.service_load import PLAIN, ClosedLoop, Conventions, OpenArrivals, ServiceLoad
from planner.schema.traffic import Traffic

POINTS = 25
"""Loads of a curve."""
PROBES = 64
"""Loads between the last that keeps the limits and the first that does not."""
_NEAR_FULL = 0.995
_ROUNDING = 1.0 + 1e-9
_GAPS = ("itl", "tpot")


def curve(
    *,
    model: str,
    gpu: str,
    isl: int,
    osl: int,
    tp: int = 1,
    pp: int = 1,
    ep: int = 1,
    attention_dp: int = 1,
    weights: str | None = None,
    kv: str | None = None,
    engine: str = "vllm",
    concurrency_max: int | None = None,
    rps_max: float | None = None,
    slo_s: Mapping[str, float] | None = None,
    conventions: Conventions = PLAIN,
    context: int | None = None,
    memory_utilization: str | None = None,
    max_batch: int | None = None,
    overlays: tuple[Path, ...] = (),
) -> Curve:
    """The curve over requests in flight, or with ``rps_max`` over rates of random arrivals.

    Knee: the load with the largest power, output tokens/s over mean end-to-end time (Kleinrock 1979).
    Medians: no planning margin.

    Raises:
        InputError: unknown names.
    """
    asked = ask(
        "planner curve",
        model=model,
        gpu=gpu,
        isl=isl,
        osl=osl,
        tp=tp,
        pp=pp,
        ep=ep,
        attention_dp=attention_dp,
        weights=weights,
        kv=kv,
        engine=engine,
        context=context,
        memory_utilization=memory_utilization,
        overlays=overlays,
    )
    _refuse_gaps(osl, slo_s or {})
    built = build(asked, overlays)
    reasons = cannot_run(asked, built, max(context or 0, isl + osl), max_batch)
    if reasons or built is None:
        account = memory_document(built.fit.account, 0) if built is not None else None
        return Curve(
            model=asked.entry.id, option=option_text(asked), cannot_run=reasons, memory_bytes=account
        )
    loop = ClosedLoop(1.0, 0, conventions.start_burst, conventions.equal_lengths)
    every: ClosedLoop | OpenArrivals = loop if rps_max is None else OpenArrivals(1.0, conventions.burstiness)
    told = built.told(asked, max_batch)
    replica = _Replica(asked, told, every, most_sequences(built, context, max_batch))
    loads = _loads(replica, concurrency_max, rps_max)
    return _answer(replica, loads, rps_max, dict(slo_s or {}))


def _refuse_gaps(osl: int, slo_s: Mapping[str, float]) -> None:
    """An answer of one token has no gap between tokens that a limit could hold for."""
    gaps = [name for name in slo_s if name.startswith(_GAPS)]
    if osl == 1 and gaps:
        found = f"{' and '.join(gaps)} with answers of one token"
        raise input_error("planner curve", "--slo", found, "limits on ttft or e2e, or a larger --osl")


@dataclass(frozen=True, eq=False)
class _Replica:
    """The one configuration, ready to be evaluated at many loads."""

    asked: Asked
    told: Told
    every: ClosedLoop | OpenArrivals
    """The load, but for its size."""
    most_sequences: float

    @property
    def traffic(self) -> Traffic:
        """Lengths."""
        return self.asked.traffic

    @property
    def varied(self) -> Literal["concurrency", "rate"]:
        """What differs from point to point."""
        return "concurrency" if isinstance(self.every, ClosedLoop) else "rate"

    def under(self, size: float) -> ServiceLoad:
        """The load with so many clients, or at so many requests per second."""
        if isinstance(self.every, ClosedLoop):
            return replace(self.every, clients=size)
        return replace(self.every, rate_rps=size)

    def at(self, loads: FloatArray) -> ServiceResult:
        """All loads in one call."""
        return serve(
            [
                service_of(self.asked, self.told, self.under(size), self.most_sequences)
                for size in loads.tolist()
            ]
        )


def _loads(replica: _Replica, concurrency_max: int | None, rps_max: float | None) -> FloatArray:
    """Rates at even distances, or whole numbers of requests in flight at even ratios."""
    if rps_max is not None:
        most = float(replica.at(np.array([rps_max])).rate_rps[0])
        # A rate beyond the capacity is shown as the capacity, once.
        top = rps_max if most >= rps_max * _NEAR_FULL else most * _NEAR_FULL
        return np.linspace(top / POINTS, top, POINTS)
    top = float(concurrency_max or replica.told.batch)
    return np.unique(np.round(np.geomspace(1.0, top, POINTS)))


def _answer(
    replica: _Replica,
    loads: FloatArray,
    rps_max: float | None,
    slo_s: dict[str, float],
) -> Curve:
    load = replica.at(loads)
    points = _points(replica, loads, load, slo_s)
    knee = max(points, key=lambda point: point.power)
    built = replica.told.built
    item = built.candidates.configurations[0]
    warnings = [f"planning would refuse this: {rule_title(name)}" for name in built.refused]
    if knee is points[-1] and len(points) > 1:
        warnings.append("the knee is the last point: it may lie at a larger load")
    carried = points[-1].rate_rps
    if rps_max is not None and carried < rps_max * _NEAR_FULL:
        warnings.append(f"one replica carries no more than {carried:.3g} requests/s: the range ends there")
    largest, broken_by = _largest(replica, loads, load, slo_s)
    # Of all points the last lies furthest out.
    at = load_point(replica.traffic, min(points[-1].concurrency, float(replica.told.batch)))
    return Curve(
        model=item.model.id,
        option=built.candidates.names[0],
        memory_bytes=memory_document(replica.told.account, 0),
        load=replica.varied,
        load_text=replica.under(float(loads[-1])).text,
        max_batch=int(replica.told.batch),
        points=points,
        knee=knee,
        slo=slo_s,
        largest=largest,
        broken_by=broken_by,
        gpus=item.gpus,
        usd_per_hour=replica_price(replica.asked, item),
        uncertainty=limit_sigma_log(item, TAILS, at),
        outside_measured=outside_measured(item, at),
        evidence=evidence(item),
        warnings=tuple(warnings),
    )


def _points(
    replica: _Replica, loads: FloatArray, load: ServiceResult, slo_s: Mapping[str, float]
) -> tuple[CurvePoint, ...]:
    answer, kept = replica.traffic.output_mean_tokens, _keeps(load, slo_s)
    found = []
    for index in range(loads.size):
        rate, e2e_s = float(load.rate_rps[index]), float(load.latency_s["e2e_mean"][index])
        finite = np.isfinite(e2e_s)
        # By Little's law, where the rate was given.
        inside = float(loads[index]) if replica.varied == "concurrency" else rate * e2e_s if finite else 0.0
        found.append(
            CurvePoint(
                concurrency=inside,
                rate_rps=rate,
                output_tokens_per_s=rate * answer,
                power=rate * answer / e2e_s if finite else 0.0,
                **latencies(load, index, answer),
                keeps_slo=bool(kept[index]) if slo_s else None,
            )
        )
    return tuple(found)


def _keeps(load: ServiceResult, slo_s: Mapping[str, float]) -> FloatArray:
    """1 where every limit holds; a value equal to its limit is allowed."""
    kept = np.ones(load.rate_rps.shape)
    for name, limit in slo_s.items():
        kept *= load.latency_s[name] <= limit * _ROUNDING
    return kept


def _largest(
    replica: _Replica, loads: FloatArray, load: ServiceResult, slo_s: Mapping[str, float]
) -> tuple[CurvePoint | None, str | None]:
    """The last load before the first that breaks a limit, looked for once more between the two."""
    if not slo_s:
        return None, None
    kept = _keeps(load, slo_s)
    first_bad = int(np.argmin(kept)) if not kept.all() else loads.size
    if first_bad == 0:
        return None, _broken(load, 0, slo_s)
    low = float(loads[first_bad - 1])
    high = float(loads[first_bad]) if first_bad < loads.size else low
    between = np.linspace(low, high, PROBES)
    if replica.varied == "concurrency":
        between = np.unique(np.floor(between))
    found = replica.at(between)
    good = _keeps(found, slo_s)
    bad = int(np.argmin(good)) if not good.all() else between.size
    chosen = max(bad - 1, 0)
    broken = _broken(found, bad, slo_s) if bad < between.size else None
    return _points(replica, between, found, slo_s)[chosen], broken


def _broken(load: ServiceResult, index: int, slo_s: Mapping[str, float]) -> str:
    """The limit that is passed furthest."""
    return max(slo_s, key=lambda name: float(load.latency_s[name][index]) / slo_s[name])
