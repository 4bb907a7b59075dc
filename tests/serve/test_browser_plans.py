"""In a browser: faults as they are typed, a plan with progress and cancel, what-ifs, and keys alone."""

import re

from browser import needs_chromium
from service_samples import LONG, PROBLEM

pytestmark = needs_chromium
STEP = re.compile("^(reading the catalog|evaluating configurations|choosing and proving)")


def test_faults_as_they_are_typed_then_plan_then_what_if(visit, printed):
    plan = printed("plan", PROBLEM)
    changed = printed("whatif", PROBLEM, "--set", "workloads.chat.demand.peak_rps=16")
    seen = visit()
    seen.open("/problem")
    editor = seen.field("Problem (YAML)")
    editor.fill(PROBLEM.replace("2 s", "2 parsecs"))
    seen.until('problem.yaml:7: workloads.chat.slo.ttft_p99: found "2 parsecs"')
    assert seen.page.get_by_role("button", name="Plan it").is_disabled()
    editor.fill(PROBLEM)
    seen.until("Nothing wrong with it.")
    seen.press("Plan it")
    seen.until("What would that cost?")
    seen.until_printed(plan)
    demand = seen.field("chat: demand, of 4 peak rps")
    demand.focus()
    seen.page.keyboard.press("End")
    seen.until("chat: demand, of 4 peak rps: 400 %")
    seen.press("What would that cost?")
    seen.until("Before and after")
    seen.until_printed(changed)


def test_a_long_plan_tells_its_progress_and_is_canceled(visit, site):
    seen = visit()
    seen.open("/problem")
    seen.field("Problem (YAML)").fill(LONG)
    seen.until("Nothing wrong with it.")
    seen.press("Plan it")
    seen.page.get_by_role("status").get_by_text(STEP).wait_for()
    seen.press("Cancel")
    seen.until("Canceled.")
    job = seen.page.url.rpartition("/")[2]
    assert site.client.get(f"/api/v1/jobs/{job}").json()["state"] == "canceled"


def test_a_slider_follows_keys_however_late_the_server_answers(visit):
    """What the server says of values that are past takes no key back."""
    seen = visit()
    held, slow = [], []

    def through(route):
        server = route.connect_to_server()
        route.on_message(server.send)
        server.on_message(lambda message: held.append((route, message)) if slow else route.send(message))

    seen.page.route_web_socket("**/*", through)
    seen.open("/hardware")
    seen.until("bf16: 1 GPU at least")
    users = seen.field("Sequences at once")
    users.focus()
    slow.append(True)
    for value in ("4", "5", "6"):
        seen.page.keyboard.press("ArrowRight")
        assert users.input_value() == value
        seen.page.wait_for_timeout(100)  # longer than changes are gathered, so that the server hears of each
    assert seen.page.get_by_text("Sequences at once: 8").is_visible()
    for value in ("7", "8", "9"):
        route, message = held.pop(0)
        route.send(message)
        seen.page.keyboard.press("ArrowRight")
        assert users.input_value() == value
    slow.clear()
    for route, message in held:
        route.send(message)
    seen.until("Sequences at once: 512")
    assert users.input_value() == "9"


def test_keys_alone_are_enough(visit):
    seen = visit()
    seen.open("/")
    seen.until("As a problem file")
    keys = seen.page.keyboard
    seen.tab_to(seen.field("How many"))
    keys.press("ControlOrMeta+A")
    keys.type("7")
    seen.tab_to(seen.field("of what"))
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("Enter")
    seen.tab_to(seen.field("Only these GPUs"))
    keys.type("L40S")
    seen.page.get_by_role("option", name="L40S", exact=True).wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    keys.press("Escape")
    seen.tab_to(seen.page.get_by_role("button", name="Plan it"))
    keys.press("Enter")
    seen.until("What would that cost?")
