"""The price that moved between two plans of one machine."""

from fleet_plans import pool_of

from planner.explain.difference import difference, is_cause


def paid(make_plan, usd, day, instance="8xH100"):
    """A plan on an instance of a price list."""
    sample = make_plan()
    offer = {"provider": "cloud", "region": "eu", "instance": instance, "gpus": 8, "usd_per_hour": usd}
    gpu = sample.pools[0].gpu
    price = {"line": gpu, "gpu": gpu, "term": "on_demand", "usd_per_gpu_hour": usd / 8, "provider": "cloud",
             "date": day, "dated": True, "source": "a list"}  # fmt: skip
    return make_plan(pools=[pool_of(sample.pools[0], offer=offer)], prices_used=[price])


def prices(before, after):
    return [entry for entry in difference(before, after) if entry.what.startswith("price:")]


def test_the_price_that_changed_is_named_with_both_dates(make_plan):
    (entry,) = prices(paid(make_plan, 20.0, "2026-01"), paid(make_plan, 24.0, "2026-06"))
    assert "cloud 8xH100, eu costs 24.00 USD/h (2026-06); before, 20.00 USD/h (2026-01)." in entry.text
    assert is_cause(entry)


def test_other_machines_and_equal_prices_are_no_change(make_plan):
    first = paid(make_plan, 20.0, "2026-01")
    assert prices(first, paid(make_plan, 20.0, "2026-06")) == []
    assert prices(first, paid(make_plan, 24.0, "2026-06", "8xH100-b")) == []
