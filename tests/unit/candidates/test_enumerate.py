"""Which layouts are tried where."""

import dataclasses

import numpy as np
import pytest
from candidate_samples import FORMATS, holds_at_least, lot, space
from step_samples import BF16, BOX, DENSE, FP8, MEASURED_PCIE, MLA, MOE, accelerator, engine

from planner.candidates.enumerate import enumerate_candidates
from planner.candidates.market import lots as market_lots
from planner.candidates.space import search_space
from planner.loaders.catalog import load_catalog
from planner.performance.memory_fit import Fill, memory_fit
from planner.performance.replica import specifications
from planner.performance.traffic import traffic as traffic_of
from planner.schema.candidates import AllowedFormat
from planner.schema.catalog import AcceleratorLink
from planner.schema.hardware import Fleet
from planner.schema.pool import OfferTaken
from planner.schema.rules import ATTRIBUTES
from planner.schema.search import Search
from planner.schema.workload import Workload
from planner.steptime.model_facts import model_facts
from planner.steptime.splitting import heads_divide

CATALOG = load_catalog()
BARE = accelerator(id="card", link=AcceleratorLink(kind="none", domain=1, source="sample"))
BRIDGED = accelerator(
    id="bridge", link=AcceleratorLink(kind="nvlink-bridge", one_way="50 GB/s", domain=2, source="sample")
)
RACK = accelerator(
    id="rack", link=AcceleratorLink(kind="nvlink", one_way="100 GB/s", domain=72, source="sample")
)
EVEN = dataclasses.replace(DENSE, query_heads=64, kv_heads=8, layers=61)
EXPERTS = dataclasses.replace(MOE, query_heads=64, kv_heads=8, experts=64)


def shapes(found):
    """(tp, pp, ep, attention-dp) of every configuration."""
    return {(item.tp, item.pp, item.ep, item.attention_dp) for item in found.configurations}


def tried(model=EVEN, *lots, gpus=1, **changes):
    return enumerate_candidates(space(model=model, **changes), lots or [lot()], holds_at_least(gpus))


@pytest.mark.parametrize(
    ("query_heads", "kv_heads", "degrees"),
    [
        (64, 8, [1, 2, 4, 8, 16, 32, 64]),  # beyond 8 every KV head is kept by 2, 4 or 8 GPUs
        (40, 8, [1, 2, 4, 8]),
        (28, 4, [1, 2, 4]),
        (48, 6, [1, 2]),  # 6 heads over 4 GPUs would be uneven
        (71, 1, [1]),
    ],
)
def test_heads_divide(query_heads, kv_heads, degrees):
    model = dataclasses.replace(DENSE, query_heads=query_heads, kv_heads=kv_heads)
    assert [tp for tp in (1, 2, 4, 8, 16, 32, 64) if heads_divide(model, tp)] == degrees


def test_the_latent_of_mla_is_kept_whole_by_every_gpu():
    assert heads_divide(dataclasses.replace(MLA, query_heads=128), 16)


def test_groups_lie_inside_the_instance():
    assert shapes(tried(EVEN, lot(unit=1))) == {(1, 1, 1, 1)}
    assert shapes(tried(EVEN, lot(unit=4))) == {(tp, 1, 1, 1) for tp in (1, 2, 4)}
    assert shapes(tried(EVEN, lot(unit=8))) == {(tp, 1, 1, 1) for tp in (1, 2, 4, 8)}


def test_a_rack_carries_groups_over_its_trays():
    found = tried(EVEN, lot(unit=4, limit=72, link=72, accelerator=RACK))
    assert shapes(found) == {(tp, 1, 1, 1) for tp in (1, 2, 4, 8, 16, 32, 64)}
    assert all(item.fast_link and not item.spans_servers for item in found.configurations)
    units = {
        found.configurations[i].tp: int(u)
        for i, u in zip(found.placed_configuration, found.placed_units, strict=True)
    }
    assert units == {1: 0, 2: 0, 4: 0, 8: 2, 16: 4, 32: 8, 64: 16}


def test_pipelines_only_where_no_unit_holds_the_model():
    assert all(item.pp == 1 for item in tried(gpus=8).configurations)
    found = tried(gpus=16)
    assert {item.pp for item in found.configurations} == {1, 2, 4, 8, 16}
    assert all(item.spans_servers == (item.gpus > 8) for item in found.configurations)


def test_pipelines_on_cards_without_a_link_and_where_the_rule_is_off():
    assert {item.pp for item in tried(EVEN, lot(accelerator=BARE)).configurations} == {1, 2, 4, 8, 16}
    assert {item.pp for item in tried(stages_always=True).configurations} == {1, 2, 4, 8, 16}


def test_groups_beyond_the_link_do_not_count_as_holding_the_model():
    """Four bridged cards hold it, but only pairs share a link: a pipeline of pairs is what can run."""
    found = tried(EVEN, lot(accelerator=BRIDGED), gpus=4)
    assert (2, 2, 1, 1) in shapes(found)
    assert not found.attributes["fits_one_node"].any()
    assert {item.pp for item in tried(EVEN, lot(accelerator=BRIDGED), gpus=2).configurations} == {1}


def test_each_size_of_instance_is_judged_alone():
    """Instances of one GPU need a pipeline where an instance of eight does not."""
    found = tried(EVEN, lot("one", unit=1, purchase="unit"), lot("eight", unit=8, purchase="unit"), gpus=4)
    deep = {
        int(place)
        for index, place in zip(found.placed_configuration, found.placed_lot, strict=True)
        if found.configurations[index].pp > 1
    }
    assert deep == {0}


def test_what_other_instances_sell_does_not_make_a_server_a_part():
    """Two GPUs of an instance of eight are on a whole server, whatever else sells two of them."""

    def sold(name, unit):
        taken = OfferTaken(provider="p", region="r", instance=name, gpus=unit, usd_per_hour=2.0)
        return dataclasses.replace(lot(name, unit=unit, purchase="unit"), offer=taken)

    found = tried(EVEN, sold("two", 2), sold("eight", 8))
    parts = found.attributes["part_of_server"]
    assert not parts.any(), "each may be placed on the whole server"
    assert found.placed_part.tolist() == (found.placed_lot == 0).tolist()
    assert tried(EVEN, sold("two", 2)).attributes["part_of_server"].all()


@pytest.mark.parametrize("fabric", [False, True])
def test_a_server_of_one_gpu_has_a_fabric_where_the_network_is_stated(fabric):
    taken = OfferTaken(provider="p", region="r", instance="one", gpus=1, usd_per_hour=2.0)
    alone = BOX.model_copy(update={"host": BOX.host.model_copy(update={"node_size": 1})})
    one = dataclasses.replace(lot("one", unit=1, purchase="unit", accelerator=alone), offer=taken)
    found = tried(EVEN, one, fabric=fabric)
    assert (found.attributes["part_of_server"] == (not fabric)).all()


def test_each_weight_format_is_judged_alone():
    def holds(items):
        return np.array([int(item.gpus >= (16 if item.weights.id == "bf16" else 8)) for item in items])

    formats = (AllowedFormat(BF16, True), AllowedFormat(FP8, True))
    found = enumerate_candidates(space(model=EVEN, weights=formats), [lot()], holds)
    assert {item.weights.id for item in found.configurations if item.pp > 1} == {"bf16"}


def test_61_layers_make_uneven_stages_but_never_empty_ones():
    assert (8, 4, 1, 1) in shapes(tried(gpus=16))
    assert 16 not in {item.pp for item in tried(dataclasses.replace(EVEN, layers=10), gpus=99).configurations}


def test_replicas_larger_than_a_unit_take_whole_units():
    found = tried(EVEN, lot(), gpus=16)
    units = {
        (item.tp, item.pp): int(taken)
        for index, taken in zip(found.placed_configuration, found.placed_units, strict=True)
        for item in [found.configurations[index]]
    }
    assert units[(8, 2)] == 2
    assert units[(4, 4)] == 2
    assert units[(2, 8)] == 2
    assert units[(1, 8)] == 0
    # Three GPUs a stage: two stages a server, so four stages take two servers.
    model = dataclasses.replace(EVEN, query_heads=48, kv_heads=3)
    (three,) = tried(model, lot(), gpus=99, search=Search(tp=(3,), pp=(4,))).placed_units
    assert three == 2


def test_experts_and_copied_attention_only_with_experts_and_an_engine_that_can():
    assert shapes(tried(EVEN)) == {(tp, 1, 1, 1) for tp in (1, 2, 4, 8)}
    found = shapes(tried(EXPERTS))
    assert (1, 1, 8, 8) in found
    assert (8, 1, 1, 1) in found
    # Whole experts over all GPUs of a stage; without copies of the attention also cut like the rest.
    assert all(ep == tp * dp or (dp == 1 and ep == 1) for tp, _, ep, dp in found)
    assert (8, 1, 8, 1) in found
    unable = engine()
    unable = unable.model_copy(
        update={"supports": unable.supports.model_copy(update={"attention_dp": False})}
    )
    degrees = (1, 2, 4, 8)
    without = {(tp, 1, ep, 1) for tp in degrees for ep in (1, tp)}
    assert shapes(tried(EXPERTS, engine=unable)) == without


def test_experts_divide():
    odd = dataclasses.replace(EXPERTS, experts=12)
    assert {ep for _, _, ep, _ in shapes(tried(odd))} == {1, 2, 4}


def test_lists_of_the_search_are_kept():
    found = tried(EXPERTS, search=Search(tp=(2, 4), ep=(4,), attention_dp=(1, 2)))
    assert shapes(found) == {(4, 1, 4, 1), (2, 1, 4, 2)}
    assert shapes(tried(EVEN, search=Search(tp=(8,), pp=(2,)))) == {(8, 2, 1, 1)}


def test_listed_degrees_that_cannot_work_are_shown_only_to_explain():
    search = Search(tp=(3, 8, 16))
    assert shapes(tried(EVEN, search=search)) == {(8, 1, 1, 1)}
    found = tried(EVEN, search=search, everything=True)
    bad = {
        name: {found.configurations[i].tp for i in np.flatnonzero(found.structural[name])}
        for name in ("divisibility", "interconnect")
    }
    assert bad == {"divisibility": {3}, "interconnect": {16}}
    assert shapes(tried(EVEN, everything=True)) == shapes(tried(EVEN))


def test_formats_that_are_not_allowed_carry_their_mark():
    formats = (AllowedFormat(BF16, True), AllowedFormat(FP8, False))
    found = tried(EVEN, weights=formats, everything=True)
    marked = {found.configurations[i].weights.id for i in np.flatnonzero(found.structural["precision"])}
    assert marked == {"fp8"}


def test_links_of_unit_and_card():
    pair, bare = lot(accelerator=BRIDGED), lot("card", accelerator=BARE)
    fast = {
        (item.accelerator.id, item.tp): item.fast_link
        for item in tried(EVEN, pair, bare).configurations
        if item.pp == 1
    }
    assert fast[("bridge", 2)]
    assert not fast[("bridge", 4)]
    assert fast[("card", 1)]
    assert not fast[("card", 2)]
    staged = [item for item in tried(EVEN, bare).configurations if item.pp > 1]
    assert staged
    assert not any(item.fast_link for item in staged), "stages of PCIe cards talk over PCIe"


def test_measured_cards_are_known_to_the_rules():
    found = tried(EVEN, lot(accelerator=accelerator(link=MEASURED_PCIE)))
    measured = {
        item.tp: bool(bit)
        for item, bit in zip(found.configurations, found.attributes["measured_all_reduce"], strict=True)
    }
    assert measured == {1: False, 2: True, 4: True, 8: False}


def test_the_attributes_are_those_that_are_declared():
    found = tried(EXPERTS, lot(), gpus=2)
    assert set(found.attributes) == set(ATTRIBUTES)
    assert {column.shape for column in found.attributes.values()} == {(len(found),)}
    assert set(found.attributes["smallest_tp_that_fits"][found.attributes["attention_dp"] == 1]) == {2}


def test_the_memory_model_is_asked_once_a_configuration():
    asked = []

    def holds(items):
        asked.extend(items)
        return np.zeros(len(items), dtype=np.int64)

    found = enumerate_candidates(space(model=EVEN), [lot()], holds)
    assert len(asked) == len(found)
    assert len(enumerate_candidates(space(), [], holds)) == 0


# With the catalog and the memory model.

WORKLOAD = {
    "name": "chat",
    "demand": {"peak_rps": 1},
    "lengths": {"input": {"fixed": 1000}, "output": {"fixed": 200}},
}


def real(model, gpus=None, memory_headroom=0.1, prices=None, **precision):
    """Candidates on the catalog's accelerators at any price, and the sequences that each holds."""
    prices = prices or dict.fromkeys(gpus or [item.id for item in CATALOG.accelerators], "1 USD/h")
    fleet = Fleet(prices=prices)
    workload = Workload(model=model, precision=precision, **WORKLOAD)
    entry = CATALOG.model(model)
    traffic = traffic_of(workload, workload.lengths, None, 0, 0.95)
    found_space = search_space(
        workload, entry, model_facts(entry), CATALOG.engine("vllm"), fleet, Search(), CATALOG, paced=True
    )
    lots = market_lots(fleet, CATALOG.accelerator, CATALOG.price_lists)

    def holds(items):
        return memory_fit(specifications(items), traffic, memory_headroom, 0.0, Fill(0.01)).max_sequences

    found = enumerate_candidates(found_space, lots, holds)
    return found, holds(found.configurations)


def test_deepseek_r1_in_fp8_takes_16_cards_of_80_gb():
    """671 GB of weights: 8 x 80 GB = 640 GB are too few whatever the layout."""
    found, held = real("deepseek-r1", ["h100-sxm", "a100-sxm"])
    assert {item.weights.id for item in found.configurations} == {"fp8"}
    runs = [item.gpus for item, sequences in zip(found.configurations, held, strict=True) if sequences > 0]
    assert min(runs) == 16
    assert not found.attributes["fits_one_node"].any()


def test_70b_in_16_bit_never_lies_on_one_card_of_80_gb():
    found, held = real("llama-3.3-70b", ["h100-sxm"], weights=("bf16",))
    assert min(item.gpus for item, n in zip(found.configurations, held, strict=True) if n > 0) > 1
    # 141 GB over two cards of 85.5 GB at 90 %: 77 GB hold 70.6 GB and little more.
    assert set(found.attributes["smallest_tp_that_fits"]) == {2}


def test_every_name_is_unique():
    for model in ("llama-3.3-70b", "deepseek-v3"):
        found, _ = real(model)
        assert len(set(found.names)) == len(found)
    instances = market_lots(Fleet(), CATALOG.accelerator, CATALOG.price_lists)
    both = enumerate_candidates(space(model=EXPERTS, find_format=FORMATS.get), instances, holds_at_least(16))
    assert len(set(both.names)) == len(both)
