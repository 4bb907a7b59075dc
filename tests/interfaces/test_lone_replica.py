"""One replica alone is said on the first screen."""

import json

import pytest

from planner.interfaces import cli

WORDS = [
    "plan",
    "--model",
    "llama-3.1-8b",
    "--isl",
    "500",
    "--osl",
    "100",
    "--gpu",
    "l40s",
    "--weights",
    "fp8",
]


@pytest.fixture
def screen(capsys):
    """What a command line prints, as one line of words."""

    def screen(*words):
        assert cli.run([*words]) == 0
        return " ".join(capsys.readouterr().out.split())

    return screen


def test_one_replica_is_said(screen):
    told = screen(*WORDS, "--rps", "1")
    assert "One replica alone: llama-3.1-8b has a single replica. Its loss stops llama-3.1-8b" in told
    assert "redundancy: 1" in told


def test_several_replicas_are_not(screen):
    assert "One replica alone" not in screen(*WORDS, "--rps", "40")


def day(tmp_path, **fleet):
    workload = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "demand": {"hourly_rps": [1] * 8 + [40] * 16},
        "lengths": {"input": {"fixed": 500}, "output": {"fixed": 100}},
        "precision": {"weights": ["fp8"], "kv": ["fp8"]},
    }
    search = {"modes": ["aggregated"], "tp": [1]}
    fleet = {"prices": {"l40s": "1 USD/h"}, **fleet}
    file = tmp_path / "day.yaml"
    file.write_text(json.dumps({"name": "day", "workloads": [workload], "fleet": fleet, "search": search}))
    return str(file)


def test_hours_with_one_replica_are_counted(tmp_path, screen):
    told = screen("plan", day(tmp_path))
    assert "chat has a single replica in 8 of 24 hours." in told
    assert "One replica alone" in screen("plan", day(tmp_path), "--details")


def test_with_a_spare_nothing_is_said(tmp_path, screen):
    assert "One replica alone" not in screen("plan", day(tmp_path, redundancy=1))
