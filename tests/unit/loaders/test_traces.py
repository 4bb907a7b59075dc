# ruff: noqa: E501  (messages stand here as they are shown)
"""Recorded requests of four layouts."""

import re
from pathlib import Path

import numpy as np
import pytest

from planner.errors import InputError
from planner.loaders.traces import read_trace

SHARED = Path(__file__).parents[4] / "shared" / "traces"


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no {path}")
    return path


def written(tmp_path, text):
    path = tmp_path / "trace.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as problem:
        read_trace(path)
    return str(problem.value).replace(str(path), "trace.csv").splitlines()


@pytest.mark.parametrize(
    ("name", "rows", "span_s", "input_p50", "input_p99", "output_p50"),
    [  # the figures of the README beside the files
        ("azure_llm_2023_conv.csv", 19_366, 3501.7, 1020, 4142, 129),
        ("mooncake_fast25_conversation.jsonl", 12_031, 3537.0, 6909, 85_401, 350),
        ("arxiv_summarization_lengths.csv", 28_257, None, 2730, 3934, 167),
    ],
)
def test_published_traces(name, rows, span_s, input_p50, input_p99, output_p50):
    trace = read_trace(shared(name))
    assert len(trace.input_tokens) == len(trace.output_tokens) == rows
    if span_s is None:
        assert trace.arrival_s is None
    else:
        assert trace.arrival_s[-1] == pytest.approx(span_s, abs=0.06)
        assert np.all(np.diff(trace.arrival_s) >= 0)
    assert np.percentile(trace.input_tokens, 50) == input_p50
    assert np.percentile(trace.input_tokens, 99) == pytest.approx(input_p99, abs=1)
    assert np.percentile(trace.output_tokens, 50) == output_p50


def test_azure_times_have_seven_decimals(tmp_path):
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
    trace = read_trace(written(tmp_path, text))
    assert trace.arrival_s.tolist() == pytest.approx([0, 4.314579], abs=1e-6)


BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
BURST_NEW = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"


def test_both_layouts_of_burstgpt_without_failures(tmp_path):
    old = read_trace(
        written(tmp_path, BURST + "9,GPT-4,5,7,12,API log\n5,ChatGPT,472,18,490,x\n6,ChatGPT,10,0,10,x\n")
    )
    new = read_trace(
        written(tmp_path, BURST_NEW + '5,1,3.2,ChatGPT,472,18,490,x\n9,2,1.0,GPT-4,5,7,12,"a,b"\n')
    )
    for trace in (old, new):
        assert trace.arrival_s.tolist() == [0, 4]
        assert trace.input_tokens.tolist() == [472, 5]
        assert trace.output_tokens.tolist() == [18, 7]


def test_mooncake_times_are_milliseconds(tmp_path):
    lines = ['{"timestamp": 1500, "input_length": 5, "output_length": 6, "hash_ids": [1]}', ""]
    lines += ['{"timestamp": 4000, "input_length": 7, "output_length": 8}']
    trace = read_trace(written(tmp_path, "\n".join(lines)))
    assert trace.arrival_s.tolist() == [0, 2.5]
    assert trace.input_tokens.tolist() == [5, 7]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", r"trace.csv:1: found an empty file, expected a trace of a known layout: .*"),
        (
            "a,b\n1,2\n",
            r"trace.csv:1: found a first line without any known column, expected a trace of a known layout: .*",
        ),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
            r"trace.csv:1: found a git-lfs pointer instead of the file it stands for, expected .*",
        ),
        (b"\xff\xfe\x00", r"trace.csv:1: found bytes that are no text, expected .*"),
        (
            BURST + "1,m,x,5,5,l\n",
            r'trace.csv:2: Request tokens: found "x", expected a whole number of tokens, .*',
        ),
        (
            BURST + "1,m,-4,5,5,l\n",
            r'trace.csv:2: Request tokens: found "-4", expected a whole number of tokens, .*',
        ),
        (
            BURST + "1,m\n",
            r"trace.csv:2: Request tokens: found nothing, expected a whole number of tokens, .*",
        ),
        (BURST + "nan,m,4,5,5,l\n", r'trace.csv:2: Timestamp: found "nan", expected a time\.'),
        (BURST + "1,m,4,0,4,l\n", r"trace.csv: found no answered request, expected at least one row .*"),
        (
            '{"timestamp": 0}\n',
            r"trace.csv:1: input_length: found nothing, expected a whole number of tokens, .*",
        ),
        (
            '{"timestamp": 0\n',
            r"trace.csv:1: found broken JSON at column 16 .*, expected one JSON object a line\.",
        ),
        ("{}\n[1]\n", r"trace.csv:2: found a list, expected one JSON object a line\."),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n",
            r'trace.csv:2: TIMESTAMP: found "yesterday", expected a time\.',
        ),
        ('"' + "x" * 200_000 + '"\n', r"trace.csv:1: found an empty file, expected .*"),
    ],
)
def test_everything_else_is_refused(tmp_path, text, pattern):
    found = refused(tmp_path, text)
    assert len(found) == 1
    assert re.fullmatch(pattern, found[0])


def test_bad_rows_are_shown_together_up_to_a_limit(tmp_path):
    assert len(refused(tmp_path, BURST + "1,m,x,5,5,l\n" * 3)) == 3
    assert len(refused(tmp_path, BURST + "1,m,x,5,5,l\n" * 300)) == 20


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="found no such file, expected a file that can be read"):
        read_trace(tmp_path / "none.csv")
