"""What can be bought: prices, stock, purchase, places, links."""

from decimal import Decimal

import pytest
from step_samples import SOURCES

from planner.candidates.market import left_aside, lots
from planner.loaders.catalog import load_catalog
from planner.schema.catalog import PriceList
from planner.schema.hardware import Fleet

CATALOG = load_catalog()


def offer(gpu, gpus, usd, instance="", region="north", **more):
    return {
        "instance": instance or f"{gpus}x-{gpu}",
        "region": region,
        "accelerator": gpu,
        "gpus": gpus,
        "on_demand": f"{usd} USD/h",
        "source": "sample",
    } | more


def price_list(name, *offers, aliases=()):
    return PriceList(id=name, name=name.title(), aliases=aliases, sources=SOURCES, offers=offers)


LISTS = (
    price_list(
        "alpha",
        offer("h100-80gb-sxm", 1, 3),
        offer("h100-80gb-sxm", 8, 20),
        offer("h100-80gb-sxm", 8, 1, instance="disputed", usable=False),
        offer("l40s", 4, 4),
        aliases=("first",),
    ),
    price_list(
        "beta",
        offer("h100-80gb-sxm", 8, 20, region="South"),
        offer("h100-80gb-sxm", 8, 16, region="far", instance="cheap"),
        offer("h100-80gb-pcie", 8, 12),
        offer("h100-80gb-pcie", 8, 15, instance="pairs", bridged=True),
        offer("gb200-nvl72", 4, 40),
    ),
)


def market(**fleet):
    return {lot.id: lot for lot in lots(Fleet(**fleet), CATALOG.accelerator, LISTS)}


def test_without_prices_instances_are_bought_whole():
    found = market(accelerators=("h100-sxm",))
    assert set(found) == {"alpha/north/1x-h100-80gb-sxm", "beta/far/cheap"}
    eight = found["beta/far/cheap"]
    assert (eight.purchase, eight.unit_gpus, eight.usd_per_unit_h) == ("unit", 8, Decimal(16))
    assert eight.usd_per_gpu_h == 2
    assert eight.name == "h100-sxm"
    assert eight.offer.model_dump() == {
        "provider": "beta",
        "region": "far",
        "instance": "cheap",
        "gpus": 8,
        "usd_per_hour": 16.0,
    }


def test_every_priced_accelerator_is_considered_by_default():
    assert {lot.accelerator.id for lot in market().values()} == {
        "gb200-nvl72", "h100-80gb-pcie", "h100-80gb-sxm", "l40s",
    }  # fmt: skip
    assert {lot.name for lot in market().values()} == {lot.accelerator.id for lot in market().values()}


def test_equal_offers_are_told_apart_by_provider_region_and_instance():
    assert "alpha/north/8x-h100-80gb-sxm" in market(accelerators=("h100-sxm",), regions=("north", "south"))


@pytest.mark.parametrize("provider", ["alpha", "first", "ALPHA", "Alpha"])
def test_a_provider_may_be_called_by_any_of_its_names(provider):
    assert {lot.offer.provider for lot in market(providers=(provider,)).values()} == {"alpha"}


def test_regions_do_not_ask_for_upper_and_lower_case():
    assert {lot.offer.region for lot in market(regions=("south",)).values()} == {"South"}
    assert market(regions=("SOUTH", "NORTH")).keys() == market(regions=("South", "north")).keys()


def test_a_single_gpu_has_no_fast_link_and_eight_have():
    found = market(accelerators=("h100-80gb-sxm",))
    one, eight = found["alpha/north/1x-h100-80gb-sxm"], found["beta/far/cheap"]
    assert (one.fast_link, one.link_gpus, one.group_limit_gpus) == (False, 1, 1)
    assert (eight.fast_link, eight.link_gpus, eight.group_limit_gpus) == (True, 8, 8)


def test_pcie_cards_never_share_a_fast_link():
    (four,) = market(accelerators=("l40s",)).values()
    assert (four.fast_link, four.link_gpus, four.group_limit_gpus) == (False, 1, 4)


def test_an_optional_bridge_must_be_stated():
    found = market(accelerators=("h100-80gb-pcie",))
    assert found["beta/north/pairs"].link_gpus == 2
    assert found["beta/north/8x-h100-80gb-pcie"].link_gpus == 1
    (own,) = market(prices={"h100-80gb-pcie": "2 USD/h"}).values()
    assert own.link_gpus == 1


def test_a_price_of_the_user_buys_single_gpus_in_servers_of_the_catalog():
    (own,) = market(prices={"h100-sxm": "2.50 USD/h"}).values()
    assert (own.id, own.name, own.purchase) == ("fleet/h100-sxm", "h100-sxm", "gpu")
    assert (own.unit_gpus, own.usd_per_unit_h, own.offer) == (8, Decimal("2.50"), None)


def test_whole_servers_at_the_price_of_the_user():
    (own,) = market(prices={"h100-sxm": "2.50 USD/h"}, purchase="node", node_size=4).values()
    assert (own.purchase, own.unit_gpus, own.usd_per_unit_h) == ("unit", 4, Decimal("10.00"))
    assert (own.link_gpus, own.group_limit_gpus) == (4, 4)


def test_a_stock_without_price_costs_what_the_cheapest_gpu_costs():
    (own,) = market(accelerators=("h100-sxm",), stock={"h100-sxm": 16}).values()
    assert (own.purchase, own.usd_per_unit_h) == ("gpu", Decimal(2))


def test_a_price_of_zero_is_a_price():
    (own,) = market(prices={"h100-sxm": "0 USD/h"}).values()
    assert own.usd_per_unit_h == 0


def test_prices_and_offers_may_stand_side_by_side():
    found = market(accelerators=("h100-sxm", "l40s"), prices={"h100-sxm": "2.50 USD/h"})
    assert [(lot.id, lot.purchase) for lot in found.values()] == [
        ("fleet/h100-sxm", "gpu"),
        ("alpha/north/4x-l40s", "unit"),
    ]


def test_a_stock_beside_prices_is_no_silent_loss():
    found = market(prices={"h100-sxm": "2.50 USD/h"}, stock={"h100-sxm": 8, "l40s": 4})
    assert found["fleet/l40s"].usd_per_unit_h == 1


def test_servers_larger_than_a_board_keep_the_board_s_link():
    (own,) = market(prices={"h100-sxm": "2 USD/h"}, node_size=16).values()
    assert (own.unit_gpus, own.group_limit_gpus, own.link_gpus) == (16, 16, 8)


def test_a_rack_carries_groups_across_its_trays_but_an_instance_does_not():
    (rack,) = market(prices={"gb200": "9 USD/h"}).values()
    assert (rack.unit_gpus, rack.group_limit_gpus, rack.link_gpus) == (4, 72, 72)
    (tray,) = market(accelerators=("gb200",)).values()
    assert (tray.unit_gpus, tray.group_limit_gpus, tray.link_gpus) == (4, 4, 4)


def test_one_name_of_an_instance_for_two_sizes_gives_two_lots():
    twice = price_list("gamma", offer("l40s", 1, 1, instance="any"), offer("l40s", 8, 8, instance="any"))
    found = lots(Fleet(accelerators=("l40s",)), CATALOG.accelerator, [twice])
    assert [(lot.id, lot.unit_gpus) for lot in found] == [("gamma/north/any", 1), ("gamma/north/any#2", 8)]


@pytest.mark.parametrize(
    ("fleet", "missing"),
    [
        ({"accelerators": ("h100-sxm", "mi325x")}, ("mi325x",)),
        ({"accelerators": ("mi325x",), "prices": {"mi325x": "4 USD/h"}}, ()),
        ({"stock": {"mi325x": 8}}, ("mi325x",)),
        ({"stock": {"mi325x": 0}}, ()),
        ({"accelerators": ("h100-sxm",), "regions": ("nowhere",)}, ("h100-sxm",)),
        ({}, ()),
    ],
)
def test_names_without_a_price_are_reported(fleet, missing):
    asked = Fleet(**fleet)
    sold = lots(asked, CATALOG.accelerator, LISTS)
    found = left_aside(asked, CATALOG.accelerator, sold, by_power=True)
    assert found == dict.fromkeys(missing, "no price is known")


@pytest.mark.parametrize("by_power", [False, True])
def test_an_accelerator_without_a_rated_power_is_left_aside_where_power_counts(by_power):
    asked = Fleet(prices={"tpu-v5e": "1 USD/h", "h100-sxm": "3 USD/h"}, stock={"mi325x": 8})
    found = left_aside(asked, CATALOG.accelerator, lots(asked, CATALOG.accelerator, LISTS), by_power)
    assert found == {"mi325x": "no price is known"} | (
        {"tpu-v5e": "no rated power is known"} if by_power else {}
    )


def test_the_catalog_s_own_lots_have_ids_of_their_own():
    found = lots(Fleet(), CATALOG.accelerator, CATALOG.price_lists)
    assert len({lot.id for lot in found}) == len(found) > 50
    assert all(lot.offer is not None and lot.purchase == "unit" for lot in found)
