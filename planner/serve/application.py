"""The application: API, guard, and the page unless it is left out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from planner.serve import api, login, openapi
from planner.serve.desk import Desk
from planner.serve.guard import Guard, Keys


def application(desk: Desk, keys: Keys, hosts: Sequence[str] = (), *, page: bool = True) -> FastAPI:
    """Everything that is served.

    Args:
        desk: who answers.
        keys: who may ask.
        hosts: names of the server besides those of this machine; with keys any.
        page: whether there is one at ``/``.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()

    app = FastAPI(
        title="Planner",
        version=version("llm-fleet-planner"),
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,  # its pages load from other servers
        redoc_url=None,
        lifespan=lifespan,
    )
    api.routes(app, desk)
    login.routes(app, keys)
    openapi.describe(app)
    app.add_middleware(
        Guard,
        keys=keys,
        hosts=() if keys.asked else (*hosts, "localhost"),
        body_bytes=desk.limits.body_bytes,
    )
    if page:
        from planner.serve.page.shell import put_into

        put_into(app, desk)
    return app
