"""The description of the API: schemas of the nouns, and what every route takes and tells."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from planner.schema.base import Noun
from planner.schema.descriptions import DescribedJsonSchema
from planner.serve.kinds import KINDS
from planner.serve.problems import JSON, PROBLEM_JSON
from planner.serve.told import JobsTold, JobTold, ProblemTold

_TEMPLATE = "#/components/schemas/{model}"
_TOLD = (ProblemTold, JobTold, JobsTold)
_REFUSALS = {
    "400": "No JSON, or a header that cannot be.",
    "401": "No known token.",
    "408": "The request came too slowly.",
    "413": "The request is too large.",
    "415": "Another content type.",
    "422": "Faults in what was asked, in the words of the command line, or a limit that was passed.",
    "429": "Too many questions wait.",
}
_ID = {"name": "job_id", "in": "path", "required": True, "schema": {"type": "string"}}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "The same key and question again give the same job.",
}
_PREFER = {
    "name": "Prefer",
    "in": "header",
    "schema": {"type": "string"},
    "description": "respond-async: do not wait for the answer.",
}


def describe(app: FastAPI) -> None:
    """Let an application describe itself with the schemas of the nouns."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, routes=app.routes)
            found["components"] = {
                "schemas": _schemas()[1],
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            }
            found["security"] = [{}, {"token": []}]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


@cache
def _schemas() -> tuple[dict[tuple[type[Noun], JsonSchemaMode], Any], dict[str, Any]]:
    asked: list[tuple[type[Noun], JsonSchemaMode]] = [(kind.asked, "validation") for kind in KINDS.values()]
    answers: list[type[Noun]] = [answer for kind in KINDS.values() for answer in kind.answers]
    nouns: list[type[Noun]] = list(dict.fromkeys([*answers, *_TOLD]))
    told: list[tuple[type[Noun], JsonSchemaMode]] = [(noun, "serialization") for noun in nouns]
    references, definitions = models_json_schema(
        [*asked, *told], ref_template=_TEMPLATE, schema_generator=DescribedJsonSchema
    )
    return dict(references), definitions.get("$defs", {})  # type: ignore[arg-type]


def _schema(noun: type[Noun], mode: JsonSchemaMode = "serialization") -> Any:
    return _schemas()[0][noun, mode]


def _content(schema: Any, media: str = JSON) -> dict[str, Any]:
    return {"content": {media: {"schema": schema}}}


def _refused(*codes: str, **more: str) -> dict[str, Any]:
    texts = {code: _REFUSALS[code] for code in codes} | {code.strip("_"): text for code, text in more.items()}
    problem = _content(_schema(ProblemTold), PROBLEM_JSON)
    return {code: {"description": text, **problem} for code, text in texts.items()}


def question(kind: str) -> dict[str, Any]:
    """Of a route that takes a question."""
    item = KINDS[kind]
    answers = [_schema(answer) for answer in item.answers]
    replies = {
        "200": {
            "description": "The answer, as the command line prints it with --json.",
            **_content(answers[0] if len(answers) == 1 else {"anyOf": answers}),
        },
        **_refused(*_REFUSALS),
    }
    if item.is_job:
        replies["202"] = {"description": "Taken.", **_content(_schema(JobTold))}
        gone = {"_409": "A key that another question was asked with.", "_410": "Canceled."}
        replies |= _refused(**gone)
    extra = {
        "requestBody": {"required": True, **_content(_schema(item.asked, "validation"))},
        "responses": replies,
        "parameters": [_KEY, _PREFER] if item.is_job else [],
    }
    return {"summary": item.text, "operation_id": kind, "openapi_extra": extra, "response_model": None}


def _job_route(name: str, summary: str, replies: dict[str, Any]) -> dict[str, Any]:
    none = _refused("401", "408", "413", _400="A header that cannot be.", _404="No such job.")
    return {
        "summary": summary,
        "operation_id": name,
        "openapi_extra": {"responses": {**replies, **none}, "parameters": [_ID]},
        "response_model": None,
    }


def jobs() -> dict[str, Any]:
    """Of the list of jobs."""
    route = _job_route(
        "jobs", "Jobs, the newest first.", {"200": {"description": "Jobs.", **_content(_schema(JobsTold))}}
    )
    route["openapi_extra"].pop("parameters")
    return route


def job(summary: str, name: str = "job") -> dict[str, Any]:
    """Of one job."""
    return _job_route(name, summary, {"200": {"description": "The job.", **_content(_schema(JobTold))}})


def job_answer() -> dict[str, Any]:
    """Of the answer of a job."""
    replies = {
        "200": {"description": "The answer.", **_content({})},
        **_refused("422", _409="Not finished.", _410="Canceled.", _500="A bug."),
    }
    return _job_route("job_answer", "The answer of a finished job.", replies)


def job_question() -> dict[str, Any]:
    """Of the question of a job."""
    return _job_route(
        "job_question", "What was asked.", {"200": {"description": "The question.", **_content({})}}
    )


def events() -> dict[str, Any]:
    """Of the stream of a job."""
    stream = {"description": "Events named job.", **_content({}, "text/event-stream")}
    return _job_route("job_events", "The job whenever it changes, until it is finished.", {"200": stream})


def cancel() -> dict[str, Any]:
    """Of the end of a job."""
    route = job("Cancel a job.", "job_cancel")
    route["openapi_extra"]["responses"] |= _refused(_409="Already finished.")
    return route
