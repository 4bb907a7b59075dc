"""``planner calibrate --reference`` on small tables that the shipped numbers made: it finds them again."""

from __future__ import annotations

import csv
import itertools

import pytest
import yaml

from planner.interfaces.cli import run
from planner.loaders.catalog import load_catalog

LATENCY = "id,engine,engine_version,model,gpu,mode,weight_precision,isl,osl,concurrency,n_gpus,tp,speculation"
LATENCY += ",ttft_ms,tpot_ms"
OFFLINE = (
    "id,engine,engine_version,model,gpu,weight_precision,n_gpus,tp,scenario,isl_mean,osl_mean,output_tok_s"
)
PRODUCTS = "gpu,engine,version,kernel,format,m_tokens,n_outputs,k_inputs,latency_us"
MODELS, GPUS = ("Llama-3.1-8B", "Qwen3-32B"), ("H100 SXM 80GB", "H200 SXM 141GB")
TABLES = {
    "measurements/serving_latency.csv": (
        LATENCY,
        [
            f"L{place},vllm,0.22.0,{model},{gpu},agg,fp8,1000,200,{clients},1,1,none"
            for place, (model, gpu, clients) in enumerate(itertools.product(MODELS, GPUS, (1, 8, 32)))
        ],
        ("predicted_ttft_ms", "predicted_tpot_ms"),
    ),
    "measurements/public.csv": (
        OFFLINE,
        [
            f"P{place},vllm,0.22.0,{model},{gpu},fp8,1,1,offline_max,{tokens},200"
            for place, (model, gpu, tokens) in enumerate(itertools.product(MODELS, GPUS, (500, 2000)))
        ],
        ("predicted_output_tok_s",),
    ),
    "operators/gemm.csv": (
        PRODUCTS,
        [
            f"H100-80GB-SXM,vllm,0.22.0,any,bfloat16,{tokens},{outputs},{inputs}"
            for tokens, outputs, inputs in itertools.product(
                (1, 16, 64, 256, 1024, 4096, 16384), (2048, 4096, 8192, 14336), (4096, 8192)
            )
        ],
        ("predicted_us",),
    ),
}


def written(path, header, rows, numbers):
    lines = [",".join([row, *map(str, found)]) for row, found in zip(rows, numbers, strict=True)]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Measurements and operators with the numbers that the shipped calibration predicts for them."""
    at = tmp_path_factory.mktemp("tables")
    for place, (header, rows, columns) in TABLES.items():
        path = at / place
        path.parent.mkdir(exist_ok=True)
        written(path, header, rows, [["1"] * len(columns)] * len(rows))
        assert run(["validate", str(path), "--out", str(at / "out.csv")]) == 0
        with (at / "out.csv").open(encoding="utf-8") as lines:
            numbers = [[row[name] for name in columns] for row in csv.DictReader(lines)]
        written(path, header, rows, numbers)
    return at


@pytest.fixture
def fit(folders, tmp_path):
    def fit(*flags):
        words = ["calibrate", "--reference", "--measurements", str(folders / "measurements")]
        return run([*words, "--out", str(tmp_path / "own.yaml"), "--docs", str(tmp_path / "own.md"), *flags])

    return fit


def test_a_fit_finds_the_numbers_again(fit, folders, tmp_path, capsys):
    assert fit("--operators", str(folders / "operators")) == 0
    assert "numbers fitted to" in capsys.readouterr().out
    shipped = load_catalog().calibration
    found = yaml.safe_load((tmp_path / "own.yaml").read_text(encoding="utf-8"))
    # Products of one kind on Hopper are fitted; what no table speaks of stays.
    own, kept = found["operators"]["hopper-9"], shipped.operators["hopper-9"]
    # Of 28 rows the prior of a launch, 8 us, still shows.
    for name, near in {"start_us/vllm": 0.35, "compute_fraction": 0.1, "memory_fraction": 0.1}.items():
        assert own["gemm.bf16"][name] == pytest.approx(kept["gemm.bf16"][name], rel=near)
    assert {name: item for name, item in own.items() if not name.startswith("gemm.")} == {
        name: item for name, item in kept.items() if not name.startswith("gemm.")
    }
    assert found["operators"]["blackwell-10"] == shipped.operators["blackwell-10"]
    # Steps that were made of these numbers are met, but for what priors hold back.
    assert found["fit"]["errors"]["fit"]["tpot: all"]["median"] <= 0.10
    assert found["fit"]["errors"]["fit"]["throughput: all"]["median"] <= 0.10
    page = (tmp_path / "own.md").read_text(encoding="utf-8")
    assert "| tpot: all | 12 |" in page
    assert "| gemm.bf16 | hopper-9 |" in page


def test_operators_of_a_new_architecture_need_all_of_a_step(fit, tmp_path, capsys):
    """A100 tables hold every operator; a table of V100 products alone makes no step."""
    header, rows, _ = TABLES["operators/gemm.csv"]
    folder = tmp_path / "operators"
    folder.mkdir()
    rows = [row.replace("H100-80GB-SXM", "V100-32GB-SXM2") for row in rows]
    written(folder / "gemm.csv", header, rows, [[str(10 + place)] for place in range(len(rows))])
    assert fit("--operators", str(folder)) == 2
    said = capsys.readouterr().err
    assert "--operators: volta-7: found numbers of gemm.bf16 alone" in said
    assert "decode_attention.bf16" in said
    assert not (tmp_path / "own.yaml").exists()


def test_rows_of_one_gpu_alone_are_refused(folders, tmp_path, capsys):
    """No GPU can be left out, so nobody could say how far its numbers carry."""
    one = tmp_path / "one"
    one.mkdir()
    for name in ("serving_latency.csv", "public.csv"):
        lines = (folders / "measurements" / name).read_text(encoding="utf-8").splitlines()
        (one / name).write_text(
            "\n".join(line for line in lines if "H200" not in line) + "\n", encoding="utf-8"
        )
    assert run(["calibrate", "--reference", "--measurements", str(one)]) == 2
    assert "rows of one GPU alone, expected two at least" in capsys.readouterr().err


def test_tables_without_one_of_the_numbers_are_refused(folders, tmp_path, capsys):
    some = tmp_path / "some"
    some.mkdir()
    name = "serving_latency.csv"
    (some / name).write_bytes((folders / "measurements" / name).read_bytes())
    words = ["calibrate", "--reference", "--measurements", str(some), "--out", str(tmp_path / "own.yaml")]
    assert run(words) == 2
    assert "no row that counts with throughput" in capsys.readouterr().err
    assert not (tmp_path / "own.yaml").exists()


@pytest.mark.parametrize(
    ("cells", "said"),
    [("x,4096,8192,9", '"x"'), ("1,4096,8192,-9", "-9")],
)
def test_broken_operators_are_refused_with_their_place(fit, tmp_path, capsys, cells, said):
    folder = tmp_path / "operators"
    folder.mkdir()
    line = f"H100-80GB-SXM,vllm,0.22.0,any,bfloat16,{cells}"
    (folder / "gemm.csv").write_text(f"{PRODUCTS}\n{line}\n", encoding="utf-8")
    assert fit("--operators", str(folder)) == 2
    printed = capsys.readouterr().err
    assert "gemm.csv:2" in printed
    assert said in printed
    assert not (tmp_path / "own.yaml").exists()


def test_a_folder_without_tables_of_operators_is_refused(fit, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert fit("--operators", str(tmp_path / "empty")) == 2
    assert "no table of operator times" in capsys.readouterr().err
