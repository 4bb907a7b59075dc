"""A workload made ready: its model, engine, traffic and candidates looked up and evaluated."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

from planner.candidates.demand import peak_and_mean_rps
from planner.errors import input_error
from planner.loaders.hf_config import read_checkpoint_bytes, read_hf_config
from planner.loaders.named_files import model_place, place
from planner.loaders.traces import named_trace
from planner.performance.evaluate import latency_limits_s, load_policy
from planner.performance.memory_fit import Fill
from planner.performance.open_load import LoadPolicy
from planner.performance.traffic import traffic as traffic_of
from planner.planning.workload.routing import routers, with_router
from planner.schema.candidates import BoolArray, Candidates
from planner.schema.catalog import Engine, Model
from planner.schema.catalog_index import Catalog
from planner.schema.evaluation import Evaluation
from planner.schema.facts import ModelFacts
from planner.schema.hardware import Fleet
from planner.schema.lengths import Lengths
from planner.schema.policy import Policy
from planner.schema.problem import Problem
from planner.schema.routing import SCATTERING, RoutingPolicy
from planner.schema.slo import Slo
from planner.schema.stated import Headroom
from planner.schema.traces import TraceLengths, TraceNamed
from planner.schema.traffic import Traffic
from planner.schema.workload import Workload
from planner.steptime.checkpoint import with_checkpoint_note
from planner.steptime.model_facts import model_facts
from planner.steptime.specs import StepSpecs

DRIVE = "local-nvme"
"""The storage of the catalog that is one drive of a server."""


@dataclass(frozen=True, eq=False)
class Case:
    """One workload with everything that names stand for."""

    workload: Workload
    model: Model
    facts: ModelFacts
    engine: Engine
    traffic: Traffic
    headroom: Headroom
    limits_s: dict[str, float]
    load: LoadPolicy
    policy: Policy
    peak_rps: Fraction
    mean_rps: Fraction
    own_model: bool
    """The model was read from a config.json, not from the catalog."""
    confidence: float
    """Probability with which modelled numbers keep their limits."""
    memory_shares: tuple[float, ...] = ()
    """Shares of device memory that the engine may be given, the preferred one first."""
    drive_bytes_per_s: float = 0.0
    """Read rate of one local drive, for KV that is kept there."""
    routing: RoutingPolicy = "least-loaded"
    """How requests are spread over the replicas of a pool; prompts for prefill workers wait in a shared queue
    unless the problem says otherwise."""
    prefill_routing: RoutingPolicy = "shared-queue"
    need_rps: float = math.inf
    """What a pool must carry at the busiest hour, headroom and utilization counted."""
    length_class: str = ""
    """Of one class of requests by length what tells it from all others; empty: all requests."""

    @property
    def memory_headroom_fraction(self) -> float:
        """Memory kept free where the problem says so; the engine's share holds in any case."""
        return float(self.headroom.memory or 0)

    def stated(self, metric: str) -> str:
        """The limited metric that a limit on this one comes from.

        Where E2E is limited and no first token is, prefill workers are held to what answers leave of E2E.
        """
        named = {name.partition("_")[0] for name in self.limits_s}
        return "e2e" if metric == "ttft" and "ttft" not in named and "e2e" in named else metric

    @property
    def fill(self) -> Fill:
        """How full the batch of a replica is."""
        return Fill.of(self.policy, self.load)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A case with its candidates and the columns of the step model in the same order."""

    case: Case
    evaluation: Evaluation
    specs: StepSpecs
    enumerated: int
    """Configurations before rules removed any."""
    refused_gpus: Mapping[str, str]
    """Accelerators all of whose configurations a rule refuses, with the rule in words."""

    def stop(self, index: int) -> str:
        """What keeps a replica of a configuration from carrying more, as the problem limits it."""
        return self.case.stated(self.evaluation.capacities.limited_by[index])


def policy_of(catalog: Catalog) -> Policy:
    """Judgment of planning, from ``catalog/judgment/planning.yaml``."""
    entry = catalog.find("judgment", "planning")
    if entry is None:
        raise input_error(
            "catalog/judgment", "planning", "no file", "planning.yaml, the judgment of planning"
        )
    return Policy.of(entry)


def find_model(name: str, folder: Path, catalog: Catalog) -> Model:
    """A model of the catalog, or one read from a Hugging Face config.json, here or of the hub."""
    known = catalog.model(name)
    if known is not None:
        return known
    path = model_place(folder, name)
    of_hub = path != place(folder, name)
    return read_model(path, catalog, name.rpartition("/")[2] if of_hub else None)


def read_model(path: Path, catalog: Catalog, model_id: str | None = None) -> Model:
    """A model from a folder or file with a config.json, checked against the checkpoint's size."""
    model = read_hf_config(path, model_id=model_id)
    formats = catalog.formats
    return with_checkpoint_note(model, read_checkpoint_bytes(path), formats)


def prepare(workload: Workload, problem: Problem, folder: Path, catalog: Catalog) -> Case:
    """Look up what a workload names, and turn its traffic into atoms."""
    assert isinstance(workload.engine, str), "settings choose the engine"
    engine = catalog.engine(workload.engine)
    if engine is None:
        # Problems were checked when they were read; a plan document may have been edited since.
        known = ", ".join(one.id for one in catalog.engines)
        raise input_error(f"workload {workload.name}", "engine", f'"{workload.engine}"', f"one of {known}")
    engine = engine.with_blocks_of(workload.kv_block_tokens)
    workload = with_router(workload, problem.fleet)
    if engine.memory.contiguous:
        # Where the cache of a slot is one piece, no two of them share a prefix.
        workload = workload.model_copy(update={"prefix_cache": None, "prefix_cache_hit": Decimal(0)})
    assert workload.model is not None, "problems without a table of workers name their models"
    model = find_model(workload.model, folder, catalog)
    policy = policy_of(catalog)
    archetype = catalog.archetype(workload.archetype) if workload.archetype else None
    slo = workload.slo if workload.slo != Slo() or archetype is None else archetype.slo
    lengths, lengths_trace = lengths_of(workload, folder, catalog)
    demand_trace = _trace(workload.demand.trace, folder)
    limits_s = latency_limits_s(slo)
    peak, mean = peak_and_mean_rps(workload.demand, demand_trace)
    router, prefill_router = routers(workload, problem.fleet)
    facts = model_facts(model)
    tokens_per_image = tokens_of_image(workload, facts)
    confidence = float(problem.confidence or policy.default_confidence_fraction)
    drive = catalog.storage(DRIVE)
    traffic = traffic_of(
        workload,
        lengths,
        lengths_trace or demand_trace,
        tokens_per_image,
        policy.longest_request_fraction,
        policy.prefix_cache_share,
        engine.match_tokens,
    )
    if router in SCATTERING and traffic.arrival_scv_ratio < 1.0:
        # Even arrivals that are spread at random come to each replica unevenly.
        traffic = replace(traffic, arrival_scv_ratio=1.0)
    load = load_policy(policy, catalog.calibration, confidence, limits_s, engine)
    return Case(
        workload=workload,
        model=model,
        facts=facts,
        engine=engine,
        traffic=_with_preemptions(traffic, load, workload, engine, policy),
        headroom=problem.fleet.headroom_of(workload),
        limits_s=limits_s,
        load=load,
        policy=policy,
        peak_rps=peak,
        mean_rps=mean,
        own_model=catalog.model(workload.model) is None,
        confidence=confidence,
        memory_shares=memory_shares(problem.fleet, engine, policy),
        drive_bytes_per_s=float(drive.read) if drive is not None else 0.0,
        routing=router,
        prefill_routing=prefill_router,
        need_rps=float(peak)
        * (1.0 + float(problem.fleet.headroom_of(workload).capacity))
        / float(problem.fleet.max_utilization),
    )


def _with_preemptions(
    traffic: Traffic, load: LoadPolicy, workload: Workload, engine: Engine, policy: Policy
) -> Traffic:
    """With the work of preempted requests, where batches are always full and nothing is set aside."""
    if not load.saturated or workload.kv_offload is not None or engine.memory.reserves_answer:
        return traffic
    return replace(traffic, recomputed_tokens=policy.kv_overflow_fraction * traffic.decode_context_tokens)


def memory_shares(fleet: Fleet, engine: Engine, policy: Policy) -> tuple[float, ...]:
    """Shares of device memory to choose from: the engine's own first if it is one of them, then by size."""
    own, largest = float(engine.memory.utilization), policy.largest_memory_fraction
    stated = {float(share) for share in fleet.memory_share or ()} or {own, max(own, largest)}
    return tuple(sorted(stated, key=lambda share: (share != own, share)))


def lengths_of(
    workload: Workload, folder: Path, catalog: Catalog
) -> tuple[Lengths | None, TraceLengths | None]:
    """Lengths of a workload (its own, its archetype's, its trace's; None: sessions), and the file meant."""
    archetype = catalog.archetype(workload.archetype) if workload.archetype else None
    stated = workload.lengths or (archetype.lengths if archetype else None)
    trace = workload.demand.trace
    lengths = stated if trace is None or stated is not None else Lengths(trace=trace)
    return lengths, _trace(lengths.trace, folder) if lengths is not None else None


def tokens_of_image(workload: Workload, facts: ModelFacts) -> int:
    """Prompt tokens of one image: as stated, else the model's own.

    Raises:
        InputError: images for a model without an image encoder.
    """
    if workload.images is None:
        return 0
    stated = workload.images.tokens_per_image
    if stated is None and not facts.vision_params:
        raise input_error(
            "problem",
            f"workloads.{workload.name}.images",
            f"images for {facts.id}",
            "a model with an image encoder, or tokens_per_image",
        )
    return stated or facts.tokens_per_image


@dataclass(frozen=True, eq=False)
class Enumerated:
    """The candidates of a workload before any physics."""

    candidates: Candidates
    refusals: Mapping[str, BoolArray]
    """Violation bits of the refusing rules, by rule id."""
    refused_gpus: Mapping[str, str]
    """Accelerators all of whose configurations a rule refuses, with the rule in words."""

    def barred(self, off: Collection[str] = ()) -> BoolArray:
        """Candidates that a rule, a format or their shape excludes, the constraints ``off`` aside."""
        refused = [bits for name, bits in self.refusals.items() if name not in off]
        shape = [bits for name, bits in self.candidates.structural.items() if name not in off]
        barred = np.zeros(len(self.candidates), dtype=bool)
        for bits in [*refused, *(shape if off else ())]:
            barred |= bits
        return barred


@dataclass(frozen=True, eq=False)
class Selected:
    """Some of the enumerated candidates, with the columns of the step model in the same order."""

    candidates: Candidates
    specs: StepSpecs


def _trace(named: TraceNamed | None, folder: Path) -> TraceLengths | None:
    return None if named is None else named_trace(named, folder)
