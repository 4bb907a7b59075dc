"""The data in catalog/: complete, unambiguous, sourced, and in agreement with published counts."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from planner.loaders.catalog import OTHER_FOLDERS, read_catalog
from planner.schema.catalog_index import FOLDERS, folded
from planner.steptime.model_facts import model_facts
from planner.steptime.weights import attention_format, kv_bytes_per_token, weight_bytes

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "catalog").glob("*/*.yaml") if path.parent.name not in OTHER_FOLDERS)
SHARED = ROOT.parent / "shared"
GIB = 2**30

# Published, in billions: total, active (where the publisher counts embeddings in about the same way).
PUBLISHED_BILLION = {
    "llama-2-7b": (6.74, None),
    "llama-2-70b": (68.98, None),
    "llama-3-70b": (70.6, None),
    "llama-3.3-70b": (70.6, None),
    "llama-3.1-405b": (405.9, None),
    "llama-4-scout-17b-16e": (109, 17),
    "llama-4-maverick-17b-128e": (400, 17),
    "mixtral-8x7b": (46.7, 12.9),
    "mixtral-8x22b": (140.6, 39),
    "qwen2.5-0.5b": (0.494, None),
    "qwen2.5-72b": (72.7, None),
    "qwen2.5-vl-72b": (73.4, None),
    "qwen3-32b": (32.8, None),
    "qwen3-235b-a22b": (235, 22),
    "qwen3-next-80b-a3b": (79.674, 3.875),
    "qwen3.5-397b-a17b": (397, 17),
    "gemma-3-27b": (27.4, None),
    "deepseek-v3": (671, 37),
    "kimi-k2": (1030, 32),
    "glm-4.6": (355, 32),
    "glm-5": (744, 40),
    "gpt-oss-20b": (20.91, 3.61),
    "gpt-oss-120b": (116.83, 5.13),
    "minimax-m2.5": (230, None),
    "gpt-j-6b": (6.05, None),
    "falcon-40b": (41.3, None),
    "command-r-plus-104b": (103.8, None),
    "nemotron-4-340b": (341, None),
    "llama-3.3-nemotron-super-49b": (49.9, None),
    "nemotron-3-nano-30b-a3b": (31.6, 3.6),
    "mistral-small-3.2-24b": (24.0, None),
}

# By hand, 16 bit: 2 x KV layers x KV heads x head size x 2 bytes; MLA: layers x (latent + rope) x 2 bytes.
KV_BYTES_PER_TOKEN = {
    "llama-2-7b": (524_288, 524_288),
    "llama-3-70b": (327_680, 327_680),
    "llama-3.3-70b": (327_680, 327_680),
    "deepseek-v3": (70_272, 70_272),
    "deepseek-r1": (70_272, 70_272),
    "gemma-2-27b": (376_832, 188_416),
    "gemma-3-27b": (507_904, 81_920),
    "gpt-oss-120b": (73_728, 36_864),
    "gpt-oss-20b": (49_152, 24_576),
    "llama-4-scout-17b-16e": (196_608, 49_152),
    "mistral-7b-v0.1": (131_072, 0),
    "qwen3-next-80b-a3b": (24_576, 24_576),
    "nemotron-3-nano-30b-a3b": (6_144, 6_144),
    "glm-5": (100_152, 100_152),
}

# Memory that the driver reports (MiB), dense 16-bit TFLOPS, GB/s: data sheets.
ACCELERATORS = {
    "h100-sxm": (81_559, 989.4, 3350),
    "h200-sxm": (143_771, 989.4, 4800),
    "a100-sxm": (81_920, 312, 2039),
    "b200": (183_359, 2250, 8000),
    "b300": (275_040, 2250, 8000),
    "mi300x": (196_608, 1307.4, 5300),
    "l40s": (46_068, 362, 864),
    "mi250x": (65_536, 191.5, 1638),
}


@pytest.fixture(scope="module")
def catalog():
    return read_catalog([ROOT / "catalog"])  # raises with every invalid file, id, alias and reference


def shared_rows(name):
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{path} is absent: names of the measurement tables stay unchecked")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_kind_has_entries(catalog):
    assert len(FILES) == sum(len(entries) for entries in catalog.by_folder.values())
    # Factors of one's own benchmarks come with overlays.
    assert all(catalog.by_folder[kind] for kind in FOLDERS if kind != "user_factors")
    assert not catalog.by_folder["user_factors"]


@pytest.mark.parametrize("kind", FOLDERS)
def test_id_is_file_name_in_kebab_case(kind):
    for path in (ROOT / "catalog" / kind).glob("*.yaml"):
        assert f"id: {path.stem}\n" in path.read_text(encoding="utf-8")
        assert path.stem == path.stem.lower()
        assert not set(path.stem) & set(" _/+")


def test_names_mean_one_thing(catalog):
    """Within a kind the loader checks it; here also across kinds, as `catalog show NAME` names no kind."""
    meaning = {}
    for kind, entries in catalog.by_folder.items():
        for entry in entries.values():
            for name in {folded(text) for text in (entry.id, entry.name, *entry.aliases)}:
                assert meaning.setdefault(name, (kind, entry.id)) == (kind, entry.id), name


def test_no_alias_repeats_the_id(catalog):
    for entries in catalog.by_folder.values():
        for entry in entries.values():
            names = [folded(entry.id), *(folded(alias) for alias in entry.aliases)]
            assert len(names) == len(set(names)), entry.id


def test_every_offer_is_of_a_known_accelerator_by_id(catalog):
    offers = [
        (prices.id, offer) for prices in catalog.by_folder["prices"].values() for offer in prices.offers
    ]
    assert len(offers) == 341
    for provider, offer in offers:
        assert offer.accelerator in catalog.by_folder["accelerators"], (provider, offer.instance)
        assert offer.spot is None or offer.spot < offer.on_demand, (provider, offer.instance)


def test_doubtful_offers_are_not_bought(catalog):
    offers = [offer for prices in catalog.by_folder["prices"].values() for offer in prices.offers]
    doubtful = [o for o in offers if "DISPUTED" in o.note or "accelerator only" in o.instance or not o.vcpus]
    assert len([o for o in doubtful if not o.usable]) == 37
    # Their virtual machine is in the price.
    assert {o.accelerator for o in doubtful if o.usable} == {"tpu-v5e", "tpu-v6e"}


@pytest.mark.parametrize("model", PUBLISHED_BILLION)
def test_parameters_agree_with_published_counts(catalog, model):
    total, active = PUBLISHED_BILLION[model]
    facts = model_facts(catalog.by_folder["models"][model])
    assert facts.params_total == pytest.approx(total * 1e9, rel=0.01)
    if active is not None:
        assert facts.params_active == pytest.approx(active * 1e9, rel=0.06)


def test_every_model_is_within_one_percent_of_its_own_published_total(catalog):
    published = [model for model in catalog.models if model.published is not None]
    assert len(published) >= 60
    for model in published:
        assert model_facts(model).params_total == pytest.approx(model.published.total, rel=0.01), model.id


COUNTED_OTHERWISE = {
    # 0.417 B of vision beside the text part; an embedding of 262,144 rows
    "gemma-3-4b": 1e-3,
    "gemma-3-12b": 1e-3,
    # small norms of the image encoder
    "gemma-4-26b-a4b": 2e-4,
    "gemma-4-31b": 2e-4,
    # 0.4 B of vision, rounded, beside the text part
    "ministral-3-3b": 1e-2,
    "ministral-3-8b": 1e-2,
    "ministral-3-14b": 1e-2,
    # gates of the linear layers
    "kimi-k3": 1e-4,
    # an image encoder that the rows leave out
    "kimi-k2.5": 1e-3,
}


def test_parameters_agree_with_the_list_of_published_checkpoints(catalog):
    """Counts of the list are published or counted from the same configurations by others."""
    rows = [row for row in shared_rows("facts/model_ids.csv") if "rounded" not in row["source"]]
    known = [(row, model) for row in rows if (model := catalog.model(row["hf_id"])) is not None]
    assert len(known) >= 280
    for row, model in known:
        off = COUNTED_OTHERWISE.get(model.id, 1e-5)
        assert model_facts(model).params_total == pytest.approx(int(row["params_total"]), rel=off), row[
            "hf_id"
        ]


FORMATS_OF_LIST = {
    "fp8-channel": "fp8",
    "fp8-block": "fp8",
    "w8a8": "int8",
    "w4a16-experts": "int4-experts",
    "fp8-block+fp4-experts": "mxfp4-experts-fp8",
    "nvfp4-mixed": "nvfp4",
}


def test_names_of_published_checkpoints_mean_a_model_in_a_format(catalog):
    """16 of 311 have no known architecture: nothing is said about them."""
    rows = shared_rows("facts/model_ids.csv")
    found = {row["hf_id"]: catalog.model(row["hf_id"]) for row in rows}
    assert sum(model is None for model in found.values()) == 16
    for row in rows:
        model, form = found[row["hf_id"]], row["weight_format"]
        if model is None or not form:
            continue
        known = (form,) if form != "w4a16" else ("int4", "awq", "gptq")
        assert model.native_format in (*known, FORMATS_OF_LIST.get(form)), row["hf_id"]
        if model.native_format == "fp8":
            scales = "block" if form == "fp8-block" else "row"
            assert model.fp8_scales == scales, row["hf_id"]


def test_the_ending_of_a_name_means_a_format_whoever_published_it(catalog):
    def read(name):
        model = catalog.model(name)
        return model and (model.id, model.native_format)

    assert read("someone/Llama-3.1-8B-Instruct-AWQ") == ("llama-3.1-8b", "awq")
    assert read("Llama-3.1-8B-Instruct-GPTQ-Int8") == ("llama-3.1-8b", "w8a16")
    assert read("bartowski/Llama-3.2-1B-Instruct-Q5_K_M.gguf") == ("llama-3.2-1b", "gguf-q5-k-m")
    assert read("someone/Llama-3.1-8B-Instruct-GGUF:Q6_K") == ("llama-3.1-8b", "gguf-q6-k")
    assert read("Qwen3.6-27B") == ("qwen3.5-27b", "bf16")
    assert read("someone/Unheard-Of-8B-AWQ") is None
    assert catalog.model("qwen3-8b").quantized_from is None
    assert catalog.model("RedHatAI/Qwen3-8B-quantized.w4a16").quantized_from == "bf16"


def test_parameters_are_exact_where_the_checkpoint_size_is_known(catalog):
    exact = {
        "llama-3.1-8b": 8_030_261_248,
        "llama-3.3-70b": 70_553_706_496,
        "qwen2.5-0.5b": 494_032_768,
        "qwen3-next-80b-a3b": 79_674_391_296,
        "gpt-j-6b": 6_050_882_784,
        "deepseek-v3": 671_026_419_200,
    }
    assert {name: model_facts(catalog.model(name)).params_total for name in exact} == exact


@pytest.mark.parametrize("model", KV_BYTES_PER_TOKEN)
def test_kv_bytes_per_token(catalog, model):
    kept = kv_bytes_per_token(model_facts(catalog.model(model)), 16)
    assert (kept.all_layers_bytes, kept.growth_past_window_bytes) == KV_BYTES_PER_TOKEN[model]


def test_constant_states(catalog):
    """FP32 state of 32 x 128 x 128 in 36 layers plus a 16-bit tail of three columns of 8192 channels."""
    facts = model_facts(catalog.model("qwen3-next-80b-a3b"))
    assert facts.state_bytes_per_sequence == 36 * (32 * 128 * 128 * 4 + 8192 * 3 * 2)


@pytest.mark.parametrize(
    ("model", "weights", "gpus", "logged_gib"),
    [
        ("llama-3.1-8b", "bf16", 1, 14.99),
        ("llama-3.3-70b", "fp8", 2, 33.88),
        ("gpt-oss-120b", "mxfp4", 1, 64.38),
        ("mistral-small-3.2-24b", "bf16", 1, 44.76),
    ],
)
def test_weights_agree_with_engine_logs(catalog, model, weights, gpus, logged_gib):
    """Source: llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md (per GPU)."""
    facts, form = model_facts(catalog.model(model)), catalog.number_format(weights)
    layout = attention_format(facts, form, catalog.by_folder["formats"])
    assert weight_bytes(facts, form, layout) / gpus / GIB == pytest.approx(logged_gib, rel=0.005)


@pytest.mark.parametrize("name", ACCELERATORS)
def test_accelerators_by_their_short_names(catalog, name):
    reported_mib, tflops, gigabytes_per_s = ACCELERATORS[name]
    accelerator = catalog.accelerator(name)
    assert accelerator.memory.reported == reported_mib * 2**20
    assert float(accelerator.compute.bf16) == pytest.approx(tflops * 1e12)
    assert float(accelerator.memory.bandwidth) == pytest.approx(gigabytes_per_s * 1e9)


@pytest.mark.parametrize("table", ["accelerators.csv", "accelerators_more.csv"])
def test_accelerators_agree_with_the_list(catalog, table):
    for row in shared_rows(f"facts/{table}"):
        if row["name"] == "MI250X":
            continue  # one of its two dies is a device of its own
        found = catalog.accelerator(row["name"])
        assert found is not None, row["name"]
        assert float(found.memory.bandwidth) == pytest.approx(float(row["mem_bw_gb_s"]) * 1e9), row["name"]
        assert float(found.compute.bf16) == pytest.approx(float(row["bf16_tflops"]) * 1e12), row["name"]
        if row["memory_mib_reported"]:
            assert found.memory.reported == int(row["memory_mib_reported"]) * 2**20, row["name"]


def test_engines_that_left_a_generation_behind_say_so(catalog):
    v100 = catalog.accelerator("v100").architecture
    assert v100 in catalog.engine("sglang").supports.without
    assert v100 not in catalog.engine("vllm").supports.without
    loads = catalog.engine("vllm").supports.loads
    assert not loads(catalog.number_format("awq"), v100)
    assert loads(catalog.number_format("gptq"), v100)
    assert not loads(catalog.number_format("gptq+attention=awq"), v100)


def test_links_are_one_way(catalog):
    one_way = {"h100-sxm": "450e9", "a100-sxm": "300e9", "b200": "900e9", "mi300x": "448e9"}
    for name, rate in one_way.items():
        assert catalog.accelerator(name).link.one_way == Decimal(rate)
    assert catalog.accelerator("mi300x").link.pair_one_way == Decimal("64e9")
    assert catalog.accelerator("l40s").link.one_way is None


def test_native_formats_have_a_rate_of_at_least_the_16_bit_one(catalog):
    for accelerator in catalog.by_folder["accelerators"].values():
        for form in accelerator.compute.native:
            assert getattr(accelerator.compute, form) >= accelerator.compute.bf16, (accelerator.id, form)


def test_links_fit_their_kind(catalog):
    for accelerator in catalog.by_folder["accelerators"].values():
        link = accelerator.link
        assert (link.kind == "none") == (link.one_way is None), accelerator.id
        assert not link.optional or link.kind == "nvlink-bridge", accelerator.id
        assert link.pair_one_way is None or link.pair_one_way < link.one_way, accelerator.id


def test_calibration_covers_every_architecture_and_engine(catalog):
    calibration = catalog.by_folder["calibration"]["reference"]
    architectures = {entry.architecture for entry in catalog.by_folder["accelerators"].values()}
    assert set(calibration.compute_efficiency) == architectures
    formats = {*catalog.by_folder["formats"], "default", "fp8-block"}
    for architecture, shares in calibration.compute_efficiency.items():
        assert {"default", "bf16", "int4"} <= set(shares) <= formats, architecture
        assert all(0 < share.value < 1 for share in shares.values())
    # Further names are engine generations that only measurements know.
    assert set(calibration.engines) >= set(catalog.by_folder["engines"])
    expected = {f"{metric}_{pair}" for metric in ("throughput", "tpot", "ttft") for pair in ("known", "new")}
    assert set(calibration.sigma_log) >= expected


@pytest.mark.parametrize("table", ["public.csv", "serving_latency.csv"])
def test_names_of_the_measurement_tables_resolve(catalog, table):
    rows = shared_rows(f"measurements/{table}")
    columns = {
        "model": "models",
        "gpu": "accelerators",
        "engine": "engines",
        "weight_precision": "formats",
        "kv_precision": "formats",
        "kv_precision_assumed": "formats",
    }
    unknown = {
        (column, row[column])
        for column, kind in columns.items()
        for row in rows
        if row.get(column) and catalog.find(kind, row[column]) is None
    }
    assert not unknown


def test_names_of_the_facts_tables_resolve(catalog):
    for table, kind in (("accelerators", "accelerators"), ("models", "models")):
        unknown = {
            row["name"] for row in shared_rows(f"facts/{table}.csv") if not catalog.find(kind, row["name"])
        }
        assert not unknown


def test_models_agree_with_the_facts_table(catalog):
    for row in shared_rows("facts/models.csv"):
        facts = model_facts(catalog.model(row["name"]))
        kept = kv_bytes_per_token(facts, 16)
        counted = (
            facts.params_total,
            facts.params_active_excl_input_embedding,
            kept.all_layers_bytes,
            kept.growth_past_window_bytes,
            facts.state_bytes_per_sequence,
        )
        expected = tuple(
            int(row[column] or 0)
            for column in (
                "params_total_computed",
                "params_active_excl_input_embedding",
                "kv_bytes_per_token_bf16_all_layers",
                "kv_bytes_per_token_bf16_full_layers_only",
                "linear_state_bytes_per_seq",
            )
        )
        assert counted == expected, row["name"]
