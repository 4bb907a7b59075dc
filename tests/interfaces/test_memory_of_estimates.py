"""What `estimate` and `curve` say of memory is what they compute with."""

TIGHT = ("--model", "gpt-oss-120b", "--gpu", "h100-sxm", "--isl", "1024", "--osl", "256")


def test_as_many_run_as_the_memory_that_is_shown_holds(told):
    found = told("estimate", *TIGHT, "--concurrency", "32")
    assert found["max_batch"] >= 32
    assert found["decoding"] > 16
    other = told("estimate", *TIGHT, "--concurrency", "32", "--max-batch", "64")
    assert other["memory_bytes"]["kv_cache"] > found["memory_bytes"]["kv_cache"]
    assert other["output_tokens_per_s"] == found["output_tokens_per_s"]
    curve = told("curve", *TIGHT)
    assert curve["max_batch"] == found["max_batch"]
    rates = [point["output_tokens_per_s"] for point in curve["points"]]
    assert rates[-1] > 4 * rates[0]
