"""What a workload asks of its replicas beside formats and layout: drafts, experts, adapters."""

from __future__ import annotations

import math

from planner.errors import input_error
from planner.schema.catalog_index import Catalog
from planner.schema.configuration import AdapterSlots, Drafting, ExpertTraffic
from planner.schema.facts import ModelFacts
from planner.schema.policy import ServingOptions
from planner.schema.speculation import Speculation
from planner.schema.workload import Workload
from planner.steptime.drafting import eagle_head
from planner.steptime.model_facts import model_facts

_HEAD_FORMAT = "bf16"
"""Heads are published in 16 bit."""


def judgment(catalog: Catalog) -> ServingOptions:
    """Judgment of serving options, from ``catalog/judgment/serving-options.yaml``."""
    entry = catalog.find("judgment", "serving-options")
    if entry is None:
        expected = "serving-options.yaml, the judgment of options"
        raise input_error("catalog/judgment", "serving-options", "no file", expected)
    return ServingOptions.of(entry)


def drafting_choices(workload: Workload, facts: ModelFacts, catalog: Catalog) -> tuple[Drafting | None, ...]:
    """Ways to draft that the search may take; none at all is the first."""
    stated = workload.speculation
    if stated is None:
        return (None,)
    options = judgment(catalog)
    every = stated if isinstance(stated, tuple) else (stated,)
    return (None, *(draft for item in every for draft in _drafts(item, facts, catalog, options)))


def _drafts(
    stated: Speculation, facts: ModelFacts, catalog: Catalog, options: ServingOptions
) -> list[Drafting]:
    """One entry a number of drafts; they share the objects that tables are interned by."""
    writer, form, name = None, None, ""
    if stated.kind == "eagle":
        writer, form = eagle_head(facts), catalog.number_format(_HEAD_FORMAT)
    elif stated.kind == "draft-model":
        assert stated.draft is not None, "the problem states the model that drafts"
        model = catalog.model(stated.draft)
        assert model is not None, "the loader checks the names of models"
        writer, name = model_facts(model), model.id
        form = catalog.number_format(stated.weights or model.native_format)
    return [
        Drafting(
            kind=stated.kind,
            tokens=tokens,
            acceptance_fraction=float(stated.acceptance),
            model=writer,
            weights=form,
            pass_overhead_s=options.draft_pass_overhead_s,
            sequence_overhead_s=options.ngram_sequence_overhead_s if writer is None else 0.0,
            name=name,
            sigma_log=options.draft_sigma_log,
            same_vocabulary=writer is None or _same_vocabulary(writer, facts, options),
        )
        for tokens in dict.fromkeys(stated.tokens)
    ]


def _same_vocabulary(writer: ModelFacts, facts: ModelFacts, options: ServingOptions) -> bool:
    step = options.vocabulary_padding_tokens
    return math.ceil(writer.vocab_size / step) == math.ceil(facts.vocab_size / step)


def expert_traffic(workload: Workload, catalog: Catalog) -> ExpertTraffic:
    """How tokens reach spread experts, as the workload states it."""
    options, stated = judgment(catalog), workload.experts
    imbalance = stated.imbalance if stated else None
    capacity = stated.capacity_factor if stated else None
    return ExpertTraffic(
        imbalance_ratio=None if imbalance is None else float(imbalance),
        capacity_ratio=None if capacity is None else float(capacity),
        dispatch_bytes=options.dispatch_bytes,
        combine_bytes=options.combine_bytes,
        start_s=options.all_to_all_start_s,
    )


def adapter_slots(workload: Workload) -> AdapterSlots | None:
    """Adapters that every replica keeps ready: those in use at once, all of them by default."""
    lora = workload.lora
    return None if lora is None else AdapterSlots(active=lora.active or lora.adapters, rank=lora.rank)
