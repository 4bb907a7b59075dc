"""One configuration that flags describe: looked up, built, and whether it can run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from planner import numbers, units
from planner.candidates.enumerate import enumerate_candidates, heads_divide
from planner.candidates.market import lots as market_lots
from planner.candidates.space import search_space
from planner.constraints import planning_rules
from planner.errors import Fault
from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules
from planner.performance.memory_fit import Fill, MemoryFit, memory_fit
from planner.performance.replica import specifications
from planner.performance.running import all_of
from planner.performance.traffic import traffic as traffic_of
from planner.planning.requests import Names, with_utilization
from planner.planning.workload.case import find_model, policy_of
from planner.schema.candidates import Candidates, IntArray, Lot
from planner.schema.catalog import Accelerator, Engine, Model
from planner.schema.catalog_index import Catalog
from planner.schema.configuration import Configuration
from planner.schema.demand import Demand
from planner.schema.estimate import CannotRun
from planner.schema.facts import ModelFacts
from planner.schema.hardware import Fleet
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.policy import Policy
from planner.schema.search import Search
from planner.schema.traffic import Traffic
from planner.schema.workload import Precision, Workload
from planner.steptime.memory import MemoryAccount
from planner.steptime.model_facts import model_facts
from planner.steptime.specs import StepSpecs

ADVICE = ("tensor-parallel-without-fast-link", "tensor-parallel-beyond-fast-link", "pipeline-within-server")
"""Refusals of planning that a single configuration may break: it runs, only slowly."""


@dataclass(frozen=True)
class Asked:
    """The configuration that the flags describe."""

    catalog: Catalog
    entry: Model
    facts: ModelFacts
    gpu: Accelerator
    engine: Engine
    tp: int
    pp: int
    ep: int
    attention_dp: int
    workload: Workload
    traffic: Traffic
    policy: Policy


@dataclass(frozen=True, eq=False)
class Built:
    """The one candidate with its columns."""

    candidates: Candidates
    specs: StepSpecs
    fit: MemoryFit
    refused: tuple[str, ...]

    def told(self, asked: Asked, max_batch: int | None) -> Told:
        """The batch that the engine is told: what was asked, or all that fit."""
        most = int(self.fit.max_sequences[0])
        batch = min(most, max_batch or most)
        return Told(self, batch, _fit(asked, self.specs, np.array([batch])).account)


@dataclass(frozen=True)
class Told:
    """A candidate whose engine is told its batch."""

    built: Built
    batch: int
    account: MemoryAccount
    """With the activations of that batch."""


def ask(
    where: str,
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
    context: int | None = None,
    memory_utilization: str | None = None,
    overlays: tuple[Path, ...] = (),
) -> Asked:
    """Look the flags of a command up.

    Raises:
        InputError: unknown names.
    """
    catalog = load_catalog(overlays)
    names = Names(catalog, where)
    names.model(model)
    accelerator, found_engine = names.accelerator(gpu), names.engine(engine)
    names.number_format("--weights", weights, of_kv=False)
    names.number_format("--kv", kv, of_kv=True)
    if context is not None and context < isl + osl:
        found, needed = f'"{context}"', f"at least the {isl + osl:,} tokens of a request, input and output"
        names.faults.append(Fault(where, "--context", found, needed, f'"{isl + osl}"'))
    names.done()
    assert accelerator is not None
    assert found_engine is not None
    share: Decimal | None = None
    if memory_utilization is not None:
        share = units.parse(memory_utilization, units.FRACTION)
    entry = find_model(model, Path(), catalog)
    workload = Workload(
        name="estimate",
        model=model,
        demand=Demand(peak_rps=1),
        lengths=Lengths(input=LengthSide(fixed=isl), output=LengthSide(fixed=osl)),
        precision=Precision(weights=(weights or entry.native_format,), kv=(kv or "bf16",)),
    )
    assert workload.lengths is not None
    policy = policy_of(catalog)
    sized = traffic_of(workload, workload.lengths, None, 0, policy.longest_request_fraction)
    return Asked(
        catalog,
        entry,
        model_facts(entry),
        accelerator,
        with_utilization(found_engine, share),
        tp,
        pp,
        ep,
        attention_dp,
        workload,
        _longer(sized, context),
        policy,
    )


def _longer(traffic: Traffic, context: int | None) -> Traffic:
    """Traffic whose KV is sized for a stated context in every request."""
    if context is None:
        return traffic
    return replace(traffic, kv_tokens=max(context, traffic.kv_tokens), running=all_of(context))


def option_text(asked: Asked) -> str:
    """The choices in words, for a configuration that was never built."""
    precision = asked.workload.precision
    weights, kv = (precision.weights or ("",))[0], (precision.kv or ("",))[0]
    ranks = [f"dp{asked.attention_dp}"] if asked.attention_dp > 1 else []
    ranks += [f"ep{asked.ep}"] if asked.ep > 1 else []
    layout = " ".join([f"tp{asked.tp}", f"pp{asked.pp}", *ranks])
    return f"{asked.gpu.id} {asked.engine.id} {weights}+kv-{kv} {layout}"


def _lot(asked: Asked) -> Lot:
    """Servers of this accelerator, at any price."""
    fleet = Fleet.model_validate({"prices": {asked.gpu.id: "1 USD/h"}})
    (lot,) = market_lots(fleet, asked.catalog.accelerator, ())
    return lot


def build(asked: Asked, overlays: tuple[Path, ...]) -> Built | None:
    """The candidate; None where its shape is impossible."""
    search = Search(
        tp=(asked.tp,), pp=(asked.pp,), ep=(asked.ep,), attention_dp=(asked.attention_dp,), rules_off=ADVICE
    )
    space = search_space(
        asked.workload,
        asked.entry,
        asked.facts,
        asked.engine,
        Fleet(),
        search,
        asked.catalog,
        paced=False,
    )

    def holds(items: Sequence[Configuration]) -> IntArray:
        return _fit(asked, specifications(items)).max_sequences

    candidates = enumerate_candidates(space, [_lot(asked)], holds)
    if not len(candidates):
        return None
    specs = specifications(candidates.configurations)
    rules = load_planning_rules(overlays)
    bits = planning_rules.refusals(rules, candidates.attributes)
    return Built(
        candidates,
        specs,
        _fit(asked, specs),
        tuple(name for name, bit in bits.items() if bit[0]),
    )


def _fit(asked: Asked, specs: StepSpecs, planned: IntArray | None = None) -> MemoryFit:
    fill = Fill(asked.policy.kv_overflow_fraction)
    return memory_fit(specs, asked.traffic, 0.0, 0.0, fill, planned=planned)


def cannot_run(
    asked: Asked, built: Built | None, context: int, max_batch: int | None
) -> tuple[CannotRun, ...]:
    """Every reason why it cannot run: window, shape, rules, memory."""
    reasons: list[CannotRun] = []
    window = asked.facts.max_context_tokens
    if context > window:
        reasons.append(_reason("context", context, window, "tokens", f"the window of {asked.entry.id}"))
    if asked.ep > 1 and not asked.facts.experts:
        dense = "expert-parallel-of-dense-model"
        reasons.append(_reason(dense, asked.ep, 1, "GPUs", rule_title(dense)))
    if built is None:
        return (*reasons, *_shape_reasons(asked))
    for name in built.refused:
        if name not in ADVICE:
            reasons.append(_reason(name, None, None, "", rule_title(name)))
    fit = built.fit
    wanted = max_batch or 1
    if fit.max_sequences[0] < wanted:
        per_rank = float(-(-wanted // asked.attention_dp))
        told = _fit(asked, built.specs, np.array([wanted]))
        need = float((told.account.resident_bytes + told.need.bytes_of(per_rank))[0])
        usable = float(built.specs.capacity_bytes[0] * built.specs.engine_utilization[0])
        text = f"{numbers.count(wanted, 'sequence')} of {asked.traffic.kv_tokens:,} tokens on one GPU"
        if need > usable:
            reasons.append(_reason("vram", need, usable, "B", text))
        else:
            limit = float(fit.max_sequences[0])
            text = f"running sequences at most of {asked.engine.id}"
            reasons.append(_reason("max-batch", wanted, limit, "sequences", text))
    return tuple(reasons)


def _shape_reasons(asked: Asked) -> list[CannotRun]:
    """Why the layout has no place: heads, experts or the fast link."""
    facts, lot, group = asked.facts, _lot(asked), asked.tp * asked.attention_dp
    reasons = []
    if not heads_divide(facts, asked.tp):
        text = f"{facts.query_heads} query heads and {facts.kv_heads} KV heads do not divide by {asked.tp}"
        below = max(degree for degree in range(1, asked.tp) if heads_divide(facts, degree))
        reasons.append(_reason("divisibility", asked.tp, below, "GPUs", text))
    if group > lot.group_limit_gpus:
        text = "GPUs of one tensor-parallel group against those of one server or rack"
        reasons.append(_reason("interconnect", group, lot.group_limit_gpus, "GPUs", text))
    if asked.pp > facts.layers:
        reasons.append(
            _reason(
                "divisibility",
                asked.pp,
                facts.layers,
                "layers",
                "one pipeline stage holds at least one layer",
            )
        )
    if asked.ep > 1 and facts.experts:
        reasons += _expert_reasons(asked, group)
    return reasons


def _expert_reasons(asked: Asked, group: int) -> list[CannotRun]:
    """Why experts have no place: ranks that are not the GPUs of a stage, or empty, or uneven."""
    experts, supports, ranks = asked.facts.experts, asked.engine.supports, asked.ep
    if group % ranks or (ranks != group and not supports.cut_experts):
        fit = "divide the GPUs of a stage" if supports.cut_experts else "be all GPUs of a stage, or 1"
        text = f"{asked.engine.id}: the ranks that whole experts are spread over (ep) must {fit} ({group})"
        return [_reason("divisibility", ranks, group, "GPUs", text)]
    if ranks > experts or (experts % ranks and not supports.uneven_experts):
        text = f"{asked.engine.id}: {experts} experts over {ranks} ranks"
        return [_reason("divisibility", ranks, experts, "experts", text)]
    return []


def _reason(name: str, value: float | None, limit: float | None, unit: str, text: str) -> CannotRun:
    return CannotRun(id=name, value=value, limit=limit, unit=unit, text=text)


def rule_title(rule_id: str) -> str:
    """What a planning rule finds, in words."""
    return next((rule.title for rule in load_planning_rules() if rule.id == rule_id), rule_id)
