"""Starts the server: where it listens, who may ask, what it remembers."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from planner.errors import input_error
from planner.schema.base import build_all
from planner.serve.application import application
from planner.serve.desk import Desk, Limits
from planner.serve.guard import Keys
from planner.serve.history import History

MOST_CONNECTIONS = 500
SHORTEST_TOKEN = 16
_WHERE = "planner serve"


def serve(
    host: str,
    port: int,
    database: str | None,
    token_file: Path | None,
    say: Callable[[str], None],
    prometheus: str = "",
) -> None:
    """Listen and answer until the process is asked to end.

    Args:
        host: name or address to listen on.
        port: 0 for a free one.
        database: SQLAlchemy address; None: a file in the user's folder for state.
        token_file: one token a line.
        say: told where the page is.
        prometheus: address of the server that notifications of Alertmanager are answered from.

    Raises:
        InputError: a place that cannot be listened on, no tokens where they are needed, no database.
    """
    keys = Keys(() if token_file is None else read_tokens(token_file))
    if not keys.asked and not is_loopback(host):
        found = f'"{host}" without tokens'
        raise input_error(_WHERE, "--host", found, "127.0.0.1, or --token-file FILE with one token a line")
    history = History(database or default_database())
    build_all()
    listening = _listening(host, port)
    desk = Desk(history, Limits(prometheus=prometheus))
    app = application(desk, keys, (host.lower(),))
    config = uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=3,
        ws_max_size=desk.limits.body_bytes,
    )
    shown = f"[{host}]" if ":" in host else host
    say(f"planner: serving at http://{shown}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
    uvicorn.Server(config).run(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_tokens(path: Path) -> tuple[str, ...]:
    """The tokens in a file: one a line, lines that begin with # left out.

    Raises:
        InputError: no such file, no token, or one that is too short.
    """
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as problem:
        found = f'"{path}", {type(problem).__name__}'
        raise input_error(_WHERE, "--token-file", found, "a text file with one token a line") from problem
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens or min(map(len, tokens)) < SHORTEST_TOKEN:
        found = "a token that is too short" if tokens else "no token"
        expected = f"tokens of at least {SHORTEST_TOKEN} characters"
        raise input_error(_WHERE, "--token-file", found, expected, '"openssl rand -hex 24"')
    return tokens


def default_database() -> str:
    """A file in the user's folder for state."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return f"sqlite:///{Path(state).absolute() / 'llm-fleet-planner' / 'jobs.sqlite'}"


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as problem:
        found = f"{host}:{port}, {(problem.strerror or 'no such address').lower()}"
        raise input_error(_WHERE, "--port", found, "an address of this machine that is free") from problem
    made.listen(1024)
    return made
