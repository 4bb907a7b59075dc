"""What docs/fleets.md shows is what the program reads."""

import re
from pathlib import Path

import yaml

from planner.exports import http_routes
from planner.interfaces.fleet_commands import ROUTE_FORMATS, SCHEDULE_FORMATS
from planner.schema.hardware import Fleet
from planner.schema.plan import Plan
from planner.schema.supply import ApiOffer, SupplyLine, Tier

TEXT = (Path(__file__).parents[3] / "docs" / "fleets.md").read_text(encoding="utf-8")
BLOCKS = [
    yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if "{…}" not in block
]


def test_the_samples_are_read():
    fleet, tiers = BLOCKS
    assert {line.term for line in Fleet.model_validate(fleet["fleet"]).supply} == {
        "owned", "reserved", "on_demand", "spot",
    }  # fmt: skip
    assert [Tier.model_validate(tier).kind for tier in tiers["tiers"]] == ["routing", "cascade"]
    (offer,) = yaml.safe_load(re.search(r"`api: (\[.*?\])`", TEXT).group(1))
    assert ApiOffer.model_validate(offer).workload == "chat"


def test_the_price_of_owned_hardware_is_the_one_described():
    line = next(line for line in BLOCKS[0]["fleet"]["supply"] if "amortized" in line)
    stated = line["amortized"]
    by_hand = stated["capex_usd_per_gpu"] / (stated["years"] * 8760) + 0.4 * 1.3 * 0.2
    assert abs(float(SupplyLine.model_validate(line).price_usd_per_gpu_h) - by_hand) < 1e-12


def test_keys_of_the_answer_exist():
    table = TEXT.split("| in the plan | says |")[1].split("\n\n")[0]
    named = {key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert len(named) >= 11
    assert named <= set(Plan.model_fields)


def test_formats_and_headers_are_those_of_the_program():
    assert f"--format {'|'.join(ROUTE_FORMATS)}" in TEXT
    assert f"--format {'|'.join(SCHEDULE_FORMATS)}" in TEXT
    for name in (http_routes.BUCKET_HEADER, http_routes.WORKLOAD_HEADER, http_routes.API_VERSION):
        assert f"`{name}`" in TEXT
