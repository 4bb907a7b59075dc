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
_ABOUT = 2.0
"""Times the rate that is asked about: where a range of rates ends that is not given."""
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
    concurrency: int | None = None,
    rps: float | None = None,
    concurrency_max: int | None = None,
    rps_max: float | None = None,
    slo_s: Mapping[str, float] | None = None,
    conventions: Conventions = PLAIN,
    context: int | None = None,
    memory_utilization: str | None = None,
    max_batch: int | None = None,
    overlays: tuple[Path, ...] = (),
) -> Curve:
    """The curve over requests in flight, or with ``rps`` or ``rps_max`` over rates of random arrivals.

    ``concurrency`` or ``rps`` is a load that is asked about, as of `estimate`: a point of the curve, which
    reaches at least that far unless its end is given.

    Knee: the load with the largest power, output tokens/s over mean end-to-end time (Kleinrock 1979).
    Medians: no planning margin.

    Raises:
        InputError: unknown names, or a load beyond the end of the range.
    """
    _refuse_beyond("concurrency", concurrency, concurrency_max)
    _refuse_beyond("rps", rps, rps_max)
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
    rates = rps is not None or rps_max is not None
    every: ClosedLoop | OpenArrivals = OpenArrivals(1.0, conventions.burstiness) if rates else loop
    told = built.told(asked, max_batch)
    replica = _Replica(asked, told, every, most_sequences(built, context, max_batch))
    size = rps if rates else concurrency
    widest = _ABOUT * rps if rps is not None else 0.0
    most = (rps_max or widest) if rates else float(concurrency_max or max(told.batch, size or 0))
    loads = _loads(replica, most, size)
    return _answer(replica, loads, most, size, dict(slo_s or {}))


def _refuse_beyond(flag: str, size: float | None, most: float | None) -> None:
    """A load that is asked about lies in the range that is asked for."""
    if size is not None and most is not None and size > most:
        found, expected = f"{size:g}, beyond --{flag}-max {most:g}", f"at most {most:g}"
        raise input_error("planner curve", f"--{flag}", found, expected)


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


def _loads(replica: _Replica, most: float, size: float | None) -> FloatArray:
    """Rates at even distances, or whole numbers of requests in flight at even ratios; with the one asked."""
    if replica.varied == "rate":
        carried = float(replica.at(np.array([most])).rate_rps[0])
        # A rate beyond the capacity is shown as the capacity, once.
        top = most if carried >= most * _NEAR_FULL else carried * _NEAR_FULL
        loads = np.linspace(top / POINTS, top, POINTS)
    else:
        top = most
        loads = np.unique(np.round(np.geomspace(1.0, top, POINTS)))
    return np.union1d(loads, [size]) if size is not None and size <= top else loads


def _answer(
    replica: _Replica,
    loads: FloatArray,
    most: float,
    size: float | None,
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
    if replica.varied == "rate" and carried < most * _NEAR_FULL:
        warnings.append(f"one replica carries no more than {carried:.3g} requests/s: the range ends there")
    shown = None if size is None else int(np.searchsorted(loads, size))
    if shown is not None and shown == loads.size:
        warnings.append(f"{size:g} requests/s is more than one replica carries: no point of the curve")
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
        asked=None if shown is None or shown == loads.size else points[shown],
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
