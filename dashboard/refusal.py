"""Owns what somebody is told who isn't let in: a page for a reader, an error of the wire for a program."""

from __future__ import annotations

from html import escape
from typing import Final

from aiohttp import hdrs, web

from ..hooks.http import to_json
from ..ipc.errors import RpcError

STYLE: Final = "/static/foveal.css"
"""Given to anybody, like the login: the page that refuses somebody looks like the others."""


class Refused(Exception):
    """A request that isn't answered. `str()` says why and what to do; `status` is of HTTP."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def refusal(request: web.Request, refused: Refused) -> web.Response:
    """Return the answer to a request that is refused."""
    message = str(refused)
    if request.method == "GET" and "text/html" in request.headers.get(hdrs.ACCEPT, ""):
        return web.Response(
            text=_PAGE.format(style=STYLE, message=escape(message).replace(_OPEN, f"<code>{_OPEN}</code>")),
            status=refused.status,
            headers=refused.headers,
            content_type="text/html",
            charset="utf-8",
        )
    return web.Response(
        body=to_json(RpcError(refused.code, message).to_map()) + b"\n",
        status=refused.status,
        headers=refused.headers,
        content_type="application/json",
    )


_OPEN: Final = "foveal dashboard"
"""The command that signs in, which messages name."""

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>foveal</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{style}">
</head>
<body class="refused">
<main><h1>foveal</h1><p>{message}</p></main>
</body>
</html>
"""
