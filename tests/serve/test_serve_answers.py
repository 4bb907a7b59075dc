"""The API answers what the command line prints, and refuses in its words."""

import json

import pytest
from service_samples import CONFIG, OWN, PROBLEM, service

from planner.interfaces import cli

ONE = ["--model", "qwen3-8b", "--gpu", "l40s", "--isl", "500", "--osl", "100"]
SHARED = [
    ("plan", {"problem": PROBLEM}, ["plan", "FILE"]),
    ("relax", {"problem": PROBLEM}, ["relax", "FILE"]),
    ("capacity", {"problem": PROBLEM}, ["capacity", "FILE"]),
    (
        "whatif",
        {"problem": PROBLEM, "set": {"workloads.chat.demand.peak_rps": 9}},
        ["whatif", "FILE", "--set", "workloads.chat.demand.peak_rps=9"],
    ),
    (
        "fit",
        {"model": "qwen3-8b", "context_tokens": 4096, "concurrency": 8},
        ["fit", "--model", "qwen3-8b", "--context", "4096", "--concurrency", "8"],
    ),
    (
        "estimate",
        {"model": "qwen3-8b", "gpu": "l40s", "isl": 500, "osl": 100, "memory_utilization": "80 %"},
        ["estimate", *ONE, "--memory-utilization", "80 %"],
    ),
    (
        "curve",
        {"model": "qwen3-8b", "gpu": "l40s", "isl": 500, "osl": 100, "slo_s": {"itl_p99": 0.03}},
        ["curve", *ONE, "--slo", "itl_p99=30ms"],
    ),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with service(tmp_path_factory.mktemp("jobs")) as client:
        yield client


@pytest.mark.parametrize(("kind", "asked", "words"), SHARED, ids=[kind for kind, *_ in SHARED])
def test_the_answer_is_the_document_of_the_command_line(client, tmp_path, capsysbinary, kind, asked, words):
    file = tmp_path / "problem.yaml"
    file.write_text(PROBLEM)
    assert cli.run([str(file) if word == "FILE" else word for word in words] + ["--json"]) == 0
    printed = capsysbinary.readouterr().out
    found = client.post(f"/api/v1/{kind}", json=asked)
    assert found.status_code == 200, found.text
    assert found.content == printed


def test_flags_stand_for_a_problem_as_on_the_command_line(client, capsysbinary):
    stated = {"model": "qwen3-8b", "rps": "2", "isl": "500", "osl": "100", "gpu": ["l40s=4"]}
    words = [
        part
        for name, value in stated.items()
        for part in (f"--{name}", *([value] if isinstance(value, str) else value))
    ]
    assert cli.run(["plan", *words, "--json"]) == 0
    printed = json.loads(capsysbinary.readouterr().out)
    found = client.post("/api/v1/plan", json={"stated": stated}).json()
    assert found["pools"] == printed["pools"]
    assert found["cost_usd_per_hour"] == printed["cost_usd_per_hour"]


def test_a_problem_may_also_be_an_object(client):
    values = {"name": "x", "workloads": [{"name": "chat", "model": "qwen3-8b"}]}
    told = client.post("/api/v1/plan", json={"problem": values})
    assert told.status_code == 422
    assert "workloads.chat.demand" in told.json()["detail"]


def test_faults_of_a_problem_have_their_lines(client):
    wrong = PROBLEM.replace("qwen3-8b", "qwen3-8c").replace("2 s", "2 parsecs")
    told = client.post("/api/v1/plan", json={"problem": wrong})
    assert told.status_code == 422
    assert told.headers["content-type"] == "application/problem+json"
    places = {(fault["where"], fault["key"]) for fault in told.json()["faults"]}
    assert places == {
        ("problem.yaml:4", "workloads.chat.model"),
        ("problem.yaml:7", "workloads.chat.slo.ttft_p99"),
    }
    assert client.post("/api/v1/check", json={"problem": wrong}).json()["faults"] == told.json()["faults"]


def test_a_request_is_refused_with_everything_that_is_wrong_with_it(client):
    told = client.post("/api/v1/estimate", json={"model": "qwen3-8b", "gpus": "l40s", "isl": 0})
    assert told.status_code == 422
    assert {fault["key"] for fault in told.json()["faults"]} == {"gpu", "gpus", "isl", "osl"}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"content": b"{"}, 400),
        ({"content": b"[]"}, 422),
        ({"content": b'{"model": "a", "model": "b"}'}, 422),
        ({"content": b'{"model": "\xff"}'}, 400),
        ({"content": b"[" * 100_000}, 400),
    ],
    ids=["half", "list", "twice", "no-utf8", "deep"],
)
def test_broken_bodies_are_refused(client, sent, status):
    told = client.post("/api/v1/fit", headers={"content-type": "application/json"}, **sent)
    assert (told.status_code, told.headers["content-type"]) == (status, "application/problem+json")


def test_metrics_pages_are_diagnosed_and_none_is_fetched(client):
    page = (
        "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting 120\nvllm:num_requests_running 8\n"
    )
    told = client.post("/api/v1/diagnose", json={"metrics": [page]})
    assert told.status_code == 200, told.text
    assert "vllm" in " ".join(told.json()["exporters"])
    address = client.post("/api/v1/diagnose", json={"metrics": ["http://127.0.0.1:1/metrics"]})
    assert address.status_code == 422
    assert "metrics-1.txt" in address.json()["detail"]


def test_a_plan_is_exported_as_texts(client):
    plan = client.post("/api/v1/plan", json={"problem": PROBLEM}).json()
    told = client.post("/api/v1/export", json={"plan": plan, "to": "compose"}).json()
    assert "README.md" in told["files"]
    assert set(told["contents"]) == set(told["files"])
    assert all(told["contents"].values())
    wrong = client.post("/api/v1/export", json={"plan": plan, "to": "../../etc"})
    assert wrong.status_code == 422


def test_a_plan_is_replayed_as_by_the_command_line(client, tmp_path, capsysbinary):
    plan, short = client.post("/api/v1/plan", json={"problem": PROBLEM}), tmp_path / "plan.json"
    short.write_bytes(plan.content)
    asked = {
        "plan": plan.json(),
        "duration_s": 60,
        "seeds": 2,
        "failures": [{"pool": "chat/serve/1", "at_s": 20}],
    }
    words = ["--duration", "60", "--seeds", "2", "--fail", "chat/serve/1@20", "--json"]
    assert cli.run(["replay", str(short), *words]) in (0, 1)
    assert client.post("/api/v1/replay", json=asked).content == capsysbinary.readouterr().out


SECRET = "Xq7-not-to-be-told"


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("plan", {"problem": PROBLEM.replace("qwen3-8b", "SECRET")}),
        ("plan", {"problem": PROBLEM + "start: SECRET\n"}),
        ("plan", {"problem": PROBLEM + "workers: SECRET\n"}),
        ("plan", {"problem": PROBLEM.replace("{peak_rps: 4}", "{trace: SECRET}")}),
        ("check", {"problem": PROBLEM.replace("{peak_rps: 4}", "{trace: SECRET}")}),
        ("fit", {"model": "SECRET"}),
        ("estimate", {"model": "SECRET", "gpu": "l40s", "isl": 5, "osl": 5}),
    ],
)
@pytest.mark.parametrize("form", ["{}", "../../../../../../../..{}", "~/../..{}"])
def test_no_file_of_the_server_is_read(client, tmp_path, kind, asked, form):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"a": SECRET}))
    text = json.dumps(asked).replace("SECRET", form.format(file))
    told = client.post(f"/api/v1/{kind}", content=text, headers={"content-type": "application/json"})
    assert "outside the folder of the problem" in told.text or told.status_code == 422
    assert SECRET not in told.text


def test_the_description_names_every_question(client):
    described = client.get("/api/v1/openapi.json").json()
    assert {f"/api/v1/{kind}" for kind, *_ in SHARED} < set(described["paths"])
    text = json.dumps(described)
    named = set(described["components"]["schemas"])
    assert all(f'"#/components/schemas/{name}"' in text for name in ("Plan", "PlanAsked", "ProblemTold"))
    assert {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]} <= named


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("vllm:num_requests_waiting 120\nvllm:num_requests_running 8\n", "vllm"),
        ("kv_usage_ratio: 0.97\npreemptions_per_s: 1.2\n", ""),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
            "",
        ),
    ],
    ids=["page", "values", "log"],
)
def test_what_is_pasted_is_told_by_what_it_is(client, text, where):
    told = client.post("/api/v1/diagnose", json={"text": text})
    assert told.status_code == 200, told.text
    assert where in " ".join(told.json()["exporters"])


def test_engine_arguments_name_no_file_of_the_server(client, tmp_path):
    file = tmp_path / "args.txt"
    file.write_text(f"vllm serve {SECRET} --max-num-seqs 8")
    told = client.post("/api/v1/diagnose", json={"engine_args": str(file)})
    assert SECRET not in told.text
    assert told.status_code == 422


@pytest.mark.parametrize(
    ("kind", "asked", "words"),
    [
        ("plan", {"problem": PROBLEM.replace("qwen3-8b", OWN)}, ["plan", "problem.yaml"]),
        ("fit", {"model": OWN, "context_tokens": 4096}, ["fit", "--model", OWN, "--context", "4096"]),
        (
            "estimate",
            {"model": OWN, "gpu": "l40s", "isl": 500, "osl": 100},
            ["estimate", "--model", OWN, *ONE[2:]],
        ),
    ],
    ids=["plan", "fit", "estimate"],
)
def test_a_model_that_the_catalog_lacks_comes_along(
    client, tmp_path, monkeypatch, capsysbinary, kind, asked, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / OWN).mkdir(parents=True)
    (tmp_path / OWN / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "problem.yaml").write_text(asked.get("problem", ""))
    assert cli.run([*words, "--json"]) == 0
    printed = capsysbinary.readouterr().out
    assert client.post(f"/api/v1/{kind}", json=asked).status_code == 422
    found = client.post(f"/api/v1/{kind}", json=asked | {"models": {OWN: CONFIG}})
    assert found.status_code == 200, found.text
    assert found.content == printed


@pytest.mark.parametrize("name", ["../../up/there", "/etc/x", "a/../b", "problem.yaml/x", "alone", "a/b/c"])
def test_a_model_that_comes_along_has_a_name_of_the_hub(client, name):
    asked = {"model": "qwen3-8b", "models": {name: CONFIG}}
    told = client.post("/api/v1/fit", json=asked)
    assert told.status_code == 422
    assert "models" in told.json()["detail"]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("fit", {"model": OWN}),
        ("estimate", {"model": OWN, "gpu": "l40s", "isl": 500, "osl": 100}),
        ("check", {"problem": PROBLEM.replace("qwen3-8b", OWN)}),
    ],
)
def test_no_hub_is_asked_for_a_model(client, kind, asked):
    told = client.post(f"/api/v1/{kind}", json=asked).json()
    (fault,) = told["faults"]
    assert fault["found"] == f'"{OWN}"'  # the hub would add why it did not give it
    assert fault["expected"].startswith("a model of the catalog")
