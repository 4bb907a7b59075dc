"""The way in for browsers where tokens are asked for: a token once, then a cookie."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from planner.serve.guard import COOKIE, LOGIN, Keys

_WRONG_S = 1.0
"""A wrong token costs so long."""
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Planner</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px system-ui,sans-serif;margin:15vh auto;max-width:22rem;padding:0 1rem;color:#1f2937}}
input,button{{font:inherit;padding:.6rem;width:100%;box-sizing:border-box;margin-top:.6rem}}</style>
<h1>Planner</h1><form method="post" action="{action}"><label for="token">Token of this server</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Enter</button></form><p role="alert">{said}</p></html>"""


def routes(app: FastAPI, keys: Keys) -> None:
    """Put the form into an application."""

    async def form() -> Response:
        return HTMLResponse(_PAGE.format(action=LOGIN, said=""))

    async def enter(request: Request) -> Response:
        given = parse_qs((await request.body()).decode("utf-8", "replace")).get("token", [""])[0]
        if not keys.known(given):
            await asyncio.sleep(_WRONG_S)
            return HTMLResponse(_PAGE.format(action=LOGIN, said="This token is not known."), 401)
        entered = RedirectResponse("/", 303)
        entered.set_cookie(COOKIE, keys.session(), httponly=True, samesite="strict", secure=False)
        return entered

    app.add_api_route(LOGIN, form, methods=["GET"], include_in_schema=False)
    app.add_api_route(LOGIN, enter, methods=["POST"], include_in_schema=False)
