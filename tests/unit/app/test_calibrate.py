"""Calibration with benchmark files: the factor, what it changes, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from planner.app import estimate as estimate_case
from planner.app import plan as plan_case
from planner.app.calibrate import calibrate
from planner.calibration.benchmark_runs import Flags
from planner.errors import InputError
from planner.loaders.catalog import load_catalog

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "benchmarks"
CLOSED = DATA / "vllm" / "0.33.0" / "closed-32.json"
THREE = DATA / "vllm" / "0.33.0" / "appended.jsonl"
H100 = Flags(gpu="h100-sxm")
PROBLEM = """
name: own
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 20}
    lengths: {input: {fixed: 1024}, output: {fixed: 256}}
    slo: {itl_p99: 200 ms, ttft_p99: 2 s}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {prices: {h100-sxm: 2.5 USD/h}}
search: {tp: [1]}
"""


def estimate(**changes):
    asked = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": 1024, "osl": 256, "concurrency": 32}
    return estimate_case.estimate(**asked | changes)


def slower(tmp_path, factor, path=THREE):
    """Runs whose times are a multiple of those in the sample."""
    lines = []
    for line in path.read_text().splitlines():
        run = json.loads(line)
        for key in run:
            if key.endswith("_ms"):
                run[key] *= factor
        for key in ("request_throughput", "output_throughput", "total_token_throughput"):
            run[key] /= factor
        lines.append(json.dumps(run))
    target = tmp_path / f"times-{factor}.jsonl"
    target.write_text("\n".join(lines))
    return target


def step(found):
    return next(change for change in found.factors if change.name == "step")


def ttft(found):
    return next(change for change in found.factors if change.name == "ttft")


def faults(*paths, flags=H100, out):
    with pytest.raises(InputError) as problem:
        calibrate(paths, flags, out=out)
    return [str(fault) for fault in problem.value.faults]


def test_one_run_moves_step_times_part_of_the_way(tmp_path):
    found = calibrate([CLOSED], H100, out=tmp_path / "mine.yaml")
    change = step(found)
    assert change.rows == 1
    low, high = sorted([1.0, change.mean_ratio])
    assert low < change.factor < high
    assert change.sigma_log_after < change.sigma_log_before
    # The sample says 12 ms; the ratio is against the prediction shown beside it.
    assert change.mean_ratio == pytest.approx(12.0 / found.rows[0].predicted_tpot_ms)


def test_a_single_run_never_moves_ttft(tmp_path):
    found = calibrate([CLOSED], H100, out=tmp_path / "mine.yaml")
    assert (ttft(found).factor, ttft(found).rows) == (1.0, 0)
    assert ttft(found).sigma_log_after == ttft(found).sigma_log_before


def test_three_runs_bring_predictions_closer(tmp_path):
    found = calibrate([slower(tmp_path, 1.5)], H100, out=tmp_path / "mine.yaml")
    assert step(found).rows == ttft(found).rows == 3
    assert step(found).median_error_after < step(found).median_error_before / 2
    assert ttft(found).median_error_after < ttft(found).median_error_before


def test_times_half_as_long_again_give_a_factor_half_as_large_again(tmp_path):
    """In logarithms the factor follows the runs with weight n / (n + s^2 / t^2), whatever the prediction."""
    one = step(calibrate([THREE], H100, out=tmp_path / "a.yaml"))
    more = step(calibrate([slower(tmp_path, 1.5)], H100, out=tmp_path / "b.yaml"))
    weight = math.log(more.factor / one.factor) / math.log(1.5)
    # Hosts differ by more than the rows of one of them: s < t. The runs agree, so they count for much.
    assert 3 / (3 + 1) < weight < 1


def agreeing(tmp_path, factor=1.5):
    """Three runs that are all alike."""
    run = slower(tmp_path, factor).read_text().splitlines()[0]
    target = tmp_path / "alike.jsonl"
    target.write_text("\n".join([run] * 3))
    return target


def test_runs_that_agree_narrow_the_spread(tmp_path):
    found = calibrate([agreeing(tmp_path)], H100, out=tmp_path / "mine.yaml")
    before, after = estimate(), estimate(overlays=(tmp_path / "mine.yaml",))
    assert step(found).sigma_log_after < step(found).sigma_log_before
    assert after.uncertainty["tpot"] < before.uncertainty["tpot"]


def test_plans_use_the_smaller_margin_of_runs_that_agree(tmp_path):
    problem = tmp_path / "problem.yaml"
    problem.write_text(PROBLEM)
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    found = calibrate([agreeing(tmp_path)], H100, out=overlay)
    (pool,) = plan_case.plan(problem, overlays=(overlay,)).pools
    low = plan_case.plan(problem, overlays=(_with_sigma(overlay, step(found).sigma_log_before),)).pools[0]
    assert low.capacity_rps < pool.capacity_rps


def test_estimates_use_the_factor_and_say_so(tmp_path):
    found = calibrate([slower(tmp_path, 1.5)], H100, out=tmp_path / "mine.yaml")
    before, after = estimate(), estimate(overlays=(tmp_path / "mine.yaml",))
    factor = step(found).factor
    assert (before.evidence, after.evidence) == ("modelled", "calibrated")
    assert after.itl_s["mean"] == pytest.approx(before.itl_s["mean"] * factor, rel=0.01)
    assert after.decode_step_s == pytest.approx(before.decode_step_s * factor, rel=0.01)
    assert after.prefill_s == pytest.approx(before.prefill_s * factor, rel=1e-3)
    assert after.uncertainty["tpot"] == pytest.approx(step(found).sigma_log_after, rel=1e-3)
    first = next(change.factor for change in found.factors if change.name == "ttft")
    # What the server takes in front of the engine does not follow the steps.
    assert first <= after.ttft_s["mean"] / before.ttft_s["mean"] <= first * factor * 1.001


@pytest.mark.parametrize(
    "changes", [{"gpu": "h200-sxm"}, {"model": "qwen3-8b"}, {"weights": "fp8"}, {"engine": "sglang"}]
)
def test_other_configurations_stay_as_they_were(tmp_path, changes):
    calibrate([slower(tmp_path, 1.5)], H100, out=tmp_path / "mine.yaml")
    before, after = estimate(**changes), estimate(**changes, overlays=(tmp_path / "mine.yaml",))
    assert after == before


def test_another_layout_is_calibrated_too(tmp_path):
    calibrate([slower(tmp_path, 1.5)], H100, out=tmp_path / "mine.yaml")
    assert estimate(tp=2, overlays=(tmp_path / "mine.yaml",)).evidence == "calibrated"


def test_plans_use_the_factor_and_its_own_margin(tmp_path):
    problem = tmp_path / "problem.yaml"
    problem.write_text(PROBLEM)
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    found = calibrate([slower(tmp_path, 1.5)], H100, out=overlay)
    before, after = plan_case.plan(problem), plan_case.plan(problem, overlays=(overlay,))
    (was,), (pool,) = before.pools, after.pools
    assert (was.evidence, pool.evidence) == ("modelled", "calibrated")
    assert pool.uncertainty["throughput"] == pytest.approx(step(found).sigma_log_after, rel=1e-3)
    assert pool.capacity_rps < was.capacity_rps
    assert before.inputs.calibration != after.inputs.calibration
    # Planned at 80 %: normal score 0.8416 of the own spread instead of the common one.
    wider = math.exp(0.8416 * (step(found).sigma_log_after - step(found).sigma_log_before))
    low = plan_case.plan(problem, overlays=(_with_sigma(overlay, step(found).sigma_log_before),)).pools[0]
    assert wider != 1.0  # the sample's runs scatter, and that may widen the spread as well as narrow it
    assert (low.capacity_rps < pool.capacity_rps) == (wider < 1.0)


def _with_sigma(overlay, sigma):
    """The same factors with the spread of a pair without runs of its own."""
    import yaml

    (path,) = (overlay / "user_factors").glob("*.yaml")
    document = yaml.safe_load(path.read_text())
    document["factors"][0]["sigma_log"] = sigma
    target = overlay.parent / "wide" / "user_factors" / path.name
    target.parent.mkdir(parents=True)
    target.write_text(yaml.safe_dump(document))
    return target.parents[1]


def test_the_entry_names_its_runs_and_reads_back(tmp_path):
    found = calibrate([CLOSED], H100, out=tmp_path)
    path = Path(found.path)
    assert path == tmp_path / "user_factors" / "llama-3.1-8b-h100-80gb-sxm-vllm-bf16.yaml"
    assert found.use == str(tmp_path)
    (factor,) = load_catalog([tmp_path]).calibration.user_factors
    assert (factor.model, factor.accelerator, factor.engine) == ("llama-3.1-8b", "h100-80gb-sxm", "vllm")
    assert factor.rows == 1
    entry = load_catalog([tmp_path]).find("user_factors", path.stem)
    assert "closed-32.json" in entry.sources["runs"].title
    assert entry.sources["runs"].date.isoformat() == "2026-11-01"


def test_the_same_files_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        calibrate([THREE], H100, out=tmp_path / name / "mine.yaml")
    assert (tmp_path / "a" / "mine.yaml").read_bytes() == (tmp_path / "b" / "mine.yaml").read_bytes()


def test_the_last_overlay_wins_and_a_format_of_its_own_before_all_formats(tmp_path):
    (factor,) = load_catalog([_entry(tmp_path, "one", 2.0)]).calibration.user_factors
    assert factor.weights == "bf16"
    both = (_entry(tmp_path, "one", 2.0), _entry(tmp_path, "two", 3.0))
    assert load_catalog(both).calibration.user_factors[0].step_factor == 3.0
    slow = estimate(overlays=(_entry(tmp_path, "all", 9.0, weights=None), both[0]))
    assert slow.decode_step_s == pytest.approx(2.0 * estimate().decode_step_s, rel=0.02)


def _entry(tmp_path, name, factor, weights="bf16"):
    path = tmp_path / f"{name}.yaml"
    form = f", weights: {weights}" if weights else ""
    path.write_text(
        f"kind: user-factors\nid: {name}\nname: {name}\nfactors:\n"
        f"- {{model: llama-3.1-8b, accelerator: h100-sxm, engine: vllm{form}, step_factor: {factor}, "
        "sigma_log: 0.1, ttft_sigma_log: 0.3, rows: 3, source: me}\n"
        "sources: {me: {title: by hand, date: 2026-11-21}}\n"
    )
    return path


def test_a_file_of_unknown_names_is_refused(tmp_path):
    path = _entry(tmp_path, "one", 2.0)
    path.write_text(path.read_text().replace("h100-sxm", "h100-smx"))
    with pytest.raises(InputError, match="Maybe"):
        load_catalog([path])
    path.write_text("kind: nonsense\nid: one\n")
    with pytest.raises(InputError, match='found the kind "nonsense"'):
        load_catalog([path])


def test_runs_at_a_given_rate_are_predicted_anew(tmp_path):
    """A rate meets more requests when steps are slower, so the factor is smaller than the ratio of TPOT."""
    found = calibrate([DATA / "vllm" / "0.33.0" / "rate.json"], H100, out=tmp_path / "mine.yaml")
    (row,) = found.rows
    assert row.load == "4.0371 requests/s"
    assert abs(row.calibrated_tpot_ms - row.tpot_ms) < abs(row.predicted_tpot_ms - row.tpot_ms)


def test_every_tool_calibrates(tmp_path):
    files = [path for path in sorted(DATA.glob("[!s]*/*/*.json*")) if "unit" not in path.name]
    files = [path for path in files if path.stem not in ("cancelled", "incomplete")]
    found = calibrate(files, Flags(gpu="h100-sxm", model="llama-3.1-8b"), out=tmp_path / "mine.yaml")
    assert step(found).rows == len(found.rows) == 18
    sglang = Flags(gpu="h100-sxm", model="llama-3.1-8b")
    assert calibrate(sorted(DATA.glob("sglang/*/*")), sglang, out=tmp_path / "s.yaml").engine == "sglang"


def test_missing_facts_are_asked_for_together(tmp_path):
    found = faults(DATA / "inference-perf/0.7.0/stage_1_concurrency.json", flags=Flags(), out=tmp_path)
    assert any("model: found nothing, expected a model of the catalog, or --model" in line for line in found)
    assert any(
        "gpu: found nothing, expected an accelerator of the catalog, or --gpu" in line for line in found
    )


def test_flags_and_files_must_not_contradict_each_other(tmp_path):
    flags = Flags(gpu="h200-sxm", model="llama-3.3-70b", tp=4)
    found = faults(CLOSED, flags=flags, out=tmp_path)
    assert len(found) == 3
    assert 'found "h100-sxm", expected "h200-sxm", as --gpu says' in found[1]


def test_faults_of_flags_and_files_come_together(tmp_path):
    found = faults(DATA / "aiperf/0.13.0/cancelled.json", flags=Flags(gpu="h100-smx"), out=tmp_path)
    assert len(found) == 2
    assert 'Maybe "h100-sxm"?' in found[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"failed": 100}, "found 100 of 740 requests failed, expected at most 5%"),
        ({"mean_tpot_ms": 0.012}, "Maybe the units are mixed?"),
        ({"max_concurrency": 4}, "requests in flight by rate x latency, with 4 clients"),
        ({"output_throughput": 2.58}, "expected rates that agree"),
        ({"model_id": "acme/Assistant-8B-AWQ-INT4"}, "--weights"),
        ({"quantization": "fp9"}, 'weights: found "fp9"'),
        ({"total_output_tokens": 0}, "--osl"),
    ],
)
def test_runs_that_measured_something_else_are_refused(tmp_path, changes, words):
    document = json.loads(CLOSED.read_text()) | changes
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    flags = Flags(gpu="h100-sxm", model="llama-3.1-8b")
    found = faults(path, flags=flags, out=tmp_path / "mine.yaml")
    assert any(words in line for line in found), found
    assert not (tmp_path / "mine.yaml").exists()


def test_the_name_of_a_checkpoint_tells_the_format_of_a_run(tmp_path):
    document = json.loads(CLOSED.read_text()) | {"model_id": "anyone/Llama-3.1-8B-Instruct-AWQ-INT4"}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    found = calibrate([path], Flags(gpu="h100-sxm"), out=tmp_path / "mine.yaml")
    assert (found.model, found.weights) == ("llama-3.1-8b", "awq")


def test_speculation_is_refused(tmp_path):
    line = json.loads((DATA / "sglang/0.5.23/three.jsonl").read_text().splitlines()[0])
    path = tmp_path / "spec.jsonl"
    path.write_text(json.dumps(line | {"accept_length": 2.4}))
    assert any("speculative decoding, 2.4 tokens a step" in line for line in faults(path, out=tmp_path))


def test_prefix_hits_leave_ttft_alone(tmp_path):
    lines = [json.loads(line) for line in (DATA / "sglang/0.5.23/three.jsonl").read_text().splitlines()]
    path = tmp_path / "hits.jsonl"
    hits = {"cache_report": {"cache_hit_rate_pct": 60.0}}
    path.write_text("\n".join(json.dumps(line | hits) for line in lines))
    found = calibrate([path], H100, out=tmp_path / "mine.yaml")
    assert ttft(found).rows == 0
    assert {row.note for row in found.rows} == {"TTFT with prefix-cache hits"}


def test_runs_of_two_engines_need_files_of_their_own(tmp_path):
    found = faults(CLOSED, DATA / "sglang/0.5.23/three.jsonl", out=tmp_path)
    assert "expected runs of one model, GPU, engine and format" in found[-1]


def test_runs_far_from_the_prediction_raise_doubts(tmp_path):
    found = calibrate([slower(tmp_path, 4.0)], H100, out=tmp_path / "mine.yaml")
    assert "standard deviations from the prediction" in found.warnings[0]


def test_a_model_of_a_config_json(tmp_path):
    flags = Flags(gpu="h100-sxm", model=str(ROOT / "tests" / "data" / "hf" / "qwen3-8b"))
    document = json.loads(CLOSED.read_text()) | {"model_id": "my-own-model"}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    found = calibrate([path], flags, out=tmp_path / "mine.yaml")
    assert step(found).rows == 1


def test_a_file_beside_the_folders_of_an_overlay_counts(tmp_path):
    calibrate([CLOSED], H100, out=tmp_path / "mine.yaml")
    assert estimate(overlays=(tmp_path,)).evidence == "calibrated"


@pytest.mark.parametrize(
    ("name", "hint"), [("mine.json", "mine.yaml"), ("calibration/mine.yaml", "user_factors/mine.yaml")]
)
def test_places_that_the_catalog_would_not_read_are_refused(tmp_path, name, hint):
    (tmp_path / "calibration").mkdir()
    (line,) = faults(CLOSED, out=tmp_path / name)
    assert f'Maybe "{tmp_path / hint}"?' in line


def test_wildly_scattered_runs_are_written_with_the_widest_spread(tmp_path):
    runs = [slower(tmp_path, factor, one_line(tmp_path)) for factor in (0.06, 1.0, 18.0)]
    found = calibrate(runs, Flags(gpu="h100-sxm"), out=tmp_path / "mine.yaml")
    assert step(found).sigma_log_after > 2.0
    (factor,) = load_catalog([tmp_path / "mine.yaml"]).calibration.user_factors
    assert factor.sigma_log == 2.0


def one_line(tmp_path):
    """The sample on one line."""
    path = tmp_path / "line.jsonl"
    path.write_text(json.dumps(json.loads(CLOSED.read_text())))
    return path
