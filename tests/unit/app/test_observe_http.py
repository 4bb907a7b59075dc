"""Pages over HTTP: two samples, and everything that a server may do wrong."""

import socket
import threading

import pytest

from planner.app.observe import AUTHORIZATION, from_metrics, from_prometheus
from planner.errors import InputError
from planner.loaders import exposition, http
from tests.http_servers import reply, serving
from tests.metric_pages import saturate, serve_well, vllm

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@pytest.fixture(autouse=True)
def _direct(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def refusal(url, ask=from_metrics):
    with pytest.raises(InputError) as refused:
        ask([url] if ask is from_metrics else url)
    (fault,) = refused.value.faults
    return fault


def test_an_address_is_fetched_twice():
    exporter = vllm()
    serve_well(exporter)
    pages = [exporter.text()]
    saturate(exporter)
    pages.append(exporter.text())
    with serving(lambda request, _: reply(request, pages.pop(0))) as url:
        readout = from_metrics([f"{url}/metrics"], interval_s=0.2)
    assert not pages
    assert readout.observation.prefix_hit_ratio == 0.31
    assert readout.observation.preemptions_per_s == pytest.approx(90 / 0.2, rel=0.9)
    assert not [note for note in readout.notes if note.kind == "lifetime"]


@pytest.mark.parametrize("kind", ["text/plain; version=0.0.4", OPENMETRICS, None, "application/octet-stream"])
def test_kinds_of_pages(kind):
    exporter = vllm()
    saturate(exporter)
    page = exporter.openmetrics() if kind == OPENMETRICS else exporter.text()
    with serving(lambda request, _: reply(request, page, kind)) as url:
        assert from_metrics([url]).observation.kv_usage_ratio == 0.97


@pytest.mark.parametrize(
    ("data", "kind", "status", "said"),
    [
        (b"<html>hello</html>", "text/html", 200, "a web page"),
        (b"[]", "application/json", 200, "JSON"),
        (b"\x0a\x05hello", "application/vnd.google.protobuf", 200, "application/vnd.google.protobuf"),
        (b"x 1\n", OPENMETRICS, 200, "cut off"),
        (b"", "text/plain", 200, "an empty page"),
        (b"x y z\n", "text/plain", 200, "text that is no metric"),
        (b"gone", "text/plain", 404, "404 (Not Found)"),
        (b"no", "text/plain", 403, "403 (Forbidden)"),
        (b"oh", "text/plain", 500, "500 (Internal Server Error)"),
        (b"", "text/plain", 204, "an empty page"),
    ],
)
def test_answers_that_are_no_page(data, kind, status, said):
    with serving(lambda request, _: reply(request, data, kind, status)) as url:
        assert said in refusal(url).found


def test_redirects_are_shown_and_not_followed():
    seen = []

    def handle(request, _):
        seen.append(request.path)
        reply(request, b"", status=302, Location="/elsewhere")

    with serving(handle) as url:
        fault = refusal(f"{url}/metrics")
        assert f"a redirect to {url}/elsewhere, which is not followed" in fault.found
        assert fault.maybe == f'"{url}/elsewhere"'
    assert seen == ["/metrics"]


def test_a_silent_server_is_given_up(monkeypatch):
    monkeypatch.setattr(http, "READ_S", 0.2)
    done = threading.Event()
    with serving(lambda request, _: done.wait(20)) as url:
        assert "no answer within" in refusal(url).found
        done.set()


def test_a_server_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(http, "TOTAL_S", 0.3)
    done = threading.Event()

    def drip(request, _):
        request.send_response(200)
        request.end_headers()
        while not done.wait(0.05):
            request.wfile.write(b"# x\n")

    with serving(drip) as url:
        assert "no whole answer within" in refusal(url).found
        done.set()


def test_a_body_over_the_limit_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr("planner.loaders.scrape.MAX_BYTES", 100_000)
    sent = []

    def pour(request, _):
        request.send_response(200)
        request.end_headers()
        for _number in range(1000):
            request.wfile.write(b"# comment\n" * 10_000)
            sent.append(1)

    with serving(pour) as url:
        assert "more than 0.1 MB" in refusal(url).found
    assert len(sent) < 1000


def test_the_limit_holds_for_files_too(tmp_path, monkeypatch):
    monkeypatch.setattr(exposition, "MAX_BYTES", 1000)
    monkeypatch.setattr("planner.loaders.scrape.MAX_BYTES", 1000)
    path = tmp_path / "page"
    path.write_bytes(b"# comment\n" * 1000)
    assert "more than" in refusal(str(path)).found


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert "no connection" in refusal(url).found
    assert "no connection" in refusal(url, from_prometheus).found


def test_a_connection_that_breaks_off():
    def hang_up(request, _):
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        request.wfile.write(b"x 1\n")
        request.close_connection = True

    with serving(hang_up) as url:
        assert "broke off" in refusal(url).found


def test_compression_that_is_none():
    with serving(lambda request, _: reply(request, b"no gzip", Content_Encoding="gzip")) as url:
        assert "compression" in refusal(url).found


@pytest.mark.parametrize(
    "url",
    ["ftp://host/metrics", "file:///etc/passwd", "http://", "http://host:99999/", "http://a b/", "http://[/"],
)
def test_addresses_that_are_none(url):
    assert "no address" in refusal(url).found
    assert "no address" in refusal(url, from_prometheus).found


def test_passwords_are_not_shown():
    with serving(lambda request, _: reply(request, b"", status=500)) as url:
        fault = refusal(url.replace("http://", "http://me:secret@") + "/metrics?token=secret")
    assert "secret" not in str(fault)


def test_a_bad_authorization_is_refused_and_not_shown(monkeypatch):
    monkeypatch.setenv(AUTHORIZATION, "Bearer schlüssel")
    fault = refusal("http://127.0.0.1:1", from_prometheus)
    assert AUTHORIZATION in fault.where
    assert "schl" not in str(fault)
