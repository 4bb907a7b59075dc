"""Option lists of engines and names of platforms: complete, sourced, replaceable, and told when broken."""

import json
import re
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.launch_facts import load_engine_options, load_platform


def test_every_engine_that_can_be_started_has_a_list():
    options = load_engine_options()
    assert set(options) == {engine.id for engine in load_catalog().engines} - {"naive"}
    for entry in options.values():
        names = [name for option in entry.options for name in option.names]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"--?[a-zA-Z][\w.-]*", name) for name in names)
        assert all(":" in image for image in entry.images.values())


def test_the_list_of_vllm_is_that_of_its_parser():
    by_name = load_engine_options()["vllm"].by_name
    assert by_name["--gpu-memory-utilization"].default == 0.92
    assert by_name["-tp"] is by_name["--tensor-parallel-size"]
    assert "nvfp4" in by_name["--kv-cache-dtype"].choices
    assert by_name["--enable-expert-parallel"].takes == "nothing"
    assert not {"--swap-space", "--max-num-partial-prefills"} & set(by_name), "gone"


def test_the_list_of_vllm_agrees_with_what_was_read_from_its_parser():
    path = Path(__file__).parents[4] / "shared" / "schemas" / "vllm_flags.json"
    if not path.is_file():
        pytest.skip(f"{path} is absent: names and choices stay unchecked")
    known = load_engine_options()["vllm"].by_name
    for option in json.loads(path.read_text(encoding="utf-8")):
        if "--help" in option["flags"]:
            continue
        for name in option["flags"]:
            assert known[name].choices == tuple(map(str, option["choices"] or ()))


def test_nodes_are_named_by_accelerators_of_the_catalog():
    platform, catalog = load_platform("kubernetes"), load_catalog()
    assert {catalog.accelerator(name).id for name in platform.products} == set(platform.products)
    # Values of labels: at most 63 letters, digits, hyphens, underscores and dots.
    assert all(
        re.fullmatch(r"[A-Za-z0-9][\w.-]{0,61}[A-Za-z0-9]", text) for text in platform.products.values()
    )


def test_an_overlay_replaces_a_file(tmp_path):
    (tmp_path / "options").mkdir()
    path = tmp_path / "options" / "vllm.yaml"
    path.write_text(
        "kind: options\nid: vllm\nname: n\nversion: '9'\nimages: {}\nhealth: /h\nsource: s\n"
        "options: [{names: [--x]}]\nsources: {s: {title: t, date: 2026-01-01}}\n"
    )
    assert load_engine_options([tmp_path])["vllm"].version == "9"
    path.write_text("kind: options\nid: other\nname: n\nimagez: {}\n")
    with pytest.raises(InputError) as refused:
        load_engine_options([tmp_path])
    said = str(refused.value)
    assert "vllm.yaml:2: id" in said or "imagez" in said
    assert "options" in said


def test_a_platform_that_nobody_described():
    with pytest.raises(InputError, match=r"nomad: found no such file"):
        load_platform("nomad")
