# ruff: noqa: E501  (messages stand here as they are shown)
"""Recorded requests of four layouts."""

import re
from pathlib import Path

import numpy as np
import pytest

from planner.errors import InputError
from planner.loaders import trace_counts
from planner.loaders.trace_hours import hours_of, summary
from planner.loaders.traces import read_trace
from planner.schema.traces import TraceColumns

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
        (
            "{}\n",
            r"trace.csv:1: found an object without any known key, expected a trace of a known layout: .*",
        ),
        (
            '{"timestamp": 1, "input_length": 2, "output_length": 3}\n[1]\n',
            r"trace.csv:2: found a list, expected one JSON object a line\.",
        ),
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


MINE = TraceColumns(time="ts", input="in", output="out")


def mapped(tmp_path, text, columns=MINE):
    return read_trace(written(tmp_path, text), columns)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("ts,in,out\n10,5,6\n12.5,7,8\n", MINE),
        ("out,x,in,ts\n6,,5,2026-11-23T00:00:00Z\n8,,7,2026-11-23T01:00:02.500000+01:00\n", MINE),
        ('{"ts": 10, "in": 5, "out": 6}\n{"ts": 12.5, "in": 7, "out": 8}\n', MINE),
        ("ts,in,out\n10000,5,6\n12500,7,8\n", TraceColumns(time_ms="ts", input="in", output="out")),
        ("ts,in,out\n10000000,5,6\n12500000,7,8\n", TraceColumns(time_us="ts", input="in", output="out")),
        (
            '{"at": {"s": 1}, "usage": {"i": 5, "o": 6}}\n{"at": {"s": 3.5}, "usage": {"i": 7, "o": 8}}\n',
            TraceColumns(time="at.s", input="usage.i", output="usage.o"),
        ),
    ],
)
def test_any_layout_by_its_columns(tmp_path, text, columns):
    trace = mapped(tmp_path, text, columns)
    assert trace.arrival_s.tolist() == pytest.approx([0, 2.5])
    assert (trace.input_tokens.tolist(), trace.output_tokens.tolist()) == ([5, 7], [6, 8])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,in,out\n1,2,3\n", 'trace.csv:1: found the columns "time, in, out", expected the columns "ts"'),
        ("", "found an empty file, expected the columns"),
        ("ts,in,out\n-5,2,3\n", 'ts: found "-5", expected a time (seconds or a date) of zero or more'),
        ("ts,in,out\n1,-2,3\n", 'in: found "-2", expected a whole number of tokens'),
        ("ts,in,out\n1,2,3\n2026-11-23 10:00:00,2,3\n", "trace.csv:3: ts: found "),
        ("ts,in,out\n1,2,3\n{}\n", "trace.csv:3: ts: found "),
        ("ts,in,out\n1700000000000,2,3\n", "Maybe time_ms, time_us or time_ns?"),
        (
            "ts,in,out\n1,2,3\n90000000,2,3\n",
            "found arrivals over 1,042 days, expected a trace of at most 400",
        ),
        ('{"ts": 1, "in": 2, "out": 3}\nts,in,out\n', "trace.csv:2: found"),
    ],
)
def test_bad_traces_of_other_layouts(tmp_path, text, words):
    with pytest.raises(InputError) as problem:
        mapped(tmp_path, text)
    assert words in str(problem.value).replace(str(tmp_path) + "/", "")


def test_an_unknown_layout_gets_a_mapping_to_try(tmp_path):
    (found,) = refused(tmp_path, "Arrival,prompt_tokens,completion_tokens\n")
    assert 'Maybe --columns "time=Arrival,input=prompt_tokens,output=completion_tokens"' in found


def test_rows_out_of_order_are_sorted_and_said(tmp_path):
    trace = mapped(tmp_path, "ts,in,out\n5,1,1\n3,2,2\n9,3,3\n")
    assert trace.arrival_s.tolist() == [0, 2, 6]
    assert trace.input_tokens.tolist() == [2, 1, 3]
    assert trace.notes == ("1 rows were earlier than the row before: sorted by time",)


def test_prefixes_of_an_unbounded_cache(tmp_path):
    rows = ["[1, 2, 3]", "[1, 2, 4]", "[2, 1]", "[1, 2, 3, 4]"]
    lines = [f'{{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": {row}}}' for row in rows]
    # Of 12 blocks: 1 2 of the second, both of the third (2 and 1 were seen), all of the last.
    assert read_trace(written(tmp_path, "\n".join(lines))).prefix_share == pytest.approx(8 / 12)


def test_published_prefixes():
    assert read_trace(shared("mooncake_fast25_conversation.jsonl")).prefix_share == pytest.approx(
        0.366, abs=2e-3
    )


def test_huge_traces_keep_every_nth_request_and_count_all(tmp_path, monkeypatch):
    rows = [f"{second * 0.25},{second % 100 + 1},7" for second in range(10_000)]
    path = written(tmp_path, "ts,in,out\n" + "\n".join(rows))
    whole = read_trace(path, MINE)
    monkeypatch.setattr(trace_counts, "MOST_KEPT", 1000)
    thinned = read_trace(path, MINE)
    assert whole.counts is None
    assert whole.requests == thinned.requests == 10_000
    assert thinned.input_tokens.size < 1000
    assert thinned.input_tokens.mean() == pytest.approx(50.5, rel=0.1)
    assert thinned.counts == trace_counts.counted(whole.arrival_s)
    with pytest.raises(InputError, match="expected rows by time"):
        read_trace(written(tmp_path, "ts,in,out\n" + "\n".join(reversed(rows))), MINE)


def week(tmp_path, days, per_hour=120):
    """Requests at an even pace, twice as many from noon on."""
    lines, rng = [], np.random.default_rng(0)
    for hour in range(24 * days):
        many = per_hour * (2 if hour % 24 >= 12 else 1)
        times = np.sort(rng.random(many)) * 3600.0 + hour * 3600.0
        lines += [f"{time:.3f},100,10" for time in times]
    return mapped(tmp_path, "ts,in,out\n" + "\n".join(lines))


@pytest.mark.parametrize(("days", "periods"), [(1, 24), (3, 24), (7, 168), (8, 168)])
def test_days_and_weeks_become_hours(tmp_path, days, periods):
    hours = hours_of(week(tmp_path, days))
    assert len(hours) == periods
    assert hours[3].mean_rps == pytest.approx(120 / 3600, rel=0.05)
    assert hours[15].mean_rps == pytest.approx(240 / 3600, rel=0.05)
    assert all(hour.peak_rps >= hour.mean_rps for hour in hours)
    assert hours[15].burstiness == pytest.approx(1.0, abs=0.35)  # uniform instants: nearly Poisson


def test_shorter_traces_are_one_rate(tmp_path):
    assert hours_of(mapped(tmp_path, "ts,in,out\n0,1,1\n60000,1,1\n")) == ()


def test_a_summary_says_what_is_planned(tmp_path):
    taken = summary(week(tmp_path, 1), "mine.csv")
    assert taken.requests == 4320
    assert "planned as the 24 hours of a day" in taken.text
    assert taken.mean_rps == pytest.approx(0.05, rel=0.02)
