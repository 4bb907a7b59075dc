"""A workload made ready: its model, engine, traffic and candidates looked up and evaluated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from planner.app.keeping import keeping
from planner.candidates.demand import peak_and_mean_rps
from planner.candidates.enumerate import enumerate_candidates
from planner.candidates.space import search_space
from planner.candidates.subset import subset
from planner.constraints import planning_rules
from planner.errors import input_error
from planner.explain.why_not import refused_by
from planner.loaders.hf_config import read_checkpoint_bytes, read_hf_config
from planner.loaders.named_files import place
from planner.loaders.traces import read_trace
from planner.performance.evaluate import evaluate, latency_limits_s, load_policy
from planner.performance.open_load import LoadPolicy
from planner.performance.replica import memory_fit, specifications
from planner.performance.traffic import traffic as traffic_of
from planner.schema.candidates import BoolArray, Candidates, IntArray, Lot
from planner.schema.catalog import Engine, Model
from planner.schema.catalog_index import Catalog
from planner.schema.configuration import Configuration
from planner.schema.evaluation import Evaluation
from planner.schema.facts import ModelFacts
from planner.schema.lengths import Lengths
from planner.schema.policy import Policy
from planner.schema.problem import Fleet, Headroom, Problem, Search, Workload
from planner.schema.rules import PlanningRule
from planner.schema.slo import Slo
from planner.schema.traces import TraceLengths
from planner.schema.traffic import Traffic
from planner.steptime.checkpoint import with_checkpoint_note
from planner.steptime.model_facts import model_facts
from planner.steptime.specs import StepSpecs

DRIVE = "local-nvme"
"""The storage of the catalog that is one drive of a server."""
_NOT_PACED = tuple(name for name in Slo.model_fields if name.startswith("ttft"))


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
    drive_bytes_per_s: float = 0.0
    """Read rate of one local drive, for KV that is kept there."""
    length_class: str = ""
    """Of one class of requests by length what tells it from all others; empty: all requests."""


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


def policy_of(catalog: Catalog) -> Policy:
    """Judgement of planning, from ``catalog/judgement/planning.yaml``."""
    entry = catalog.find("judgement", "planning")
    if entry is None:
        raise input_error(
            "catalog/judgement", "planning", "no file", "planning.yaml, the judgement of planning"
        )
    return Policy.of(entry)


def find_model(name: str, folder: Path, catalog: Catalog) -> Model:
    """A model of the catalog, or one read from a Hugging Face config.json."""
    known = catalog.model(name)
    return known if known is not None else read_model(place(folder, name), catalog)


def read_model(path: Path, catalog: Catalog, model_id: str | None = None) -> Model:
    """A model from a folder or file with a config.json, checked against the checkpoint's size."""
    model = read_hf_config(path, model_id=model_id)
    formats = {entry.id: entry for entry in catalog.number_formats}
    return with_checkpoint_note(model, read_checkpoint_bytes(path), formats)


def prepare(workload: Workload, problem: Problem, folder: Path, catalog: Catalog) -> Case:
    """Look up what a workload names, and turn its traffic into atoms."""
    assert workload.model is not None, "problems without a table of workers name their models"
    model = find_model(workload.model, folder, catalog)
    engine = catalog.engine(workload.engine)
    assert engine is not None, "the loader checks engine names"
    policy = policy_of(catalog)
    archetype = catalog.archetype(workload.archetype) if workload.archetype else None
    slo = workload.slo if workload.slo != Slo() or archetype is None else archetype.slo
    lengths, lengths_trace = lengths_of(workload, folder, catalog)
    demand_trace = _trace(workload.demand.trace, folder)
    limits_s = latency_limits_s(slo)
    peak, mean = peak_and_mean_rps(workload.demand, demand_trace)
    facts = model_facts(model)
    tokens_per_image = tokens_of_image(workload, facts)
    confidence = float(problem.confidence or policy.default_confidence_fraction)
    drive = catalog.storage(DRIVE)
    return Case(
        workload=workload,
        model=model,
        facts=facts,
        engine=engine,
        traffic=traffic_of(
            workload,
            lengths,
            lengths_trace or demand_trace,
            tokens_per_image,
            policy.kv_tail_fraction,
            policy.prefix_cache_share,
        ),
        headroom=problem.fleet.headroom_of(workload),
        limits_s=limits_s,
        load=load_policy(policy, catalog.calibration, confidence, limits_s),
        policy=policy,
        peak_rps=peak,
        mean_rps=mean,
        own_model=catalog.model(workload.model) is None,
        confidence=confidence,
        drive_bytes_per_s=float(drive.read) if drive is not None else 0.0,
    )


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


def enumerated(
    case: Case,
    problem: Problem,
    lots: Sequence[Lot],
    rules: Sequence[PlanningRule],
    catalog: Catalog,
    everything: bool = False,
    off: Collection[str] = (),
) -> Enumerated:
    """Enumerate the candidates of a workload, and ask the planning rules about them.

    Args:
        case: the workload.
        problem: for its fleet and search lists.
        lots: what can be bought.
        rules: the active planning rules.
        catalog: formats, networks, calibration.
        everything: also what the problem does not allow, marked so (to explain).
        off: rules that are switched off beside those of the problem.
    """
    fleet: Fleet = problem.fleet
    search = problem.search.model_copy(update={"rules_off": (*problem.search.rules_off, *sorted(off))})
    space = search_space(
        case.workload,
        case.model,
        case.facts,
        case.engine,
        fleet,
        search,
        catalog,
        paced=not set(case.limits_s) <= set(_NOT_PACED),
        everything=everything,
    )
    headroom_fraction = float(case.headroom.memory)

    def holds(configurations: Sequence[Configuration]) -> IntArray:
        specs = specifications(configurations)
        return memory_fit(
            specs, case.traffic, headroom_fraction, case.policy.prefix_cache_share
        ).max_sequences

    candidates = enumerate_candidates(space, lots, holds)
    if not len(candidates):
        return Enumerated(candidates, {}, {})
    refused = planning_rules.refusals(rules, candidates.attributes)
    refused_gpus = refused_by(candidates, refused, {rule.id: rule.title for rule in rules})
    return Enumerated(candidates, refused, refused_gpus)


def selected(found: Enumerated, keep: BoolArray) -> Selected:
    """The candidates where ``keep`` holds, ready for the step model."""
    candidates = found.candidates if keep.all() else subset(found.candidates, keep)
    return Selected(candidates, specifications(candidates.configurations))


def evaluated(
    case: Case,
    found: Enumerated,
    part: Selected,
    search: Search,
    rules: Sequence[PlanningRule],
    memory_factor: float = 1.0,
) -> Evaluated:
    """Memory and capacity of the candidates that were selected.

    Args:
        case: the workload.
        found: what was enumerated.
        part: those to evaluate, at least one.
        search: batches to choose from, if listed.
        rules: the active planning rules.
        memory_factor: times the memory of every GPU (to explain).
    """
    specs = part.specs
    if memory_factor != 1.0:
        specs = replace(specs, capacity_bytes=specs.capacity_bytes * memory_factor)
    candidates, rows = part.candidates, None
    kept = keeping(case, candidates, specs, search, rules)
    if kept is not None:
        candidates, specs, rows = kept
    evaluation = evaluate(
        workload=case.workload,
        model=case.facts,
        traffic=case.traffic,
        candidates=candidates,
        specs=specs,
        policy=case.policy,
        load=case.load,
        limits_s=case.limits_s,
        headroom_fraction=float(case.headroom.memory),
        search=search,
        refusals=planning_rules.refusals(rules, candidates.attributes),
        penalties=planning_rules.penalties(rules, candidates.attributes),
        rows=rows,
    )
    return Evaluated(case, evaluation, specs, len(found.candidates), found.refused_gpus)


def _trace(named: str | None, folder: Path) -> TraceLengths | None:
    return None if named is None else read_trace(place(folder, named))
