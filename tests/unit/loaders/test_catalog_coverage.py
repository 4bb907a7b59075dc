"""`catalog check` finds what the performance model could not price; a new architecture is data alone."""

import re
from pathlib import Path

import pytest

from planner.interfaces import cli
from planner.loaders.catalog import load_catalog

CATALOG = Path(__file__).parents[3] / "catalog"
ESTIMATE = ["estimate", "--model", "llama-3.1-8b", "--gpu", "r100", "--isl", "1000", "--osl", "200", "--json"]


@pytest.fixture
def overlay(tmp_path):
    for folder in ("accelerators", "calibration", "engines"):
        (tmp_path / folder).mkdir()
    return tmp_path


def text_of(path):
    return (CATALOG / path).read_text(encoding="utf-8")


def toy_accelerator(overlay, architecture):
    text = text_of("accelerators/b200-sxm.yaml")
    text = re.sub(r"(?m)^id: .*", "id: r100", text)
    text = re.sub(r"(?m)^name: .*", "name: R100", text)
    text = re.sub(r"(?m)^aliases: .*", "aliases: []", text)
    text = re.sub(r"(?m)^architecture: .*", f"architecture: {architecture}", text)
    (overlay / "accelerators" / "r100.yaml").write_text(text, encoding="utf-8")


def checked(overlay, capsys):
    code = cli.run(["catalog", "check", "--catalog", str(overlay)])
    return code, capsys.readouterr().err


def test_the_catalog_of_the_program_is_covered():
    assert load_catalog(complete=True).calibration.engines


def test_an_unknown_architecture_is_named_with_its_line_and_the_nearest(overlay, capsys):
    toy_accelerator(overlay, "hoper")
    code, said = checked(overlay, capsys)
    assert code == 2
    assert re.search(
        r'r100\.yaml:\d+: architecture: found "hoper", expected one with compute_efficiency', said
    )
    assert 'Maybe "hopper"?' in said


def test_an_engine_without_its_overheads_is_named(overlay, capsys):
    text = re.sub(r"(?m)^id: .*", "id: toy", text_of("engines/vllm.yaml"))
    text = re.sub(r"(?m)^name: .*", "name: Toy", text)
    text = re.sub(r"(?m)^aliases: .*", "aliases: []", text)
    (overlay / "engines" / "toy.yaml").write_text(text, encoding="utf-8")
    code, said = checked(overlay, capsys)
    assert code == 2
    assert re.search(r'toy\.yaml:\d+: id: found "toy", expected step_overhead_s, .* in engines\.toy', said)


def test_a_new_architecture_needs_no_code(overlay, capsys):
    toy_accelerator(overlay, "rubin")
    calibration = text_of("calibration/reference.yaml")
    block = re.search(r"(?ms)^  blackwell:\n(.*?)(?=^  \w)", calibration)
    shares = re.sub(r", tied_to: [\w.-]+", "", block.group(1))
    text = calibration.replace("compute_efficiency:\n", f"compute_efficiency:\n  rubin:\n{shares}", 1)
    (overlay / "calibration" / "reference.yaml").write_text(text, encoding="utf-8")
    assert checked(overlay, capsys)[0] == 0
    assert cli.run([*ESTIMATE, "--catalog", str(overlay)]) == 0
