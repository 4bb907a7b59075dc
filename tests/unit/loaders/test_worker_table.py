"""Tables of measured workers: what is read, and what is refused with file, line, column and advice."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from planner.errors import InputError
from planner.loaders.worker_table import read_worker_files, read_workers

HEADER = "option,gpu,gpus,max_rps"


def written(tmp_path, text, name="workers.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults(tmp_path, text, name="workers.csv"):
    with pytest.raises(InputError) as caught:
        read_workers(written(tmp_path, text, name))
    return caught.value.faults


def test_defaults_of_a_short_table(tmp_path):
    (row,) = read_workers(written(tmp_path, f"{HEADER}\nA, l4 ,2, 0.1\n")).rows
    assert (row.option, row.gpu, row.gpus, row.max_rps) == ("A", "l4", 2, Decimal("0.1"))
    assert (row.workload, row.bucket, row.role, row.usd_per_hour, row.kv) == (None, None, "serve", None, None)
    assert (row.ttft_ms, row.itl_ms, row.memory_fraction, row.transfer_ms) == (None, None, None, None)
    assert row.where.endswith("workers.csv:2")


def test_a_full_row(tmp_path):
    text = (
        "option,workload,bucket,role,gpu,gpus,usd_per_hour,max_rps,ttft_ms,itl_ms,memory_fraction,kv,transfer_ms\n"
        "P,chat,long,prefill,h100,4,12.34,3.5,900,,0.85,fp8,40\n"
    )
    (row,) = read_workers(written(tmp_path, text)).rows
    assert (row.workload, row.bucket, row.role, row.usd_per_hour) == (
        "chat",
        "long",
        "prefill",
        Decimal("12.34"),
    )
    assert (row.ttft_ms, row.itl_ms, row.memory_fraction, row.kv, row.transfer_ms) == (
        900,
        None,
        Decimal("0.85"),
        "fp8",
        40,
    )


def test_an_empty_rate_cannot_serve(tmp_path):
    assert read_workers(written(tmp_path, f"{HEADER}\nA,l4,1,\n")).rows[0].max_rps == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_read(tmp_path, encoding):
    assert read_workers(written(tmp_path, f"{HEADER}\r\nÄ,l4,1,2\r\n".encode(encoding))).rows[0].option == "Ä"


def test_all_faults_at_once(tmp_path):
    rows = [
        "A,l4,0,nan,serve",
        "B,,1.0,-3,prefil",
        "C,l4,1",
        "",
        "D,l4,1.5,1e400,serve",
        "E,l4,1,2 rps,serve",
    ]
    text = "\n".join([f"{HEADER},role", *rows])
    found = [(fault.where.rsplit(":", 1)[1], fault.key, fault.maybe) for fault in faults(tmp_path, text)]
    assert found == [
        ("2", "max_rps", ""), ("2", "gpus", ""),
        ("3", "gpu", ""), ("3", "max_rps", ""), ("3", "role", '"prefill"'), ("3", "gpus", '"1"'),
        ("4", "", ""),
        ("6", "max_rps", ""), ("6", "gpus", ""),
        ("7", "max_rps", '"2"'),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("option,gpu,gpus,max_rpss\nA,l4,1,1\n", ('Maybe "max_rps"?', "max_rps: found no such column")),
        ("option,gpu,gpus,max_rps,gpu\nA,l4,1,1,l4\n", ("the column twice",)),
        ("option;gpu;gpus;max_rps\nA;l4;1;1\n", ("separated by commas",)),
        ("", ("an empty file",)),
        (f"{HEADER}\n", ("a header without rows",)),
        (b"option,gpu,gpus,max_rps\nA\xff,l4,1,1\n", ("workers.csv:2", "0xff", "UTF-8")),
        (f'{HEADER}\n"A,l4,1,1\n', ("a CSV table",)),
        (f"{HEADER}\nA,l4,1,1\nA,l4,1,2\n", ("workers.csv:3", "again", "workers.csv:2")),
        (f"{HEADER},bucket\nA,l4,1,1,x\nA,l4,2,2,y\n", ("gpus", "it is one option")),
        (f"{HEADER}\nA\0,l4,1,1\n", ("a zero byte",)),
    ],
)
def test_refusals(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read_workers(written(tmp_path, text))
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_workers(tmp_path / "none.csv")


SOLVER_INPUT = {
    "gpu_info": {
        "A10G": {"cost": 1.01, "tputs": [[2, 1], [5, 2]]},
        "A100": {"cost": 3.67, "tputs": [[20, 2], [50, 20]], "max_count": 3},
    },
    "workload_distribution": [[0.25, 0.125], [0.625, 0]],
    "total_request_rate": 30.0,
    "slice_factor": 1,
}


def test_a_solver_input(tmp_path):
    table = read_workers(written(tmp_path, json.dumps(SOLVER_INPUT), "in.json"))
    assert table.shares == {"0-0": Fraction(1, 4), "0-1": Fraction(1, 8), "1-0": Fraction(5, 8)}
    assert table.rate_rps == 30
    assert table.stock_gpus == {"A100": 3}
    assert [(r.option, r.bucket, r.max_rps) for r in table.rows][:2] == [
        ("A10G", "0-0", 2),
        ("A10G", "0-1", 1),
    ]
    assert table.rows[0].usd_per_hour == Decimal("1.01")
    assert len(table.rows) == 6


def test_a_list_of_gpus_with_names(tmp_path):
    devices = [{"name": name, **device} for name, device in SOLVER_INPUT["gpu_info"].items()]
    table = read_workers(written(tmp_path, json.dumps({**SOLVER_INPUT, "gpu_info": devices}), "in.json"))
    assert {row.gpu for row in table.rows} == {"A10G", "A100"}


def test_a_distribution_off_one_scales_the_rate_and_says_so(tmp_path):
    data = {**SOLVER_INPUT, "workload_distribution": [[0.5, 0.5], [0.5, 0]]}
    table = read_workers(written(tmp_path, json.dumps(data), "in.json"))
    assert table.rate_rps == 45
    assert "sums to 1.5" in table.notes[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total_request_rat": 3}, ("an unknown key", "total_request_rate")),
        ({"total_request_rate": -1}, ("total_request_rate", "-1")),
        ({"workload_distribution": [[1, 2]]}, ("2 rows of 2", "1 rows of 2")),
        ({"gpu_info": {}}, ("no GPUs",)),
        ({"gpu_info": {"A": {"cost": 1}}}, ("tputs",)),
        ({"workload_distribution": [[0, 0], [0, 0]]}, ("a demand above zero",)),
    ],
)
def test_refused_solver_inputs(tmp_path, change, words):
    text = "\n".join(
        str(fault) for fault in faults(tmp_path, json.dumps({**SOLVER_INPUT, **change}), "in.json")
    )
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"a": 1}', '{"gpu_info": {}, "gpu_info": {}}', '{"gpu_info": NaN}', "[" * 10**5]
)
def test_other_json_is_refused(tmp_path, text):
    assert faults(tmp_path, text, "in.json")


PROFILE = {
    "gpu": "A100",
    "cost": 1.5,
    "tputs": [[60.5, 30.25, 15], [8, 4, 0]],
    "indexes": [[4, 128], [128, 512, 2048]],
    "created": 1748888478.258241,
    "e2e": [[0.1, 0.2, 0.3], [2, 3, 9]],
    "ttft": [[0.05, 0.1, 0.4], [0.0501, 0.2, 7]],
    "slos": {"percentile": 99, "e2e": 5.0},
}
"""One GPU, as AIBrix writes it: rows are output tokens, columns input tokens."""


def test_a_profile_of_one_gpu(tmp_path):
    table = read_workers(written(tmp_path, json.dumps(PROFILE), "a100.json"))
    assert (table.shares, table.rate_rps) == (None, None)
    assert [(r.option, r.gpus, r.bucket, r.max_rps, r.ttft_ms) for r in table.rows] == [
        ("A100", 1, "in128-out4", Decimal("60.5"), 50),
        ("A100", 1, "in512-out4", Decimal("30.25"), 100),
        ("A100", 1, "in2048-out4", 15, 400),
        ("A100", 1, "in128-out128", 8, Decimal("50.1")),
        ("A100", 1, "in512-out128", 4, 200),
        ("A100", 1, "in2048-out128", 0, None),
    ]
    assert {row.usd_per_hour for row in table.rows} == {Decimal("1.5")}
    assert "the rates of A100 were measured to keep e2e 5.0 at P99" in table.notes[0]


def test_profiles_in_one_file_and_in_several_make_one_table(tmp_path):
    other = {**PROFILE, "gpu": "L4", "max_count": 4}
    both = read_workers(written(tmp_path, json.dumps([PROFILE, other]), "both.json"))
    paths = [written(tmp_path, json.dumps(one), f"{one['gpu']}.json") for one in (PROFILE, other)]
    apart = read_worker_files(paths)
    assert [(r.gpu, r.bucket, r.max_rps) for r in both.rows] == [
        (r.gpu, r.bucket, r.max_rps) for r in apart.rows
    ]
    assert both.stock_gpus == apart.stock_gpus == {"L4": 4}


def test_two_files_with_a_demand_are_refused(tmp_path):
    paths = [written(tmp_path, json.dumps(SOLVER_INPUT), name) for name in ("a.json", "b.json")]
    with pytest.raises(InputError, match=r"b\.json: total_request_rate: found a second demand"):
        read_worker_files(paths)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gpu": None}, ("gpu", "the name of the GPU")),
        ({"indexes": [[4, 128], [128, 512]]}, ("A100.indexes", "lists of 2 and 2")),
        ({"ttft": [[1]]}, ("A100.ttft", "1 rows of 1", "as tputs")),
        ({"tput": 1}, ("A100.tput", "an unknown key", 'Maybe "tputs"')),
        ({"cost": "1"}, ("A100.cost", "a number from 0")),
        ({"max_count": 2.7}, ("A100.max_count", "2.7", "a whole number")),
    ],
)
def test_refused_profiles(tmp_path, change, words):
    text = "\n".join(str(f) for f in faults(tmp_path, json.dumps({**PROFILE, **change}), "p.json"))
    assert all(word in text for word in words), text


def test_a_fault_in_a_solver_input_has_the_line_of_its_gpu(tmp_path):
    """``max_count`` stands twice; the second one, on line 4, is wrong."""
    text = """{"gpu_info": {
 "A": {"cost": 1, "tputs": [[4]], "max_count": 2},
 "B": {"cost": 1, "tputs": [[4]],
       "max_count": 2.7}},
 "workload_distribution": [[1]], "total_request_rate": 16}"""
    (fault,) = faults(tmp_path, text, "in.json")
    assert (fault.where.rsplit(":", 1)[1], fault.key, fault.found) == ("4", "gpu_info.B.max_count", "2.7")
    assert fault.expected.startswith("a whole number")


@pytest.mark.parametrize("rate", ["1e-9999999", "1e13", "-1", "1" * 1000, "true", '"5"', "[]", "NaN"])
def test_rates_that_are_no_rates(tmp_path, rate):
    rest = '"workload_distribution": [[1]], "total_request_rate": 1'
    text = f'{{"gpu_info": {{"A": {{"cost": 1, "tputs": [[{rate}]]}}}}, {rest}}}'
    (fault,) = faults(tmp_path, text, "in.json")
    # A number that JSON's reader refuses is named itself, any other by its place.
    refused = fault.found == rate or fault.found.startswith("a number of too many digits")
    assert refused or fault.key == "gpu_info.A.tputs[0][0]"
    assert len(str(fault)) < 300
