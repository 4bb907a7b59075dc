from planner.report import catalog_text, estimate_text, fit_text, terminal


def words(view):
    return " ".join(terminal.render(view, width=80).split())


def test_estimate(make_estimate):
    text = words(estimate_text.view(make_estimate()))
    for part in (
        "sequences that fit 118 per replica",
        "prefill 96.1 ms",
        "decode step 21.3 ms",
        "output 2,210 tokens/s per replica",
        "2 GPUs 5.00 USD/h",
        "per million output tokens 0.628 USD",
        "Prefill is bound by compute, decode is bound by memory bandwidth.",
        "Calibrated numbers, one standard deviation: throughput ±12 %.",
    ):
        assert part in text


def test_estimate_that_cannot_run(make_estimate):
    reason = {
        "id": "vram",
        "value": 141e9,
        "limit": 80e9,
        "unit": "B",
        "text": "weights alone pass the memory",
    }
    text = words(estimate_text.view(make_estimate(cannot_run=[reason], memory_bytes=None)))
    assert "cannot run" in text
    assert "vram 131 GiB 74.5 GiB weights alone pass the memory" in text
    assert "Speed" not in text


def test_estimate_with_values_in_words(make_estimate):
    reason = {"id": "precision", "value": "fp8", "limit": "bf16", "unit": ""}
    assert "precision fp8 bf16" in words(estimate_text.view(make_estimate(cannot_run=[reason])))


def test_fit(make_fit):
    text = words(fit_text.view(make_fit()))
    assert text.startswith("llama-3.3-70b with 16 × 8,192 tokens of context: from 1.58 USD/h")
    for part in ("2 × l40s", "runpod 2x-l40s", "21 sequences", "PCIe between the", "vram 41"):
        assert part in text


def test_entry_has_dotted_paths():
    entry = {
        "id": "x",
        "kind": "model",
        "kv": {"bf16": {"all": 1024}},
        "moe": False,
        "aliases": ["y", "z"],
        "no": None,
    }
    assert words(catalog_text.entry_view(entry)) == "x (model) kv.bf16.all 1,024 moe no aliases y, z"


def test_records_of_an_entry_are_a_table():
    wide = {f"column{number}": number for number in range(9)}
    entry = {
        "id": "x",
        "offers": [{"gpus": 8, "usable": True}, {"gpus": 1, "usable": False}],
        "rows": [wide] * 2,
    }
    text = words(catalog_text.entry_view(entry))
    assert "Offers gpus usable 8 yes 1 no" in text
    assert text.endswith("With --json also: column7, column8.")


def test_empty_listing():
    assert words(catalog_text.listing_view([], ["id"])) == "Nothing there."


def test_bytes_of_an_entry_are_shown_as_the_tools_of_vendors_do():
    entry = {"id": "x", "memory_bytes": 81_559 * 2**20, "kv": {"x_bytes": 512}, "link_bytes_per_s": 4e11}
    assert "memory_bytes 85,520,809,984 (79.6 GiB)" in words(catalog_text.entry_view(entry))
    assert words(catalog_text.entry_view(entry)).count("iB") == 1
