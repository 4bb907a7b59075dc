"""Prefill and decode candidates as options: what tells them apart and what must agree."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import step_samples

from planner.candidates.roles import kv_class, role_attributes, worth_trying
from planner.schema.configuration import Drafting
from planner.schema.engine import Engine, EngineKvTransfer
from tests.disaggregated_problems import fits, in_modes, problem_of, study

WORKLOAD = {
    "demand": {"peak_rps": 5},
    "lengths": {"input": {"p50": 2000, "p99": 6000}, "output": {"p50": 100, "p99": 300}},
    "slo": {"ttft_p99": "1500 ms", "itl_p99": "30 ms"},
}
ON_OFFERS = WORKLOAD | {"model": "llama-3.3-70b"}


def formulation(workload, fleet, **search):
    return study().formulate(in_modes(problem_of(workload, fleet, **search), "disaggregated"))


def of_role(found, role):
    return [option for option, _ in found.found.values() if option.role == role]


def test_an_option_of_each_side():
    found = formulation(WORKLOAD, {"prices": {"h100-sxm": "2 USD/h"}}, tp=[1], batched_tokens=[2048])
    prefill, decode = of_role(found, "prefill"), of_role(found, "decode")
    assert {option.kv for option in prefill + decode} == {"fp8 of vllm on NVIDIA in the fleet"}
    for option in prefill:
        assert option.id.startswith("w: prefill h100-80gb-sxm vllm fp8+kv-fp8 tp1 chunk2048 batch")
        assert (option.gpus, option.transfer_s) == (1, 0)
    for option in decode:
        assert option.ttft_s is None
        assert 0 < option.transfer_s < 1
    assert any(fits(p, d) for p, d in itertools.product(prefill, decode))
    assert not all(fits(p, d) for p, d in itertools.product(prefill, decode))


def test_rooms_of_pairs_add_up_to_the_whole():
    found = formulation(WORKLOAD, {"prices": {"h100-sxm": "2 USD/h"}}, tp=[1, 2], batched_tokens=[2048])
    left = {1 - option.ttft_s for option in of_role(found, "prefill")}
    needed = {option.transfer_s for option in of_role(found, "decode")}
    assert needed <= left
    assert all(isinstance(room, Fraction) for room in left | needed)


def test_more_room_for_the_decode_side_is_less_for_prefill():
    found = formulation(WORKLOAD, {"prices": {"h100-sxm": "2 USD/h"}}, tp=[1], batched_tokens=[8192])
    whole = "prompts up to"
    for role, sign in (("prefill", -1), ("decode", 1)):
        alike = [option for option in of_role(found, role) if whole not in option.kv]
        room = {"prefill": lambda o: 1 - o.ttft_s, "decode": lambda o: o.transfer_s}[role]
        ordered = sorted(alike, key=room)
        rates = [sign * option.rates_rps[0] for option in ordered]
        assert len(rates) > 1
        assert rates == sorted(rates)


def test_places_do_not_transfer_kv_to_each_other():
    found = formulation(ON_OFFERS, {"accelerators": ["h100-sxm", "h200-sxm"]}, batched_tokens=[2048])
    lots = {lot.id: lot for lot in found.lots}
    for option in of_role(found, "prefill") + of_role(found, "decode"):
        offer = lots[option.supply].offer
        assert (
            option.kv.endswith(f"in {offer.provider} {offer.region}") or f"in {offer.provider}" in option.kv
        )
    places = {option.kv for option in of_role(found, "decode")}
    assert len(places) > 1


def test_parts_of_servers_hand_nothing_over():
    found = formulation(ON_OFFERS, {"accelerators": ["h100-sxm"]}, batched_tokens=[2048])
    lots = {lot.id: lot for lot in found.lots}
    used = {lots[o.supply].unit_gpus for o in of_role(found, "prefill") + of_role(found, "decode")}
    assert used == {8}


def test_two_vendors_do_not_transfer_kv_to_each_other():
    fleet = {"prices": {"h100-sxm": "2 USD/h", "mi300x": "2 USD/h"}}
    found = formulation(WORKLOAD, fleet, tp=[1], batched_tokens=[2048])
    pairs = itertools.product(of_role(found, "prefill"), of_role(found, "decode"))
    for prefill, decode in pairs:
        if fits(prefill, decode):
            assert (prefill.gpu == "mi300x") == (decode.gpu == "mi300x")


def test_different_degrees_and_gpus_do_where_the_format_agrees():
    fleet = {"prices": {"h100-sxm": "2 USD/h", "l40s": "1 USD/h"}}
    found = formulation(WORKLOAD, fleet, tp=[1, 2], batched_tokens=[2048])
    pairs = [
        (prefill, decode)
        for prefill, decode in itertools.product(of_role(found, "prefill"), of_role(found, "decode"))
        if fits(prefill, decode)
    ]
    assert any(prefill.gpu != decode.gpu for prefill, decode in pairs)
    assert any(prefill.gpus != decode.gpus for prefill, decode in pairs)


def test_kv_formats_must_agree():
    workload = WORKLOAD | {"precision": {"weights": ["fp8"], "kv": ["fp8", "bf16"]}}
    found = formulation(workload, {"prices": {"h100-sxm": "2 USD/h"}}, tp=[1], batched_tokens=[2048])
    formats = {option.kv.split()[0] for option in of_role(found, "prefill") + of_role(found, "decode")}
    assert formats == {"fp8", "bf16"}


HANDS_OVER = EngineKvTransfer(
    hidden="0 %",
    vendors=("NVIDIA",),
    prefill_stages=True,
    decode_stages=False,
    local_prefill=False,
    source="sample",
)


def able(**changes) -> Engine:
    return step_samples.MOTOR.model_copy(update={"kv_transfer": HANDS_OVER.model_copy(update=changes)})


@pytest.mark.parametrize(
    ("engine", "pp", "role", "supported"),
    [
        (step_samples.MOTOR, 1, "prefill", False),
        (able(), 1, "prefill", True),
        (able(), 1, "decode", True),
        (able(), 2, "prefill", True),
        (able(), 2, "decode", False),
        (able(decode_stages=True), 2, "decode", True),
        (able(vendors=("AMD",)), 1, "decode", False),
    ],
)
def test_what_an_engine_transfers_kv(engine, pp, role, supported):
    item = step_samples.configuration(engine=engine, pp=pp)
    columns = role_attributes([item], role)
    assert columns["role"].tolist() == [role]
    assert columns["kv_transfer_supported"].tolist() == [supported]


def test_a_class_is_format_engine_and_vendor():
    assert kv_class(step_samples.configuration(kv=step_samples.FP8)) == "fp8 of motor on NVIDIA"


def test_candidates_that_differ_in_nothing_that_counts():
    drafting = Drafting("ngram", 3, 0.6, None, None, 0.0, 0.0)
    items = [
        step_samples.configuration(batched_tokens=512),
        step_samples.configuration(batched_tokens=2048),
        step_samples.configuration(batched_tokens=512, drafting=drafting),
    ]
    assert worth_trying(items, "prefill").tolist() == [True, True, False]
    assert worth_trying(items, "decode").tolist() == [True, False, True]
    assert worth_trying(items[2:], "prefill").tolist() == [True]
    assert worth_trying([], "decode").shape == (0,)
    assert np.all(worth_trying(items[:1], "decode"))
