"""What one replica costs where no problem states a price."""

from __future__ import annotations

from fractions import Fraction

from planner.app.one_configuration import Asked
from planner.candidates.market import lots as market_lots
from planner.candidates.replica_cost import bought
from planner.schema.choice import Option, Supply
from planner.schema.configuration import Configuration
from planner.schema.hardware import Fleet


def replica_price(asked: Asked, item: Configuration) -> float | None:
    """What the GPUs of one replica cost at the cheapest on-demand price per GPU."""
    fleet = Fleet(accelerators=(asked.gpu.id,))
    prices = [
        lot.usd_per_gpu_h for lot in market_lots(fleet, asked.catalog.accelerator, asked.catalog.price_lists)
    ]
    if not prices:
        return None
    option = Option("", "estimate", "serve", "any", asked.gpu.id, item.gpus, ())
    supply = Supply("any", asked.gpu.id, "gpu", 1, Fraction(min(prices)))
    return float(bought(option, supply, 1)[1])
