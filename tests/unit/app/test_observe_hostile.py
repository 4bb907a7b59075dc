"""What a hostile server may answer: slow, endless, packed, broken, or leading elsewhere."""

import gzip
import threading
import zlib

import pytest

from planner.app.observe import from_metrics, from_prometheus
from planner.errors import InputError
from planner.loaders import http
from tests.http_servers import raw, reply, serving


@pytest.fixture(autouse=True)
def _direct(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def refusal(url, ask=from_metrics):
    with pytest.raises(InputError) as refused:
        ask([url] if ask is from_metrics else url)
    (fault,) = refused.value.faults
    return fault


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP = OK + b"Content-Encoding: gzip\r\n"


@pytest.mark.parametrize(
    ("parts", "pause_s"),
    [
        ((OK, *(b"X-%d: y\r\n" % n for n in range(1000))), 0.02),
        (tuple(OK[n : n + 1] for n in range(len(OK))), 0.05),
        ((CHUNKED, *(b"1\r\n#\r\n" for _ in range(1000))), 0.02),
        ((OK + b"Content-Length: 1000\r\n\r\n", *(b"#" for _ in range(1000))), 0.02),
        ((b"HTTP/1.1 100 Continue\r\n\r\n",) * 1000, 0.02),
    ],
)
def test_no_slow_answer_escapes_the_total_limit(monkeypatch, parts, pause_s):
    monkeypatch.setattr(http, "TOTAL_S", 0.3)
    stop = threading.Event()
    with serving(lambda request, _: raw(request, *parts, pause_s=pause_s, stop=stop)) as url:
        for ask in (from_metrics, from_prometheus):
            assert "no whole answer within 0.3 s" in refusal(url, ask).found
        stop.set()


def test_all_addresses_share_one_limit(monkeypatch):
    monkeypatch.setattr("planner.app.observe.PAGES_S", 0.3)
    stop = threading.Event()
    with serving(lambda request, _: raw(request, OK, *[b"X: y\r\n"] * 99, pause_s=0.05, stop=stop)) as url:
        with pytest.raises(InputError) as caught:
            from_metrics([f"{url}/{n}" for n in range(50)])
        assert "no whole answer within 0.3 s" in caught.value.faults[0].found
        stop.set()


def bomb():
    """100 MB of nothing in 100 kB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b"\n" * 1_000_000) for _ in range(100)) + packer.flush()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (GZIP + b"\r\n" + bomb(), "more than 6 MB"),
        (GZIP + b"\r\n" + gzip.compress(b"x 1\n", mtime=0)[:-9], "compression"),
        (GZIP + b"\r\n\x1f\x8b\x08garbage", "compression"),
        (OK + b"Content-Encoding: gzip, gzip\r\n\r\nx", "the compression gzip, gzip"),
        (OK + b"Content-Encoding: br\r\n\r\nx", "the compression br"),
        (CHUNKED + b"zz\r\nx 1\n\r\n0\r\n\r\n", "broke off"),
        (CHUNKED + b"ffffffffffffffff\r\nx", "broke off"),
        (OK + b"Content-Length: -5\r\n\r\nx 1\n", "broke off"),
        (OK + b"Content-Length: 9\r\nContent-Length: 3\r\n\r\nx 1\n", "broke off"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "broke off"),
        (b"", "broke off"),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"y" * 300_000 + b"\r\n\r\n", "broke off"),
        (OK + b'\r\nx{a="\xff"} 1\n', "the byte 0xff"),
        (OK + b"\r\n\xff\xfex\x00", "the byte 0xff"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "a redirect to file:///etc/passwd"),
        (b"HTTP/1.1 302 Found\r\nLocation: gopher://x:99999/\r\n\r\n", ""),
        (b"HTTP/1.1 302 Found\r\nLocation: http://u:secret@h/\xff\r\n\r\n", ""),
        (b"HTTP/1.1 302 Found\r\nLocation: \r\n\r\n", ""),
        (b"HTTP/1.1 999 \xff\r\n\r\n", "status 999"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "an empty page"),
    ],
)
def test_answers_of_a_hostile_server(answer, said):
    with serving(lambda request, _: raw(request, answer)) as url:
        fault = refusal(url)
        assert said in fault.found
        assert "secret" not in str(fault)
        assert fault.where.startswith(url)
        assert refusal(url, from_prometheus).found


def test_a_plain_port_asked_by_tls():
    with serving(lambda request, _: reply(request, b"x 1\n")) as url:
        fault = refusal(url.replace("http", "https"))
        assert "no connection" in fault.found
