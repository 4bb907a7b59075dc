"""The page shows what the command line says: forms, faults, answers, what-ifs."""

import json

import pytest
from nicegui import ui
from page_user import only, seen, texts, until
from service_samples import CONFIG, OWN, PROBLEM

import planner
from planner.serve.desk import Desk, Limits
from planner.serve.history import History
from planner.serve.page.choices import Slider
from planner.serve.page.parts import VIEWS

BROKE = PROBLEM.replace("max_gpus: 8", "max_gpus: 8, budget: 1 USD/h")
EDITOR, PASTED = "Problem (YAML)", "Its config.json"
LATENCY = "kv_usage_ratio: 0.97\npreemptions_per_s: 1.2\nkv_precision: bf16\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = Desk(History(f"sqlite:///{tmp_path_factory.mktemp('jobs')}/jobs.sqlite"), Limits(workers=1))
    yield made
    made.close()


def test_faults_as_they_are_typed_then_the_plan_of_the_command_line_then_what_if(desk, printed):
    plan = printed("plan", PROBLEM)
    changed = printed("whatif", PROBLEM, "--set", "workloads.chat.demand.peak_rps=8")

    async def steps(user):
        await user.open("/problem")
        editor = only(user, ui.textarea, label=EDITOR)
        editor.set_value(PROBLEM.replace("2 s", "2 parsecs"))
        await until(user, 'problem.yaml:7: workloads.chat.slo.ttft_p99: found "2 parsecs"')
        assert not next(iter(user.find("Plan it").elements)).enabled
        editor.set_value(PROBLEM)
        await until(user, "Nothing wrong with it.")
        user.find("Plan it").click()
        await until(user, "What if")
        assert plan in texts(user)
        only(user, Slider, **{"aria-label": "chat: demand, of 4 peak rps"}).value = 200
        user.find("What would that cost?").click()
        await until(user, "Before and after")
        assert changed in texts(user)

    seen(desk, steps)


def test_a_name_stays_a_name(desk):
    name = 'a" max="9'

    async def steps(user):
        await user.open("/problem")
        only(user, ui.textarea, label=EDITOR).set_value(PROBLEM.replace("name: chat", f"name: '{name}'"))
        await until(user, "Nothing wrong with it.")
        user.find("Plan it").click()
        await until(user, "What if")
        assert only(user, Slider, **{"aria-label": f"{name}: demand, of 4 peak rps"}).props["max"] == 400

    seen(desk, steps)


def test_a_limit_is_moved_with_one_click(desk, printed):
    relaxed = printed("relax", BROKE)
    changed = printed("whatif", BROKE, "--set", "fleet.budget=3 USD/h")

    async def steps(user):
        await user.open("/problem")
        only(user, ui.textarea, label=EDITOR).set_value(BROKE)
        user.find("Why not cheaper?").click()
        await until(user, "What if")
        assert relaxed in texts(user)
        assert "budget: 1 USD/h → 3 USD/h" in texts(user)
        user.find("Make it so").click()
        await until(user, "Before and after")
        assert changed in texts(user)

    seen(desk, steps)


def test_the_quick_start_names_flags_and_ends_in_the_same_problem(desk):
    async def steps(user):
        await user.open("/")
        await until(user, "As a problem file")
        only(user, ui.number, label="Input").set_value(None)
        await until(user, "planner plan: --isl: found nothing")
        only(user, ui.number, label="Input").set_value(900)
        await until(user, "As a problem file")
        user.find("Open as a problem file").click()
        await until(user, "Nothing wrong with it.")
        assert "{fixed: 900}" in only(user, ui.textarea, label=EDITOR).value

    seen(desk, steps)


def test_a_model_that_the_catalog_lacks_is_pasted(desk, printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / OWN).mkdir(parents=True)
    (tmp_path / OWN / "config.json").write_text(json.dumps(CONFIG))
    problem = PROBLEM.replace("qwen3-8b", OWN)
    flags = ["--gpu", "h100-80gb-sxm", "--isl", "800", "--osl", "300", "--concurrency", "16"]
    estimate = printed("estimate", "--model", OWN, *flags)
    changed = printed("whatif", problem, "--set", "workloads.chat.demand.peak_rps=8")

    def paste(user, config):
        only(user, ui.input, label="Its name, organization/name").set_value(OWN)
        only(user, ui.textarea, label=PASTED).set_value(config)

    async def steps(user):
        await user.open("/speed")
        paste(user, "{no JSON")
        await until(user, f"page: models.{OWN}: found ")
        paste(user, json.dumps(CONFIG))
        await until(user, "Roofline")
        assert estimate in texts(user)
        await user.open("/")
        paste(user, json.dumps(CONFIG))
        await until(user, "As a problem file")
        user.find("Open as a problem file").click()
        await until(user, "Nothing wrong with it.")
        only(user, ui.textarea, label=EDITOR).set_value(problem)
        await until(user, "Nothing wrong with it.")
        user.find("Plan it").click()
        await until(user, "What if")
        only(user, Slider, **{"aria-label": "chat: demand, of 4 peak rps"}).value = 200
        user.find("What would that cost?").click()
        await until(user, "Before and after")
        assert changed in texts(user)

    seen(desk, steps)


def test_calculators_tell_what_their_commands_tell(desk, printed):
    asked = {"model": "qwen3-32b", "gpu": "h100-80gb-sxm", "isl": "800", "osl": "300", "concurrency": "16"}
    estimate = printed("estimate", *(word for name, value in asked.items() for word in (f"--{name}", value)))
    diagnosis = printed("diagnose", "--observed", LATENCY)

    async def steps(user):
        await user.open("/speed")
        await until(user, "Roofline")
        assert estimate in texts(user)
        await user.open("/hardware")
        await until(user, "bf16: 1 GPU at least")
        (table,) = user.find(ui.table).elements
        rows = planner.fit("qwen3-32b", context_tokens=8192, concurrency=8, limit=12).rows
        assert [row["cost"] for row in table.rows] == [f"{row.usd_per_hour:,.2f}" for row in rows]
        assert [row["gpus"] for row in table.rows] == [f"{row.gpus} × {row.gpu}" for row in rows]
        await user.open("/debug")
        only(user, ui.textarea, label="Metrics page, log, or observed values").set_value(LATENCY)
        user.find("Find the cause").click()
        await until(user, "to share")
        assert diagnosis in texts(user)
        await user.open("/gpus")
        await until(user, "Everything about")
        (table,) = user.find(ui.table).elements
        (l40s,) = [row for row in table.rows if row["id"] == "l40s"]
        shown = l40s["shown"]
        assert (shown["memory"], shown["bandwidth"], shown["bf16"]) == ("45.0 GiB", "0.864", "362")

    seen(desk, steps)


def test_every_view_opens_and_history_compares_plans(desk):
    async def steps(user):
        for path in VIEWS:
            await user.open(path)
        await user.open("/history")
        await until(user, "What changed?")
        (table,) = user.find(ui.table).elements
        table.selected = [row for row in table.rows if row["kind"] == "whatif"][:2]
        user.find("What changed?").click()
        await until(user, "two plans")
        await user.open("/job/none")
        await user.should_see("There is no such job")

    seen(desk, steps)
