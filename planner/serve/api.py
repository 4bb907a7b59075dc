"""The routes of ``/api/v1``, ``/healthz`` and ``/metrics``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match

from planner.errors import InputError
from planner.loaders.json_source import one_value
from planner.loaders.validation import validated
from planner.loaders.yaml_source import Document
from planner.report import json_document
from planner.schema.base import Noun
from planner.serve import openapi
from planner.serve.desk import Desk, Full, Ticket
from planner.serve.guard import response
from planner.serve.history import Job
from planner.serve.kinds import KINDS
from planner.serve.problems import JSON, Reply, bad, bug, refusal
from planner.serve.told import FINISHED, JobsTold

PREFIX = "/api/v1"
MOST_KEY = 200
"""Characters of an idempotency key."""
_LISTED = 100
_PAUSE_S = 0.2
_BEAT_S = 15.0
"""Between two signs of life in a stream without news."""


def routes(app: FastAPI, desk: Desk) -> None:
    """Put the API into an application."""
    for kind in KINDS:
        app.add_api_route(f"{PREFIX}/{kind}", _asking(desk, kind), methods=["POST"], **openapi.question(kind))
    add = partial(app.add_api_route, methods=["GET"])
    add(f"{PREFIX}/jobs", _listed(desk), **openapi.jobs())
    add(f"{PREFIX}/jobs/{{job_id}}", _with_job(desk, _shown), **openapi.job("State of a job."))
    add(f"{PREFIX}/jobs/{{job_id}}/answer", _with_job(desk, _answer), **openapi.job_answer())
    add(f"{PREFIX}/jobs/{{job_id}}/question", _with_job(desk, _question), **openapi.job_question())
    add(f"{PREFIX}/jobs/{{job_id}}/events", _with_job(desk, _events), **openapi.events())
    cancel = _with_job(desk, _canceled)
    app.add_api_route(f"{PREFIX}/jobs/{{job_id}}", cancel, methods=["DELETE"], **openapi.cancel())
    add("/healthz", _healthy, include_in_schema=False)
    add("/metrics", _metrics(desk), include_in_schema=False)
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    app.add_api_route("/api/{rest:path}", _no_route, methods=methods, include_in_schema=False)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(Exception, _failed)


def read_asked(kind: str, text: bytes) -> Noun:
    """The noun in the body of a request.

    Raises:
        InputError: everything wrong with it.
        ValueError: no UTF-8.
    """
    value = one_value(text.decode(), "request", "a JSON object")
    if not isinstance(value, dict):
        value = {"": value}
    return validated(KINDS[kind].asked, Document("request", b"", value))


def _asking(desk: Desk, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def ask(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return response(refusal(415, "No JSON", "another content type", f"Content-Type: {JSON}"))
        text = await request.body()
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return response(refusal(400, "No JSON", "what is no JSON", "a JSON object"))
        try:
            asked = await asyncio.to_thread(read_asked, kind, text)
        except InputError as problem:
            return response(bad(422, "What was asked cannot be read", problem.faults))
        try:
            return await (
                _job(desk, kind, asked, request) if KINDS[kind].is_job else _small(desk, kind, asked)
            )
        except Full:
            found, expected = f"{desk.limits.waiting} questions that wait", "a later try"
            refused = response(refusal(429, "Too many questions", found, expected))
            refused.headers["Retry-After"] = "10"
            return refused

    ask.__name__ = kind
    return ask


async def _small(desk: Desk, kind: str, asked: Noun) -> Response:
    return response(await asyncio.wrap_future(desk.ask(kind, asked).reply))


async def _job(desk: Desk, kind: str, asked: Noun, request: Request) -> Response:
    key = request.headers.get("idempotency-key")
    if key is not None and not 1 <= len(key) <= MOST_KEY:
        found = f"a key of {len(key)} characters"
        return response(refusal(400, "Idempotency-Key", found, f"1 to {MOST_KEY} characters"))
    job, ticket = await asyncio.to_thread(desk.submit, kind, asked, key)
    if ticket is None and job.digest != desk.digest(kind, asked):
        found, expected = "a key that another question was asked with", "a key of its own for every question"
        return response(refusal(409, "Idempotency-Key", found, expected))
    if "respond-async" in request.headers.get("prefer", ""):
        told = _told(desk, await _now(desk, job))
        told.status_code = 202
        told.headers["Location"] = f"{PREFIX}/jobs/{job.id}"
        return told
    reply = await _replied(desk, job, ticket)
    answered = response(reply)
    answered.headers["Planner-Job"] = job.id
    return answered


async def _replied(desk: Desk, job: Job, ticket: Ticket | None) -> Reply:
    if ticket is not None:
        # Shielded: where whoever asked has left, the job goes on, and its answer is kept.
        return await asyncio.shield(asyncio.wrap_future(ticket.reply))
    known = await asyncio.to_thread(desk.history.find, job.id)
    if known is None or known.status is None:
        return refusal(404, "No answer", "a job that is no longer kept", "a new question")
    return Reply(known.status, known.document)


def _with_job(
    desk: Desk, then: Callable[[Desk, Job], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    async def found(request: Request) -> Response:
        job_id = str(request.path_params["job_id"])
        job = await asyncio.to_thread(desk.history.find, job_id)
        if job is None:
            return response(refusal(404, "No such job", f'"{job_id[:80]}"', "the id of a job"))
        return await then(desk, job)

    return found


def _listed(desk: Desk) -> Callable[[], Awaitable[Response]]:
    async def jobs() -> Response:
        newest = await asyncio.to_thread(desk.history.newest, _LISTED)
        told = JobsTold(jobs=tuple(job.told(_progress(desk, job)) for job in newest))
        return Response(json_document.encode(json_document.of(told)), media_type=JSON)

    return jobs


async def _shown(desk: Desk, job: Job) -> Response:
    return _told(desk, job)


async def _answer(_: Desk, job: Job) -> Response:
    if job.status is None:
        return response(refusal(409, "Not finished", f"a job that is {job.state}", "a finished job", "job"))
    return response(Reply(job.status, job.document))


async def _question(_: Desk, job: Job) -> Response:
    return Response(job.question, media_type=JSON)


async def _canceled(desk: Desk, job: Job) -> Response:
    if not await asyncio.to_thread(desk.cancel, job.id):
        found = f"a job that is {job.state}"
        return response(refusal(409, "Already finished", found, "one that is queued or running", "job"))
    return _told(desk, await _now(desk, job))


async def _events(desk: Desk, job: Job) -> Response:
    return StreamingResponse(_stream(desk, job.id), media_type="text/event-stream")


async def _stream(desk: Desk, job_id: str) -> AsyncIterator[bytes]:
    """The job whenever it changed, until it is finished."""
    last, quiet_s = b"", 0.0
    while (job := await asyncio.to_thread(desk.history.find, job_id)) is not None:
        told = json_document.line(job.told(_progress(desk, job))).strip()
        if told != last:
            yield b"event: job\ndata: " + told + b"\n\n"
            last, quiet_s = told, 0.0
        elif quiet_s >= _BEAT_S:
            yield b": still here\n\n"
            quiet_s = 0.0
        if job.state in FINISHED:
            return
        await asyncio.sleep(_PAUSE_S)
        quiet_s += _PAUSE_S


def _told(desk: Desk, job: Job) -> Response:
    return Response(json_document.encode(json_document.of(job.told(_progress(desk, job)))), media_type=JSON)


async def _now(desk: Desk, job: Job) -> Job:
    found = await asyncio.to_thread(desk.history.find, job.id)
    return job if found is None else found


def _progress(desk: Desk, job: Job) -> str:
    ticket = desk.ticket(job.id)
    return ticket.progress if ticket is not None else ""


async def _healthy() -> Mapping[str, str]:
    return {"status": "ok"}


def _metrics(desk: Desk) -> Callable[[], Awaitable[Response]]:
    async def metrics() -> Response:
        return Response(desk.metrics.page(), media_type=CONTENT_TYPE_LATEST)

    return metrics


async def _unknown(request: Request, problem: Exception) -> Response:
    """What no route takes: unknown paths and methods."""
    assert isinstance(problem, HTTPException)
    found = f"{request.method} {request.url.path[:120]}"
    refused = response(
        refusal(problem.status_code, problem.detail, found, f"a path of {PREFIX}/openapi.json")
    )
    refused.headers.update(problem.headers or {})
    return refused


async def _no_route(request: Request) -> Response:
    """Below ``/api/`` nothing is the page's: a known path with another method, or none."""
    scope = dict(request.scope)
    found = [
        route
        for route in request.app.routes
        if isinstance(route, APIRoute) and route.endpoint is not _no_route
        if route.matches(scope)[0] is Match.PARTIAL
    ]
    allowed = ", ".join(sorted({method for route in found for method in route.methods or ()}))
    raise HTTPException(405, headers={"Allow": allowed}) if allowed else HTTPException(404)


async def _failed(_: Request, problem: Exception) -> Response:
    return response(bug(f"{type(problem).__name__}: {problem}"))
