"""What stands before every request: who may ask, from where, how much, and what browsers are told."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planner.serve.problems import Reply, refusal

COOKIE = "planner_session"
LOGIN = "/login"
OPEN = ("/healthz", LOGIN)
"""What needs no token."""
BODY_S = 30.0
"""For the whole body of a request."""
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PAGE = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_API = "default-src 'none'; frame-ancestors 'none'"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass
class Keys:
    """The tokens of a server, and the browsers that showed one."""

    tokens: Sequence[str] = ()
    _sessions: set[str] = field(default_factory=set)

    @property
    def asked(self) -> bool:
        """Whether anybody needs one."""
        return bool(self.tokens)

    def known(self, token: str) -> bool:
        """Whether a token is one of them; takes as long whichever it is like."""
        given = hashlib.sha256(token.encode()).digest()
        hits = [hmac.compare_digest(given, hashlib.sha256(one.encode()).digest()) for one in self.tokens]
        return any(hits)

    def session(self) -> str:
        """A cookie for a browser that showed a token."""
        made = secrets.token_urlsafe(32)
        self._sessions.add(made)
        return made

    def admits(self, headers: Headers) -> bool:
        """Whether a request shows a token or a cookie."""
        if not self.asked:
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.known(token.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and cookie.value in self._sessions


class Guard:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp, keys: Keys, hosts: Sequence[str], body_bytes: int) -> None:
        """Guard an application.

        Args:
            app: what is guarded.
            keys: who may ask.
            hosts: names that the server goes by besides those of this machine; empty: any (with tokens).
            body_bytes: of a request at most.
        """
        self._app, self._keys, self._body_bytes = app, keys, body_bytes
        self._hosts = {*_LOOPBACK, *hosts} if hosts else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        refused = self._refused(scope, headers, path)
        if scope["type"] == "websocket":
            if refused is None:
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 4403})
            return
        telling = _telling(send, path)
        if refused is not None:
            await refused(scope, receive, telling)
            return
        body = await _whole_body(receive, headers, self._body_bytes)
        if isinstance(body, Reply):
            await response(body)(scope, receive, telling)
            return
        await self._app(scope, _again(body, receive), telling)

    def _refused(self, scope: Scope, headers: Headers, path: str) -> Response | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._hosts and _name(host) not in self._hosts:
            return response(refusal(400, "Unknown host", f'the host "{host[:80]}"', "the address it serves"))
        if origin is not None and urlsplit(origin).netloc != host:
            found, expected = "a page of another server", "requests of its own page, or of programs"
            return response(refusal(403, "Another origin", found, expected))
        if path in OPEN or self._keys.admits(headers):
            return None
        if scope["type"] == "http" and scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            return RedirectResponse(LOGIN, 303)
        refused = response(refusal(401, "No token", "no known token", '"Authorization: Bearer TOKEN"'))
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused


def response(reply: Reply) -> Response:
    """A reply as it is sent."""
    return Response(reply.body, reply.status, media_type=reply.media_type)


def _name(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()


def _telling(send: Send, path: str) -> Send:
    """Sending with the headers that keep browsers from harm."""
    is_page = not path.startswith(("/api/", "/metrics", "/healthz"))

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Content-Security-Policy", _PAGE if is_page else _API)
            if not is_page:
                headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return told


async def _whole_body(receive: Receive, headers: Headers, most: int) -> bytes | Reply:
    """The body of a request within its limits of size and time."""
    length = headers.get("content-length", "0")
    too_large = refusal(413, "Too large", f"more than {most:,} bytes", f"at most {most:,} bytes")
    if not length.isdigit() or int(length) > most:
        return too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return refusal(400, "Broken off", "half a request", "a whole one")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    return too_large
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return refusal(408, "Too slow", f"no whole request within {BODY_S:g} s", "a faster one")


def _again(body: bytes, receive: Receive) -> Receive:
    """Receiving of a body that was read."""
    told = False

    async def received() -> dict[str, Any]:
        nonlocal told
        if told:
            return dict(await receive())
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return received
