"""One request over HTTP with limits on everything: time, size, redirects (none are followed), kind of answer.

Limits: ``CONNECT_S`` to connect, ``READ_S`` between two parts of an answer, ``TOTAL_S`` for all of it, from
the name of the host to the last byte, and the size that the caller states, compressed or not. Proxies and
certificates come from the environment, as for other programs.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from planner.errors import InputError, input_error
from planner.loaders.places import short

CONNECT_S = 5.0
READ_S = 10.0
TOTAL_S = 30.0
_ENCODINGS = ("", "identity", "gzip", "x-gzip", "deflate")
"""Compressions that are undone; two of them on top of each other are not."""
_GZIP = 32 + zlib.MAX_WBITS
"""gzip or zlib, by its first bytes."""


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    content_type: str
    """Lower case, without parameters; empty where the server tells none."""
    data: bytes


@contextmanager
def client(headers: Mapping[str, str] | None = None) -> Iterator[httpx.Client]:
    """A client that keeps its connections, to be closed at the end."""
    times = httpx.Timeout(READ_S, connect=CONNECT_S)
    with httpx.Client(timeout=times, follow_redirects=False, headers=headers) as opened:
        yield opened


def fetch(
    opened: httpx.Client,
    url: str,
    *,
    expected: str,
    max_bytes: int,
    total_s: float | None = None,
    form: Mapping[str, str] | None = None,
    accept: str = "*/*",
) -> Answer:
    """Get a page, or post a form.

    Args:
        opened: The client.
        url: Address, ``http`` or ``https``.
        expected: What messages say was expected.
        max_bytes: Largest answer that is read.
        total_s: Time for the whole answer; None: ``TOTAL_S``.
        form: Sent by POST; None: GET.
        accept: Kinds of answers that are welcome.

    Raises:
        InputError: no such host, no answer in time, a redirect, an answer too large. Not for error statuses.
    """
    shown = without_password(url)
    allowed_s = TOTAL_S if total_s is None else total_s
    asked = _Asked(opened, url, shown, expected, max_bytes, form, accept)
    # Time between two bytes is what the client limits; names that resolve slowly and headers that drip would
    # escape it. So the whole request is waited for, and given up from outside.
    thread = Thread(target=asked.run, daemon=True)
    thread.start()
    thread.join(allowed_s)
    if asked.answer is not None:
        return asked.answer
    if asked.problem is None:
        raise input_error(shown, "", f"no whole answer within {allowed_s:.3g} s", expected)
    if isinstance(asked.problem, httpx.HTTPError | httpx.InvalidURL | httpx.StreamError | ValueError):
        raise _failed(shown, asked.problem, expected) from asked.problem
    raise asked.problem


class _Asked:
    """One request, and what came of it."""

    def __init__(
        self,
        opened: httpx.Client,
        url: str,
        shown: str,
        expected: str,
        max_bytes: int,
        form: Mapping[str, str] | None,
        accept: str,
    ) -> None:
        self._opened, self._url, self._shown, self._expected = opened, url, shown, expected
        self._max_bytes, self._form, self._accept = max_bytes, form, accept
        self.answer: Answer | None = None
        self.problem: Exception | None = None

    def run(self) -> None:
        """Ask, and keep the answer or the problem."""
        try:
            self.answer = self._ask()
        except Exception as problem:
            self.problem = problem

    def _ask(self) -> Answer:
        method = "GET" if self._form is None else "POST"
        headers = {"Accept": self._accept, "Accept-Encoding": "gzip"}
        with self._opened.stream(method, self._url, data=self._form, headers=headers) as response:
            if response.is_redirect:
                raise _redirected(self._shown, response, self._expected)
            data = self._body(response)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Answer(response.status_code, kind, data)

    def _body(self, response: httpx.Response) -> bytes:
        """The body without its compression, never more than is allowed of it in memory."""
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _ENCODINGS:
            found = f"the compression {short(encoding, 40)}"
            raise input_error(self._shown, "", found, f"{self._expected}, plain or with gzip")
        unpack = zlib.decompressobj(_GZIP) if encoding in _ENCODINGS[2:] else None
        data = bytearray()
        for part in response.iter_raw():
            left = self._max_bytes + 1 - len(data)
            data += part[:left] if unpack is None else _unpacked(unpack, part, left)
            if len(data) > self._max_bytes:
                found = f"an answer of more than {self._max_bytes / 1e6:g} MB"
                limit = f"{self._expected} of at most {self._max_bytes / 1e6:g} MB"
                raise input_error(self._shown, "", found, limit)
        if unpack is not None and not unpack.eof:
            raise httpx.DecodingError("the compressed data end early")
        return bytes(data)


def _unpacked(unpack: Any, part: bytes, most: int) -> bytes:
    try:
        text: bytes = unpack.decompress(part, most)
    except zlib.error as problem:
        raise httpx.DecodingError(str(problem)) from problem
    return text


def check_status(answer: Answer, url: str, expected: str) -> None:
    """Refuse an answer that is an error.

    Raises:
        InputError: any status but success.
    """
    if answer.status in (401, 403):
        maybe = "an authorization that this server takes"
    elif answer.status == 404:
        maybe = "another path"
    else:
        maybe = ""
    if not 200 <= answer.status < 300:
        phrase = httpx.codes.get_reason_phrase(answer.status)
        found = f"HTTP status {answer.status}" + (f" ({phrase})" if phrase else "")
        raise input_error(without_password(url), "", found, expected, maybe)


def is_url(text: str) -> bool:
    """A source that is fetched, not opened."""
    return "://" in text


def check_url(url: str, expected: str) -> None:
    """Refuse addresses that cannot be fetched.

    Raises:
        InputError: another scheme than http and https, or no host.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or any(character.isspace() or not character.isprintable() for character in url):
        raise input_error(short(without_password(url)), "", "no address of http or https", expected)


def without_password(url: str) -> str:
    """An address as messages may show it."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return url.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _redirected(shown: str, response: httpx.Response, expected: str) -> InputError:
    target = without_password(str(httpx.URL(response.url).join(response.headers.get("location", ""))))
    found = f"a redirect to {short(target)}, which is not followed"
    return input_error(shown, "", found, expected, f'"{short(target)}"')


def _failed(shown: str, problem: Exception, expected: str) -> InputError:
    if isinstance(problem, httpx.ConnectTimeout):
        found = f"no connection within {CONNECT_S:.0f} s"
    elif isinstance(problem, httpx.TimeoutException):
        found = f"no answer within {READ_S:.0f} s"
    elif isinstance(problem, httpx.ConnectError):
        found = f"no connection ({short(str(problem))})"
    elif isinstance(problem, httpx.RemoteProtocolError | httpx.ReadError):
        found = "a connection that broke off"
    elif isinstance(problem, httpx.DecodingError):
        found = "an answer whose compression cannot be undone"
    else:
        found = f"{type(problem).__name__} ({short(str(problem))})"
    return input_error(shown, "", found, expected)
