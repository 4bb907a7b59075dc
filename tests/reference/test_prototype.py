"""Steady aggregated serving against published measurements and the study's prototype of the same formulas."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from planner.loaders.catalog import load_catalog
from planner.performance.closed_loop import closed_loop
from planner.schema.configuration import Configuration
from planner.steptime.build import build_specs
from planner.steptime.memory import max_sequences, memory_account
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import attention_format

MEASUREMENTS = Path(__file__).resolve().parents[2].parent / "shared" / "measurements"
HELD_ANSWER = {"tensorrt-llm": 1.0, "vllm": 0.55, "sglang": 0.55}
"""Share of the answer that a running request holds on average (study, section 3)."""
ABSORBED_RATIO = 1.15
"""Study, section 4."""


def read(name: str) -> list[dict[str, str]]:
    path = MEASUREMENTS / name
    if not path.is_file():
        pytest.skip(f"{path} is not there: the public measurements are kept beside the repository")
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def compared():
    """Predicted, measured and prototype numbers of the aggregated rows, as columns."""
    rows = [row for row in read("serving_latency.csv") if row["mode"] == "agg"]
    prototype = {row["id"]: row for row in read("prototype_predictions.csv")}
    catalog = load_catalog()
    calibration = catalog.find("calibration", "reference")
    formats = {form.id: form for form in catalog.number_formats}
    facts = {name: model_facts(catalog.model(name)) for name in {row["model"] for row in rows}}

    def configuration(row: dict[str, str]) -> Configuration:
        weights = catalog.number_format(row["weight_precision"])
        model = facts[row["model"]]
        return Configuration(
            model=model,
            accelerator=catalog.accelerator(row["gpu"]),
            weights=weights,
            attention_weights=attention_format(model, weights, formats),
            kv=catalog.number_format(row["kv_precision_assumed"]),
            engine=catalog.engine(row["engine"]),
            calibration=calibration,
            tp=int(row["tp"]),
            pp=int(row["pp"]),
            ep=int(row["ep"]),
            attention_dp=int(row["attention_dp"]),
        )

    configurations = [configuration(row) for row in rows]
    specs, places = build_specs(configurations), np.arange(len(rows))
    column = lambda name: np.array([float(row[name]) for row in rows])  # noqa: E731
    engines = [configuration.engine.id for configuration in configurations]
    by_engine = lambda name: np.array([calibration.engines[e][name].value for e in engines])  # noqa: E731
    input_tokens, output_tokens = (
        column("isl") * column("length_factor"),
        column("osl") * column("length_factor"),
    )
    held = input_tokens + output_tokens * np.array([HELD_ANSWER[engine] for engine in engines])
    pool = memory_account(specs, places).kv_cache_bytes
    fitting = np.minimum(max_sequences(specs, places, pool, held), specs.max_running)
    loop = closed_loop(
        specs,
        places,
        column("concurrency"),
        np.maximum(fitting, 1.0),
        input_tokens,
        output_tokens,
        calibration.parameters["ttft_overhead_s"].value,
        by_engine("closed_loop_ttft_factor"),
        by_engine("closed_loop_clumping"),
        ABSORBED_RATIO,
    )
    usable = np.array([row["speculation"] == "none" and row["doubtful"] != "yes" for row in rows])
    return {
        "tpot": loop.tpot_s * 1e3 / column("tpot_ms"),
        "ttft": loop.ttft_s * 1e3 / column("ttft_ms"),
        "prototype_tpot": loop.tpot_s
        * 1e3
        / np.array([float(prototype[row["id"]]["prototype_tpot_ms"]) for row in rows]),
        "prototype_ttft": loop.ttft_s
        * 1e3
        / np.array([float(prototype[row["id"]]["prototype_ttft_ms"]) for row in rows]),
        "usable": usable,
        "classes": {
            "all": usable,
            "dense": usable & (specs.experts == 0),
            "moe": usable & (specs.experts > 0),
            **{
                gpu: usable & (np.array([row["gpu"] for row in rows]) == gpu)
                for gpu in {r["gpu"] for r in rows}
            },
            **{engine: usable & (np.array(engines) == engine) for engine in HELD_ANSWER},
        },
    }


def median_error(ratio, picked) -> float:
    return float(np.median(np.abs(ratio[picked] - 1.0)))


def test_every_class_of_rows_is_there(compared):
    assert compared["usable"].sum() > 1300
    assert all(picked.sum() >= 100 for picked in compared["classes"].values())


@pytest.mark.parametrize("name", ["all", "dense", "moe"])
def test_tpot_is_the_prototype_s(compared, name):
    picked = compared["classes"][name]
    assert median_error(compared["prototype_tpot"], picked) <= 0.05
    assert np.percentile(np.abs(compared["prototype_tpot"][picked] - 1), 90) <= 0.05


def test_ttft_is_the_prototype_s(compared):
    assert median_error(compared["prototype_ttft"], compared["usable"]) <= 0.05


def test_tpot_against_measurements(compared):
    assert median_error(compared["tpot"], compared["usable"]) <= 0.12
    assert abs(np.median(compared["tpot"][compared["usable"]]) - 1) <= 0.03


def test_ttft_against_measurements(compared):
    assert median_error(compared["ttft"], compared["usable"]) <= 0.35


def test_no_class_is_far_off(compared):
    worst = {name: median_error(compared["tpot"], picked) for name, picked in compared["classes"].items()}
    assert max(worst.values()) <= 0.16, worst
