"""A Prometheus server says the same as the pages it scraped; what it does not answer stays unknown."""

import json
import shutil
import socket
import subprocess
import time
import urllib.parse

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from planner.app.observe import AUTHORIZATION, from_metrics, from_prometheus
from planner.errors import InputError
from tests.http_servers import reply, serving

LABELS = {"model_name": "llama", "engine": "0"}
RATES = {"queue_growth_per_s", "request_rate_rps", "preemptions_per_s", "eviction_ratio"}
TTFT = (("0.5", 20), ("1.0", 70), ("2.5", 98), ("5.0", 99.5), ("+Inf", 100))
ITL = (("0.025", 100), ("0.05", 940), ("0.075", 995), ("+Inf", 1000))


class Server:
    """A server whose counters grow evenly: every page is a function of the time alone."""

    def __init__(self, at_s):
        self.at_s = at_s

    def collect(self):
        names, values = list(LABELS), list(LABELS.values())
        # Far from zero, so that nothing is cut off where Prometheus looks back beyond the first sample.
        passed = 100_000 + self.at_s()
        for name, value in (
            ("num_requests_running", 210),
            ("num_requests_waiting", 14 + 2 * self.at_s()),
            ("kv_cache_usage_perc", 0.97),
        ):
            gauge = GaugeMetricFamily(f"vllm:{name}", "…", labels=names)
            gauge.add_metric(values, value)
            yield gauge
        for name, per_s in (
            ("num_preemptions", 6),
            ("prefix_cache_queries", 1000),
            ("prefix_cache_hits", 310),
            ("request_success", 20),
        ):
            counter = CounterMetricFamily(f"vllm:{name}", "…", labels=names)
            counter.add_metric(values, per_s * passed)
            yield counter
        for name, per_s in (("time_to_first_token_seconds", TTFT), ("inter_token_latency_seconds", ITL)):
            histogram = HistogramMetricFamily(f"vllm:{name}", "…", labels=names)
            histogram.add_metric(values, [(edge, count * passed) for edge, count in per_s], 1.0)
            yield histogram

    def page(self, write):
        registry = CollectorRegistry()
        registry.register(self)
        return write(registry)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(autouse=True)
def _direct(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def from_pages(tmp_path):
    """What two pages say that lie ten seconds apart."""
    for name, at_s in (("before", 50.0), ("after", 60.0)):
        (tmp_path / name).write_bytes(Server(lambda at_s=at_s: at_s).page(generate_latest))
    return from_metrics([str(tmp_path / "before"), str(tmp_path / "after")], interval_s=10)


CONFIG = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}
scrape_configs:
  - {{job_name: colons, metrics_path: /text, static_configs: [{{targets: ["{target}"]}}]}}
  - {{job_name: underscores, metrics_path: /openmetrics, static_configs: [{{targets: ["{target}"]}}]}}
"""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """A real server that has scraped both spellings for a while."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus here (Debian: apt-get install prometheus): its answers stay unchecked")
    folder = tmp_path_factory.mktemp("prometheus")
    start = time.monotonic()
    server = Server(lambda: time.monotonic() - start)

    def handle(request, _):
        if request.path == "/text":
            reply(request, server.page(generate_latest), "text/plain; version=0.0.4")
        else:
            reply(request, server.page(generate_openmetrics), OPENMETRICS)

    with serving(handle) as url:
        port = free_port()
        (folder / "config.yml").write_text(CONFIG.format(target=url.removeprefix("http://")))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    program,
                    f"--config.file={folder}/config.yml",
                    f"--storage.tsdb.path={folder}/data",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdout=log,
                stderr=log,
            )
            try:
                address = f"http://127.0.0.1:{port}"
                wait_for(address, folder / "log")
                yield address
            finally:
                process.terminate()
                process.wait(20)


def wait_for(address, log):
    """Until both jobs have been scraped for longer than the range that is asked for."""
    query = {"query": 'min(count_over_time(up{job=~"colons|underscores"}[1m])) > 25'}
    for _ in range(300):
        try:
            answer = httpx.get(f"{address}/api/v1/query", params=query, trust_env=False).json()
            if answer["data"]["result"]:
                return
        except (httpx.HTTPError, ValueError, KeyError):
            pass
        time.sleep(0.1)
    pytest.fail(f"prometheus did not get ready: {log.read_text()[-2000:]}")


@pytest.mark.parametrize("job", ["colons", "underscores"])
def test_a_real_server_says_the_same_as_the_pages(prometheus, from_pages, job):
    readout = from_prometheus(prometheus, range_s=4, selector=f'job="{job}"')
    expected = from_pages.observation.model_dump(exclude_unset=True)
    found = readout.observation.model_dump(exclude_unset=True)
    assert set(found) == set(expected)
    assert len(found) == 19
    # The queue grows all the time: its depth is that of another moment. Rates hang on when pages came.
    for name in set(expected) - RATES - {"queue_depth"}:
        near = expected[name] if isinstance(expected[name], str) else pytest.approx(expected[name], rel=0.01)
        assert found[name] == near, name
    for name in RATES:
        assert found[name] == pytest.approx(expected[name], rel=0.5), name
    for name in ("ttft_p50_s", "ttft_p99_s", "itl_p50_s", "itl_p99_s"):
        here, there = readout.readings[name], from_pages.readings[name]
        assert (here.low, here.high) == (there.low, there.high)
    assert not [note for note in readout.notes if note.kind in ("partial", "lifetime")]


def test_its_own_percentile_is_ours(prometheus):
    query = (
        'histogram_quantile(0.99, sum by (le) (rate({__name__=~"vllm[:_]time_to_first_token_seconds_bucket",'
        'job="colons"}[4s])))'
    )
    answer = httpx.get(f"{prometheus}/api/v1/query", params={"query": query}, trust_env=False).json()
    theirs = float(answer["data"]["result"][0]["value"][1])
    ours = from_prometheus(prometheus, range_s=4, selector='job="colons"').observation.ttft_p99_s
    assert ours == pytest.approx(theirs, rel=0.01)


def test_both_jobs_are_two_replicas(prometheus):
    readout = from_prometheus(prometheus, range_s=4)
    assert readout.observation.replicas_idle_ratio == 0
    assert readout.observation.request_rate_rps == pytest.approx(40, rel=0.5)


def test_nothing_fits_the_selector(prometheus):
    readout = from_prometheus(prometheus, selector='job="neither"')
    assert readout.observation.model_fields_set == set()
    assert readout.exporters == ()


def stored(answers):
    """A server that knows these answers by a part of the query."""

    def handle(request, body):
        query = urllib.parse.parse_qs(body.decode())["query"][0]
        status, value = next((answer for part, answer in answers.items() if part in query), (200, vector()))
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        reply(request, data, "application/json", status)

    return handle


def vector(*rows):
    result = [{"metric": labels, "value": [1.7e9, value]} for labels, value in rows]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


NAMES = vector(
    *(
        ({"__name__": f"vllm:{name}"}, "1")
        for name in ("kv_cache_usage_perc", "num_requests_waiting", "num_preemptions_total")
    )
)


def test_partial_answers_leave_the_rest_unknown():
    answers = {
        "count by": (200, NAMES),
        "kv_cache": (200, vector((LABELS, "0.5"))),
        "deriv": (200, vector((LABELS, "NaN"))),
        "waiting": (503, {"status": "error", "errorType": "timeout", "error": "query timed out"}),
        "preemptions": (200, b"{"),
    }
    with serving(stored(answers)) as url:
        readout = from_prometheus(url)
    found = readout.observation.model_dump(exclude_unset=True)
    assert found == {"kv_usage_ratio": 0.5, "engine": "vllm", "model": "llama"}
    said = [note.text for note in readout.notes if note.kind == "partial"]
    assert any("num_requests_waiting: the error query timed out" in text for text in said)
    assert any("num_preemptions_total" in text for text in said)


@pytest.mark.parametrize(
    ("status", "value", "said"),
    [
        (200, b"<html>Grafana</html>", "an answer of the type application/json"),
        (401, b"", "401 (Unauthorized)"),
        (404, b"404 page not found", "404 (Not Found)"),
        (400, {"status": "error", "error": "parse error"}, "parse error"),
        (200, {"status": "success", "data": {"result": [{"metric": 1}]}}, "another form"),
        (200, {"status": "success"}, "another form"),
        (200, b"[" * 100_000, "an answer of the type"),
        (302, b"", "a redirect"),
    ],
)
def test_a_first_answer_that_is_none(status, value, said):
    with serving(stored({"": (status, value)})) as url, pytest.raises(InputError) as refused:
        from_prometheus(url)
    assert said in str(refused.value)


def test_the_authorization_goes_along_and_the_range_into_the_query(monkeypatch):
    monkeypatch.setenv(AUTHORIZATION, "Bearer abc")
    seen = []

    def handle(request, body):
        query = urllib.parse.parse_qs(body.decode())["query"][0]
        seen.append((request.path, request.headers["Authorization"], query))
        reply(request, json.dumps(NAMES if "count by" in query else vector()).encode(), "application/json")

    with serving(handle) as url:
        from_prometheus(f"{url}/", range_s=900, selector='pod="a"')
    assert {path for path, _, _ in seen} == {"/api/v1/query"}
    assert {authorization for _, authorization, _ in seen} == {"Bearer abc"}
    assert 'rate({__name__="vllm:num_preemptions_total",pod="a"}[900s])' in [query for _, _, query in seen]


@pytest.mark.parametrize(("range_s", "selector"), [(0, ""), (1e9, ""), (float("nan"), ""), (300, "} or {")])
def test_ranges_and_selectors_that_cannot_be(range_s, selector):
    with pytest.raises(InputError):
        from_prometheus("http://127.0.0.1:1", range_s, selector)
