"""Pages of metrics: formats, limits, and lines that cannot be read."""

import pytest

from planner.errors import InputError
from planner.loaders import exposition
from planner.loaders.exposition import read_page
from tests.metric_pages import saturate, vllm

WANTED = {"vllm_num_requests_running", "x_bucket"}


def refusal(data, wanted=WANTED):
    with pytest.raises(InputError) as refused:
        read_page(data, "page", wanted)
    return refused.value.faults


def test_both_spellings_are_one_name():
    exporter = vllm()
    saturate(exporter)
    pages = [read_page(data, "page", WANTED) for data in (exporter.text(), exporter.openmetrics())]
    assert pages[0].samples == pages[1].samples
    assert [(sample.name, sample.value) for sample in pages[0].samples] == [
        ("vllm_num_requests_running", 210)
    ]


def test_openmetrics_of_two_engines_with_exemplars():
    data = (
        b"# TYPE x histogram\n"
        b'x_bucket{engine="0",le="+Inf"} 3 # {trace_id="ab c"} 0.5 1.7e9\nx_count{engine="0"} 3\n'
        b'x_bucket{engine="1",le="+Inf"} 4\nx_count{engine="1"} 4\n# EOF\n'
    )
    page = read_page(data, "page", WANTED)
    assert [(sample.labels, sample.value, sample.time_s) for sample in page.samples] == [
        ({"engine": "0", "le": "+Inf"}, 3, None),
        ({"engine": "1", "le": "+Inf"}, 4, None),
    ]


def test_times_of_plain_text_are_milliseconds():
    (sample,) = read_page(b"vllm:num_requests_running 3 1700000000500\n", "page", WANTED).samples
    assert sample.time_s == 1_700_000_000.5


def test_every_bad_line_is_named():
    faults = refusal(
        b'vllm:num_requests_running 1\nhello world\nx{a="1} 2\n\nvllm:num_requests_running abc\n'
    )
    assert [fault.where for fault in faults] == ["page:2", "page:3", "page:5"]


def test_only_so_many_faults_are_shown():
    assert len(refusal(b"# TYPE up gauge\n" + b"no metric here\n" * 1000)) == exposition.MAX_FAULTS


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an empty page"),
        (b"# HELP x y\n", "no metric"),
        (b"<html><body>404</body></html>", "a web page"),
        (b'{"iterations": []}', "/prometheus/metrics"),
        (b"x 1\n\xff 2\n", "0xff"),
        (b"\x00\x01\x02", "expected metrics as text"),
        (b'# TYPE x gauge\nx{a="' + b"b" * 20_000 + b'"} 1', "a line of 20009 characters"),
    ],
)
def test_what_is_no_page_of_metrics(data, said):
    assert said in " ".join(str(fault) for fault in refusal(data))


def test_a_page_over_the_limit_is_refused_unread():
    (fault,) = refusal(b"x" * (exposition.MAX_BYTES + 1))
    assert "more than 6 MB" in fault.found
    assert "--prometheus" in fault.maybe


def test_numbers_too_large_to_be_numbers_do_not_hurt():
    page = read_page(b"vllm:num_requests_running " + b"9" * 4000, "page", WANTED)
    assert page.samples[0].value == float("inf")
