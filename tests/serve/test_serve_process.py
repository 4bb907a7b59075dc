"""The server as a process: real port, slow and broken clients, and an end without warning."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from service_samples import PROBLEM

LONG = PROBLEM.replace("max_gpus: 8", "max_gpus: 800").replace(
    "accelerators: [l40s], prices: {l40s: 1.5 USD/h}, ", ""
)
LONG = re.sub(r"search: .*\n", "", LONG).replace("peak_rps: 4", "peak_rps: 300")


class Server:
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


@pytest.fixture
def server(tmp_path):
    found = Server(tmp_path)
    yield found
    if found.process.poll() is None:
        found.end(signal.SIGKILL)


def workers_of(process):
    shown = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.split(None, 2) for line in shown.splitlines()]
    return [
        int(pid) for pid, parent, words in lines if "planner.serve.worker" in words and parent == str(process)
    ]


def test_a_kill_loses_no_job_and_leaves_no_process(server):
    done = server.client.post("/api/v1/plan", json={"problem": PROBLEM})
    job, answer = done.headers["planner-job"], done.content
    later = server.client.post(
        "/api/v1/plan", json={"problem": LONG}, headers={"Prefer": "respond-async"}
    ).json()
    while server.client.get(f"/api/v1/jobs/{later['id']}").json()["state"] == "queued":
        time.sleep(0.05)
    workers = workers_of(server.process.pid)
    assert workers
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    for _ in range(100):
        if not any(Path(f"/proc/{worker}").exists() for worker in workers):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("a worker goes on without its server")
    server.start()
    assert server.client.get(f"/api/v1/jobs/{job}/answer").content == answer
    assert server.client.get(f"/api/v1/jobs/{later['id']}").json()["state"] in ("queued", "running")
    # Half a request, and nothing more, keeps nobody else waiting.
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(b"POST /api/v1/fit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert server.client.get("/healthz").status_code == 200
    assert server.client.delete(f"/api/v1/jobs/{later['id']}").json()["state"] == "canceled"
    assert server.end(signal.SIGTERM) == 128 + signal.SIGTERM


def test_planning_never_loads_the_server(tmp_path):
    file = tmp_path / "problem.yaml"
    file.write_text(PROBLEM)
    code = (
        "import sys, json; from planner.interfaces import cli; code = cli.run(sys.argv[1:]); "
        "print(json.dumps([code, sorted(set(m.split('.')[0] for m in sys.modules))]), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code, "plan", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    ended, loaded = json.loads(ran.stderr.splitlines()[-1])
    assert ended == 0
    assert not {"fastapi", "nicegui", "sqlalchemy", "starlette", "uvicorn"} & set(loaded)
