"""Several replays and sweeps over processes: the same bytes whoever works, and nothing asked twice."""

import json

import pytest

from planner.interfaces import cli

PROBLEM = """\
name: chat-8b
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 8}
    lengths: {input: {p50: 500, p99: 1500}, output: {p50: 40, p99: 120}}
    slo: {ttft_p99: 800 ms, itl_p99: 40 ms}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [l40s], prices: {l40s: 1 USD/h}}
search: {modes: [aggregated], mix: false}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("many")
    (made / "problem.yaml").write_text(PROBLEM)
    assert cli.run(["plan", str(made / "problem.yaml"), "--out", str(made / "plan.json"), "--json"]) == 0
    for name, gap_s in (("calm", 0.5), ("wild", 0.004)):
        rows = "".join(f"{n * gap_s:.3f},600,40\n" for n in range(120))
        (made / f"{name}.csv").write_text("time,in,out\n" + rows)
    return made


@pytest.fixture(autouse=True)
def _quiet(capsys):
    capsys.readouterr()


def _words(folder):
    traces = (word for name in ("calm", "wild") for word in ("--trace", str(folder / f"{name}.csv")))
    return ("replay", str(folder / "plan.json"), *traces, "--columns", "time=time,input=in,output=out",
            "--seeds", "1", "--no-change")  # fmt: skip


def test_a_plan_on_several_traces(folder, capsys):
    told = []
    for number in ("1", "2"):
        assert cli.run([*_words(folder), "--processes", number, "--json"]) == 1
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    rows = json.loads(told[0])["rows"]
    assert [row["replay"]["verdict"] for row in rows] == ["holds", "breaks"]
    assert rows[1]["trace"].endswith("wild.csv")
    assert cli.run([*_words(folder), "--processes", "1"]) == 1
    assert "2 replays, of which 1 break" in capsys.readouterr().out


def test_results_are_kept_and_not_asked_again(folder, told, tmp_path, monkeypatch):
    file = tmp_path / "results.jsonl"
    first = told(*_words(folder), "--processes", "1", "--results", str(file), code=1)
    monkeypatch.setattr("planner.app.many._replayed", None)
    assert told(*_words(folder), "--processes", "1", "--results", str(file), code=1) == first


def test_a_sweep_over_processes_is_the_sweep(folder, capsys):
    told = []
    for more in ((), ("--processes", "1"), ("--processes", "2")):
        words = ("whatif", str(folder / "problem.yaml"), "--sweep", "workloads.chat.demand.peak_rps=4,8")
        assert cli.run([*words, *more, "--json"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]


def test_largest_loads_are_asked_like_plans(folder, told, tmp_path, monkeypatch):
    file = tmp_path / "results.jsonl"
    words = ("capacity", str(folder / "problem.yaml"), "--sweep", "fleet.max_gpus=1")
    alone = told(*words)
    assert told(*words, "--processes", "1", "--results", str(file)) == alone
    monkeypatch.setattr("planner.app.many._planned", None)
    assert told(*words, "--processes", "1", "--results", str(file)) == alone
    assert "--sweep" in told(*words[:2], "--processes", "2", code=2)


def test_scenarios_over_processes_are_the_scenarios(folder, told, tmp_path, monkeypatch):
    file, words = tmp_path / "results.jsonl", ("robust", str(folder / "problem.yaml"))
    alone = told(*words)
    assert len(alone["scenarios"]) == 7
    assert told(*words, "--processes", "2", "--results", str(file)) == alone
    assert len(file.read_text().splitlines()) == 8  # and the variant that stands the worst of them
    monkeypatch.setattr("planner.app.robust._scenario", None)
    assert told(*words, "--processes", "1", "--results", str(file)) == alone
    assert "one of them" in told(*words, "--processes", "2", "--scheduler", "tcp://x:1", code=2)


@pytest.mark.parametrize("words", [("robust",), ("whatif", "--sweep", "fleet.max_gpus=1"), ("replay",)])
def test_without_the_extra_no_work_is_done(refused, monkeypatch, words):
    monkeypatch.setattr("planner.extras.find_spec", lambda name: None)
    said = (
        'found "tcp://x:1", and distributed missing, expected the extra "cluster", which brings it. Maybe "'
    )
    refused(said, words[0], "no-such-file.yaml", *words[1:], "--scheduler", "tcp://x:1")
    said = "-m pip install --constraint constraints.txt 'llm-fleet-planner[cluster]'"
    refused(said, words[0], "no-such-file.yaml", *words[1:], "--scheduler", "tcp://x:1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--processes", "0"), "--processes"),
        (("--processes", "2", "--scheduler", "tcp://x:1"), "one of them"),
        (("--results", "nowhere/r.jsonl"), "--results"),
        (("--svg", "x.svg"), "one plan on one trace"),
        (("--scheduler", "nonsense://x"), "Dask scheduler"),
    ],
)
def test_bad_flags_are_told(folder, refused, words, said):
    refused(said, *_words(folder), *words)
