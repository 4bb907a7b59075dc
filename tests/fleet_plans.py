"""Plans of fleets made by hand: every number is chosen here."""

from __future__ import annotations

SPOT_HOURS = (9, 10, 11)
"""Hours of the day in which more is bought."""


def pool_of(sample, **changes):
    """A pool of the sample plan with fields replaced, as plain values."""
    return sample.model_dump(by_alias=True) | changes


def supply(line, gpus, usd_per_gpu_h, **place):
    """A line of the supply, hour by hour."""
    gpu, _, term = line.partition("/")
    return [
        {"line": line, "gpu": gpu, "term": term, "period": t, "gpus": n, "usd": n * usd_per_gpu_h, **place}
        for t, n in enumerate(gpus)
        if n
    ]


def hours(replicas, gpus, usd, **more):
    """Periods from replicas by pool, GPUs by type and money, each by hour."""
    return [
        {
            "period": t,
            "replicas": {name: n[t] for name, n in replicas.items() if n[t]},
            "gpus": {name: n[t] for name, n in gpus.items() if n[t]},
            "usd": paid,
            "utilization": 0.5,
            **{key: values[t] for key, values in more.items()},
        }
        for t, paid in enumerate(usd)
    ]


def day(make_plan, hour_count=24, **changes):
    """Replicas of two GPUs: 4 GPUs reserved at 2 USD, from 9 to 12 o'clock 6 more on demand at 4 USD."""
    chat = make_plan().pools[0]
    extra = [6 if t % 24 in SPOT_HOURS else 0 for t in range(hour_count)]
    gpus = [4 + n for n in extra]
    usd = [4 * 2.0 + n * 4.0 for n in extra]
    replicas = [n // 2 for n in gpus]
    mean = sum(usd) / hour_count
    rates = ["40" if n else "10" for n in extra]
    return make_plan(
        **{
            "problem": "day",
            "inputs": {
                "problem": {
                    "name": "day",
                    "workloads": [{"name": "chat", "demand": {"hourly_rps": rates}}],
                    "fleet": {"headroom": {"capacity": "10 %"}},
                },
                "catalog": "sha256:aa",
                "calibration": "sha256:bb",
            },
            "objective": {"name": "cost", "value": sum(usd), "lower_bound": sum(usd), "gap": 0.0},
            "cost_usd_per_hour": mean,
            "gpus": {"h100-sxm": 10},
            "pools": [pool_of(chat, replicas=5, usd_per_hour=mean, site="cloud/eu")],
            "supply": [
                *supply("h100-sxm/reserved", [4] * hour_count, 2.0, provider="cloud", region="eu"),
                *supply("h100-sxm/on_demand", extra, 4.0, provider="cloud", region="eu"),
            ],
            "periods": hours({"chat/serve/1": replicas}, {"h100-sxm": gpus}, usd),
            "orders": [
                order
                for t in range(0, hour_count, 24)
                for order in (
                    {"period": t + 9, "line": "h100-sxm/on_demand", "gpus": 6, "lead_s": 600.0},
                    {"period": t + 12, "line": "h100-sxm/on_demand", "gpus": -6, "lead_s": 0.0},
                )
            ],
            "prices": [],
            "runners_up": [],
            "warnings": [],
        }
        | changes
    )


TABLE = """\
option,workload,bucket,gpu,gpus,max_rps
one,chat,short,a100,1,5
one,chat,long,a100,1,1
two,chat,short,h100,1,8
two,chat,long,h100,1,4
"""
PROBLEM = """\
name: tiny
workers: workers.csv
workloads:
  - name: chat
    demand: {hourly_rps: [4, 12]}
    buckets: {short: 0.5, long: 0.5}
fleet:
  headroom: {capacity: 0 %}
  supply:
    - {gpu: h100, term: reserved, usd_per_gpu_h: 2, region: eu, max_gpus: 1}
    - {gpu: a100, term: on_demand, usd_per_gpu_h: 1, region: us, lead_time: 10 min}
"""


def tiny(folder, problem=PROBLEM):
    """The files of a fleet that is solved at once; its path."""
    (folder / "workers.csv").write_text(TABLE, encoding="utf-8")
    path = folder / "tiny.yaml"
    path.write_text(problem, encoding="utf-8")
    return path
