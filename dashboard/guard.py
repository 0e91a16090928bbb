"""Access control of the dashboard's port: where a request comes from, who sent it, what pages may load.

Every program of this machine and every page in the user's browser can send requests to a port on loopback. So
nothing is answered for being local. The `Host` must be ours, since a page of another site may have its name
point here (DNS rebinding) and then counts as the same origin. `Origin` and `Sec-Fetch-Site` must not say that
another site sent the request: SameSite holds off other sites, and other ports of this machine are the same
site. Then comes the cookie of a login, or the bearer token; the daemon knows both, and nothing is kept here.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Final, Literal

from aiohttp import hdrs, web

from ..hooks.http import to_json
from ..ipc.aclient import DaemonLink
from ..ipc.errors import INTERNAL, INVALID_PARAMS, PERMISSION_DENIED, UNSUPPORTED, DaemonUnavailable, RpcError

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LOGIN: Final = "/login"

CSRF_HEADER: Final = "X-Foveal-Csrf"

PREFETCH: Final = ("Sec-Purpose", "Purpose")
"""Headers of a browser's prefetch, before somebody opens the address."""

COOKIE_AGE_S: Final = 7 * 24 * 3600
"""Seconds until the cookie expires, the same as the daemon's session."""

RECHECK_S: Final = 5.0
"""Seconds between two checks that the reader of a running stream is still signed in."""

READS: Final = frozenset({"GET", "HEAD"})
CHANGES: Final = frozenset({"POST", "PATCH", "DELETE"})

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""The headers of every answer, unless its handler sets another value."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks. `csrf` is what a page's changes must carry in `X-Foveal-Csrf`, empty for a bearer; `editor`
    is the address that opens a file in the user's editor, with `{path}` and `{line}` in it, or empty."""

    csrf: str
    editor: str
    via: Literal["cookie", "bearer"]


VIEWER: Final = web.RequestKey("viewer", Viewer)
"""The key of the signed-in viewer: `request[VIEWER]`. Missing only for the stylesheet."""

_COOKIE: Final = web.RequestKey("cookie", str)
"""The key of a new cookie for the browser, if the daemon made one."""


class AccessGuard:
    """Guards the application that is served on 127.0.0.1:`port`. `recheck_s` is for tests."""

    def __init__(self, link: DaemonLink, port: int, *, recheck_s: float = RECHECK_S) -> None:
        self._link = link
        self._cookie = f"foveal_{port}"  # browsers send a cookie to all ports, so each has its own name
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._recheck_s = recheck_s
        self._open: dict[int, web.Request] = {}

    def add_to(self, application: web.Application) -> None:
        """Install the guard: before other middlewares, on headers, and during running streams."""
        application.middlewares.insert(0, self.middleware)
        application.on_response_prepare.append(self.harden)
        application.cleanup_ctx.append(self._watching)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let a request pass or refuse it; the only place that decides. Also answers `/login`."""
        try:
            self._check_source(request)
            if request.path == LOGIN:
                return await self._log_in(request)
            if request.path == STYLE and request.method in READS:
                return await handler(request)
            viewer = await self._viewer(request)
            if viewer is None:
                message = "You are not signed in here. In a terminal, run: foveal dashboard"
                raise Refused(401, message, WWW_Authenticate="Bearer")
            _check_change(request, viewer)
        except Refused as refused:
            return refusal(request, refused)
        except (RpcError, DaemonUnavailable) as error:
            log.warning("%s can't be admitted: %s", request.path, error)
            return refusal(request, Refused(502, f"The daemon can't say who you are: {error}."))
        request[VIEWER] = viewer
        self._open[id(request)] = request
        try:
            return await handler(request)
        finally:
            del self._open[id(request)]

    async def harden(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Add the protecting headers and the cookie, before the headers are sent."""
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if cookie := request.get(_COOKIE):
            kept = f"{self._cookie}={cookie}; Max-Age={COOKIE_AGE_S}; Path=/; HttpOnly; SameSite=Strict"
            response.headers.add(hdrs.SET_COOKIE, kept)  # `set_cookie` has no effect any more

    def _check_source(self, request: web.Request) -> None:
        """Raise `Refused` for a request that another site may have sent."""
        hosts = request.headers.getall(hdrs.HOST, [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise Refused(403, "This address isn't the dashboard's. Open it with: foveal dashboard")
        if any(origin not in self._origins for origin in request.headers.getall(hdrs.ORIGIN, [])):
            raise Refused(403, "Requests of other sites' pages are not answered.")
        if any(site not in {"same-origin", "none"} for site in request.headers.getall("Sec-Fetch-Site", [])):
            raise Refused(
                403,
                "A page of another site led here, which is not followed. Type the address, use a bookmark, "
                "or run: foveal dashboard",
            )

    async def _viewer(self, request: web.Request) -> Viewer | None:
        given = request.headers.getall(hdrs.AUTHORIZATION, [])
        if given:
            scheme, _, token = given[0].partition(" ")
            if len(given) > 1 or scheme.lower() != "bearer":
                return None
            reply = await self._check(token=token.strip())
            return Viewer("", reply["editor"], "bearer") if reply["allowed"] else None
        cookie = request.cookies.get(self._cookie, "")
        reply = await self._check(cookie=cookie) if cookie else {"allowed": False}
        if not reply["allowed"]:
            return None
        if "cookie" in reply:  # the session was prolonged, so the browser gets the cookie again
            request[_COOKIE] = reply["cookie"]
        return Viewer(reply["csrf"], reply["editor"], "cookie")

    async def _check(self, **given: str) -> dict[str, Any]:
        # The daemon is asked each time, 0.2 ms, so that signing out holds from that moment.
        reply: dict[str, Any] = await self._link.call("CheckDashboard", given)
        return reply

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        """Exchange a one-time code for a session, and redirect to a page."""
        if request.method != "GET":  # a HEAD request only looks at the link
            raise Refused(405, "A login is opened in a browser.", Allow="GET")
        if any("prefetch" in request.headers.get(name, "").lower() for name in PREFETCH):
            raise Refused(503, "A login is not fetched in advance.")
        reply = await self._check(code=request.query.get("code", ""))
        if reply["allowed"]:
            request[_COOKIE] = reply["cookie"]
        elif await self._viewer(request) is None:
            raise Refused(
                401,
                "This login was used, or is older than a minute. In a terminal, run: foveal dashboard",
            )
        return web.Response(status=303, headers={"Location": _local(request.query.get("next", ""))})

    async def _watching(self, application: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        yield
        task.cancel()

    async def _watch(self) -> None:
        """End running streams whose reader is no longer signed in."""
        while True:
            await asyncio.sleep(self._recheck_s)
            for request in list(self._open.values()):
                try:
                    if await self._viewer(request) is None and request.transport is not None:
                        request.transport.close()
                except (RpcError, DaemonUnavailable) as error:  # without a daemon a stream ends itself
                    log.info("%s can't be asked about: %s", request.path, error)


def _check_change(request: web.Request, viewer: Viewer) -> None:
    """Raise `Refused` for a change that none of the dashboard's pages can have sent."""
    if request.method in READS:
        return
    if request.method not in CHANGES:
        raise Refused(405, f"{request.method} isn't answered here.", Allow="GET, HEAD, POST, PATCH, DELETE")
    if request.content_type != "application/json":  # no form of another site can send that
        raise Refused(415, "Changes are sent as application/json.")
    given = request.headers.get(CSRF_HEADER, "")
    if viewer.via == "cookie" and not hmac.compare_digest(
        given.encode("utf-8", "replace"), viewer.csrf.encode()
    ):
        raise Refused(403, f"{CSRF_HEADER} is missing or is of another login. Load the page again.")


def _local(target: str) -> str:
    """Return the address to continue at if it is on this site, so that nobody is led to another one."""
    ours = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if ours and target.isascii() else "/"


STYLE: Final = "/static/foveal.css"
"""The stylesheet, which needs no sign-in: the page that refuses somebody looks like the others."""


CODES: Final[Mapping[int, str]] = {
    **dict.fromkeys((401, 403), PERMISSION_DENIED),
    **dict.fromkeys((405, 503), UNSUPPORTED),
    415: INVALID_PARAMS,
    502: INTERNAL,
}
"""The codes of the wire for the statuses of refusals."""


class Refused(Exception):
    """A refused request. `str()` says why and what to do; `status` is the HTTP status."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
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
        body=to_json(RpcError(CODES[refused.status], message).to_map()) + b"\n",
        status=refused.status,
        headers=refused.headers,
        content_type="application/json",
    )


_OPEN: Final = "foveal dashboard"
"""The command that signs in, as messages name it."""

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
