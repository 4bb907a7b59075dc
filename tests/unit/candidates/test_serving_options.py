"""Drafts, spread experts and adapters among the candidates, and the rules that judge them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from candidate_samples import holds_at_least, lot, space
from step_samples import DENSE, MOE, MOTOR

from planner.candidates.enumerate import enumerate_candidates
from planner.candidates.formats import weight_formats
from planner.candidates.serving_options import adapter_slots, drafting_choices, expert_traffic
from planner.constraints.planning_rules import finds
from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules
from planner.schema.configuration import AS_FITTED, AdapterSlots, Drafting
from planner.schema.search import Search
from planner.schema.workload import Workload
from planner.steptime.model_facts import model_facts

CATALOG = load_catalog()
RULES = {rule.id: rule for rule in load_planning_rules()}
EXPERTS = dataclasses.replace(MOE, query_heads=64, kv_heads=8, experts=64)
NGRAM = Drafting("ngram", 3, 0.5, None, None, 0.0, 0.0)


def workload(**fields):
    values = {"name": "w", "model": "llama-3.3-70b", "demand": {"peak_rps": 1}, "archetype": "chat"}
    return Workload.model_validate(values | fields)


def drafts(*stated, model="llama-3.3-70b"):
    facts = model_facts(CATALOG.model(model))
    return drafting_choices(workload(speculation=stated), facts, CATALOG)


def test_without_the_key_nothing_is_drafted():
    assert drafting_choices(workload(), DENSE, CATALOG) == (None,)
    assert adapter_slots(workload()) is None
    stated = expert_traffic(workload(), CATALOG)
    assert (stated.imbalance_ratio, stated.capacity_ratio) == (None, None)


def test_the_search_may_do_without_and_takes_each_number_of_drafts():
    found = drafts(
        {"kind": "ngram", "acceptance": "40 %", "tokens": (2, 5)},
        {"kind": "eagle", "acceptance": "75 %"},
        {
            "kind": "draft-model",
            "draft": "llama-3.1-8b",
            "acceptance": "70 %",
            "weights": "fp8",
            "tokens": (3,),
        },
    )
    assert found[0] is None
    shown = [(draft.kind, draft.tokens, draft.acceptance_fraction) for draft in found[1:]]
    assert shown == [
        ("ngram", 2, 0.4),
        ("ngram", 5, 0.4),
        ("eagle", 2, 0.75),
        ("eagle", 3, 0.75),
        ("eagle", 4, 0.75),
        ("draft-model", 3, 0.7),
    ]
    head, small = found[3], found[-1]
    assert (head.model.layers, head.weights.id, head.sequence_overhead_s) == (1, "bf16", 0.0)
    assert (small.name, small.weights.id) == ("llama-3.1-8b", "fp8")
    assert found[1].model is None
    assert found[1].sequence_overhead_s > 0.0
    # Numbers of drafts share the objects that tables are interned by.
    assert found[3].model is found[5].model


def test_one_kind_needs_no_list():
    facts = model_facts(CATALOG.model("llama-3.3-70b"))
    one = workload(speculation={"kind": "ngram", "acceptance": "40 %", "tokens": [3]})
    assert [draft and draft.tokens for draft in drafting_choices(one, facts, CATALOG)] == [None, 3]


@pytest.mark.parametrize(
    ("model", "draft", "same"),
    [
        ("llama-3.3-70b", "llama-3.1-8b", True),
        ("qwen2.5-72b", "qwen2.5-0.5b", True),
        ("llama-3.3-70b", "qwen2.5-0.5b", False),
    ],
)
def test_vocabularies_that_differ_by_padding_count_as_one(model, draft, same):
    found = drafts({"kind": "draft-model", "draft": draft, "acceptance": "70 %", "tokens": (3,)}, model=model)
    assert found[1].same_vocabulary is same


def test_every_layout_is_tried_with_and_without_drafts():
    plain = enumerate_candidates(space(), [lot()], holds_at_least(1))
    found = enumerate_candidates(space(drafts=(None, NGRAM)), [lot()], holds_at_least(1))
    assert len(found) == 2 * len(plain)
    assert set(plain.names) == {name for name in found.names if "ngram" not in name}
    assert {name.removesuffix(" ngram-3 chunk2048") for name in found.names if "ngram" in name} == {
        name.removesuffix(" chunk2048") for name in plain.names
    }
    assert len(set(found.names)) == len(found)


def test_rules_see_drafts_and_eviction():
    found = enumerate_candidates(
        space(drafts=(None, NGRAM), evicts=True, stages_always=True), [lot()], holds_at_least(1)
    )
    drafted = np.array([item.drafting is not None for item in found.configurations])
    assert (finds(RULES["speculation-with-token-eviction"], found.attributes) == drafted).all()
    assert (finds(RULES["speculation-unsupported"], found.attributes) == drafted).all()
    assert (finds(RULES["speculation-at-low-acceptance"], found.attributes) == drafted).all()
    staged = drafted & np.array([item.pp > 1 for item in found.configurations])
    assert (finds(RULES["speculation-over-stages"], found.attributes) == staged).all()
    assert staged.any()
    assert not finds(RULES["draft-of-another-vocabulary"], found.attributes).any()


def shapes(found):
    return {(item.tp, item.ep, item.attention_dp) for item in found.configurations}


def wide(**changes):
    search = Search(tp=(4, 8, 16), attention_dp=(1, 2, 4, 8))
    found = space(model=EXPERTS, search=search, wide_ep=True, **changes)
    return enumerate_candidates(found, [lot()], holds_at_least(1))


@pytest.mark.parametrize(
    ("experts", "supports", "ranks"),
    [
        (64, {}, [1, 4]),  # all GPUs of a stage
        (6, {}, [1]),
        (6, {"uneven_experts": True}, [1, 4]),  # 2, 2, 1 and 1
        (3, {"uneven_experts": True}, [1]),  # a rank would have none
        (64, {"cut_experts": True}, [1, 2, 4]),  # two ranks of two GPUs
        (6, {"cut_experts": True}, [1, 2]),
    ],
)
def test_ranks_of_experts_that_an_engine_can_run(experts, supports, ranks):
    engine = MOTOR.model_copy(update={"supports": MOTOR.supports.model_copy(update=supports)})
    model = dataclasses.replace(EXPERTS, experts=experts)
    search = Search(tp=(4,), ep=(1, 2, 3, 4, 8), attention_dp=(1,))
    found = enumerate_candidates(space(model=model, engine=engine, search=search), [lot()], holds_at_least(1))
    assert [item.ep for item in found.configurations] == ranks


def test_experts_leave_the_server_only_where_the_problem_says_so():
    narrow = enumerate_candidates(space(model=EXPERTS), [lot()], holds_at_least(1))
    assert all(item.tp * item.attention_dp <= 8 for item in narrow.configurations)
    found = wide()
    assert shapes(found) == {
        (4, 1, 1),
        (4, 4, 1),
        (8, 1, 1),
        (8, 8, 1),
        (4, 8, 2),
        (4, 16, 4),
        (4, 32, 8),
        (8, 16, 2),
        (8, 32, 4),
        (8, 64, 8),
    }
    dense = enumerate_candidates(
        space(model=DENSE, search=Search(attention_dp=(1, 16)), wide_ep=True), [lot()], holds_at_least(1)
    )
    assert all(item.gpus <= 8 for item in dense.configurations)


def test_spread_experts_take_whole_servers_and_the_network():
    found = wide()
    units = dict(zip(found.placed_configuration.tolist(), found.placed_units.tolist(), strict=True))
    for index, item in enumerate(found.configurations):
        spread = item.gpus > 8
        assert item.spans_servers is spread
        # The tensor-parallel group stays on the fast link of one server.
        assert item.fast_link
        assert units[index] == (item.gpus // 8 if spread else 0)
        assert item.network_bytes_per_s == (25e9 if spread else 0.0)
        assert ("across-servers-of-8" in found.names[index]) is spread
    assert not found.structural["interconnect"].any()


def test_a_unit_that_does_not_hold_the_model_is_not_said_to_because_several_do():
    found = wide(stages_always=False)
    assert found.attributes["fits_one_node"].all()
    far = enumerate_candidates(
        space(model=EXPERTS, search=Search(tp=(8,), attention_dp=(1, 2)), wide_ep=True),
        [lot()],
        holds_at_least(16),
    )
    assert not far.attributes["fits_one_node"].any()


@pytest.mark.parametrize(("network", "refused"), [(12.5e9, True), (25e9, False), (50e9, False)])
def test_spread_experts_need_a_fabric(network, refused):
    found = wide(network_bytes_per_s=network)
    spread = np.array([item.spans_servers for item in found.configurations])
    got = finds(RULES["expert-exchange-over-slow-network"], found.attributes)
    assert got.tolist() == (spread & refused).tolist()


def test_stated_experts_reach_every_candidate_and_their_rules():
    stated = expert_traffic(workload(experts={"imbalance": 1.5, "capacity_factor": 1.25}), CATALOG)
    assert (stated.imbalance_ratio, stated.capacity_ratio) == (1.5, 1.25)
    found = wide(experts=stated)
    spread = np.array([item.ep > 1 for item in found.configurations])
    assert (finds(RULES["expert-capacity-below-imbalance"], found.attributes) == spread).all()
    assert not finds(RULES["expert-capacity-at-mean"], found.attributes).any()
    tight = wide(experts=dataclasses.replace(AS_FITTED, capacity_ratio=1.0))
    assert (finds(RULES["expert-capacity-at-mean"], tight.attributes) == spread).all()


def test_adapters_reach_every_candidate_and_need_an_engine_that_serves_them():
    slots = adapter_slots(workload(lora={"adapters": 200, "active": 32, "rank": 8}))
    assert slots == AdapterSlots(32, 8)
    assert adapter_slots(workload(lora={"adapters": 20})) == AdapterSlots(20, 16)
    found = enumerate_candidates(space(adapters=slots), [lot()], holds_at_least(1))
    assert {item.adapters for item in found.configurations} == {slots}
    assert (found.attributes["adapters"] == 32).all()
    lacking = ~found.attributes["adapters_supported"]
    assert (finds(RULES["adapters-unsupported"], found.attributes) == lacking).all()


def test_sparse_formats_are_tried_only_where_they_are_named():
    def tried(named, everything=False):
        found = weight_formats(
            named, CATALOG.model("llama-3.3-70b"), CATALOG.number_formats, CATALOG.number_format, everything
        )
        return {item.format.id for item in found}

    assert not any("2of4" in name for name in tried(None, everything=True))
    assert tried(("fp8", "fp8-2:4")) == {"fp8", "fp8-2of4"}
    assert {name for name in tried(("fp8-2:4",), everything=True) if "2of4" in name} == {"fp8-2of4"}


@pytest.mark.parametrize(("dense", "bits"), [("bf16", 9), ("fp8", 5), ("int8", 5)])
def test_sparse_formats_store_half_the_values_and_their_places(dense, bits):
    """Of four weights two are stored, each with an index of two bits."""
    form, whole = CATALOG.number_format(f"{dense}-2of4"), CATALOG.number_format(dense)
    assert float(form.bits) == (2 * whole.nominal_bits + 2 * 2) / 4 == bits
    assert form.sparse.dense == dense
    assert form.rate == whole.rate
    assert not form.by_default
