"""Pages of metrics become an observation: engines, ranks, restarts, what is missing."""

import pytest

from planner.app.observe import from_metrics
from planner.errors import InputError
from planner.schema.observation import Observation
from planner.schema.readings import Reading
from tests.metric_pages import E2E_EDGES, ITL_EDGES, TTFT_EDGES, Exporter, saturate, serve_well, vllm

BLANK = 9223372036854775794


@pytest.fixture
def read(tmp_path):
    """The readout of these pages; two pages of one server are 15 s apart."""

    def read_pages(*pages, interval_s=None, selector=""):
        paths = []
        for number, page in enumerate(pages):
            path = tmp_path / f"{number}.txt"
            path.write_bytes(page)
            paths.append(str(path))
        return from_metrics(paths, interval_s, selector)

    return read_pages


def seen(readout):
    return readout.observation.model_dump(exclude_unset=True)


def notes(readout, kind):
    return {note.metric: note.text for note in readout.notes if note.kind == kind}


def two_samples(between, exporter=None):
    exporter = exporter or vllm()
    serve_well(exporter)
    before = exporter.text(), exporter.openmetrics()
    between(exporter)
    return before, (exporter.text(), exporter.openmetrics())


def test_a_saturated_server(read):
    before, after = two_samples(saturate)
    readout = read(before[0], after[0], interval_s=15)
    first = {name: value for name, value in seen(readout).items() if name in Observation.__annotations__}
    assert first == pytest.approx(
        {
            "ttft_p50_s": 1 + 1.5 * 500 / 989,
            "ttft_p99_s": 2.75,
            "itl_p50_s": 0.025 + 0.025 * 500 / 944,
            "itl_p99_s": 0.073,
            "e2e_p99_s": 15 + 5 * 0.99,
            "queue_depth": 14,
            "queue_growth_per_s": 14 / 15,
            "request_rate_rps": 20,
            "kv_usage_ratio": 0.97,
            "preemptions_per_s": 6,
            "eviction_ratio": 6 / 210,
            "prefix_hit_ratio": 0.31,
            "batch_mean": 210,
            "prefix_caching": True,
            "kv_precision": "fp8",
        }
    )
    assert readout.readings["ttft_p99_s"] == Reading(pytest.approx(2.75), 2.5, 5)
    assert readout.readings["itl_p99_s"] == Reading(pytest.approx(0.073), 0.05, 0.075)
    assert readout.readings["queue_depth"].exact
    assert readout.exporters == ("vllm",)
    assert "spec_acceptance_ratio" in notes(readout, "missing")


def test_the_healthy_twin(read):
    before, after = two_samples(serve_well)
    readout = read(before[0], after[0], interval_s=15)
    assert readout.observation.preemptions_per_s == 0
    assert readout.observation.queue_depth == 0
    assert readout.observation.kv_usage_ratio == 0.45
    assert readout.observation.prefix_hit_ratio == pytest.approx(0.62)
    assert readout.readings["ttft_p99_s"] == Reading(pytest.approx(0.25), 0.1, 0.25)
    assert readout.observation.request_rate_rps == 10


def test_both_spellings_give_the_same(read):
    before, after = two_samples(saturate)
    plain = read(before[0], after[0], interval_s=15)
    underscored = read(before[1], after[1], interval_s=15)
    assert b"vllm:num" in after[0]
    assert b"\nvllm_num" in after[1]
    assert (plain.observation, plain.readings, plain.notes) == (
        underscored.observation,
        underscored.readings,
        underscored.notes,
    )


def test_older_names_mean_the_same(read):
    before, after = (page[0] for page in two_samples(saturate))
    for new, old in (
        (b"vllm:kv_cache_usage_perc", b"vllm:gpu_cache_usage_perc"),
        (b"vllm:prefix_cache_", b"vllm:gpu_prefix_cache_"),
        (b"vllm:inter_token_latency_seconds", b"vllm:time_per_output_token_seconds"),
    ):
        older = read(before.replace(new, old), after.replace(new, old), interval_s=15)
        assert seen(older) == seen(read(before, after, interval_s=15))


def test_a_single_sample_says_what_it_is(read):
    exporter = vllm()
    saturate(exporter)
    readout = read(exporter.text())
    assert readout.observation.kv_usage_ratio == 0.97
    assert readout.observation.prefix_hit_ratio == 0.31
    assert readout.observation.preemptions_per_s is None
    assert readout.observation.queue_growth_per_s is None
    assert {"ttft_p99_s", "prefix_hit_ratio", "preemptions_per_s"} <= set(notes(readout, "lifetime"))


def test_no_preemption_since_the_start_is_none_per_second(read):
    exporter = vllm()
    serve_well(exporter)
    readout = read(exporter.text())
    assert readout.observation.preemptions_per_s == 0
    assert readout.observation.eviction_ratio == 0
    assert readout.observation.request_rate_rps is None


def test_empty_histograms_are_unknown(read):
    exporter = vllm()
    readout = read(exporter.text())
    assert not {"ttft_p99_s", "itl_p50_s", "prefix_hit_ratio"} & set(seen(readout))
    assert "ttft_p99_s" in notes(readout, "empty")
    # Traffic before the window is not traffic in it.
    before, after = two_samples(lambda _: None)
    assert "ttft_p99_s" in notes(read(before[0], after[0], interval_s=15), "empty")


def test_a_restart_in_between_counts_from_zero(read):
    old = vllm()
    serve_well(old)
    serve_well(old)
    new = vllm()
    saturate(new)
    readout = read(old.text(), new.text(), interval_s=15)
    assert readout.observation.preemptions_per_s == 6
    # Queries rose above the old count, hits did not: neither is compared with it.
    assert readout.observation.prefix_hit_ratio == 0.31
    assert readout.observation.ttft_p99_s == pytest.approx(2.75)
    assert notes(readout, "restart")


def test_two_files_without_an_interval(read):
    before, after = (page[0] for page in two_samples(saturate))
    readout = read(before, after)
    assert readout.observation.prefix_hit_ratio == 0.31  # of the time between, though its length is unknown
    assert readout.observation.preemptions_per_s is None
    assert "two samples of one server" in notes(readout, "sources")[""]


def test_two_replicas_with_the_same_labels(read):
    one, two = vllm(), vllm()
    saturate(one)
    serve_well(two)
    readout = read(one.text(), two.text())
    assert "two servers" in notes(readout, "sources")[""]
    assert readout.observation.queue_depth == 7
    assert readout.observation.kv_usage_ratio == 0.97
    assert readout.observation.replicas_idle_ratio == 0
    assert readout.observation.prefix_hit_ratio == pytest.approx((31 + 62) / 200)


def without_births(page):
    return b"\n".join(line for line in page.split(b"\n") if b"_created" not in line)


def test_counters_that_fall_and_rise_are_two_servers(read):
    one, two = vllm(), vllm()
    saturate(one)
    serve_well(two)
    readout = read(without_births(one.text()), without_births(two.text()))
    assert "two servers" in notes(readout, "sources")[""]


def test_several_engines_on_one_page(read):
    busy, idle = vllm("0"), vllm("1")
    saturate(busy)
    # One registry would hold both; the pages of two say the same, one after the other.
    for pages in ([busy.text() + idle.text()], [busy.text(), idle.text()]):
        readout = read(*pages)
        assert readout.observation.replicas_idle_ratio == 0.5
        assert readout.observation.queue_depth == 7
        assert readout.observation.batch_mean == 105
        assert readout.readings["ttft_p99_s"] == Reading(pytest.approx(2.75), 2.5, 5)


def test_several_models_are_named_and_can_be_told_apart(read):
    one, two = vllm(model="a"), vllm(model="b")
    saturate(one)
    serve_well(two)
    both = read(one.text() + two.text())
    assert "a, b" in notes(both, "mixed")[""]
    assert read(one.text() + two.text(), selector='model_name="b"').observation.kv_usage_ratio == 0.45
    nothing = read(one.text(), selector='model_name="c"')
    assert seen(nothing) == {}
    assert notes(nothing, "missing")


def test_replicas_that_differ_have_no_common_setting(read):
    one, two = vllm("0"), vllm("1")
    readout = read(one.text() + two.text().replace(b'cache_dtype="fp8"', b'cache_dtype="bfloat16"'))
    assert readout.observation.kv_precision is None
    assert "kv_precision" in notes(readout, "mixed")
    assert read(one.text().replace(b'"fp8"', b'"auto"')).observation.kv_precision is None


def sglang(dp_rank="0", engine_type="unified", ranks=4):
    """One replica whose four ranks all export, as with metrics of all schedulers switched on."""
    parts = []
    for rank in range(ranks):
        labels = {"model_name": "m", "engine_type": engine_type, "tp_rank": str(rank), "pp_rank": "0"}
        one = Exporter("sglang:", labels | {"moe_ep_rank": "0", "dp_rank": dp_rank})
        one.gauge("num_running_reqs", 40 - rank, priority="")
        one.gauge("num_running_reqs", 25, priority="1")
        one.gauge("num_queue_reqs", 6, priority="")
        one.gauge("token_usage", 0.5 + rank / 10)
        one.count("num_retracted_requests_total", 0)
        one.gauge("spec_accept_rate", 0.7)
        for mode, tokens in (("device_hit", 200), ("host_hit", 100), ("storage_hit", 0), ("input", 700)):
            one.count("prefill_effective_tokens_total", tokens, mode=mode)
        one.see("kv_transfer_latency_ms", (1, 2, 5, 10, 25, 50), [(8, 10)])
        parts.append(one)
    tokenizer = Exporter("sglang:", {"model_name": "m", "engine_type": engine_type})
    tokenizer.see("time_to_first_token_seconds", (0.1, 0.2, 0.4, 0.6), [(0.3, 100)])
    tokenizer.see("inter_token_latency_seconds", (0.01, 0.015, 0.02), [(0.012, 100)])
    return [*parts, tokenizer]


def test_sglang_ranks_are_copies_not_replicas(read):
    readout = read(b"".join(one.text() for one in sglang()))
    assert readout.observation.batch_mean == 40  # the largest rank; not the sum, and not by priority
    assert readout.observation.queue_depth == 6
    assert readout.observation.kv_usage_ratio == 0.8
    assert readout.observation.prefix_hit_ratio == pytest.approx(0.3)
    assert readout.observation.kv_transfer_s == pytest.approx(0.008)
    assert readout.observation.spec_acceptance_ratio == pytest.approx(0.7)
    assert readout.observation.mode == "aggregated"
    assert readout.observation.replicas_idle_ratio is None
    assert readout.readings["ttft_p99_s"] == Reading(pytest.approx(0.398), 0.2, 0.4)


def test_sglang_data_parallel_ranks_are_replicas(read):
    parts = [*sglang("0"), *sglang("1")]
    readout = read(b"".join(one.text() for one in parts))
    assert readout.observation.queue_depth == 6
    assert readout.observation.replicas_idle_ratio == 0


def test_sglang_prefill_and_decode_workers(read):
    parts = [*sglang(engine_type="prefill"), *sglang("1", engine_type="decode")]
    readout = read(b"".join(one.text() for one in parts))
    assert readout.observation.mode == "disaggregated"
    assert readout.observation.prefill_queue_depth == 6  # only those of prefill workers


def test_tensorrt_llm(read):
    one = Exporter("trtllm_", {"model_name": "m", "engine_type": "trtllm"})
    one.gauge("num_requests_running", 12)
    one.gauge("num_requests_waiting", 3)
    one.gauge("kv_cache_utilization", 0.66)
    one.gauge("kv_cache_hit_rate", 0.99)
    one.gauge("max_batch_size_runtime", 64)
    one.count("kv_cache_reused_blocks", 30)
    one.count("kv_cache_missed_blocks", 70)
    one.see("time_to_first_token_seconds", TTFT_EDGES, [(0.2, 10)])
    one.see("time_per_output_token_seconds", ITL_EDGES, [(0.03, 10)])
    one.see("e2e_request_latency_seconds", E2E_EDGES, [(4, 10)])
    readout = read(one.text())
    assert readout.exporters == ("tensorrt-llm",)
    assert readout.observation.prefix_hit_ratio == 0.3  # of counters, before the gauge
    assert readout.observation.max_batch == 64
    assert readout.observation.kv_usage_ratio == 0.66
    assert readout.readings["itl_p99_s"] == Reading(pytest.approx(0.02485 + 0.0249), 0.025, 0.05)
    assert readout.observation.spec_acceptance_ratio is None


def dcgm(gpu, tensor, dram, used_mib, free_mib, **more):
    one = Exporter("DCGM_FI_", {"gpu": gpu, "UUID": f"GPU-{gpu}", "Hostname": "h"})
    for name, value in {
        "PROF_PIPE_TENSOR_ACTIVE": tensor,
        "PROF_DRAM_ACTIVE": dram,
        "DEV_FB_USED": used_mib,
        "DEV_FB_FREE": free_mib,
        **more,
    }.items():
        one.gauge(name, value)
    return one.text()


def test_dcgm_beside_an_engine(read):
    engine = vllm()
    serve_well(engine)
    gpus = dcgm("0", 0.2, 0.8, 60_000, 20_000, DEV_GPU_UTIL=90) + dcgm(
        "1", 0.4, 0.6, 72_000, 8_000, DEV_GPU_UTIL=70
    )
    readout = read(engine.text(), gpus)
    assert readout.exporters == ("vllm", "dcgm")
    assert readout.observation.gpu_compute_ratio == pytest.approx(0.3)
    assert readout.observation.memory_bandwidth_ratio == pytest.approx(0.7)
    assert readout.observation.gpu_utilization_ratio == pytest.approx(0.8)
    assert readout.observation.gpu_memory_used_ratio == 0.9  # the fullest
    assert readout.observation.kv_usage_ratio == 0.45


def test_blanks_of_dcgm_are_no_numbers(read):
    readout = read(dcgm("0", BLANK, 0.5, BLANK, 8_000, DEV_GPU_UTIL=140737488355328))
    assert seen(readout) == {"memory_bandwidth_ratio": 0.5, "gpu_vendor": "NVIDIA"}
    nan = read(dcgm("0", float("nan"), 0.5, 1, float("inf")))
    assert seen(nan) == {"memory_bandwidth_ratio": 0.5, "gpu_vendor": "NVIDIA"}


def test_the_front_end_is_nearest_to_the_user(read):
    engine = vllm()
    serve_well(engine)
    front = Exporter("dynamo_frontend_", {"model": "m"})
    front.see("time_to_first_token_seconds", TTFT_EDGES, [(3, 100)])
    readout = read(engine.text(), front.text())
    assert readout.readings["ttft_p99_s"] == Reading(pytest.approx(4.975), 2.5, 5)
    assert readout.observation.kv_usage_ratio == 0.45
    assert "ttft_p99_s" in notes(readout, "mixed")


def test_beyond_the_last_edge_is_at_least(read):
    exporter = vllm()
    exporter.see("inter_token_latency_seconds", ITL_EDGES, [(100, 10)])
    readout = read(exporter.text())
    assert readout.readings["itl_p99_s"] == Reading(80, 80, float("inf"))
    assert "at least 80" in notes(readout, "bucket")["itl_p99_s"]


def test_what_cannot_be_is_unknown(read):
    readout = read(b"vllm:kv_cache_usage_perc 97\nvllm:num_requests_waiting -3\n")
    assert seen(readout) == {}
    assert {"kv_usage_ratio", "queue_depth"} <= set(notes(readout, "mixed"))


def test_unknown_metrics_stay_unknown(read):
    readout = read(b"some_metric 1\n")
    assert seen(readout) == {}
    assert readout.exporters == ()
    assert "no series of a known exporter" in notes(readout, "missing")[""]


@pytest.mark.parametrize(
    ("sources", "interval_s"),
    [
        ([], None),
        (["-", "-"], None),
        (["x"] * 101, None),
        (["x"], 0),
        (["x"], 1e9),
        (["x"], float("nan")),
        (["x"], None),
    ],
)
def test_sources_and_intervals_that_cannot_be(sources, interval_s):
    with pytest.raises(InputError):
        from_metrics(sources, interval_s)
