"""What a benchmark run must not say, and what its numbers are good for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.errors import Fault
from planner.schema.benchmark import BenchmarkPoint
from planner.schema.catalog import Parameter
from planner.schema.measurement import Kind

Limits = Mapping[str, Parameter]
"""``catalog/judgment/benchmarks.yaml``."""


def faults_of(point: BenchmarkPoint, limits: Limits) -> list[Fault]:
    """Why a run measured something else, or how its numbers contradict each other."""
    found = [*_not_plain(point, limits), *_disagreeing(point, limits["disagreement_ratio"].value)]
    return [*found, *_idle(point, limits)]


def _not_plain(point: BenchmarkPoint, limits: Limits) -> Iterator[Fault]:
    sent, most = point.completed + point.failed, limits["failed_fraction"].value
    if sent and point.failed > most * sent:
        found = f"{point.failed} of {sent} requests failed"
        yield Fault(point.where, "failed", found, f"at most {most:.0%}")
    if point.tokens_per_step > limits["drafted_tokens_per_step"].value:
        found = f"speculative decoding, {point.tokens_per_step:g} tokens a step"
        yield Fault(point.where, "accept_length", found, "a run without speculation")
    if not point.mean_tpot_s and not point.output_tokens_per_s:
        yield Fault(point.where, "", "neither a mean TPOT nor a throughput", "one of them")


def _disagreeing(point: BenchmarkPoint, ratio: float) -> Iterator[Fault]:
    """TTFT and TPOT against end-to-end time, tokens against requests."""
    whole, e2e = _whole_s(point), point.e2e_s.get("mean")
    if whole and e2e and not 1.0 / ratio <= whole / e2e <= ratio:
        found = f"TTFT and TPOT that make {whole:.4g} s beside an end-to-end time of {e2e:.4g} s"
        yield Fault(point.where, "", found, "times that agree", "the units are mixed")
    tokens = (point.requests_per_s or 0.0) * (point.osl_mean_tokens or 0.0)
    stated = point.output_tokens_per_s
    if tokens and stated and not 1.0 / ratio <= tokens / stated <= ratio:
        found = f"{stated:.4g} output tokens/s beside {tokens:.4g} from the requests"
        yield Fault(point.where, "", found, "rates that agree")


def _idle(point: BenchmarkPoint, limits: Limits) -> Iterator[Fault]:
    """Rate x latency against the clients (Little's law): a latency in another unit is far off."""
    time_s, clients = _whole_s(point) or point.e2e_s.get("mean"), point.concurrency
    if not time_s or not point.requests_per_s or not clients or point.offered_rps:
        return
    inside = point.requests_per_s * time_s
    fewest, most = limits["idle_fraction"].value * clients, limits["disagreement_ratio"].value * clients + 1.0
    if not fewest <= inside <= most:
        found = f"{inside:.3g} requests in flight by rate x latency, with {clients:g} clients"
        yield Fault(point.where, "", found, "latencies that fit the load", "the times are in another unit")


def _whole_s(point: BenchmarkPoint) -> float | None:
    """End-to-end time out of TTFT and TPOT."""
    ttft, tpot, answer = point.ttft_s.get("mean"), point.mean_tpot_s, point.osl_mean_tokens
    if ttft is None or tpot is None or answer is None:
        return None
    return ttft + tpot * max(answer - 1.0, 0.0)


def load_of(point: BenchmarkPoint) -> tuple[Kind, float]:
    """A rate; else clients that wait for answers; else everything at once."""
    if point.offered_rps:
        return "open-loop", 0.0
    if point.concurrency:
        return "closed-loop", point.concurrency
    return "burst", float(max(point.completed, 1))


def load_text(point: BenchmarkPoint) -> str:
    """The load of a run in words."""
    kind, requests = load_of(point)
    if kind == "open-loop":
        return f"{point.offered_rps:g} requests/s"
    return f"{requests:g} in flight" if kind == "closed-loop" else f"{requests:g} at once"


def decoding_fraction(point: BenchmarkPoint) -> float:
    """Share of the requests in flight that decode: output rate x TPOT over the clients (Little's law)."""
    if not point.concurrency or not point.mean_tpot_s or not point.output_tokens_per_s:
        return 1.0
    return min(point.output_tokens_per_s * point.mean_tpot_s / point.concurrency, 1.0)


def has_ttft(point: BenchmarkPoint, limits: Limits) -> str:
    """Why the TTFT of a run tells nothing about prefill; empty where it does."""
    if not point.ttft_s.get("mean"):
        return "no mean TTFT"
    if load_of(point)[0] == "burst":
        return "TTFT of requests sent all at once"
    if point.prefix_hit_fraction > limits["prefix_hit_fraction"].value:
        return "TTFT with prefix-cache hits"
    if 1.0 - decoding_fraction(point) > limits["waiting_fraction"].value:
        return "TTFT of a queue"
    return ""
