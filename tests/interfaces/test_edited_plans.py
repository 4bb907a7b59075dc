"""Plan documents that somebody changed: every command that reads them says what no plan can hold."""

import json

import pytest
import yaml

PROBLEM = {
    "name": "edited",
    "workloads": [
        {
            "name": "chat",
            "model": "llama-3.1-8b",
            "demand": {"peak_rps": 5},
            "lengths": {"input": {"fixed": 500}, "output": {"fixed": 100}},
            "slo": {"itl_p99": "80 ms"},
        }
    ],
    "fleet": {"prices": {"h100-sxm": "2 USD/h"}},
    "search": {"modes": ["aggregated"], "tp": [1]},
}
READERS = (
    ("explain",), ("routes",), ("schedule",), ("replay", "--duration", "5", "--seeds", "1"),
    ("export", "--to", "vllm", "--out", "starts"), ("report", "--out", "report.md"),
)  # fmt: skip


@pytest.fixture
def edited(told, tmp_path, monkeypatch):
    """A plan file whose first pool says something else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problem.yaml").write_text(yaml.safe_dump(PROBLEM))
    plan = told("plan", "problem.yaml")

    def edited(**changes):
        plan["pools"][0] |= changes
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        return "plan.json"

    return edited


@pytest.mark.parametrize(
    ("key", "number", "expected"),
    [
        ("replicas", -3, "a whole number from 1 on"),
        ("replicas", 0, "a whole number from 1 on"),
        ("tp", 0, "a whole number from 1 on"),
        ("capacity_rps", 0, "a number above 0"),
        ("load_rps", -1, "a number from 0 on"),
    ],
)
def test_numbers_that_no_pool_has_are_refused_by_every_reader(refused, edited, key, number, expected):
    path = edited(**{key: number})
    for command, *flags in READERS:
        refused(f"plan.json: pools: chat/serve/1: found {key} {number}", command, path, *flags)
    refused(f"expected {expected}", "diff", path, path)


def test_all_that_is_wrong_with_a_pool_is_told_at_once(refused, edited):
    path = edited(gpus_per_replica=0, pp=-1)
    refused("found gpus_per_replica 0", "explain", path)
    refused("found pp -1", "explain", path)


def test_an_engine_that_the_catalog_lacks_is_refused(refused, edited):
    path = edited(engine="vlmm")
    refused('found "vlmm", expected one of', "replay", path, "--duration", "5", "--seeds", "1")


def test_an_instance_has_gpus(refused, edited):
    offer = {"provider": "p", "region": "r", "instance": "i", "gpus": 0, "usd_per_hour": 2.0}
    path = edited(offer=offer)
    for command, *flags in (*READERS, ("export", "--to", "compose", "--out", "starts")):
        refused("pools.0.offer.gpus: found 0, expected a number of at least 1", command, path, *flags)
