"""Every row of the guide's monitoring tables (7.7, 9.3) and every Dielabs target is a rule with its numbers.

Three rows have no metric in an observation: the reuse ratio and the residency time of the prefix cache, and
tokens per GPU-hour, which has no target. Hits are counted in tokens here, so they are the reuse ratio.
"""

from decimal import Decimal

import pytest

from planner.app.diagnose import checked_rulebook

BOOK = checked_rulebook()
ROWS = [
    # row, rule, metric, thresholds of the rule
    ("GPU memory below 70 %", "device-memory-unused", "gpu_memory_used_ratio", {"0.7"}),
    ("GPU memory above 95 %", "device-memory-at-edge", "gpu_memory_used_ratio", {"0.95"}),
    ("GPU compute low while active", "batch-limit-too-low", "gpu_compute_ratio", {"0.4", "0.6"}),
    ("GPU compute at 100 % with rising TTFT", "prefill-saturates-compute", "gpu_compute_ratio", {"0.95"}),
    ("adapter hits below 60 %", "adapters-compete", "adapter_hit_ratio", {"0.6"}),
    ("adapter eviction above zero", "adapters-compete", "adapter_eviction_per_s", {"0.1"}),
    ("KV cache near 100 %", "kv-cache-nearly-full", "kv_usage_ratio", {"0.95"}),
    ("KV cache mostly empty", "kv-cache-mostly-empty", "kv_usage_ratio", {"0.38"}),
    ("KV eviction 5 to 20 %", "kv-eviction-early", "eviction_ratio", {"0.05", "0.2"}),
    ("KV eviction above 20 %", "kv-eviction-cascade", "eviction_ratio", {"0.2"}),
    ("eviction with an idle GPU", "kv-recovery-idles-gpu", "eviction_ratio", {"0.2", "0.4"}),
    ("fleet below 40 %", "fleet-too-large", "fleet_utilization_ratio", {"0.4"}),
    ("fleet above 90 %", "fleet-without-headroom", "fleet_utilization_ratio", {"0.9"}),
    ("prefix hits below 30 %, routing", "prefix-locality-lost", "prefix_hit_ratio", {"0.3"}),
    ("prefix hits below 30 %, cache churns", "prefixes-evicted-before-reuse", "prefix_hit_ratio", {"0.3"}),
    ("prefix hits below 80 % on one instance", "prefix-hits-partial", "prefix_hit_ratio", {"0.3", "0.8"}),
    ("TTFT P99 alone", "too-close-to-knee", "ttft_p50_s", {"2"}),
    ("TTFT P99 alone, prefill interference", "long-prompts-hold-up-others", "ttft_p50_s", {"2"}),
    ("TTFT P50 and P99", "fleet-too-small", "ttft_p50_s", {"0.9"}),
    ("ITL P99 spikes", "prefill-blocks-decode", "itl_p50_s", {"0.05"}),
    ("ITL at all percentiles, batch", "batch-too-large-for-latency", "itl_p50_s", {"0.05"}),
    ("ITL at all percentiles, hardware", "decode-at-memory-bandwidth", "memory_bandwidth_ratio", {"0.8"}),
    ("queue growing", "fleet-too-small", "queue_growth_per_s", set()),
    ("queue empty at low use", "fleet-too-large", "queue_depth", {"0.4"}),
    ("draft acceptance below 50 %", "drafts-rejected", "spec_acceptance_ratio", {"0.5", "0.6"}),
    ("KV transfer, apart", "kv-transfer-at-link-speed", "kv_transfer_s", {"0.3"}),
    ("KV transfer, offload", "offload-reload-stalls", "kv_transfer_s", {"0.1"}),
    ("network above 70 %", "exchange-beyond-crossover", "interconnect_ratio", {"0.7"}),
]


@pytest.mark.parametrize(("row", "rule_id", "metric", "numbers"), ROWS, ids=[row[0] for row in ROWS])
def test_each_row_is_a_rule_with_its_thresholds(row, rule_id, metric, numbers):
    rule = BOOK.rules[rule_id]
    thresholds = [
        *rule.thresholds.values(),
        *(one for name in rule.symptoms for one in BOOK.symptoms[name].thresholds.values()),
    ]
    assert metric in rule.metrics().union(*(BOOK.symptoms[name].when.metrics() for name in rule.symptoms))
    assert {Decimal(number) for number in numbers} <= {one.value for one in thresholds}
