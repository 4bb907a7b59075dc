"""Jobs: in order, with progress, canceled, limited, asked twice, and kept when the server ends."""

import json
import threading
import time

from service_samples import PROBLEM, service

from planner.serve.desk import Limits

LATER = {"Prefer": "respond-async"}
LONG = (  # a search over everything that is sold
    PROBLEM.replace("fleet: {accelerators: [l40s], prices: {l40s: 1.5 USD/h}, max_gpus: 8}\n", "")
    .replace("search: {modes: [aggregated], tp: [1], max_batch: [64], batched_tokens: [2048]}\n", "")
    .replace("qwen3-8b", "llama-3.3-70b")
    .replace("peak_rps: 4", "peak_rps: 40")
)


def until(client, job, *states):
    """The job once it is in a state."""
    for _ in range(600):
        told = client.get(f"/api/v1/jobs/{job}").json()
        if told["state"] in states:
            return told
        time.sleep(0.05)
    raise AssertionError(told)


def test_a_job_is_taken_followed_and_canceled(tmp_path):
    with service(tmp_path) as client:
        taken = client.post("/api/v1/plan", json={"problem": LONG}, headers=LATER)
        assert taken.status_code == 202
        job = taken.json()["id"]
        assert taken.headers["location"] == f"/api/v1/jobs/{job}"
        until(client, job, "running")
        assert client.get(f"/api/v1/jobs/{job}/answer").status_code == 409
        behind = client.post("/api/v1/plan", json={"problem": PROBLEM}, headers=LATER).json()["id"]
        assert client.delete(f"/api/v1/jobs/{job}").json()["state"] == "canceled"
        assert client.delete(f"/api/v1/jobs/{job}").status_code == 409
        assert client.get(f"/api/v1/jobs/{job}/answer").status_code == 410
        told = until(client, behind, "done")
        assert told["summary"].startswith("optimal, ")
        assert client.get(f"/api/v1/jobs/{behind}/answer").json()["schema"] == "planner/plan/1"
        assert client.get(f"/api/v1/jobs/{behind}/question").json() == {"problem": PROBLEM}
        assert [one["id"] for one in client.get("/api/v1/jobs").json()["jobs"]] == [behind, job]
        assert 'planner_questions_total{kind="plan",status="410"} 1.0' in client.get("/metrics").text


def test_events_tell_the_way_of_a_job(tmp_path):
    with service(tmp_path) as client:
        job = client.post("/api/v1/plan", json={"problem": PROBLEM}, headers=LATER).json()["id"]
        stream = client.get(f"/api/v1/jobs/{job}/events")
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: ")]
        assert told[-1]["state"] == "done"
        assert len(told) > 1


def test_a_key_gives_the_same_job_and_no_other_question(tmp_path):
    with service(tmp_path) as client:
        key = {"Idempotency-Key": "once"}
        first = client.post("/api/v1/plan", json={"problem": PROBLEM}, headers=key)
        again = client.post("/api/v1/plan", json={"problem": PROBLEM}, headers=key)
        assert again.headers["planner-job"] == first.headers["planner-job"]
        assert again.content == first.content
        other = client.post("/api/v1/plan", json={"problem": PROBLEM + "confidence: 70 %\n"}, headers=key)
        assert other.status_code == 409
        assert client.post("/api/v1/relax", json={"problem": PROBLEM}, headers=key).status_code == 409
        assert len(client.get("/api/v1/jobs").json()["jobs"]) == 1


def test_the_queue_has_an_end(tmp_path):
    with service(tmp_path, Limits(workers=1, waiting=1)) as client:
        first = client.post("/api/v1/plan", json={"problem": LONG}, headers=LATER).json()["id"]
        until(client, first, "running")
        assert client.post("/api/v1/plan", json={"problem": PROBLEM}, headers=LATER).status_code == 202
        full = client.post("/api/v1/plan", json={"problem": PROBLEM}, headers=LATER)
        assert (full.status_code, full.headers["retry-after"]) == (429, "10")
        assert len(client.get("/api/v1/jobs").json()["jobs"]) == 2
        assert client.post("/api/v1/check", json={"problem": PROBLEM}).json()["faults"] == []


def test_time_and_memory_of_a_question_are_limited(tmp_path):
    with service(tmp_path, Limits(workers=1, question_s=0.3, memory_bytes=150_000_000)) as client:
        slow = client.post("/api/v1/plan", json={"problem": LONG})
        assert slow.status_code == 422
        assert "no answer within 0.3 s" in slow.json()["detail"]
        fat = client.post("/api/v1/fit", json={"model": "qwen3-8b"})
        assert fat.status_code == 422
        assert "memory" in fat.json()["detail"]


def test_many_at_once_all_get_their_answer(tmp_path):
    with service(tmp_path) as client:
        found = []

        def ask():
            found.append(client.post("/api/v1/plan", json={"problem": PROBLEM}).status_code)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert found == [200] * 8
