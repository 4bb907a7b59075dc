"""In a browser, every view is for everybody: on wide and narrow screens, by keys, and read aloud."""

import pytest
from browser import NARROW, WIDE, needs_chromium
from report_plans import day_plan
from service_samples import DAY, PROBLEM

from planner.report.plan_report import report_of
from planner.report.renderers.registry import RENDERERS
from planner.serve.page.parts import VIEWS

pytestmark = needs_chromium
DRAWN = {
    "/": "As a problem file",
    "/problem": "Nothing wrong with it.",
    "/hardware": "int4:",
    "/speed": "How sure this is",
    "/cost": "Calculate",
    "/gpus": "Everything about",
    "/debug": "Find the cause",
    "/history": "What changed?",
}
"""What a view shows when it is complete."""
ANSWERS = ("plan", "relax", "whatif", "replay", "export")
REACHABLE = """() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, [tabindex]:not([tabindex='-1'])")]
  .filter(one => one.tabIndex >= 0 && !one.disabled && one.offsetParent !== null
    && getComputedStyle(one).visibility !== "hidden")
  .map((one, place) => (one.dataset.place = place))"""


@pytest.fixture(scope="module")
def jobs(site):
    """The paths of an answer of every kind."""

    def asked(kind, **question):
        reply = site.client.post(f"/api/v1/{kind}", json=question)
        assert reply.status_code == 200, reply.text
        return f"/job/{reply.headers['planner-job']}", reply.json()

    plan_path, plan = asked("plan", problem=DAY)
    return {
        "plan": plan_path,
        "relax": asked("relax", problem=PROBLEM.replace("max_gpus: 8", "budget: 1 USD/h"))[0],
        "whatif": asked("whatif", problem=PROBLEM, set={"workloads.chat.demand.peak_rps": 8})[0],
        "replay": asked("replay", plan=plan, duration_s=30, seeds=1, change=False)[0],
        "export": asked("export", plan=plan, to="vllm")[0],
    }


def opened(seen, view, jobs):
    page = seen.open(jobs.get(view, view))
    seen.until(DRAWN.get(view, "Save as JSON" if view != "export" else "vllm serve"))
    return page


def missed_by_keys(page):
    """What could have the focus, and never gets it."""
    wanted, met = set(page.evaluate(REACHABLE)), set()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        met.add(page.evaluate("Number(document.activeElement.dataset.place ?? -1)"))
    return [page.locator(f"[data-place='{one}']").evaluate("one => one.outerHTML") for one in wanted - met]


def serious(axe, page):
    return [
        (fault["id"], fault["nodes"][0]["html"])
        for fault in axe.run(page).response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_no_serious_fault_nothing_beside_the_screen_nothing_beyond_keys(visit, jobs, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    assert set(DRAWN) == set(VIEWS)
    axe, seen, found, missed = Axe(), visit(width=width, scheme=scheme), [], []
    for view in (*DRAWN, *ANSWERS):
        page = opened(seen, view, jobs)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        found += [(view, *fault) for fault in serious(axe, page)]
        if width == WIDE:
            missed += [(view, one) for one in missed_by_keys(page)]
    assert (found, missed) == ([], [])


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_a_report_too(visit, make_plan, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = visit(width=width, scheme=scheme).page
    page.set_content(RENDERERS[".html"].render(report_of([day_plan(make_plan)])).decode())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").count() > 3
    assert serious(Axe(), page) == []
