"""The server as a process: real port, slow and broken clients, and an end without warning."""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serve_process import server_in
from service_samples import LONG, PROBLEM


@pytest.fixture
def server(tmp_path):
    with server_in(tmp_path) as found:
        yield found


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
