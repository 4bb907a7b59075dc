"""The checkable numbers of the source manuals, each beside our own value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from planner.app.estimate import estimate
from planner.loaders.catalog import load_catalog
from planner.physics.moe import touched_fraction
from planner.physics.parallelism import bubble_fraction
from planner.report.claims_page import markdown
from planner.schema.catalog import Accelerator
from planner.schema.catalog_index import Catalog
from planner.schema.claims import Claim, JudgedClaim, Quantity
from planner.schema.facts import ModelFacts
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import attention_format, kv_bytes_per_token, weight_bytes

RIGHT_FRACTION = 0.005
ROUNDED_FRACTION = 0.05
_FACTOR = {"GB": 1e9, "MB": 1e6, "billion": 1e9, "ms": 1e-3, "s": 1.0, "%": 0.01, "TFLOPS": 1e12}
_FACTOR |= {"TB/s": 1e12, "GB/s": 1e9}


def claims_page() -> str:
    """The table of claims as Markdown."""
    return markdown(judged_claims())


def judged_claims() -> tuple[JudgedClaim, ...]:
    """Every claim of the catalog with our value and the verdict.

    Within 0.5 % of our value a claim is right, within 5 % rounded, beyond inconsistent; beyond a
    physical ceiling it is impossible.
    """
    catalog = load_catalog()
    return tuple(
        judged(claim, _ours(claim, catalog))
        for entry in catalog.by_folder["claims"].values()
        for claim in entry.claims
    )


def judged(claim: Claim, ours: float) -> JudgedClaim:
    """The verdict on one claim."""
    off = abs(claim.stated - ours) / ours if ours else np.inf
    if off <= RIGHT_FRACTION:
        return JudgedClaim(claim=claim, ours=ours, verdict="right")
    if off <= ROUNDED_FRACTION:
        return JudgedClaim(claim=claim, ours=ours, verdict="rounded")
    beats = claim.bound == "upper" and claim.stated > ours
    return JudgedClaim(claim=claim, ours=ours, verdict="impossible" if beats else "inconsistent")


def _ours(claim: Claim, catalog: Catalog) -> float:
    """Our value in the claim's unit."""
    value = _QUANTITIES[claim.quantity](_Given(claim.given, catalog))
    return value / _FACTOR.get(claim.unit, 1.0)


class _Given:
    """The names and counts of a claim, looked up."""

    def __init__(self, given: Mapping[str, str | int], catalog: Catalog) -> None:
        self.given = given
        self.catalog = catalog

    def text(self, key: str) -> str:
        return str(self.given[key])

    def count(self, key: str, default: int = 1) -> int:
        return int(self.given.get(key, default))

    @property
    def model(self) -> ModelFacts:
        entry = self.catalog.model(self.text("model"))
        assert entry is not None, self.given
        return model_facts(entry)

    def gpu(self, key: str = "gpu") -> Accelerator:
        entry = self.catalog.accelerator(self.text(key))
        assert entry is not None, self.given
        return entry


def _kv_cache_bytes(given: _Given) -> float:
    form = given.catalog.number_format(given.text("kv"))
    assert form is not None
    one = kv_bytes_per_token(given.model, float(form.bits)).all_layers_bytes
    return float(one) * given.count("tokens") * given.count("requests")


def _kv_transfer_s(given: _Given) -> float:
    network = given.catalog.network(given.text("network"))
    assert network is not None
    return _kv_cache_bytes(given) / float(network.per_gpu_one_way)


def _weights_bytes(given: _Given) -> float:
    formats = given.catalog.formats
    form = formats[given.text("weights")]
    total = weight_bytes(given.model, form, attention_format(given.model, form, formats))
    return total / given.count("parts")


def _experts_touched(given: _Given) -> float:
    model = given.model
    share = touched_fraction(
        float(given.count("sequences")), float(model.experts), float(model.experts_per_token)
    )
    return float(share) * model.experts


def _decode_ceiling(given: _Given) -> float:
    return float(given.gpu().memory.bandwidth) / _weights_bytes(given)


def _sequences_held(given: _Given) -> float:
    tokens = given.count("tokens")
    found = estimate(
        model=given.text("model"),
        gpu=given.text("gpu"),
        isl=tokens - 1,
        osl=1,
        weights=given.text("weights"),
        kv=given.text("kv"),
    )
    return float(found.max_batch or 0)


def _decode_compute_s(given: _Given) -> float:
    return 2.0 * given.model.params_active_excl_input_embedding / float(given.gpu().compute.bf16)


def _bubble_fraction(given: _Given) -> float:
    return float(bubble_fraction(given.count("stages"), given.count("micro_batches")))


def _storage_bytes_per_s(given: _Given) -> float:
    storage = given.catalog.storage(given.text("storage"))
    assert storage is not None
    return float(storage.read)


def _link_bytes_per_s(given: _Given) -> float:
    return float(given.gpu().link.one_way or 0)


def _pcie_bytes_per_s(given: _Given) -> float:
    return float(given.gpu().host.pcie_one_way or 0)


_QUANTITIES: Mapping[Quantity, Callable[[_Given], float]] = {
    "kv_cache": _kv_cache_bytes,
    "kv_transfer": _kv_transfer_s,
    "weights": _weights_bytes,
    "params": lambda given: float(given.model.params_total),
    "params_active": lambda given: float(given.model.params_active),
    "experts_per_token": lambda given: float(given.model.experts_per_token),
    "experts_touched": _experts_touched,
    "decode_ceiling": _decode_ceiling,
    "sequences_held": _sequences_held,
    "decode_compute": _decode_compute_s,
    "bandwidth_ratio": lambda given: float(given.gpu().memory.bandwidth / given.gpu("than").memory.bandwidth),
    "pipeline_bubble": _bubble_fraction,
    "peak": lambda given: float(given.gpu().compute.bf16),
    "bandwidth": lambda given: float(given.gpu().memory.bandwidth),
    "link": _link_bytes_per_s,
    "pcie": _pcie_bytes_per_s,
    "storage": _storage_bytes_per_s,
    "load_time": lambda given: given.count("gigabytes") * 1e9 / _storage_bytes_per_s(given),
}
