"""Symptoms of the debugger as alert rules of Prometheus."""

import shutil
import subprocess

import pytest
import yaml

import planner
from planner.app.diagnose import checked_rulebook
from planner.exports.symptom_alerts import Asked, symptom_alerts
from planner.interfaces.cli import run
from planner.loaders.metric_names import load_metric_names

EXPORTERS = {one.id: one for one in load_metric_names().exporters}
ENGINES = ("vllm", "sglang", "tensorrt-llm", "tgi", "dynamo")


def exported(tmp_path, *words):
    out = tmp_path / "rules.yaml"
    assert run(["rules", "export", "--to", "prometheus", "--out", str(out), *words]) == 0
    (group,) = yaml.safe_load(out.read_text())["groups"]
    return {one["labels"]["symptom"]: one for one in group["rules"]}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_symptom_is_a_rule_or_named_as_not_shown(engine, tmp_path, capsys):
    rules = exported(tmp_path, "--engine", engine)
    told = capsys.readouterr().err
    symptoms = set(checked_rulebook().symptoms)
    assert rules
    assert {name for name in symptoms if f" {name}" in told.replace(",", "")} >= symptoms - set(rules)
    for rule in rules.values():
        assert rule["expr"].count("(") == rule["expr"].count(")")
        assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_the_server_itself_finds_no_fault(tmp_path):
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("no promtool here (Debian: apt-get install prometheus): the rules stay unchecked")
    for engine in ENGINES:
        exported(tmp_path, "--engine", engine, "--selector", 'model_name="m",pod=~"a.*"')
        words = [program, "check", "rules", str(tmp_path / "rules.yaml")]
        checked = subprocess.run(words, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_thresholds_follow_limits_then_the_hardware_then_usual_values(tmp_path):
    usual = exported(tmp_path)["slow-tokens"]["expr"]
    assert usual.count("> 0.05") == 1
    limited = exported(tmp_path, "--slo", "itl_p99=70ms")["slow-tokens"]["expr"]
    assert "> 0.07" in limited
    on = ("--model", "llama-3.3-70b", "--gpu", "h100-sxm", "--tp", "4")
    step_s = planner.estimate(
        model="llama-3.3-70b", gpu="h100-sxm", tp=4, isl=1000, osl=200, concurrency=1
    ).decode_step_s
    of_hardware = exported(tmp_path, *on)["slow-tokens"]["expr"]
    assert f"> {2 * step_s:.10g}" in of_hardware


def test_labels_of_the_engine_are_not_asked_of_accelerators(tmp_path):
    rules = exported(tmp_path, "--selector", 'model_name="m"', "--device-selector", 'node="n"')
    use = rules["gpu-use-under-target"]["expr"]
    assert 'DCGM_FI_PROF_GR_ENGINE_ACTIVE", node="n"' in use
    assert 'num_requests_waiting", model_name="m"' in use


def test_conditions_are_joined_as_they_are_written():
    rulebook = checked_rulebook()
    rules, _ = symptom_alerts(rulebook, Asked([(EXPORTERS["vllm"], "")]))
    named = {one["labels"]["symptom"]: one["expr"] for one in rules["groups"][0]["rules"]}
    waits = named["requests-wait"]
    assert waits.count(" or ") == 1
    slow = named["slow-tokens"]
    assert (slow.count(" or "), slow.count(" and ")) == (2, 1)
    assert " unless " in named["cache-mostly-empty"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "vlm"], 'maybe "vllm"'),
        (["--to", "grafana"], "--to"),
        (["--model", "llama-3.3-70b"], "both, or none"),
        (["--model", "llama-3.3-70b", "--gpu", "h1000"], "h1000"),
        (["--selector", "model name"], "selector"),
    ],
)
def test_bad_usage_is_refused_in_words(capsys, words, message):
    assert run(["rules", "export", *words]) == 2
    assert message in capsys.readouterr().err.lower()
