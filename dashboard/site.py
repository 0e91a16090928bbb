"""The dashboard as an aiohttp application: its routes, and how errors are answered."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from ..hooks.http import DAEMON_UNAVAILABLE, STATUS_OF_CODE, to_json
from ..ipc.aclient import DaemonLink
from ..ipc.errors import (
    INTERNAL,
    INVALID_PARAMS,
    NOT_FOUND,
    PERMISSION_DENIED,
    TIMEOUT,
    TOO_LARGE,
    UNSUPPORTED,
    DaemonUnavailable,
    RpcError,
)
from .api import Api, FileNames
from .guard import AccessGuard
from .pages.decisions import DecisionsPage
from .pages.diagnostics import Diagnostics, EventStream
from .pages.difference import Difference
from .pages.explore import ExplorePage
from .pages.home import HomePage
from .pages.knowledge import KnowledgePage
from .pages.project import ProjectPage
from .pages.scope import ScopePage
from .pages.scopes import ScopesPage
from .pages.session import SessionPage
from .pages.sessions import SessionsPage
from .pages.turn import TurnPage
from .pages.usage import Usage
from .prometheus import PrometheusFigures
from .view import STATIC, NotOpen, ProjectChoice, View

log = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 1 << 20
"""Maximum bytes of a request: the largest is an item, whose text may have 256 KiB."""

CODE_OF_STATUS: Final = {400: INVALID_PARAMS, 403: PERMISSION_DENIED}
"""The error codes of other refusals by the HTTP server."""

DATA: Final = frozenset({"/events", "/files", "/knowledge/one", "/metrics"})
DATA_BELOW: Final = ("/api/", "/actions/", "/static/")
"""Addresses that answer scripts and programs, whose errors are JSON."""

STATIC_KEPT: Final = "private, max-age=31536000, immutable"
"""Caching of static files, whose addresses contain the hash of their content."""


def make_site(daemon_socket: str, port: int) -> web.Application:
    """Return the application to serve on 127.0.0.1:`port`; its cleanup ends its connection to the daemon."""
    link = DaemonLink(daemon_socket)
    view = View(link)
    application = web.Application(middlewares=[_Failures(view).middleware], client_max_size=MAX_BODY_BYTES)
    AccessGuard(link, port).add_to(application)
    for part in (
        EventStream(link),
        Api(link),
        HomePage(view),
        SessionsPage(view),
        SessionPage(view),
        ScopesPage(view),
        ScopePage(view),
        KnowledgePage(view),
        DecisionsPage(view),
        ExplorePage(view),
        Usage(view),
        ProjectPage(view),
        Diagnostics(view),
        PrometheusFigures(view),
        TurnPage(view),
        Difference(view),
        FileNames(view),
    ):
        part.add_to(application)
    application.router.add_static("/static", STATIC)
    application.on_response_prepare.append(_keep_static)

    async def close(_: web.Application) -> None:
        await link.close()

    application.on_cleanup.append(close)
    return application


class _Failures:
    """Turns errors into pages, or into JSON for scripts; the only place that does."""

    def __init__(self, view: View) -> None:
        self._view = view

    @web.middleware
    async def middleware(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except NotOpen as error:
            return await self._offer(request, error)
        except RpcError as error:
            return await self._answer(request, error, STATUS_OF_CODE.get(error.code, 500))
        except DaemonUnavailable as error:
            return await self._answer(request, RpcError(DAEMON_UNAVAILABLE, str(error)), 502)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            answer = await self._answer(request, _error_of(request, error), error.status)
            if "Allow" in error.headers:
                answer.headers["Allow"] = error.headers["Allow"]
            return answer
        except Exception as error:
            log.exception("%s %s failed", request.method, request.path)
            reason = f"the page failed ({type(error).__name__}); see: foveal logs"
            return await self._answer(request, RpcError(INTERNAL, reason), 500)

    async def _offer(self, request: web.Request, error: NotOpen) -> web.StreamResponse:
        """Answer with a page that offers to open the project, or to a script with the error."""
        status = STATUS_OF_CODE[error.code]
        if not _is_page(request):
            return await self._answer(request, error, status)
        values = {"project": error.project, "address": str(request.rel_url)}
        title = error.project.name or "No project is open"
        return await self._view.page(request, "not_open.html", title=title, status=status, **values)

    async def _answer(self, request: web.Request, error: RpcError, status: int) -> web.StreamResponse:
        if not _is_page(request):
            return web.Response(body=to_json(error.to_map()), status=status, content_type="application/json")
        if error.code in (INTERNAL, TIMEOUT):
            self._view.page_failed(request.path)
        try:
            project = ProjectChoice("", await self._view.call("ListProjects"))
        except (RpcError, DaemonUnavailable):
            project = None
        values = {"error": error, "code": status, "project": project}
        return await self._view.page(
            request, "error.html", title=_heading(status), status=status, picked="/project", **values
        )


def _heading(status: int) -> str:
    """Return the title of an error page."""
    if status == 404:
        return "Not found"
    return "The daemon doesn’t answer" if status in (502, 503, 504) else "That didn’t work"  # noqa: RUF001


def _error_of(request: web.Request, error: web.HTTPException) -> RpcError:
    """Return an error of the HTTP server with a code of the wire."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return RpcError(UNSUPPORTED, f"{request.method} isn't answered at {request.path}, only {allowed}")
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return RpcError(TOO_LARGE, f"what was sent is too large; at most {MAX_BODY_BYTES:,} bytes are taken")
    if error.status == 404:
        return RpcError(NOT_FOUND, "there is no such page")
    return RpcError(CODE_OF_STATUS.get(error.status, INTERNAL), error.text or error.reason)


def _is_page(request: web.Request) -> bool:
    """Whether a person will see the answer, not a script or program."""
    is_data = request.path in DATA or request.path.startswith(DATA_BELOW)
    return request.method in {"GET", "HEAD"} and not is_data


async def _keep_static(request: web.Request, response: web.StreamResponse) -> None:
    if request.path.startswith("/static/") and response.status == 200 and "v" in request.query:
        response.headers["Cache-Control"] = STATIC_KEPT
