"""Price lists of others, taken in from the command line and planned with."""

import pytest
import yaml

from planner.interfaces import cli
from planner.loaders.catalog import load_catalog

COLUMNS = "InstanceType AcceleratorName AcceleratorCount vCPUs MemoryGiB Price Region GpuInfo SpotPrice"
SKYPILOT = (
    COLUMNS.replace(" ", ",")
    + """,AvailabilityZone
p5.48xlarge,H100,8.0,192.0,2048.0,40.0,us-east-1,"{'Gpus': []}",20.0,us-east-1a
p5.48xlarge,H100,8.0,192.0,2048.0,40.0,us-east-1,"{'Gpus': []}",30.0,us-east-1b
m5.large,,,2.0,8.0,0.096,us-east-1,,0.03,us-east-1a
x9.large,NoSuchCard,1.0,8.0,64.0,1.5,us-east-1,,,us-east-1a
,H200,8.0,,,30.0,us-east-1,,,us-east-1a
"""
)
SHEET = """Card,Anzahl,Dollar je Karte,Ort
h100-sxm,8,1.90,dc1
Big Card,4,2.50,dc2
"""
MAP = (
    "--map",
    "gpu=Card",
    "--map",
    "gpus=Anzahl",
    "--map",
    "usd_per_gpu_hour=Dollar je Karte",
    "--map",
    "region=Ort",
)


def written(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return str(path)


def offers(out, provider):
    prices = load_catalog((out,)).price_list(provider)
    return {(offer.accelerator, offer.instance): offer for offer in prices.offers}, prices


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "one.yaml"
    workload = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "demand": {"peak_rps": 5},
        "lengths": {"input": {"fixed": 500}, "output": {"fixed": 100}},
    }
    values = {
        "name": "one",
        "workloads": [workload],
        "fleet": {"accelerators": ["h100-sxm"]},
        "search": {"modes": ["aggregated"]},
    }
    path.write_text(yaml.safe_dump(values))
    return str(path)


def test_a_skypilot_catalog_is_one_offer_an_instance_and_region(told, tmp_path, problem):
    out = tmp_path / "mine"
    found = told(
        "catalog", "import-prices", written(tmp_path / "acme", "vms.csv", SKYPILOT), "--out", str(out)
    )
    assert found["providers"] == ["acme"]
    assert found["offers"] == 2
    assert found["left_out"] == {"NoSuchCard": 1}
    assert found["lines_without_gpu_or_price"] == 1
    rows, prices = offers(out, "acme")
    offer = rows["h100-80gb-sxm", "p5.48xlarge"]
    assert (offer.gpus, float(offer.on_demand), float(offer.spot)) == (8, 40.0, 25.0)
    assert (offer.vcpus, float(offer.host_memory)) == (192, 2048 * 2**30)
    hostless = next(offer for (gpu, _), offer in rows.items() if gpu == "h200-141gb-sxm")
    assert not hostless.usable
    assert prices.sources["table"].title == "acme/vms.csv"
    plan = told("plan", problem, "--catalog", str(out))
    assert plan["pools"][0]["gpu"] == "h100-sxm"


def test_an_own_sheet_with_its_own_headers_is_planned_with(told, tmp_path, problem):
    sheet = written(tmp_path, "dealer.csv", SHEET)
    out = tmp_path / "mine"
    flags = ("--gpu", "Big Card=l40s", "--date", "2026-10", "--source", "quote 7")
    found = told("catalog", "import-prices", sheet, "--out", str(out), *MAP, *flags)
    assert found["left_out"] == {}
    rows, _ = offers(out, "dealer")
    assert float(rows["h100-80gb-sxm", "8x h100-80gb-sxm"].on_demand) == pytest.approx(15.2)
    assert float(rows["l40s", "4x l40s"].on_demand) == 10.0
    values = yaml.safe_load((tmp_path / "one.yaml").read_text())
    values["fleet"]["providers"] = ["dealer"]
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(values))
    plan = told("plan", problem, "--catalog", str(out))
    (price,) = plan["prices_used"]
    assert (price["provider"], price["date"], price["dated"], price["source"]) == (
        "dealer",
        "2026-10",
        True,
        "quote 7",
    )
    assert price["usd_per_gpu_hour"] == pytest.approx(1.9)


def test_bad_cells_are_told_with_their_line_and_column(told, tmp_path):
    text = SKYPILOT.replace(",40.0,us-east-1,\"{'Gpus': []}\",20.0", ',40 USD,us-east-1,"",cheap')
    words = told(
        "catalog",
        "import-prices",
        written(tmp_path / "acme", "vms.csv", text),
        "--out",
        str(tmp_path / "m"),
        code=2,
    )
    assert "vms.csv:2" in words
    assert "Price" in words
    assert 'found "40 USD"' in words
    assert "a number from 0 to 1,000,000, without a unit" in words
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--map", "gpu=Crd"), ('Maybe "Card"', "no such column")),
        (("--map", "gpo=Card"), ("one of instance, gpu", "Maybe gpu")),
        ((), ("--map gpu=COLUMN",)),
        ((*MAP, "--gpu", "Big Card=l40x"), ("an accelerator of the catalog", "l40")),
        ((*MAP, "--date", "yesterday"), ('"yesterday"', "a day, month or year")),
    ],
)
def test_what_is_wrong_with_columns_is_told(told, tmp_path, flags, words):
    sheet = written(tmp_path, "dealer.csv", SHEET)
    found = told("catalog", "import-prices", sheet, "--out", str(tmp_path / "m"), *flags, code=2)
    for word in words:
        assert word.replace("Maybe ", "").strip('"') in found


def test_a_sheet_of_unknown_cards_is_refused(told, tmp_path):
    sheet = written(tmp_path, "dealer.csv", SHEET.replace("h100-sxm", "Other"))
    found = told("catalog", "import-prices", sheet, "--out", str(tmp_path / "m"), *MAP, code=2)
    assert "Big Card, Other: no accelerator of the catalog" in found


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("h100-80gb-sxm,8,40.0", "h100-80gb-smx,8,40.0", ("acme.csv:3: gpu", "h100-80gb-sxm")),
        (
            "h100-80gb-sxm,8,40.0",
            "h100-80gb-sxm,eight,40.0",
            ("acme.csv:3: gpus", "a whole number of one or more"),
        ),
        ("h100-80gb-sxm,8,40.0", "h100-80gb-sxm,8,-1", ("acme.csv:3: usd_per_hour", "a number from 0")),
        ("h100-80gb-sxm,8,40.0", "h100-80gb-sxm,8", ("acme.csv:3", "cells, as in the header")),
        ("instance,region", "instance,place", ("acme.csv:1: place", "an unknown column")),
    ],
)
def test_a_table_edited_by_hand_is_checked_like_any_file(told, tmp_path, before, after, words):
    out = tmp_path / "mine"
    told("catalog", "import-prices", written(tmp_path / "acme", "vms.csv", SKYPILOT), "--out", str(out))
    table = out / "prices" / "acme.csv"
    text = table.read_text()
    assert before in text
    table.write_text(text.replace(before, after))
    found = told("catalog", "check", "--catalog", str(out), code=2)
    for word in words:
        assert word in found


def test_the_page_says_what_was_taken_and_what_was_not(tmp_path, capsys):
    sheet = written(tmp_path / "acme", "vms.csv", SKYPILOT)
    assert cli.run(["catalog", "import-prices", sheet, "--out", str(tmp_path / "mine")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 offers of acme" in text
    assert "left out, no accelerator of the catalog: NoSuchCard (1)" in text
    assert "planner plan PROBLEM --catalog" in text


def test_another_table_is_another_catalog(told, tmp_path):
    digests = set()
    for price in ("40.0", "41.0"):
        out = tmp_path / price
        text = SKYPILOT.replace("40.0", price)
        told("catalog", "import-prices", written(tmp_path / "acme", "vms.csv", text), "--out", str(out))
        digests.add(load_catalog((out,)).sha256)
    assert len(digests) == 2
