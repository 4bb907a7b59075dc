"""A small server on this machine, for what servers answer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Handle = Callable[[BaseHTTPRequestHandler, bytes], None]
"""Answers one request; the bytes are its body."""


def reply(
    request: BaseHTTPRequestHandler,
    data: bytes,
    kind: str | None = "text/plain",
    status: int = 200,
    **headers: str,
) -> None:
    """A whole answer."""
    request.send_response(status)
    if kind is not None:
        request.send_header("Content-Type", kind)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(data)


def raw(
    request: BaseHTTPRequestHandler,
    *parts: bytes,
    pause_s: float = 0.0,
    stop: threading.Event | None = None,
) -> None:
    """An answer as written, without any help of the server; part by part until ``stop``."""
    for part in parts:
        with suppress(OSError):
            request.wfile.write(part)
            request.wfile.flush()
        if stop is not None and stop.wait(pause_s):
            break
    request.close_connection = True


@contextmanager
def serving(handle: Handle) -> Iterator[str]:
    """The address of a server that answers like this."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            handle(self, b"")

        def do_HEAD(self):
            handle(self, b"")

        def do_POST(self):
            handle(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_):
            pass  # a client that hangs up is what some tests want

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
