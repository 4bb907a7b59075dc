"""`planner validate` on tables of operator times, through the command line."""

import csv
import json

import pytest

from planner.interfaces import cli

COMMON = "gpu,engine,version,kernel"
GPU = "H100-80GB-SXM,vllm,0.24.0,k"
TABLES = {
    "gemm": (f"{COMMON},format,m_tokens,n_outputs,k_inputs", f"{GPU},bfloat16,16,4096,4096"),
    "decode_attention": (
        f"{COMMON},attention_format,kv_format,sequences,context_tokens,query_heads,kv_heads,head_dim",
        f"{GPU},bfloat16,fp8,16,4096,32,8,128",
    ),
    "prefill_attention": (
        f"{COMMON},attention_format,kv_format,sequences,prompt_tokens,query_heads,kv_heads,head_dim",
        f"{GPU},bfloat16,bfloat16,1,4096,32,8,128",
    ),
    "mla_decode": (
        f"{COMMON},weights_format,kv_format,query_heads,sequences,context_tokens",
        f"{GPU},bfloat16,fp8,128,16,4096",
    ),
    "mla_prefill": (
        f"{COMMON},weights_format,kv_format,query_heads,sequences,prompt_tokens",
        f"{GPU},bfloat16,bfloat16,128,1,4096",
    ),
    "mla_products": (f"{COMMON},product,format,tokens,query_heads", f"{GPU},mla_gen_pre,fp8,64,128"),
    "moe": (
        f"{COMMON},format,distribution,tokens,hidden_size,expert_intermediate_size,experts_per_token,experts,"
        "expert_tp,expert_ep",
        f"{GPU},fp8_block,power_law_1.2,64,7168,2048,8,256,1,8",
    ),
    "collectives": (f"{COMMON},operation,gpus,message_bytes", f"{GPU},all_reduce,8,65536"),
    "expert_exchange": (
        "gpu,engine,version,backend,phase,format,gpus,nodes,hidden_size,experts_per_token,experts,"
        "tokens_per_gpu",
        "H100-80GB-SXM,sglang,0.5,deepep_ll,dispatch,fp8,8,1,7168,8,256,64",
    ),
    "gated_delta_net": (
        f"{COMMON},phase,sequences,tokens_per_sequence,hidden_size,num_k_heads,head_k_dim,num_v_heads,"
        "head_v_dim",
        f"{GPU},context,1,1024,2048,16,128,32,128",
    ),
}


@pytest.fixture
def told(capsys):
    def told(*words, code=0):
        ended = cli.run([str(word) for word in words])
        found = capsys.readouterr()
        assert ended == code, found.err
        return found.out or found.err

    return told


def written(tmp_path, header, *lines):
    path = tmp_path / "table.csv"
    path.write_text("\n".join([f"{header},latency_us", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", TABLES)
def test_every_operator_has_a_time(kind, told, tmp_path):
    header, row = TABLES[kind]
    path = written(tmp_path, header, f"{row},100", f"{row.replace('H100-80GB-SXM', 'H900')},100")
    answer = json.loads(told("validate", path, "--json", "--out", tmp_path / "out.csv"))
    assert answer["operator"] == kind
    first, second = answer["predictions"]
    assert (first["row"], first["measured_us"], first["skipped"]) == (1, 100.0, "")
    assert 0.5 < first["predicted_us"] < 5000.0
    assert second["predicted_us"] is None
    assert 'GPU "H900" is not in the catalog' in second["skipped"]
    with (tmp_path / "out.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == ["row", "measured_us", "predicted_us", "class", "skipped"]
    assert [row["row"] for row in rows] == ["1", "2"]
    assert float(rows[0]["predicted_us"]) == pytest.approx(first["predicted_us"], rel=1e-4)
    assert answer["errors"][0]["group"] == "all"
    assert answer["errors"][0]["rows"] == 1


def test_more_work_takes_longer(told, tmp_path):
    header, _ = TABLES["gemm"]
    lines = [f"{GPU},bfloat16,{m},4096,4096,100" for m in (16, 1024, 16384)]
    answer = json.loads(told("validate", written(tmp_path, header, *lines), "--json"))
    times = [row["predicted_us"] for row in answer["predictions"]]
    assert times == sorted(times)
    assert times[2] > 4.0 * times[1]


def test_the_page(told, tmp_path):
    header, row = TABLES["moe"]
    page = told("validate", written(tmp_path, header, f"{row},100"))
    assert "1 of 1 rows of moe predicted" in page
    assert "h100-80gb-sxm" in page


def test_unstated_ranks_are_a_reason(told, tmp_path):
    header, row = TABLES["expert_exchange"]
    path = written(tmp_path, header, f"{row.replace(',8,1,7168', ',,1,7168')},100")
    answer = json.loads(told("validate", path, "--json"))
    assert answer["skipped"] == {"the number of GPUs is not stated": 1}
    assert answer["errors"] == []


def test_broken_tables_say_where(told, tmp_path):
    header, row = TABLES["gemm"]
    lines = [f"{row},100", f"{row.replace(',16,', ',0,')},100", f"{row},", f"{row}", f"{row},-3"]
    said = told("validate", written(tmp_path, header, *lines), code=2)
    assert 'table.csv:3: m_tokens: found "0", expected a number above zero' in said
    assert "table.csv:4: latency_us: found nothing, expected a number above zero" in said
    assert "table.csv:5: found 8 cells, expected 9 cells" in said
    assert 'table.csv:6: latency_us: found "-3"' in said
    misspelled = written(tmp_path, header.replace("m_tokens", "m_token"), f"{row},100")
    said = told("validate", misspelled, code=2)
    assert "table.csv:1: m_token: found an unknown column" in said
    assert 'Maybe "m_tokens"' in said
    assert "at least one measured time" in told("validate", written(tmp_path, header), code=2)
