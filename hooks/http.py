"""The HTTP face: the daemon's methods and events as aiohttp handlers.

The socket that it is served on is the user's alone, and no browser can open a Unix socket. Only somebody who
forwards it to a TCP port (`ssh -L`, socat) puts web pages in its reach. Two checks, and no tokens or cookies,
hold them off: a request with an `Origin` comes from a page, since browsers send it with every POST and every
stream; and a `Host` that is a domain comes from one that its owner points at this machine (DNS rebinding).
Both get 403. Every other page could at most send a GET, which changes nothing and whose reply it can't read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from ..ipc.aclient import AsyncClient, DaemonLink
from ..ipc.errors import (
    BUSY,
    INTERNAL,
    INVALID_PARAMS,
    NOT_FOUND,
    PERMISSION_DENIED,
    PROJECT_UNAVAILABLE,
    TIMEOUT,
    TOO_LARGE,
    UNKNOWN_METHOD,
    UNSUPPORTED,
    DaemonUnavailable,
    RpcError,
)
from ..ipc.protocol import MAX_FRAME_BYTES, PROTOCOL_VERSION
from ..ipc.version import __version__

log = logging.getLogger(__name__)

HEARTBEAT_S = 15.0
"""Seconds between comments on a stream of events, by which either side notices that the other is gone."""

COMMENT = b":\n\n"
"""Written between events; readers skip it."""

MAX_BODY_BYTES = MAX_FRAME_BYTES
"""Maximum bytes of a body; MessagePack of the same is rarely larger."""

DAEMON_UNAVAILABLE = "daemon_unavailable"
"""The one error code that the socket doesn't have, where every reply comes from a daemon."""

STATUS_OF_CODE: Mapping[str, int] = {
    INVALID_PARAMS: 400,
    PERMISSION_DENIED: 403,
    UNKNOWN_METHOD: 404,
    NOT_FOUND: 404,
    TOO_LARGE: 413,
    INTERNAL: 500,
    UNSUPPORTED: 501,
    DAEMON_UNAVAILABLE: 502,
    PROJECT_UNAVAILABLE: 503,
    BUSY: 503,
    TIMEOUT: 504,
}
"""HTTP status by error code; unknown codes of newer daemons get 500."""

GET_METHODS = frozenset({"GetScope", "ListProjects", "ListScopes", "Ping", "Status"})
"""Methods that change nothing and take only strings: they answer a GET too."""

PATHS: Mapping[str, str] = {
    "POST /rpc/{Method}": "call a method; the body is a JSON object of its parameters, or empty",
    "GET /rpc/{Method}": f"the same for {', '.join(sorted(GET_METHODS))}, with parameters in the query",
    "GET /events?topics=a,b": "follow events of these topics as server-sent events",
    "POST /hook/{host}?event=name": "an agent's event; the body is its payload, the reply what a hook prints",
    "GET /mcp": "an upgrade to lines of MCP, which `foveal mcp` asks for",
    "GET /lsp": "an upgrade to messages of LSP, which `foveal lsp` asks for",
}


class HttpFace:
    """The routes of the face over one daemon socket. `heartbeat_s` is for tests."""

    def __init__(self, socket: str, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._link = DaemonLink(socket)
        self._heartbeat_s = heartbeat_s
        self._streams: set[AsyncClient] = set()

    def application(self) -> web.Application:
        """Return the application to serve, once for each face: its shutdown closes the face's connections."""
        application = web.Application(
            middlewares=[_answer_errors, _refuse_pages], client_max_size=MAX_BODY_BYTES
        )
        application.router.add_get("/", self._about, allow_head=False)
        application.router.add_post("/rpc/{method}", self._post)
        application.router.add_get("/rpc/{method}", self._get, allow_head=False)
        application.router.add_get("/events", self._events, allow_head=False)
        application.router.add_post("/hook/{host}", self._hook)
        application.on_shutdown.append(self._end_streams)
        application.on_cleanup.append(self._close)
        return application

    async def _about(self, request: web.Request) -> web.StreamResponse:
        about = "the foveal daemon over HTTP: the same methods and events as on its socket"
        return _reply({"about": about, "version": __version__, "protocol": PROTOCOL_VERSION, "paths": PATHS})

    async def _post(self, request: web.Request) -> web.StreamResponse:
        if request.query_string:
            raise RpcError(INVALID_PARAMS, "the parameters of a POST go into its body, as a JSON object")
        return await self._answer(request.match_info["method"], await read_params(request))

    async def _get(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if method not in GET_METHODS:
            raise web.HTTPMethodNotAllowed("GET", ["POST"])
        return await self._answer(method, _query(request))

    async def _answer(self, method: str, params: Mapping[str, Any]) -> web.StreamResponse:
        if method == "Subscribe":  # its events would reach nobody on the shared connection
            raise RpcError(UNSUPPORTED, "over HTTP events come from GET /events?topics=a,b")
        return _reply(await self._link.call(method, params))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        topics = [topic.strip() for topic in _query(request).get("topics", "").split(",") if topic.strip()]
        if not topics:
            raise RpcError(
                INVALID_PARAMS, "topics must name what to follow: /events?topics=a,b", {"field": "topics"}
            )
        connection = await self._link.subscribe(topics)
        self._streams.add(connection)
        try:
            response = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
            )
            await response.prepare(request)
            await pass_on(response, connection, COMMENT, self._heartbeat_s)
            return response
        finally:
            self._streams.discard(connection)
            await connection.close()

    async def _hook(self, request: web.Request) -> web.StreamResponse:
        """Answer an agent's event with the text that its hook prints: nothing, whatever goes wrong.

        So `curl --unix-socket` is a whole hook, and fails open like the other one.
        """
        output: object = ""
        try:
            body = await request.read()
            params = {"host": request.match_info["host"], "event": request.query.get("event", "")}
            reply = await self._link.call("HookEvent", params | {"payload": body.decode("utf-8", "replace")})
            output = reply.get("output")
        except (RpcError, DaemonUnavailable, web.HTTPException, web.RequestPayloadError) as error:
            log.warning("a hook of %r got no answer: %s", request.match_info["host"], error)
        return web.Response(
            body=output.encode("utf-8", "replace") if isinstance(output, str) else b"",
            content_type="application/json",
        )

    async def _end_streams(self, application: web.Application) -> None:
        await asyncio.gather(*[connection.close() for connection in self._streams])

    async def _close(self, application: web.Application) -> None:
        await self._link.close()


async def pass_on(
    response: web.StreamResponse, connection: AsyncClient, beat: bytes, heartbeat_s: float
) -> None:
    """Write events until the daemon or the reader is gone, with `beat` first, which sends the headers, and
    after each pause.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            beating = tasks.create_task(_repeat(response, beat, heartbeat_s))
            async for event in connection.events():
                await response.write(encode_event(event))
            beating.cancel()
    except* ConnectionError:
        pass  # the reader hung up, the normal end of a stream


async def _repeat(response: web.StreamResponse, beat: bytes, pause_s: float) -> None:
    while True:
        await response.write(beat)
        await asyncio.sleep(pause_s)


def to_json(value: Any) -> bytes:
    """Return a value of the wire as JSON in UTF-8. Raises `RpcError` if it is nested too deep.

    What JSON can't hold: bytes become base64 text, NaN and the infinities null, lone surrogates `?`, as the
    wire has it.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    except (RecursionError, TypeError) as error:
        text = f"the reply has no form in JSON ({error}); use the daemon's socket"
        raise RpcError(INTERNAL, text) from error


def encode_event(event: Mapping[str, Any]) -> bytes:
    """Return an event as the bytes of a server-sent event; its data is the event as the socket has it."""
    topic = " ".join(str(event.get("topic", "")).split())  # a line break would end the field
    return b"event: %b\ndata: %b\n\n" % (topic.encode("utf-8", "replace"), to_json(event))


@web.middleware
async def _answer_errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turn every error into a reply, and log unexpected ones."""
    try:
        return await handler(request)
    except RpcError as error:
        return _error_reply(error, STATUS_OF_CODE.get(error.code, 500))
    except DaemonUnavailable as error:
        return _error_reply(RpcError(DAEMON_UNAVAILABLE, str(error)), 502)
    except web.HTTPException as error:
        return _http_error(request, error)
    except Exception as error:
        log.exception("%s %s failed", request.method, request.path)
        message = f"the HTTP face failed ({type(error).__name__}); see: foveal logs"
        return _error_reply(RpcError(INTERNAL, message), 500)


@web.middleware
async def _refuse_pages(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse requests that a web page may have sent, see the file's docstring."""
    if "Origin" in request.headers:
        raise RpcError(PERMISSION_DENIED, "requests of web pages (with an Origin) are not answered")
    for host in request.headers.getall("Host", []):
        if _is_domain(host):
            raise RpcError(
                PERMISSION_DENIED, f"the host {host!r:.200} is a domain; use a plain one: http://localhost/"
            )
    return await handler(request)


def _is_domain(host: str) -> bool:
    """Whether a Host, with or without a port, is a name that somebody could own in the DNS.

    Not so a single label (`d`, `localhost`), an address, or the quoted socket path that some clients send.
    """
    name = re.sub(r":\d*$", "", host).rstrip(".")
    address = host.startswith("[") or re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", name) is not None
    return "." in name and "%" not in name and not address


async def read_params(request: web.Request) -> dict[str, Any]:
    """Return the parameters in the body, none for an empty body. Raises `RpcError` for anything else."""
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise _body_too_large()  # before it is sent
    try:
        body = await request.read()
    except web.RequestPayloadError as error:
        raise RpcError(INVALID_PARAMS, f"the body can't be read: {error}") from error
    try:
        return msgspec.json.decode(body if body.strip() else b"{}", type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        text = f"the body must be a JSON object of parameters: {error}"
        raise RpcError(INVALID_PARAMS, text, {"field": "params"}) from error


def _query(request: web.Request) -> dict[str, str]:
    """Return the query's parameters. Raises `RpcError` for a repeated one."""
    for name in request.query:
        if len(request.query.getall(name)) > 1:
            raise RpcError(INVALID_PARAMS, f"the parameter {name!r:.80} is there twice", {"field": name})
    return dict(request.query)


def _body_too_large() -> RpcError:
    return RpcError(TOO_LARGE, f"a body may take {MAX_BODY_BYTES} bytes; send less at once")


def _http_error(request: web.Request, error: web.HTTPException) -> web.Response:
    """Return a refusal of the router or the server as an error of the wire, with its own status."""
    if error.status == 404:
        what = RpcError(NOT_FOUND, f"there is nothing at {request.path!r:.200}; GET / names the paths")
    elif error.status == 405:
        allowed = error.headers.get("Allow", "another method")
        what = RpcError(UNSUPPORTED, f"{request.method} isn't answered here; use {allowed}")
    elif error.status == 413:
        what = _body_too_large()
    else:
        what = RpcError(INVALID_PARAMS if error.status < 500 else INTERNAL, error.text or error.reason)
    reply = _error_reply(what, error.status)
    if "Allow" in error.headers:
        reply.headers["Allow"] = error.headers["Allow"]
    return reply


def _error_reply(error: RpcError, status: int) -> web.Response:
    return _reply(error.to_map(), status)


def _reply(value: Any, status: int = 200) -> web.Response:
    # The final line break is for people: a shell's prompt follows on a line of its own.
    return web.Response(body=to_json(value) + b"\n", status=status, content_type="application/json")
