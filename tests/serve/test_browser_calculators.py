"""In a browser, each of the seven calculators gives the numbers of its command."""

import re

from browser import needs_chromium

import planner

pytestmark = needs_chromium
OBSERVED = "kv_usage_ratio: 0.97\npreemptions_per_s: 1.2\nkv_precision: bf16\n"
COST = """\
name: cost
workloads:
  - name: service
    model: qwen3-8b
    demand: {requests_per_day: 100000, shape: office}
    lengths: {input: {fixed: 800}, output: {fixed: 300}}
    slo: {itl_p95: 50 ms}
fleet: {headroom: {capacity: 0 %}, accelerators: [l40s]}
"""


def choose(seen, label, name):
    """A name of a list, found by typing it."""
    seen.field(label).fill(name)
    seen.page.get_by_role("option", name=name, exact=True).click()
    seen.page.keyboard.press("Escape")


def rows_of(table):
    return [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]


def test_quick_start(visit, printed):
    asked = "--model qwen3-8b --users 30 --isl 800 --osl 300 --ttft 1000ms --itl 50ms --gpu l40s"
    plan = printed("plan", *asked.split())
    seen = visit()
    seen.open("/")
    choose(seen, "Model", "Qwen3-8B")
    choose(seen, "Only these GPUs", "L40S")
    seen.field("How many").fill("30")
    seen.until("As a problem file")
    seen.press("Plan it")
    seen.until("In words")
    seen.until_printed(plan)


def test_throughput_and_roofline(visit, printed):
    asked = ["--model", "qwen3-8b", "--gpu", "h100-80gb-sxm", "--isl", "800", "--osl", "300"]
    estimate, curve = printed("estimate", *asked, "--concurrency", "24"), printed("curve", *asked)
    seen = visit()
    seen.open("/speed")
    choose(seen, "Model", "Qwen3-8B")
    seen.field("Requests in flight").fill("24")
    seen.until_printed(estimate)
    seen.page.get_by_text("The curve in words").click()
    seen.until_printed(curve)
    assert seen.page.locator("canvas").count() == 2


def test_hardware_router_and_number_of_gpus(visit):
    from playwright.sync_api import expect

    seen = visit()
    seen.open("/hardware")
    seen.until("bf16: 1 GPU at least")
    context = seen.field("Context of each sequence")
    context.focus()
    for _ in range(2):
        seen.page.keyboard.press("ArrowRight")
    assert context.input_value() == "15"
    seen.until("Context of each sequence: 32,768 tokens")
    rows = planner.fit("qwen3-32b", context_tokens=32768, concurrency=8, limit=12).rows
    shown = seen.page.locator("table tbody")
    expect(shown.locator("td:nth-child(1)")).to_have_text([f"{row.usd_per_hour:,.2f}" for row in rows])
    expect(shown.locator("td:nth-child(2)")).to_have_text([f"{row.gpus} × {row.gpu}" for row in rows])
    for name in ("bf16", "fp8", "int4"):
        fits = planner.fit("qwen3-32b", context_tokens=32768, concurrency=8, weights=name, limit=1000).rows
        least = min(row.gpus for row in fits)
        usd = min(row.usd_per_hour for row in fits if row.gpus == least)
        count = "1 GPU" if least == 1 else f"{least} GPUs"
        seen.page.get_by_text(re.compile(f"^{name}: {count} at least.* {usd:,.2f} USD/h")).wait_for()


def test_total_cost_with_a_warm_pool(visit, printed):
    changed = printed("whatif", COST, "--set", "fleet.headroom.capacity=30 %")
    seen = visit()
    seen.open("/cost")
    choose(seen, "Model", "Qwen3-8B")
    choose(seen, "Only these GPUs", "L40S")
    seen.field("Requests a day").fill("100000")
    seen.field("Warm pool").fill("30")
    seen.press("Calculate")
    seen.until("In words")
    seen.until_printed(changed)
    seen.until("The utilization trap")


def test_gpu_sheets(visit, printed):
    sheet = printed("catalog", "show", "l40s")
    seen = visit()
    seen.open("/gpus")
    seen.field("Find").fill("L40S")
    seen.page.wait_for_function("document.querySelectorAll('tbody tr').length === 1")
    (row,) = rows_of(seen.page.locator("table"))
    assert row[0] == "L40S"
    for number in ("45.0 GiB", "0.864", "362", "733", "419"):
        assert number in row
    choose(seen, "Everything about", "L40S")
    seen.until("l40s (accelerator)")
    seen.until_printed(sheet)


def test_debugger_of_pasted_values(visit, printed):
    diagnosis = printed("diagnose", "--observed", OBSERVED)
    seen = visit()
    seen.open("/debug")
    seen.field("Metrics page, log, or observed values").fill(OBSERVED)
    seen.press("Find the cause")
    seen.until("This answer, to share")
    seen.until_printed(diagnosis)
