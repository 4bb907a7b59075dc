"""A server as a process of its own, on a free port."""

import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx


class Server:
    """Runs in a folder, in which its jobs lie."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        words = ["serve", "--port", "0", "--database", f"sqlite:///{self.folder}/jobs.sqlite"]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "planner", *words], stderr=subprocess.PIPE, text=True
        )
        line = self.process.stderr.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", line)[1])
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60, trust_env=False)
        for _ in range(200):
            try:
                assert self.client.get("/healthz").json() == {"status": "ok"}
                return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("no answer")

    def end(self, number):
        self.client.close()
        self.process.send_signal(number)
        code = self.process.wait(20)
        self.process.stderr.close()
        return code


@contextmanager
def server_in(folder):
    found = Server(folder)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.end(signal.SIGTERM)
