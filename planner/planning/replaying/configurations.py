"""The configuration behind a pool of a plan, found among those that the problem allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.candidates.attributes import configuration_name
from planner.candidates.enumerate import enumerate_candidates
from planner.candidates.market import lots as market_lots
from planner.candidates.space import STAGES_RULE, search_space
from planner.errors import input_error
from planner.planning.formulation.market import shadow
from planner.planning.formulation.shape import places_matter
from planner.planning.workload.case import Case
from planner.schema.candidates import IntArray, Lot
from planner.schema.catalog_index import Catalog
from planner.schema.configuration import Configuration
from planner.schema.pool import Pool
from planner.schema.problem import Problem


def configuration_of(pool: Pool, case: Case, problem: Problem, catalog: Catalog, where: str) -> Configuration:
    """What one replica of a pool is.

    Raises:
        InputError: the problem in the document no longer allows such a configuration.
    """
    priced = shadow(problem)
    search = priced.search.model_copy(
        update={
            "tp": (pool.tp,),
            "pp": (pool.pp,),
            "ep": (pool.ep,),
            "attention_dp": (pool.attention_dp,),
            "batched_tokens": (pool.batched_tokens,),
            "rules_off": (*priced.search.rules_off, STAGES_RULE),
        }
    )
    space = search_space(
        case.workload, case.model, case.facts, case.engine, priced.fleet, search, catalog, paced=True
    )
    candidates = enumerate_candidates(space, _lots(pool, priced, catalog), _holds)
    for item in candidates.configurations:
        same = (item.weights.id, item.kv.id) == (pool.weights, pool.kv)
        if same and f"{configuration_name(item)} " in pool.option:
            share = pool.memory_share
            return item if share is None else replace(item, memory_share=share)
    expected = "a configuration that the document's problem and this catalog allow"
    raise input_error(where, f"pools.{pool.id}", f'"{pool.option}"', expected, "plan again")


def _lots(pool: Pool, problem: Problem, catalog: Catalog) -> list[Lot]:
    every = market_lots(problem.fleet, catalog.accelerator, catalog.price_lists, places_matter(problem))
    mine = [lot for lot in every if lot.name == pool.gpu]
    return [lot for lot in mine if f"@ {lot.id}" in pool.option] or mine


def _holds(configurations: Sequence[Configuration]) -> IntArray:
    """The plan has looked at memory: whatever it names fits."""
    return np.ones(len(configurations), dtype=np.int64)
