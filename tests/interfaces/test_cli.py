"""The command line: what goes where, which exit code, which words. The use cases are stand-ins."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.errors import Fault, InputError, StoppedError
from planner.interfaces import cli, output

SCRIPT = Path(sys.executable).parent / "planner"
ESTIMATE = ["estimate", "--model", "m", "--gpu", "g", "--isl", "10", "--osl", "20"]


def shell(*arguments, **options):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, timeout=60, check=False, **options)


HOMES = {
    "plan": "plan",
    "estimate": "estimate",
    "fit": "fit",
    "catalog_list": "data",
    "catalog_show": "data",
    "rules_check": "rules",
    "catalog_check": "data",
    "add_model": "data",
}


@pytest.fixture
def use_cases(monkeypatch):
    """Replaces use cases: set one to a value to answer it, or to an exception to raise it."""
    calls = {}

    def answer(name, result):
        def use_case(*positional, **named):
            calls[name] = (positional, named)
            if isinstance(result, BaseException):
                raise result
            return result

        monkeypatch.setattr(importlib.import_module(f"planner.app.{HOMES[name]}"), name, use_case)

    return SimpleNamespace(calls=calls, answer=answer)


def test_help_names_every_command_and_loads_nothing_heavy():
    program = (
        "import sys; from planner.interfaces.cli import run; run(['--help']); "
        "heavy = {'numpy', 'pydantic', 'ortools', 'yaml', 'networkx', 'rich.table', 'planner.schema', "
        "'httpx', 'prometheus_client'}; "
        "sys.exit(f'imported {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    for command in ("plan", "fit", "estimate", "curve", "calibrate", "schema", "catalog", "rules"):
        assert f"\n  {command} " in done.stdout


def test_version_comes_from_the_installed_distribution():
    done = shell("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"planner 0.2.0\n", b"")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plam"], 'planner: COMMAND: found "plam", expected one of plan, init, example, whatif, relax'),
        (["plam"], 'Maybe "plan"?'),
        (["catalog", "chekc"], 'Maybe "check"?'),
        (["plan"], "planner plan: PROBLEM: found nothing"),
        (["plan", "x.yaml", "--sed", "4"], 'Maybe "--seed"?'),
        (["plan", "x.yaml", "y.yaml"], 'found the further argument "y.yaml", expected PROBLEM alone'),
        (["plan", "x.yaml", "--json=3"], "planner plan: --json: found a value, expected the flag alone"),
        (["plan", "x.yaml", "--seed"], "planner plan: --seed: found nothing, expected a value: seed of"),
        (["catalog", "list", "--kind"], "planner catalog list: --kind: found nothing, expected a value"),
        (["plan", "x.yaml", "--time-limit", "0"], 'found "0", expected seconds above zero'),
        (["plan", "x.yaml", "--time-limit", "1e300"], "at most 1,000,000,000"),
        (["plan", "x.yaml", "--seed", "-1"], '--seed: found "-1", expected a whole number from 0 to'),
        (["plan", "x.yaml", "--seed", "1.5"], 'Maybe "1"?'),
        (["plan", "x.yaml", "--workers", "0"], '--workers: found "0", expected a whole number from 1 to'),
        (["plan", "x.yaml", "--time-limit", "-5"], '--time-limit: found "-5", expected seconds above zero'),
        (["plan", "x.yaml", "--time-limit", "nan"], '--time-limit: found "nan"'),
        (["plan", "x.yaml", "--time-limit", "5 parsecs"], '--time-limit: found "5 parsecs"'),
        (["plan", "x.yaml", "--catalog", "no-such-folder"], "which does not exist, expected a folder"),
        (["plan", "x.yaml", "--out", "no-such-folder/plan.json"], "in a folder that does not exist"),
        (["estimate", "--isl", "5"], "planner estimate: --model: found nothing"),
        (["estimate", "--isl"], "planner estimate: --isl: found nothing, expected a value: input tokens"),
        ([*ESTIMATE, "--tp", "0"], '--tp: found "0", expected a whole number from 1 to'),
        ([*ESTIMATE, "--isl", "0"], '--isl: found "0", expected a whole number of tokens from 1 to'),
        ([*ESTIMATE, "--rps", "0"], '--rps: found "0", expected a number of requests per second above zero'),
        ([*ESTIMATE, "--rps", "inf"], '--rps: found "inf"'),
        (
            [*ESTIMATE, "--rps", "2", "--concurrency", "4"],
            "--concurrency and --rps together, expected one of them",
        ),
        ([*ESTIMATE, "--memory-utilization", "0.9"], "--memory-utilization: found"),
        ([*ESTIMATE, "--memory-utilization", "120 %"], "of at most 100 %"),
        (["fit", "--model", "m", "--context", "8q"], '--context: found "8q"'),
        (
            ["schema", "plam"],
            'DOCUMENT: found "plam", expected one of problem, plan, observation, accelerator, model',
        ),
        (["catalog"], "add-model"),
        (["catalog"], "planner catalog: COMMAND: found nothing, expected one of list, show"),
        ([], "Usage: planner"),
        ([], "planner: COMMAND: found nothing, expected one of plan, init, example"),
    ],
)
def test_bad_usage_says_where_what_and_what_else(capsys, arguments, words):
    assert cli.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert "Traceback" not in printed.err


def test_all_bad_values_are_shown_together(capsys):
    assert cli.run([*ESTIMATE, "--tp", "0", "--pp", "x", "--osl", "-3"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["--osl", "--tp", "--pp"]


def test_options_arrive_typed(use_cases, chat_plan, tmp_path, capsys):
    use_cases.answer("plan", chat_plan)
    overlay = str(tmp_path)
    arguments = [
        "--time-limit",
        "2 min",
        "--seed",
        "7",
        "--workers",
        "4",
        "--catalog",
        overlay,
        "--timing",
        "--details",
    ]
    assert cli.run(["plan", "p.yaml", *arguments]) == 0
    positional, named = use_cases.calls["plan"]
    assert positional == (Path("p.yaml"),)
    run = named.pop("run")
    run.progress("solving")
    assert named == {"overlays": (tmp_path,)}
    assert (run.time_limit_s, run.seed, run.workers) == (120.0, 7, 4)
    assert (run.timing, run.as_of, run.details) == (True, None, True)
    assert capsys.readouterr().err == ""


def test_estimate_and_fit_pass_their_options_on(use_cases, make_estimate, make_fit):
    use_cases.answer("estimate", make_estimate())
    assert cli.run([*ESTIMATE, "--tp", "2", "--rps", "1.5", "--memory-utilization", "90 %"]) == 0
    named = use_cases.calls["estimate"][1]
    assert (named["isl"], named["osl"], named["tp"], named["rps"], named["concurrency"]) == (
        10,
        20,
        2,
        1.5,
        None,
    )
    assert named["memory_utilization"] == "90 %"
    use_cases.answer("fit", make_fit())
    assert cli.run(["fit", "--model", "m", "--context", "4k", "--gpu", "a", "--gpu", "b"]) == 0
    positional, named = use_cases.calls["fit"]
    assert positional == ("m",)
    assert (named["context_tokens"], named["concurrency"], named["accelerators"]) == (4096, 1, ("a", "b"))


@pytest.mark.parametrize(
    ("status", "code"), [("optimal", 0), ("feasible", 0), ("infeasible", 1), ("unknown", 3)]
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_exit_code_follows_the_status(use_cases, make_plan, capsys, status, code, flags):
    use_cases.answer("plan", make_plan(status=status))
    assert cli.run(["plan", "p.yaml", *flags]) == code
    printed = capsys.readouterr()
    assert printed.err.startswith("planner: ") if status == "unknown" else printed.err == ""
    if flags:
        assert json.loads(printed.out)["status"] == status
    else:
        assert printed.out.startswith("chat-70b: ")


def test_estimate_that_cannot_run_says_no_and_only_why(use_cases, make_estimate, capsys):
    reason = {"id": "vram", "value": 141e9, "limit": 80e9, "unit": "B"}
    use_cases.answer("estimate", make_estimate(cannot_run=[reason], memory_bytes=None))
    assert cli.run([*ESTIMATE, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"option", "cannot_run"}
    assert document["cannot_run"][0]["id"] == "vram"


def test_fit_without_rows_says_no(use_cases, make_fit, capsys):
    use_cases.answer("fit", make_fit(rows=[]))
    assert cli.run(["fit", "--model", "m"]) == 1
    assert "nothing holds 16 × 8,192 tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (InputError([Fault("p.yaml:3", "slo.ttft", "5", "a duration")]), 2, "p.yaml:3: slo.ttft: found 5"),
        (StoppedError("stopped after 1 s"), 3, "stopped after 1 s"),
        (KeyboardInterrupt(), 130, "planner: interrupted"),
        (FileNotFoundError(2, "No such file or directory", "p.yaml"), 2, "p.yaml: found no such file"),
    ],
)
def test_what_goes_wrong_is_said_on_standard_error_only(use_cases, capsys, problem, code, words):
    use_cases.answer("plan", problem)
    assert cli.run(["plan", "p.yaml", "--json"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert len(printed.err.strip().splitlines()) == 1


def test_quoted_input_cannot_steer_the_terminal(use_cases, capsys):
    use_cases.answer("plan", InputError([Fault("p.yaml:1", "name", "'a\x1b[2Jb'", "a name")]))
    assert cli.run(["plan", "p.yaml"]) == 2
    assert capsys.readouterr().err == "p.yaml:1: name: found 'a?[2Jb', expected a name.\n"


def test_a_bug_asks_for_a_report_and_hides_its_traceback(use_cases, capsys, monkeypatch):
    monkeypatch.delenv("PLANNER_DEBUG", raising=False)
    use_cases.answer("plan", ZeroDivisionError("division by zero"))
    assert cli.run(["plan", "p.yaml"]) == 70
    printed = capsys.readouterr().err
    assert "bug in the planner (ZeroDivisionError: division by zero)" in printed
    assert "PLANNER_DEBUG=1" in printed
    assert "Traceback" not in printed
    monkeypatch.setenv("PLANNER_DEBUG", "1")
    assert cli.run(["plan", "p.yaml"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_out_holds_the_same_document_and_the_text_stays(use_cases, chat_plan, tmp_path, capsys):
    use_cases.answer("plan", chat_plan)
    target = tmp_path / "plan.json"
    assert cli.run(["plan", "p.yaml", "--out", str(target)]) == 0
    text = capsys.readouterr()
    assert text.out.startswith("chat-70b: optimal")
    assert text.err == f"planner: wrote {target}\n"
    assert cli.run(["plan", "p.yaml", "--json"]) == 0
    assert target.read_text(encoding="utf-8") == capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "plan.json"
    target.write_text("old")

    def full(self, other):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        output.write_whole(target, b"new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_missing_folder_is_found_before_the_work(use_cases, chat_plan, tmp_path, capsys):
    use_cases.answer("plan", chat_plan)
    assert cli.run(["plan", "p.yaml", "--out", str(tmp_path / "no" / "plan.json")]) == 2
    assert cli.run(["plan", "p.yaml", "--out", str(tmp_path)]) == 2
    assert use_cases.calls == {}
    assert "mkdir -p" in capsys.readouterr().err


def test_catalog_and_rules_print_documents(use_cases, capsys):
    rows = [{"id": "h100-80gb-sxm", "kind": "accelerator", "name": "H100", "aliases": ["h100-sxm"]}]
    use_cases.answer("catalog_list", rows)
    assert cli.run(["catalog", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rows
    assert cli.run(["catalog", "list"]) == 0
    assert "h100-sxm" in capsys.readouterr().out
    use_cases.answer("catalog_show", {"id": "x", "kind": "model", "weight_bytes": {"bf16": 5}})
    assert cli.run(["catalog", "show", "x"]) == 0
    assert "weight_bytes.bf16" in capsys.readouterr().out
    use_cases.answer("rules_check", {"rules": 12})
    assert cli.run(["rules", "check"]) == 0
    assert "rules: no faults" in capsys.readouterr().out
    use_cases.answer(
        "catalog_check", InputError([Fault("a.yaml:1", "x", "1", "2"), Fault("b.yaml:2", "y", "3", "4")])
    )
    assert cli.run(["catalog", "check"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_add_model_says_where_it_wrote(use_cases, capsys, tmp_path):
    use_cases.answer("add_model", {"id": "new", "kind": "model", "path": "catalog/models/new.yaml"})
    assert cli.run(["catalog", "add-model", str(tmp_path), "--id", "new"]) == 0
    assert use_cases.calls["add_model"] == ((tmp_path,), {"model_id": "new", "out": None, "overlays": ()})
    assert "planner: wrote catalog/models/new.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("document", ["problem", "plan", "observation"])
def test_schema_is_one_utf8_document_whatever_the_terminal_speaks(document):
    done = shell("schema", document, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    described = json.loads(done.stdout.decode("utf-8"))
    assert described["title"] == document.capitalize()
    assert described["additionalProperties"] is False


def test_plan_schema_uses_the_names_of_the_contract():
    described = json.loads(shell("schema", "plan").stdout)
    assert {"schema", "pools", "guardrails", "provenance"} <= set(described["properties"])
    assert set(described["$defs"]["Change"]["properties"]) == {"id", "from", "to", "unit", "path"}


def test_a_reader_that_leaves_early_is_no_fault():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [SCRIPT, "schema", "plan"], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_bad_usage_in_a_real_process():
    done = shell("plan", "--json", "--seed", "x", "nothing.yaml")
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"--seed" in done.stderr


def test_a_plan_fits_one_screen_and_details_show_the_rest(use_cases, chat_plan, capsys):
    use_cases.answer("plan", chat_plan)
    assert cli.run(["plan", "p.yaml"]) == 0
    short = capsys.readouterr().out
    assert cli.run(["plan", "p.yaml", "--details"]) == 0
    long = capsys.readouterr().out
    assert len(short.splitlines()) <= 40 < len(long.splitlines())
    assert "Memory of one GPU" in long
    assert "Memory of one GPU" not in short
