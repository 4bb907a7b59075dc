"""Other schedulers, preemption, eviction and adapters, asked for on the command line."""

import pytest

from planner.interfaces import cli

PROBLEM = """\
name: tenants
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 20}
    lengths: {input: {p50: 900, p99: 3000}, output: {p50: 60, p99: 200}}
    slo: {ttft_p99: 900 ms, itl_p99: 45 ms}
    precision: {weights: [bf16], kv: [bf16]}
    lora: {adapters: 200, active: 16, rank: 16}
fleet: {accelerators: [l40s], prices: {l40s: 1 USD/h}}
search: {modes: [aggregated], mix: false}
"""
WORDS = ("--seeds", "1", "--duration", "60", "--no-change")
POOL = "chat/serve/1"


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tenants")
    (folder / "problem.yaml").write_text(PROBLEM)
    assert cli.run(["plan", str(folder / "problem.yaml"), "--out", str(folder / "plan.json"), "--json"]) == 0
    return str(folder / "plan.json")


@pytest.fixture(scope="module")
def either(plan):
    import json

    def replayed(capsys, *words):
        capsys.readouterr()
        assert cli.run(["replay", plan, *WORDS, *words, "--json"]) in (0, 1)
        return json.loads(capsys.readouterr().out)

    return replayed


def test_schedulers_trade_first_tokens_for_gaps(either, capsys):
    seen = {
        policy: either(capsys, "--batching", policy)["workloads"]["chat"]
        for policy in ("fcfs", "prefill-first", "decode-first", "slo-aware")
    }
    plain = seen["fcfs"]
    assert seen["decode-first"]["ttft_s"]["mean"] > 1.1 * plain["ttft_s"]["mean"]
    # Steps with much of a prompt are less than one in a hundred.
    assert seen["decode-first"]["itl_s"]["p99.9"] < plain["itl_s"]["p99.9"]
    assert seen["prefill-first"]["itl_s"]["p99.9"] > plain["itl_s"]["p99.9"]
    assert seen["slo-aware"]["attainment"]["itl_p99"] >= plain["attainment"]["itl_p99"]


def test_adapters_are_paged(either, capsys):
    assert either(capsys)["pools"][POOL]["adapter_loads"] == 0
    even = either(capsys, "--adapter-skew", "0")["pools"][POOL]
    popular = either(capsys, "--adapter-skew", "2")["pools"][POOL]
    assert even["adapter_loads"] > 2 * popular["adapter_loads"] > 0


def test_what_outgrows_the_cache_may_be_swapped(told, capsys, tmp_path):
    """A plan without limits on gaps has large batches, which long answers outgrow."""
    slack = PROBLEM.replace("{ttft_p99: 900 ms, itl_p99: 45 ms}", "{e2e_p99: 60 s}").replace("20}", "4}")
    (tmp_path / "problem.yaml").write_text("".join(x for x in slack.splitlines(True) if "lora" not in x))
    plan = str(tmp_path / "plan.json")
    assert cli.run(["plan", str(tmp_path / "problem.yaml"), "--out", plan]) == 0
    capsys.readouterr()
    path = tmp_path / "trace.csv"
    path.write_text("time,in,out\n" + "".join(f"{n / 100:.3f},1500,3000\n" for n in range(200)))
    trace = ("--no-change", "--trace", str(path), "--columns", "time=time,input=in,output=out")
    again = told("replay", plan, *trace, code=1)["pools"][POOL]
    moved = told("replay", plan, *trace, "--preemption", "swap", code=1)["pools"][POOL]
    assert again["preemptions"] > 0
    assert again["swaps"] == 0 < moved["swaps"] <= moved["preemptions"]


def test_often_used_blocks_may_outlive_others(either, capsys, tmp_path):
    import json

    path = tmp_path / "trace.jsonl"
    rows = [{"timestamp": 50 * n, "input_length": 5120, "output_length": 5,
             "hash_ids": [1 + n % 3, *range(10 * n, 10 * n + 9)] if n % 2 else [1 + n % 3]}
            for n in range(200)]  # fmt: skip
    rows = [{**row, "input_length": 512 * len(row["hash_ids"])} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for how in ("lru", "lfu"):
        found = either(capsys, "--trace", str(path), "--eviction", how)
        assert found["workloads"]["chat"]["hit_ratio"] > 0.0


def test_conversations_of_higher_priority_are_found_again(told, tmp_path):
    """Ten conversations come back every 10 s; prompts that nobody repeats pass through in between."""
    plan = str(tmp_path / "plan.json")
    load = ("--rps", "1", "--isl", "8k", "--osl", "4", "--gpu", "l40s", "--weights", "bf16", "--kv", "bf16")
    assert told("plan", "--model", "llama-3.1-8b", *load, "--out", plan)["pools"][0]["replicas"] == 1

    def row(at_s, blocks, priority):
        return f"{at_s},{512 * len(blocks)},4,{' '.join(blocks)},{priority}"

    rows = ["time,in,out,blocks,urgent"]
    for at_s in range(60):
        rows.append(row(at_s, [f"{at_s % 10}.{n}" for n in range(8)], 9))
        rows.append(row(at_s + 0.5, [f"{at_s}.{n}" for n in range(64)], 0))
    path = tmp_path / "trace.csv"
    path.write_text("\n".join(rows) + "\n")
    columns = ("--columns", "time=time,input=in,output=out,hashes=blocks,priority=urgent")
    hits = {}
    for how in ("lru", "priority"):
        found = told("replay", plan, "--trace", str(path), *columns, "--eviction", how)
        hits[how] = found["workloads"]["llama-3.1-8b"]["hit_ratio"]
    assert hits["lru"] < 0.01
    # Of the prompts, 8 blocks in 8 + 64 are of conversations; their first turn is found by nobody.
    assert hits["priority"] > 0.05


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--batching", "random"), "one of fcfs"),
        (("--preemption", "drop"), "one of recompute, swap"),
        (("--eviction", "fifo"), "one of lru, lfu, priority"),
        (("--eviction", "priority"), "requests without priorities"),
        (("--adapter-skew", "-1"), "--adapter-skew"),
    ],
)
def test_unknown_words_are_told(plan, refused, words, said):
    refused(said, "replay", plan, *words)
