"""Measured all-reduce in the step: which groups and engines use it, and both paths."""

from __future__ import annotations

import pytest

from planner.schema.accelerator import AcceleratorHost, AcceleratorLink
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples
from tests.unit.steptime.test_measured_operators import OPERATORS, ZERO, measured

LINK = {"start_us": 3.0, "start_us/motor": 5.0, "link_fraction": 0.75, "direct_fraction": 0.5}
FURTHER = {"second_us": 6.0, "rank_us": 0.5}
WITH_LINK = {"hopper": OPERATORS["hopper"] | {"all_reduce.nvlink": LINK | FURTHER}}
OVER_PCIE = {
    "hopper": OPERATORS["hopper"] | {"all_reduce.pcie": LINK | FURTHER | {"rank_exponent": 1.0}},
}


def communication_s(specs, tokens):
    return step_time_s(specs, ZERO, tokens, 100.0).communication_s[0]


@pytest.mark.parametrize("tokens", [1.0, 64.0, 4096.0])
@pytest.mark.parametrize("layout", [{"tp": 4}, {"tp": 2, "pp": 2}, {"tp": 2, "attention_dp": 2}])
def test_both_paths_agree(layout, tokens):
    specs = measured(model=samples.MOE, operators=WITH_LINK, **layout)
    load = (tokens, 100.0, 9.0, 9.0, 1.0)
    assert total_step_s(specs, ZERO, *load)[0] == pytest.approx(step_time_s(specs, ZERO, *load).total_s[0])


def test_a_step_holds_two_calls_a_layer():
    """Four ranks at 100 GB/s: small messages at half of it to three others, large ones in two steps.

    A call starts after the engine's own 5 us and half a us for each of two further ranks.
    """
    specs = measured(operators=WITH_LINK, tp=4)
    calls, token_bytes = 2.0 * samples.DENSE.layers, 2.0 * samples.DENSE.hidden_size
    start_s = (specs.tp_latency_s[0], specs.tp_second_s[0])
    assert start_s == pytest.approx((6e-6, 6e-6))
    assert communication_s(specs, 1.0) == pytest.approx(calls * (6e-6 + 3 * token_bytes / 50e9))
    many = 1e6 * token_bytes
    assert communication_s(specs, 1e6) == pytest.approx(calls * (12e-6 + 1.5 * many / 75e9))


def test_ranks_on_pcie_share_it():
    rates = [
        measured(operators=OVER_PCIE, tp=tp, accelerator=samples.accelerator(link=samples.MEASURED_PCIE))
        for tp in (2, 8)
    ]
    assert [specs.tp_bytes_per_s[0] for specs in rates] == pytest.approx([15e9, 15e9 / 4])
    assert [specs.tp_direct_bytes_per_s[0] for specs in rates] == pytest.approx([10e9, 10e9 / 4])


SLOTS = AcceleratorLink(kind="none", domain=1, source="sample")


def over_pcie(tp, link=SLOTS, **host):
    """A Hopper card without a fast link; PCIe was measured on two other architectures."""
    tables = {
        "hopper": OPERATORS["hopper"],
        "ada-8": {"all_reduce.pcie": LINK | FURTHER | {"rank_exponent": 1.0, "one_way_gb_per_s": 31.5}},
        "blackwell-12": {"all_reduce.pcie": LINK | FURTHER | {"rank_exponent": 0.0, "one_way_gb_per_s": 63}},
    }
    slots = AcceleratorHost(node_size=8, source="sample", **host)
    return measured(operators=tables, tp=tp, accelerator=samples.accelerator(link=link, host=slots))


@pytest.mark.parametrize(("one_way", "falls"), [("25 GB/s", 4.0), ("31.5 GB/s", 4.0), ("64 GB/s", 1.0)])
def test_pcie_is_known_from_the_architecture_with_the_nearest_rate(one_way, falls):
    rates = [over_pcie(tp, pcie_one_way=one_way).tp_bytes_per_s[0] for tp in (2, 8)]
    assert rates[0] == pytest.approx(0.75 * float(one_way.split()[0]) * 1e9)
    assert rates[0] / rates[1] == pytest.approx(falls)


def test_a_stated_bus_bandwidth_stands_before_that_of_others():
    assert over_pcie(2, samples.MEASURED_PCIE, pcie_one_way="20 GB/s").tp_bytes_per_s[0] == 10e9


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_without_peer_access_bytes_go_through_the_memory_of_the_host(ranks):
    specs = over_pcie(ranks, pcie_one_way="31.5 GB/s", peer_access=False)
    assert specs.tp_bytes_per_s[0] == pytest.approx(3.15e9)
    assert (specs.tp_latency_s[0], specs.tp_second_s[0]) == pytest.approx((5e-5, 0.0))
    assert specs.tp_bytes_per_s[0] < over_pcie(ranks, pcie_one_way="31.5 GB/s").tp_bytes_per_s[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"operators": OPERATORS},  # no numbers
        {"operators": OVER_PCIE},  # numbers of another link
        {"operators": WITH_LINK, "node_gpus": 2, "spans_servers": True, "network_bytes_per_s": 5e10},
    ],
)
def test_what_was_not_measured_keeps_the_share_of_all(changes):
    plain = measured(
        tp=4, **({"operators": OPERATORS} | {k: v for k, v in changes.items() if k != "operators"})
    )
    other = measured(tp=4, **changes)
    assert other.tp_second_s[0] == 0.0
    assert other.tp_bytes_per_s[0] == plain.tp_bytes_per_s[0]
    assert communication_s(other, 4096.0) == communication_s(plain, 4096.0)


EXCHANGED = {"start_us": 12.0, "start_us/combine": 16.0, "start_us/dispatch": 12.0, "link_fraction": 0.6}
IN_RACKS = {"hopper": WITH_LINK["hopper"] | {"exchange.nvlink": EXCHANGED | {"doubling_us": 3.0}}}


def ranks_of_a_rack(ranks, operators=IN_RACKS):
    link = AcceleratorLink(kind="nvlink", one_way="100 GB/s", domain=72, source="sample")
    accelerator = samples.accelerator(link=link)
    return measured(samples.MOE, 0.5, operators, accelerator=accelerator, ep=ranks, attention_dp=ranks)


def test_experts_of_many_ranks_of_a_rack_are_reached_as_measured():
    """Sixteen ranks: starts of 12 and 16 us and three doublings of 3, half of them hidden by the engine."""
    specs, gathered = ranks_of_a_rack(16), ranks_of_a_rack(8)
    assert specs.exchange_latency_s[0] == pytest.approx(0.5 * (14e-6 + 3 * 3e-6))
    assert specs.exchange_bytes_per_s[0] == pytest.approx(60e9)
    assert specs.all_to_all_token_bytes[0] > 0.0
    assert gathered.all_to_all_token_bytes[0] == 0.0
    assert gathered.exchange_bytes_per_s[0] == ranks_of_a_rack(8, OPERATORS).exchange_bytes_per_s[0]
    assert communication_s(specs, 4096.0) < communication_s(ranks_of_a_rack(16, OPERATORS), 4096.0)


def test_both_paths_agree_on_racks():
    specs, load = ranks_of_a_rack(16), (64.0, 100.0, 9.0, 9.0, 1.0)
    assert total_step_s(specs, ZERO, *load)[0] == pytest.approx(step_time_s(specs, ZERO, *load).total_s[0])
