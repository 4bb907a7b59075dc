# ruff: noqa: E501  (messages stand here as they are shown)
"""What a problem file says back when something in it is wrong: the exact words."""

from pathlib import Path

import pytest

from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem, load_problem_document

ROOT = Path(__file__).parents[3]

GOOD = """\
name: sample
workloads:
  - name: chat
    model: llama-3.3-70b
    demand: {peak_rps: 40}
    lengths: {input: {fixed: 1000}, output: {fixed: 100}}
    slo: {ttft_p99: 1500 ms}
fleet:
  accelerators: [h100-sxm]
"""


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def messages(folder, text, catalog):
    path = folder / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        load_problem(path, catalog)
    except InputError as problem:
        return str(problem).replace(f"{path}", "x.yaml").splitlines()
    return []


def test_the_sample_is_good(tmp_path, catalog):
    assert messages(tmp_path, GOOD, catalog) == []


LENGTHS = "lengths: {input: {fixed: 1000}, output: {fixed: 100}}"
ONE_CHANGE = {
    "bare number for a duration": (
        ("1500 ms", "1500"),
        "x.yaml:7: workloads.chat.slo.ttft_p99: found 1500, expected a duration with its unit, "
        'such as "1500 ms". Maybe 1500 ms?',
    ),
    "unit in capitals": (
        ("1500 ms", "1500 MS"),
        'x.yaml:7: workloads.chat.slo.ttft_p99: found "1500 MS", expected a duration with its unit, '
        'such as "1500 ms". Maybe 1500 ms?',
    ),
    "unit of another dimension": (
        ("1500 ms", "1500 GB"),
        'x.yaml:7: workloads.chat.slo.ttft_p99: found "1500 GB", expected a duration with its unit, '
        'such as "1500 ms". Maybe one of the units d, h, min, s, ms, us?',
    ),
    "zero duration": (
        ("1500 ms", "0 ms"),
        'x.yaml:7: workloads.chat.slo.ttft_p99: found "0 ms", expected a duration above zero.',
    ),
    "negative duration": (
        ("1500 ms", "-3 s"),
        'x.yaml:7: workloads.chat.slo.ttft_p99: found "-3 s", expected a duration above zero.',
    ),
    "sexagesimal stays text": (
        ("1500 ms", "1:30"),
        'x.yaml:7: workloads.chat.slo.ttft_p99: found "1:30", expected a duration with its unit, '
        'such as "1500 ms". Maybe one of the units d, h, min, s, ms, us?',
    ),
    "exponent beyond all bounds": (
        ("1500 ms", "1e999999999 s"),
        'x.yaml:7: workloads.chat.slo.ttft_p99: found "1e999999999 s", expected a duration with its unit, '
        'such as "1500 ms".',
    ),
    "bandwidth or name as bare number": (
        ("accelerators: [h100-sxm]", "network: 50"),
        'x.yaml:9: fleet.network: found 50, expected a bandwidth with its unit, such as "50 GB/s". '
        "Maybe 50 GB/s?",
    ),
    "bandwidth with a wrong unit": (
        ("accelerators: [h100-sxm]", "network: 50 gb/s"),
        'x.yaml:9: fleet.network: found "50 gb/s", expected a bandwidth with its unit, such as "50 GB/s", '
        "or a network of the catalog. Maybe 50 GB/s?",
    ),
    "bandwidth in bits": (
        ("accelerators: [h100-sxm]", "network: 400 Gb/s"),
        'x.yaml:9: fleet.network: found "400 Gb/s", expected a bandwidth with its unit, such as "50 GB/s", '
        "or a network of the catalog. Maybe 50 GB/s?",
    ),
    "unknown key": (
        ("slo:", "slos:"),
        "x.yaml:7: workloads.chat.slos: found an unknown key, expected one of name, model, archetype, demand, "
        "lengths, slo, precision, max_quality_loss, prefix_cache_hit, prefix_cache, kv_offload, "
        "kv_eviction, trim, engine, kv_block_tokens, "
        "speculation, experts, lora, images, buckets, min_replicas, max_replicas, redundancy, routing, headroom, storage, class, priority, regions, providers. "
        'Maybe "slo"?',
    ),
    "key of another place": (
        ("name: sample", "name: sample\naccelerators: [h100-sxm]"),
        "x.yaml:2: accelerators: found an unknown key, expected one of name, workloads, fleet, search, objective, "
        'confidence, workers, tiers, api, start. Maybe "fleet.accelerators"?',
    ),
    "key of an inner place": (
        (LENGTHS, LENGTHS[:-1] + ", peak_rps: 3}"),
        "x.yaml:6: workloads.chat.lengths.peak_rps: found an unknown key, expected one of input, output, trace, "
        'buckets, said. Maybe "workloads.demand.peak_rps"?',
    ),
    "key of the top level": (
        (LENGTHS, LENGTHS[:-1] + ", objective: cost}"),
        "x.yaml:6: workloads.chat.lengths.objective: found an unknown key, expected one of input, output, trace, "
        'buckets, said. Maybe "objective" at the top level?',
    ),
    "key of several places": (
        (LENGTHS, LENGTHS[:-1] + ", model: llama-3.3-70b}"),
        "x.yaml:6: workloads.chat.lengths.model: found an unknown key, expected one of input, output, trace, "
        "buckets, said.",
    ),
    "draft model without a name": (
        (LENGTHS, LENGTHS + "\n    speculation: {kind: draft-model, acceptance: 70 %}"),
        "x.yaml:7: workloads.chat.speculation: found draft-model without draft, expected draft: the smaller "
        "model.",
    ),
    "draft model with another kind": (
        (LENGTHS, LENGTHS + "\n    speculation: {kind: ngram, acceptance: 70 %, draft: llama-3.1-8b}"),
        "x.yaml:7: workloads.chat.speculation: found draft or weights with kind ngram, expected them with kind "
        "draft-model only.",
    ),
    "unknown draft model": (
        (LENGTHS, LENGTHS + "\n    speculation: [{kind: draft-model, draft: llama-3.1-8, acceptance: 70 %}]"),
        'x.yaml:7: workloads.chat.speculation.0.draft: found "llama-3.1-8", expected a model of the catalog. '
        'Maybe "llama-3.1-8b"?',
    ),
    "drafts that are never accepted": (
        (LENGTHS, LENGTHS + "\n    speculation: {kind: ngram, acceptance: 0 %}"),
        'x.yaml:7: workloads.chat.speculation.acceptance: found "0 %", expected a number above 0.',
    ),
    "experts without a number": (
        (LENGTHS, LENGTHS + "\n    experts: {}"),
        "x.yaml:7: workloads.chat.experts: found neither key, expected imbalance, capacity_factor or both.",
    ),
    "unknown model": (
        ("llama-3.3-70b", "llama-3.3-70"),
        'x.yaml:4: workloads.chat.model: found "llama-3.3-70", expected a model of the catalog, or a folder '
        'with a config.json. Maybe "llama-3.3-70b"?',
    ),
    "model folder without config": (
        ("llama-3.3-70b", "./my-model"),
        'x.yaml:4: workloads.chat.model: found "./my-model", expected a model of the catalog, or a folder '
        "with a config.json.",
    ),
    "unknown accelerator": (
        ("[h100-sxm]", "[h100-smx]"),
        'x.yaml:9: fleet.accelerators.0: found "h100-smx", expected an accelerator of the catalog. '
        'Maybe "h100-sxm"?',
    ),
    "two names of one accelerator": (
        ("[h100-sxm]", "[h100-sxm]\n  stock: {h100-80gb-sxm: 8}"),
        'x.yaml:10: fleet.stock.h100-80gb-sxm: found "h100-80gb-sxm", another name of "h100-sxm", '
        'expected one name for one accelerator. Maybe "h100-sxm"?',
    ),
    "one accelerator twice": (
        ("[h100-sxm]", "[h100-sxm, h100-sxm]"),
        'x.yaml:9: fleet.accelerators.1: found "h100-sxm" a second time, expected each accelerator once.',
    ),
    "unknown accelerator in prices": (
        ("[h100-sxm]", "[h100-sxm]\n  prices: {h200-smx: 1 USD/h}"),
        'x.yaml:10: fleet.prices.h200-smx: found "h200-smx", expected an accelerator of the catalog. '
        'Maybe "h200-sxm"?',
    ),
    "price without unit": (
        ("[h100-sxm]", "[h100-sxm]\n  prices: {h100-sxm: 2.50}"),
        "x.yaml:10: fleet.prices.h100-sxm: found 2.50, expected a price per hour with its unit, "
        'such as "2.5 USD/h". Maybe 2.5 USD/h?',
    ),
    "fraction of a GPU": (
        ("[h100-sxm]", "[h100-sxm]\n  stock: {h100-sxm: 8.0}"),
        "x.yaml:10: fleet.stock.h100-sxm: found 8.0, expected a whole number. Maybe 8?",
    ),
    "negative stock": (
        ("[h100-sxm]", "[h100-sxm]\n  stock: {h100-sxm: -8}"),
        "x.yaml:10: fleet.stock.h100-sxm: found -8, expected a number of at least 0.",
    ),
    "true as a count": (
        ("[h100-sxm]", "[h100-sxm]\n  max_gpus: true"),
        "x.yaml:10: fleet.max_gpus: found true, expected a whole number.",
    ),
    "empty list of accelerators": (
        ("[h100-sxm]", "[]"),
        "x.yaml:8: fleet: found an empty list of accelerators, expected at least one, or no key for all.",
    ),
    "unknown engine": (
        ("slo:", "engine: vlm\n    slo:"),
        'x.yaml:7: workloads.chat.engine: found "vlm", expected an engine of the catalog. Maybe "vllm"?',
    ),
    "unknown format": (
        ("slo:", "precision: {weights: [fp88]}\n    slo:"),
        'x.yaml:7: workloads.chat.precision.weights.0: found "fp88", expected a format for weights '
        '(WEIGHTS). Maybe "fp8"?',
    ),
    "unknown provider": (
        ("[h100-sxm]", "[h100-sxm]\n  providers: [awz]"),
        'x.yaml:10: fleet.providers.0: found "awz", expected a price list of the catalog. Maybe "aws"?',
    ),
    "unknown archetype": (
        ("slo:", "archetype: chatt\n    slo:"),
        'x.yaml:7: workloads.chat.archetype: found "chatt", expected an archetype of the catalog. Maybe "chat"?',
    ),
    "unknown storage": (
        ("slo:", "storage: local-nvm\n    slo:"),
        'x.yaml:7: workloads.chat.storage: found "local-nvm", expected a storage of the catalog. Maybe "local-nvme"?',
    ),
    "format of weights for the cache": (
        ("slo:", "precision: {kv: [int4]}\n    slo:"),
        'x.yaml:7: workloads.chat.precision.kv.0: found "int4", expected a format for the KV cache (CACHE). '
        'Maybe "int8"?',
    ),
    "unknown region": (
        ("[h100-sxm]", "[h100-sxm]\n  regions: [moon]"),
        'x.yaml:10: fleet.regions.0: found "moon", expected a region of the price lists. Maybe "MON1"?',
    ),
    "unknown rule": (
        ("fleet:", "search: {rules_off: [whole-server]}\nfleet:"),
        'x.yaml:8: search.rules_off.0: found "whole-server", expected the id of a planning rule. '
        'Maybe "whole-servers"?',
    ),
    "unknown word of a choice": (
        ("fleet:", "objective: costs\nfleet:"),
        'x.yaml:8: objective: found "costs", expected one of cost, cost_per_token, gpus, power, throughput. Maybe "cost"?',
    ),
    "one value instead of a list": (
        ("fleet:", "search: {tp: 4}\nfleet:"),
        "x.yaml:8: search.tp: found 4, expected a list. Maybe [4]?",
    ),
    "duplicate key": (
        ("slo: {ttft_p99: 1500 ms}", "slo: {ttft_p99: 1500 ms, ttft_p99: 2 s}"),
        "x.yaml:7: workloads.chat.slo.ttft_p99: found this key a second time (first in line 7), "
        "expected each key once.",
    ),
    "negative rate": (
        ("40", "-40"),
        "x.yaml:5: workloads.chat.demand.peak_rps: found -40, expected a number above 0.",
    ),
    "not a number": (
        ("40", ".nan"),
        "x.yaml:5: workloads.chat.demand.peak_rps: found .nan, expected a finite number.",
    ),
    "infinite": (
        ("40", ".inf"),
        "x.yaml:5: workloads.chat.demand.peak_rps: found .inf, expected a finite number.",
    ),
    "infinite as a word": (
        ("40", "inf"),
        'x.yaml:5: workloads.chat.demand.peak_rps: found "inf", expected a finite number.',
    ),
    "rate in words": (
        ("40", "many"),
        'x.yaml:5: workloads.chat.demand.peak_rps: found "many", expected a number.',
    ),
    "number of many digits": (
        ("40", "9" * 60),
        "x.yaml:5: workloads.chat.demand.peak_rps: found a number of 60 digits, expected at most 40 digits.",
    ),
    "yes is no number": (
        ("40", "yes"),
        'x.yaml:5: workloads.chat.demand.peak_rps: found "yes", expected a number.',
    ),
    "no form of demand": (
        ("{peak_rps: 40}", "{mean_rps: 3}"),
        "x.yaml:5: workloads.chat.demand: found 0 forms of demand, "
        "expected one of peak_rps, hourly_rps, trace, sessions, concurrency, users, tokens_per_day, requests_per_day, free.",
    ),
    "missing key": (
        ("    demand: {peak_rps: 40}\n", ""),
        "x.yaml:3: workloads.chat.demand: found no such key, expected a value.",
    ),
    "percentiles that fall": (
        ("{fixed: 1000}", "{p50: 900, p99: 800}"),
        "x.yaml:6: workloads.chat.lengths.input: found percentiles [900, 800], expected percentiles that never "
        "fall from p50 to p99.",
    ),
    "share above one": (
        ("slo:", "prefix_cache_hit: 130 %\n    slo:"),
        'x.yaml:7: workloads.chat.prefix_cache_hit: found "130 %", expected a share between 0 % and 100 %.',
    ),
    "share as bare number": (
        ("slo:", "prefix_cache_hit: 0.3\n    slo:"),
        "x.yaml:7: workloads.chat.prefix_cache_hit: found 0.3, expected a share with its unit, "
        'such as "10 %". Maybe 30 %?',
    ),
    "shares off": (
        (LENGTHS, "lengths: {buckets: [{name: a, share: 0.5, input: 10, output: 10}]}"),
        "x.yaml:6: workloads.chat.lengths.buckets: found shares that sum to 0.5, expected shares of the buckets that "
        "sum to 1.",
    ),
    "neither count nor mapping": (
        ("accelerators:", "redundancy: two\n  accelerators:"),
        'x.yaml:9: fleet.redundancy: found "two", expected a whole number or a mapping of keys to values.',
    ),
    "unknown key in one of two forms": (
        ("accelerators:", "redundancy: {replica: 1}\n  accelerators:"),
        "x.yaml:9: fleet.redundancy.replica: found an unknown key, expected one of replicas, per_option, "
        'servers, zones, providers. Maybe "replicas"?',
    ),
    "missing trace": (
        (LENGTHS, "lengths: {trace: day.csv}"),
        'x.yaml:6: workloads.chat.lengths.trace: found no such file "day.csv", expected a file; paths are '
        "relative to the problem file.",
    ),
    "name with a colon": (
        ("name: chat", 'name: "a:b"'),
        'x.yaml:3: workloads.a:b.name: found "a:b", expected a name without "/" and ":" that does not start '
        "with a space.",
    ),
    "workloads as a mapping": (
        ("workloads:\n  - name", "workloads:\n    name"),
        "x.yaml:2: workloads: found a mapping, expected a list.",
    ),
    "tab": (
        ("    slo", "\tslo"),
        "x.yaml:7: found a tab, expected spaces for indentation.",
    ),
    "second document": (
        ("fleet:", "---\nfleet:"),
        "x.yaml:8: found a second document, expected one document in a file.",
    ),
    "open bracket": (
        ("[h100-sxm]", "[h100-sxm"),
        "x.yaml:10: found text that is no YAML (did not find expected ',' or ']'), expected lines of the form "
        '"key: value", indented alike.',
    ),
    "tag": (
        ("40", "!!python/object:os.system 40"),
        "x.yaml:5: workloads.chat.demand.peak_rps: found the tag tag:yaml.org,2002:python/object:os.system, "
        "expected a value without a tag.",
    ),
    "a list as key": (
        ("fleet:", "? [a]\n: 1\nfleet:"),
        "x.yaml:8: found a list or mapping as key, expected a name.",
    ),
}


@pytest.mark.parametrize("case", ONE_CHANGE)
def test_one_mistake_one_message(tmp_path, catalog, case):
    (before, after), expected = ONE_CHANGE[case]
    assert before in GOOD
    weights = ", ".join(entry.id for entry in catalog.number_formats if entry.weights)
    cache = ", ".join(entry.id for entry in catalog.number_formats if entry.kv)
    text = GOOD.replace(before, after, 1)
    assert messages(tmp_path, text, catalog) == [expected.replace("WEIGHTS", weights).replace("CACHE", cache)]


WHOLE_FILE = {
    "empty": (b"", 'x.yaml:1: found nothing, expected lines of the form "key: value".'),
    "only a comment": (b"# later\n", 'x.yaml:1: found nothing, expected lines of the form "key: value".'),
    "a list": (b"- a\n", 'x.yaml:1: found a list, expected lines of the form "key: value".'),
    "a word": (b"hello\n", 'x.yaml:1: found a single value, expected lines of the form "key: value".'),
    "not UTF-8": (b"name: a\nnote: \xe9t\xe9\n", "x.yaml:2: found the byte 0xe9, expected text in UTF-8."),
    "control character": (
        b"name: a\nb: \x00\n",
        "x.yaml:2: found a control character, expected printable text.",
    ),
}


@pytest.mark.parametrize("case", WHOLE_FILE)
def test_files_that_are_no_problem_at_all(tmp_path, catalog, case):
    text, expected = WHOLE_FILE[case]
    assert messages(tmp_path, text, catalog) == [expected]


def test_missing_file_and_folder(tmp_path, catalog):
    with pytest.raises(InputError) as missing:
        load_problem(tmp_path / "none.yaml", catalog)
    assert (
        str(missing.value)
        == f"{tmp_path / 'none.yaml'}: found no such file, expected a file that can be read."
    )
    with pytest.raises(InputError) as folder:
        load_problem(tmp_path, catalog)
    assert str(folder.value) == f"{tmp_path}: found a folder, expected a file that can be read."


def test_all_mistakes_of_a_file_are_shown_together_by_line(tmp_path, catalog):
    text = GOOD.replace("llama-3.3-70b", "llama").replace("40", ".nan").replace("1500 ms", "1500")
    text = text.replace("[h100-sxm]", "[h100-smx]") + "fleet: {}\n"
    found = messages(tmp_path, text, catalog)
    assert [line.split(": found")[0] for line in found] == [
        "x.yaml:4: workloads.chat.model",
        "x.yaml:5: workloads.chat.demand.peak_rps",
        "x.yaml:7: workloads.chat.slo.ttft_p99",
        "x.yaml:10: fleet",
    ]


def test_a_table_of_workers_frees_the_names_of_gpus(tmp_path, catalog):
    (tmp_path / "w.csv").write_text("option,gpu,gpus,max_rps\n")
    text = GOOD.replace("[h100-sxm]", "[my-card]") + "workers: w.csv\n"
    assert messages(tmp_path, text, catalog) == []


def test_a_model_folder_is_found_beside_the_file(tmp_path, catalog):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    assert messages(tmp_path, GOOD.replace("llama-3.3-70b", "mine"), catalog) == []


def test_names_ignore_case_and_stay_as_written(tmp_path, catalog):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD.replace("h100-sxm", "H100-SXM"))
    assert load_problem(path, catalog).fleet.accelerators == ("H100-SXM",)


def test_resolved_problem_loads_again(tmp_path, catalog):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD)
    problem = load_problem(path, catalog)
    again = load_problem_document(problem.model_dump(mode="json", exclude_unset=True), catalog)
    assert again == problem


def test_values_without_a_file_name_the_document(catalog):
    values = {"name": "a", "workloads": [{"name": "w", "model": "x", "demand": {"peak_rps": -0.5}}]}
    with pytest.raises(InputError) as problem:
        load_problem_document(values, catalog, name="plan.json")
    assert str(problem.value).splitlines() == [
        "plan.json: workloads.w.demand.peak_rps: found -0.5, expected a number above 0.",
        'plan.json: workloads.w.model: found "x", expected a model of the catalog, or a folder with a config.json.',
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "problems").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_problem_of_the_repository_loads(path, catalog):
    assert load_problem(path, catalog).workloads


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), float("-inf"), 1e308, 10**400, True, None, []]
)
def test_numbers_of_json_that_no_file_could_hold(catalog, number):
    workload = {"name": "w", "model": "llama-3.3-70b", "demand": {"peak_rps": number}, "archetype": "chat"}
    values = {
        "name": "a",
        "workloads": [{**workload, "slo": {"ttft_p99": number}, "prefix_cache_hit": number}],
    }
    with pytest.raises(InputError) as problem:
        load_problem_document(values, catalog)
    assert "workloads.w.prefix_cache_hit" in str(problem.value)


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("fleet: {max_gpus: 2.7}", "fleet.max_gpus"),
        ("fleet: {stock: {h100-sxm: 2.7}}", "fleet.stock.h100-sxm"),
        ("fleet: {node_size: 2.7}", "fleet.node_size"),
        ("fleet: {min_replicas: 2.7}", "fleet.min_replicas"),
        ("fleet: {redundancy: {zones: 2.7}}", "fleet.redundancy.zones"),
        ("search: {tp: [1, 2.7]}", "search.tp.1"),
        ("search: {length_classes: 2.7}", "search.length_classes"),
    ],
)
def test_a_fraction_where_a_whole_number_is_needed(tmp_path, catalog, key, line):
    text = (
        "name: p\nworkloads:\n- {name: w, model: llama-3.1-8b, demand: {peak_rps: 1}, "
        f"lengths: {{input: {{fixed: 9}}, output: {{fixed: 9}}}}}}\n{key}\n"
    )
    (message,) = messages(tmp_path, text, catalog)
    assert message.startswith(f"x.yaml:4: {line}: found 2.7, expected ")
    assert "a whole number" in message


TABLE_PROBLEM = (
    "name: p\nworkers: t.csv\nworkloads:\n- name: w\n  demand: {peak_rps: 7}\n  buckets: BUCKETS\n"
)


@pytest.mark.parametrize(
    ("buckets", "words"),
    [
        (
            "{a: 0.5, b: 0.6}",
            "workloads.w.buckets: found shares that sum to 1.1, expected shares that sum to 1.",
        ),
        ("{}", "workloads.w.buckets: found shares that sum to 0, expected shares that sum to 1."),
        (
            "{a: -1}",
            'workloads.w.buckets.a: found -1, expected a share between 0 and 1, such as 0.4 or "40 %".',
        ),
        ("{a: .nan}", "workloads.w.buckets.a: found .nan, expected a finite number."),
        ("{'': 1}", 'workloads.w.buckets.: found "", expected text that is not empty.'),
        ("[a]", "workloads.w.buckets: found a list, expected a mapping of keys to values."),
    ],
)
def test_shares_of_buckets(tmp_path, catalog, buckets, words):
    (tmp_path / "t.csv").write_text("option,gpu,gpus,max_rps\n")
    text = TABLE_PROBLEM.replace("BUCKETS", buckets)
    assert messages(tmp_path, text, catalog) == [f"x.yaml:6: {words}"]


@pytest.mark.parametrize(
    ("workloads", "words"),
    [
        ("[[]]", "workloads.0: found an empty list, expected a mapping of keys to values."),
        ("[]", "workloads: found an empty list, expected a list that is not empty."),
        ("[1]", "workloads.0: found 1, expected a mapping of keys to values."),
        ("null", "workloads: found nothing, expected a list."),
    ],
)
def test_workloads_that_are_none(tmp_path, catalog, workloads, words):
    assert messages(tmp_path, f"name: p\nworkloads: {workloads}\n", catalog) == [f"x.yaml:2: {words}"]
