"""One request over HTTP with limits on everything: time, size, redirects (none are followed), kind of answer.

Limits: ``CONNECT_S`` to connect, ``READ_S`` between two parts of an answer, ``TOTAL_S`` for all of it, and
the size that the caller states. Proxies and certificates come from the environment, as for other programs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import httpx

from planner.errors import InputError, input_error
from planner.loaders.places import short

CONNECT_S = 5.0
READ_S = 10.0
TOTAL_S = 30.0


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
    method = "GET" if form is None else "POST"
    allowed_s = TOTAL_S if total_s is None else total_s
    end = time.monotonic() + allowed_s
    try:
        with opened.stream(method, url, data=form, headers={"Accept": accept}) as response:
            if response.is_redirect:
                raise _redirected(shown, response, expected)
            data = bytearray()
            for part in response.iter_bytes():
                data += part
                if len(data) > max_bytes:
                    found = f"an answer of more than {max_bytes // 10**6} MB"
                    raise input_error(shown, "", found, f"{expected} of at most {max_bytes // 10**6} MB")
                if time.monotonic() > end:
                    raise input_error(shown, "", f"no whole answer within {allowed_s:.0f} s", expected)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Answer(response.status_code, kind, bytes(data))
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as problem:
        raise _failed(shown, problem, expected) from problem


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
