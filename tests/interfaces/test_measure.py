"""``planner measure``: the script is written, and its results become a catalog folder."""

import json

import pytest

from planner.interfaces import cli
from planner.loaders.catalog import load_catalog
from tests.measured_machine import measured, with_torch


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A folder with the script, and a PyTorch of known rates; no other package is there."""
    at = with_torch(tmp_path_factory.mktemp("machine"))
    assert cli.run(["measure", "--write", str(at / "measure.py")]) == 0
    return at


def kept(tmp_path, results):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    return str(path)


def test_a_new_gpu_is_estimated_like_one_of_its_architecture(machine, tmp_path, told):
    results, out = kept(tmp_path, measured(machine)), tmp_path / "mine"
    found = told("measure", "--results", results, "--gpu", "big-card", "--out", str(out))
    assert (found["known"], found["like"]) == (False, "h100-94gb-nvl")
    peaks = {rate["what"]: rate["peak_per_s"] for rate in found["rates"]}
    assert peaks["bf16"] == pytest.approx(8e14 / 0.821)
    entry = load_catalog((out,), complete=True).accelerator("big-card")
    assert float(entry.compute.bf16) == pytest.approx(peaks["bf16"], rel=1e-3)
    assert float(entry.memory.bandwidth) == pytest.approx(peaks["memory"], rel=1e-3)
    assert entry.compute.native == ("fp8",)
    assert entry.compute.int8 is None
    assert (entry.link.kind, entry.link.domain, float(entry.link.one_way)) == ("nvlink", 4, 3.8e11)
    assert (entry.host.node_size, float(entry.host.pcie_one_way)) == (4, 5.5e10)
    load = ("--tp", "2", "--isl", "800", "--osl", "300", "--concurrency", "32")
    mine = told("estimate", "--model", "qwen3-32b", *load, "--gpu", "big-card", "--catalog", str(out))
    like = told("estimate", "--model", "qwen3-32b", *load, "--gpu", "h100-94gb-nvl")
    # The bandwidth of the new one is 3.38 TB/s, that of the other 3.94: decode goes by it.
    ratio = mine["decode_step_s"] / like["decode_step_s"]
    assert 1.05 < ratio < 3.94 / 3.38 + 0.02


def test_a_lone_new_gpu_takes_links_of_the_one_it_is_like(machine, tmp_path, told):
    results, out = kept(tmp_path, measured(machine, gpus=1)), tmp_path / "mine"
    words = ("--results", results, "--gpu", "one", "--like", "h100-sxm", "--out", str(out))
    found = told("measure", *words)
    assert "links were not measured: the script saw one GPU" in found["notes"]
    entry = load_catalog((out,)).accelerator("one")
    assert entry.link == load_catalog().accelerator("h100-sxm").link


def test_gpus_without_a_fast_link_keep_their_measured_all_reduce(machine, tmp_path, told):
    results, out = kept(tmp_path, measured(machine, peer=2e10, bus=1.5e10)), tmp_path / "mine"
    told("measure", "--results", results, "--gpu", "slow-link", "--out", str(out))
    link = load_catalog((out,)).accelerator("slow-link").link
    assert (link.kind, link.one_way) == ("none", None)
    assert [row.gpus for row in link.measured_all_reduce] == [2, 4]
    assert float(link.measured_all_reduce[0].bus_bandwidth) == pytest.approx(1.5e10, rel=0.02)


def test_a_known_gpu_that_is_slow_is_told_and_taken_so(machine, tmp_path, told):
    results, out = kept(tmp_path, measured(machine, bf16=5e14)), tmp_path / "mine"
    found = told("measure", "--results", results, "--gpu", "h100-sxm", "--out", str(out))
    assert found["known"]
    (slow,) = [note for note in found["notes"] if note.startswith("bf16")]
    assert slow.startswith("bf16: 62% of what the data sheet")
    own, shipped = load_catalog((out,)).accelerator("h100"), load_catalog().accelerator("h100")
    assert float(own.compute.bf16) == pytest.approx(5e14 / 0.821, rel=1e-3)
    assert (own.compute.int8, own.partitions, own.memory.reported) == (
        shipped.compute.int8,
        shipped.partitions,
        shipped.memory.reported,
    )


def test_the_answer_is_a_table_for_people(machine, tmp_path, capsys):
    results = kept(tmp_path, measured(machine))
    assert cli.run(["measure", "--results", results, "--gpu", "h100", "--out", str(tmp_path / "o")]) == 0
    told = capsys.readouterr()
    assert "bf16      800 TFLOPS" in told.out
    assert "data sheet" in told.out
    assert f"use it with --catalog {tmp_path / 'o'}" in told.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"product_flops_per_s": {"bf16": 800}}, "product_flops_per_s.bf16"),
        ({"memory_bytes_per_s": -1}, "memory_bytes_per_s"),
        ({"layout": "other"}, "layout"),
        ({"device": {"name": "x"}}, "device.vendor"),
        ({"watts": 3}, "watts"),
    ],
)
def test_bad_results_are_told_by_place(machine, tmp_path, refused, change, said):
    path = kept(tmp_path, measured(machine) | change)
    out = tmp_path / "out"
    refused(said, "measure", "--results", path, "--gpu", "mine", "--out", str(out))
    assert not out.exists()


def test_flags_that_do_not_go_together_are_refused(machine, tmp_path, refused):
    results, out = kept(tmp_path, measured(machine, major=99)), str(tmp_path / "out")
    refused('"--write measure.py"', "measure")
    refused("--gpu", "measure", "--results", results, "--out", out)
    refused("beside --write", "measure", "--write", str(tmp_path / "m.py"), "--gpu", "x")
    refused("compute capability 99.0", "measure", "--results", results, "--gpu", "mine", "--out", out)
    refused("such as my-gpu", "measure", "--results", results, "--gpu", "../mine", "--out", out)
    words = ("measure", "--results", results, "--gpu", "mine", "--out", out)
    refused("h100", *words, "--like", "h1000")
    refused(
        "with a new id alone",
        "measure",
        "--results",
        results,
        "--gpu",
        "h100",
        "--like",
        "h200",
        "--out",
        out,
    )
