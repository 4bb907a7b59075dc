"""Carbon dioxide of the electricity that all replicas take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.plan.limit import LinearLimit, Stated
from planner.errors import Fault, InputError, nearest
from planner.schema.catalog_index import folded
from planner.schema.choice import Option
from planner.schema.limit_rows import LimitRow
from planner.schema.supply import HOURS_PER_DAY
from planner.schema.supply_lines import Site


@dataclass(frozen=True)
class KgPerDay:
    """Emissions of a replica that runs all day: rated power x PUE x 24 h x grams per kWh, in kg."""

    pue: Fraction
    grams_per_kwh: tuple[tuple[str, Fraction], ...]
    """By region."""

    def __call__(self, option: Option, site: Site) -> Fraction:
        """Of one replica at a site."""
        grams = dict(self.grams_per_kwh)[site.region]
        return option.power_w / 1000 * self.pue * HOURS_PER_DAY * grams / 1000


class MaxCo2(LinearLimit):
    """Emissions on average over the periods: sum of watts x PUE x grams per kWh x 24 h x N <= max_co2.

    Breaks down: grid intensities are means of a year; embodied carbon and idle GPUs do not count.
    """

    kind = "max-co2"
    title = "carbon dioxide of electricity"
    unit = "kg CO2/day"
    source = "problem file, fleet.max_co2_kg_per_day; catalog/judgment/grid-carbon"
    path = "fleet.max_co2_kg_per_day"
    by_power = True

    def rows(self, stated: Stated) -> Iterator[LimitRow]:
        """One, where it is stated.

        Raises:
            InputError: a region of the supply of which neither the problem nor the catalog knows the grid.
        """
        most = stated.fleet.max_co2_kg_per_day
        if most is None:
            return
        known = _known(stated)
        regions = sorted({line.site.region for line in stated.lines})
        faults = [_fault(stated, region, known) for region in regions if folded(region) not in known]
        if faults:
            raise InputError(faults)
        grams = tuple((region, known[folded(region)]) for region in regions)
        weight = KgPerDay(Fraction(stated.fleet.pue), grams)
        yield self.row(Fraction(most), replicas=weight, every_period=False)


def _known(stated: Stated) -> Mapping[str, Fraction]:
    """Grams per kWh by region: the problem's figures before those of the catalog."""
    table = stated.catalog.find("judgment", "grid-carbon")
    listed = (
        {} if table is None else {name: Fraction(str(row.value)) for name, row in table.parameters.items()}
    )
    own = {name: Fraction(value) for name, value in stated.fleet.co2_g_per_kwh.items()}
    return {folded(name): value for name, value in (listed | own).items()}


def _fault(stated: Stated, region: str, known: Mapping[str, Fraction]) -> Fault:
    first = next(line.id for line in stated.lines if line.site.region == region)
    found = f"{first} at {region}" if region else f"{first} at a place without a region"
    expected = "regions with a figure, in fleet.co2_g_per_kwh or catalog/judgment/grid-carbon"
    maybe = nearest(region, tuple(known)) if region else ""
    return Fault("fleet", "max_co2_kg_per_day", found, expected, maybe)
