"""`planner catalog new` and the schemas of catalog files, from the command line."""

import json

import pytest
import yaml

from planner.interfaces import cli
from planner.loaders.catalog import load_catalog

KINDS = ("accelerator", "model", "engine", "prices")


def run(capsys, *arguments):
    code = cli.run(["catalog", "new", *arguments])
    return code, capsys.readouterr()


@pytest.mark.parametrize("kind", ["accelerator", "model", "prices"])
def test_a_new_entry_is_ready_to_use(kind, tmp_path, capsys):
    code, _ = run(capsys, kind, "--id", "mine", "--out", str(tmp_path))
    assert code == 0
    assert cli.run(["catalog", "check", "--catalog", str(tmp_path)]) == 0
    (file,) = tmp_path.rglob("*.yaml")
    assert file.name == "mine.yaml"


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_says_what_keys_mean_and_asks_for_sources(kind, capsys):
    code, said = run(capsys, kind)
    assert code == 0
    document = yaml.safe_load(said.out)
    assert document["id"] == f"my-{kind}"
    assert "aliases" not in document
    assert all(source["title"].startswith("FILL IN") for source in document["sources"].values())
    assert "# The name people write." in said.out
    assert max(map(len, said.out.splitlines())) <= 110


def test_numbers_are_those_of_the_named_entry(tmp_path, capsys):
    code, _ = run(
        capsys, "accelerator", "--id", "twin", "--like", "L40S", "--out", str(tmp_path / "twin.yaml")
    )
    assert code == 0
    catalog = load_catalog((tmp_path / "twin.yaml",))
    assert catalog.accelerator("twin").memory == catalog.accelerator("l40s").memory


def test_an_engine_says_which_factors_lack(tmp_path, capsys):
    assert run(capsys, "engine", "--id", "mine", "--out", str(tmp_path))[0] == 0
    assert cli.run(["catalog", "check", "--catalog", str(tmp_path)]) == 2
    assert "in engines.mine of calibration" in capsys.readouterr().err


def test_json_holds_text_and_path(tmp_path, capsys):
    code, said = run(capsys, "model", "--id", "m", "--out", str(tmp_path / "m.yaml"), "--json")
    found = json.loads(said.out)
    assert code == 0
    assert found["path"] == str(tmp_path / "m.yaml")
    assert found["text"] == (tmp_path / "m.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gpu"], "expected one of accelerator, model, engine, prices"),
        (["acelerator"], 'Maybe "accelerator"?'),
        (["model", "--like", "llama-3.1-8"], 'Maybe "llama-3.1-8b"?'),
        (["accelerator", "--id", "h100"], "which the catalog has"),
        (["model", "--out", "other.yaml"], 'Maybe "--id other"?'),
        (["model", "--id", "m", "--out", "no/such/m.yaml"], "in a folder that does not exist"),
    ],
)
def test_bad_input_is_named(arguments, words, capsys):
    code, said = run(capsys, *arguments)
    assert code == 2
    assert words in said.err


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_schema(kind, capsys):
    assert cli.run(["schema", kind]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["additionalProperties"] is False
    assert "sources" in found["required"]
