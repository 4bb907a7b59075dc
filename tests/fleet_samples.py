"""Made-up fleet questions of any size: workloads with buckets over the hours, GPUs under several terms."""

import math
import random
from fractions import Fraction

from plan_limits import plan_limits, quota_row

from planner.schema.choice import Option, Spares
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site, StartCharge

TERMS = {"owned": 0.25, "reserved": 0.6, "on_demand": 1.0, "spot": 0.5}
"""Price against on demand."""


def fleet(
    workloads=20,
    buckets=10,
    gpus=15,
    periods=1,
    *,
    seed=1,
    start_usd=Fraction(0),
    mean_gpus=100.0,
    limits=None,
):
    """Replicas of 1 to 8 GPUs; scarce owned GPUs, spot for at most half, spares on about 40 % of the work.

    Args:
        workloads: number of workloads.
        buckets: of each.
        gpus: GPU types.
        periods: hours; the demand of every workload peaks at an hour of its own.
        seed: of everything random.
        start_usd: charge for each GPU more on demand or spot than in the hour before.
        mean_gpus: roughly what one workload needs.
        limits: instead of two quotas.
    """
    rng = random.Random(seed)
    types = [f"gpu{index:02d}" for index in range(gpus)]
    speed = {gpu: math.exp(rng.uniform(-1.0, 1.0)) for gpu in types}
    price = {gpu: speed[gpu] * rng.uniform(1.5, 3.0) for gpu in types}
    lines, hosts = [], [Host(gpu, gpu) for gpu in types]
    for gpu in types:
        room = round(workloads * mean_gpus / gpus)
        for term, part in TERMS.items():
            most = {"owned": rng.randint(0, room // 4), "reserved": None, "on_demand": None, "spot": room}[
                term
            ]
            lines.append(
                Line(
                    f"{gpu}/{term}", gpu, gpu, term, _rounded(price[gpu] * part * rng.uniform(0.9, 1.1), 100),
                    1, most, Site(), Fraction(1, 2) if term == "spot" else None,
                )
            )  # fmt: skip
    options, demands = [], []
    for number in range(workloads):
        name = f"w{number:02d}"
        least = rng.choice([1, 1, 2, 4])  # GPUs that hold the model
        need = [mean_gpus / buckets * rng.uniform(0.3, 1.7) for _ in range(buckets)]
        for gpu in types:
            fits = [rng.uniform(0.5, 1.5) * (rng.random() > 0.1) for _ in range(buckets)]
            for size in (1, 2, 4, 8):
                if size >= least and rng.random() < 0.75:
                    gain = speed[gpu] * size ** rng.uniform(0.85, 1.03)
                    rates = [
                        _rounded(
                            gain * fit * rng.uniform(0.97, 1.03) * (size > 1 or rng.random() > 0.2), 1000
                        )
                        for fit in fits
                    ]
                    if any(rates):
                        options.append(
                            Option(f"{name}/{gpu}/{size}", name, "serve", gpu, gpu, size, tuple(rates))
                        )
        phase, depth = rng.uniform(0, 24), rng.uniform(0.3, 0.8)
        demand = tuple(
            tuple(_rounded(d * _hour(t, periods, phase, depth) * rng.uniform(0.95, 1.05), 1000) for d in need)
            for t in range(periods)
        )
        spares = Spares("per_option", 1) if rng.random() < 0.4 else Spares()
        demands.append(
            FleetDemand(
                name, "serve", demand, tuple(f"b{b}" for b in range(buckets)), Fraction(9, 10), 1, spares
            )
        )
    total = round(workloads * mean_gpus)
    quotas = tuple(
        quota_row(f"quota:q{k}", tuple(line.id for line in lines if int(line.gpu[3:]) % 2 == k), total)
        for k in range(2)
    )
    starts = ()
    if start_usd:
        sold = tuple(line.id for line in lines if line.term in ("on_demand", "spot"))
        starts = tuple(
            StartCharge(tuple(name for name in sold if name.startswith(f"{gpu}/")), start_usd)
            for gpu in types
        )
    return FleetProblem(
        periods, tuple(options), tuple(hosts), tuple(lines), tuple(demands),
        limits or plan_limits(quotas=quotas), starts=starts,
    )  # fmt: skip


def _hour(t, periods, phase, depth):
    if periods == 1:
        return 1.0
    return 1.0 - depth * (0.5 - 0.5 * math.cos(2 * math.pi * (t * 24 / periods - phase) / 24))


def _rounded(number, grid):
    return Fraction(round(number * grid), grid)
