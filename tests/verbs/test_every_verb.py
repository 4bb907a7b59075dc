"""No verb crashes on any file of problems/, and the pages' own commands work: exit 0, 1 or 3, never 70.

Here everything that takes a plan takes that of each problem, and the searches go round the problems.
`make verbs` asks all of all, without a limit, as programs.
"""

import json
import shutil

import pytest
from asked import ANYWHERE, OBSERVATIONS, PAGES, ROOT, fenced, of_observation, of_plan, of_problem, typed
from sample_plans import EACH, PROBLEMS, sample
from told import as_program, in_process, not_json, one_of_many

from planner.planning.formulation.study import Study
from planner.report import json_document
from planner.report.renderers.pdf import BROWSERS

LIMIT_S = 5
PRINTER = any(map(shutil.which, BROWSERS))
"""Whether a PDF can be made here; where not, it is refused."""
SEARCHES = len(of_problem(PROBLEMS[0]))


@pytest.fixture
def told(capsys, monkeypatch, tmp_path):
    """Asks in this process under the limit; gives the answer and what is wrong with it."""
    monkeypatch.chdir(ROOT)

    def ask(asked):
        document = tmp_path / "answer.json"
        out = ("--out", str(document)) if asked.json and "--out" not in asked.arguments else ()
        ended = in_process((*asked.within(LIMIT_S), *out), capsys, monkeypatch)
        faults = ended.faults(asked.refused)
        if out and not faults and ended.code != 3:  # stopped before anything was chosen: nothing is written
            faults = not_json(document)
        return ended, faults

    return ask


@pytest.fixture
def one_study(monkeypatch):
    """What one verb has evaluated serves the next, as between the questions of one session."""
    make, kept = Study.__init__, {}

    def made(self, catalog, *arguments, **named):
        make(self, catalog, *arguments, **named)
        known = {name: value for name, value in vars(self).items() if isinstance(value, dict)}
        vars(self).update({name: kept.setdefault((catalog.sha256, name), known[name]) for name in known})

    monkeypatch.setattr(Study, "__init__", made)


@pytest.mark.usefixtures("one_study")
@pytest.mark.parametrize("path", EACH)
def test_verbs_of_a_problem(path, told, tmp_path):
    _, found = sample(path)
    plan = tmp_path / "plan.json"
    plan.write_bytes(json_document.encode(json_document.of_plan(found)))
    faults = []
    round_robin = of_problem(path.relative_to(ROOT))[PROBLEMS.index(path) % SEARCHES]
    for asked in (round_robin, *of_plan(path, plan, plan)):
        faults += told(asked)[1]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("observed", OBSERVATIONS, ids=lambda path: path.stem)
def test_the_debugger_on_observed_values(observed, told):
    ended, faults = told(of_observation(observed.relative_to(ROOT)))
    assert faults == []
    assert ended.code == 0


@pytest.mark.parametrize("asked", ANYWHERE, ids=lambda asked: " ".join(asked.arguments))
def test_verbs_without_a_file(asked, told):
    ended, faults = told(asked)
    assert faults == []
    assert ended.code == 0


@pytest.fixture
def clone(tmp_path):
    """A folder like a clone of the repository, with benchmark results of one's own beside it."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "problems").symlink_to(ROOT / "problems")
    results = folder / "results"
    results.mkdir()
    for name in ("closed-32", "rate"):
        source = ROOT / "tests" / "data" / "benchmarks" / "vllm" / "0.33.0" / f"{name}.json"
        document = json.loads(source.read_text(encoding="utf-8"))
        document |= {"model_id": "meta-llama/Llama-3.3-70B-Instruct", "tensor_parallel_size": "2"}
        (results / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    for name, text in beside(json.dumps(document)).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def beside(benchmark):
    """Files that pages name and that a reader would have: a problem, what runs, a trace, a benchmark."""
    container = {
        "name": "engine",
        "command": ["vllm", "serve", "meta-llama/Llama-3.3-70B-Instruct", "-tp", "2"],
    }
    spec = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    runs = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat"}, "spec": spec}
    arrivals = "".join(f"{second},1000,200\n" for second in range(0, 3600, 2))
    return {
        "problem.yaml": (ROOT / "problems" / "01-chat-70b.yaml").read_text(encoding="utf-8"),
        "bench.json": benchmark,
        "running.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [runs]}),
        "requests.csv": f"ts,prompt_tokens,completion_tokens\n{arrivals}",
    }


@pytest.mark.usefixtures("one_study")
@pytest.mark.parametrize("page", [page for page in PAGES if fenced(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page(page, clone, capsys, monkeypatch):
    monkeypatch.chdir(clone)
    faults = []
    for line in fenced(page):
        arguments, written = typed(line, clone)
        ended = in_process(arguments, capsys, monkeypatch)
        unprinted = not PRINTER and any(argument.endswith(".pdf") for argument in arguments)
        faults += ended.faults("no Chromium or Chrome to print it" if unprinted else "")
        if written is not None:
            (clone / written).write_text(ended.out, encoding="utf-8")
            faults += not_json(clone / written)
    assert faults == []


def test_as_programs(clone):
    """What only a process of its own shows: its streams, its exit code and its imports."""
    shutil.copy(ROOT / "problems" / "14-api-or-own.yaml", clone / "own.yaml")
    ended = as_program(("relax", "own.yaml", "--json", "--time-limit", str(LIMIT_S)), clone, timeout_s=300)
    assert ended.faults() == []
    assert json.loads(ended.out)["problem"] == "api-or-own"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Buy 1 replicas of 1 GPU", ["1 replicas"]),
        ("21 replicas, 1.1 tokens, 8 × 1 GPU; hour 1 is the first, 0.1 hours", []),
        ("over 1 hours", ["1 hours"]),
        ("1 tokens/s and 1 req/s", []),
    ],
)
def test_one_is_told_from_many(text, found):
    assert one_of_many(text) == found
