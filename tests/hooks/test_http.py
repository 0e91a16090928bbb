"""The HTTP face over a real daemon socket: methods, errors as statuses, bad bodies, events, refusals."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient
from foveal import __version__
from foveal.hooks.http import (
    DAEMON_UNAVAILABLE,
    GET_METHODS,
    MAX_BODY_BYTES,
    PATHS,
    STATUS_OF_CODE,
    HttpFace,
    encode_event,
    to_json,
)
from foveal.ipc.connection import Connection
from foveal.ipc.errors import RpcError
from foveal.ipc.listener import bind, remove_socket
from foveal.ipc.protocol import PROTOCOL_VERSION
from foveal.ipc.server import Server

Browse = Callable[..., Awaitable[TestClient[web.Request, web.Application]]]


@pytest.fixture
async def browse(aiohttp_client: Any) -> AsyncIterator[Browse]:
    """Make a client of a face over a daemon's socket; at the end nothing of it may be left running."""
    before = asyncio.all_tasks()
    clients: list[TestClient[web.Request, web.Application]] = []

    async def make(path: str, **options: Any) -> TestClient[web.Request, web.Application]:
        clients.append(await aiohttp_client(HttpFace(path, **options).application()))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}


class Daemon:
    """A daemon's methods, one of each kind."""

    def __init__(self) -> None:
        self.subscribers: list[Connection] = []

    def __call__(self, connection: Connection, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "Echo" | "Ping" | "Status" | "ListProjects" | "ListScopes" | "GetScope":
                return {"method": method, "params": params}
            case "Fail":
                raise RpcError(params["code"], "it failed", params.get("data"))
            case "Odd":
                return {"bytes": b"\xff\x00", "nan": math.nan, "inf": [math.inf, -math.inf], b"k": 1}
            case "Large":
                return "x" * params["size"]
            case "Subscribe":
                self.subscribers.append(connection)
                return {"topics": params["topics"]}
        raise RpcError("unknown_method", f"there is no method {method!r}")


@asynccontextmanager
async def serving(path: str) -> AsyncIterator[tuple[Server, Daemon]]:
    daemon = Daemon()
    async with Server(daemon, lambda error: None, lambda error, method: None) as server:
        server.start(bind(path))
        yield server, daemon
    remove_socket(path)


async def read(response: ClientResponse) -> tuple[int, Any]:
    assert response.content_type == "application/json"
    return response.status, await response.json()


async def check_error(response: ClientResponse, status: int, code: str, text: str) -> None:
    found, error = await read(response)
    assert (found, error["code"]) == (status, code), error
    assert text in error["message"]


async def test_http_method_call(path: str, browse: Browse) -> None:
    params = {"cwd": "/x", "é": [1, 2.5, None, True, "日本"], "deep": {"a": {"b": []}}}
    async with serving(path):
        http = await browse(path)
        reply = await read(await http.post("/rpc/Echo", json=params))
        assert reply == (200, {"method": "Echo", "params": params})
        for body in (b"", b" \r\n\t", b"{}"):
            reply = await read(await http.post("/rpc/Echo", data=body))
            assert reply == (200, {"method": "Echo", "params": {}})
        assert await read(await http.post("/rpc/Large", json={"size": 3_000_000})) == (200, "x" * 3_000_000)


@pytest.mark.parametrize("code", sorted(STATUS_OF_CODE.keys() - {DAEMON_UNAVAILABLE}))
async def test_each_error_has_its_status(path: str, browse: Browse, code: str) -> None:
    async with serving(path):
        http = await browse(path)
        for data in (None, {"field": "cwd"}):
            status, error = await read(await http.post("/rpc/Fail", json={"code": code, "data": data}))
            expected: dict[str, Any] = {"code": code, "message": "it failed"}
            if data:
                expected["data"] = data
            assert (status, error) == (STATUS_OF_CODE[code], expected)


@pytest.mark.parametrize("method", sorted(GET_METHODS))
async def test_read_only_methods_are_answered_to_a_get(path: str, browse: Browse, method: str) -> None:
    async with serving(path):
        http = await browse(path)
        assert await read(await http.get(f"/rpc/{method}")) == (200, {"method": method, "params": {}})
        reply = await read(await http.get(f"/rpc/{method}?cwd=/a%20b&x="))
        assert reply == (200, {"method": method, "params": {"cwd": "/a b", "x": ""}})


async def test_unknown_paths_and_verbs_are_refused(path: str, browse: Browse) -> None:
    async with serving(path):
        http = await browse(path)
        for where in ("/nothing", "/rpc", "/rpc/", "/rpc/A/b", "/%00"):
            await check_error(await http.get(where), 404, "not_found", "GET / names the paths")
        for verb, where, allowed in (
            ("GET", "/rpc/GetContext", "POST"),
            ("HEAD", "/rpc/Status", "GET,POST"),
            ("DELETE", "/rpc/Status", "GET,POST"),
            ("POST", "/events", "GET"),
        ):
            response = await http.request(verb, where)
            assert response.status == 405
            assert set(response.headers["Allow"].split(",")) == set(allowed.split(","))
            if verb != "HEAD":
                await check_error(response, 405, "unsupported", f"{verb} isn't answered")


async def test_misplaced_parameters_are_refused(path: str, browse: Browse) -> None:
    async with serving(path):
        http = await browse(path)
        await check_error(
            await http.get("/rpc/Status?cwd=/a&cwd=/b"), 400, "invalid_params", "'cwd' is there twice"
        )
        await check_error(await http.post("/rpc/Echo?cwd=/a"), 400, "invalid_params", "go into its body")
        await check_error(
            await http.post("/rpc/Subscribe", json={"topics": ["a"]}), 501, "unsupported", "GET /events"
        )


@pytest.mark.parametrize(
    "body",
    [
        b"x", b"[]", b"1", b"null", b'{"a": "\\ud800"}', b'{"a": 1e999}', b'"text"', b"{", b'{"a":1}{"b":2}', b"{'a': 1}", b'{"a": NaN}',
        b'{"a": -Infinity}', b"\xff\xfe", b'{"a": "\xff"}', b"[" * 100_000, b'{"a":' * 100_000, b"\x00",
        b'{"a": ' + b"1" * 10_000 + b"}",
    ],
)  # fmt: skip
async def test_bodies_must_be_json_objects(path: str, browse: Browse, body: bytes) -> None:
    async with serving(path) as (server, _):
        http = await browse(path)
        status, error = await read(await http.post("/rpc/Echo", data=body))
        assert (status, error["code"]) == (400, "invalid_params")
        assert server.statistics().requests == 0
        assert (await http.post("/rpc/Echo")).status == 200


async def test_bodies_and_replies_up_to_the_limit(path: str, browse: Browse) -> None:
    async def chunks(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 65536):
            yield b" " * 65536

    async with serving(path):
        http = await browse(path)
        body = b'{"a":"' + b"x" * (MAX_BODY_BYTES - 100) + b'"}'
        assert (await http.post("/rpc/Echo", data=BytesIO(body))).status == 200
        response = await http.post("/rpc/Echo", data=BytesIO(body + b" " * 100))
        await check_error(response, 413, "too_large", str(MAX_BODY_BYTES))
        response = await http.post("/rpc/Echo", data=chunks(MAX_BODY_BYTES + 65536))
        await check_error(response, 413, "too_large", str(MAX_BODY_BYTES))
        # Small as JSON, too large as MessagePack: a float takes 3 bytes here and 9 there.
        body = b'{"a":[' + b",".join([b"1.5"] * 2_000_000) + b"]}"
        response = await http.post("/rpc/Echo", data=BytesIO(body))
        await check_error(response, 413, "too_large", "send less")
        response = await http.post("/rpc/Large", json={"size": MAX_BODY_BYTES})
        await check_error(response, 413, "too_large", "ask for or send less")


async def test_values_that_json_or_the_wire_cannot_hold(path: str, browse: Browse) -> None:
    async with serving(path):
        http = await browse(path)
        reply = await read(await http.post("/rpc/Echo", data=b'{"b": 123456789012345678901}'))
        assert reply == (200, {"method": "Echo", "params": {"b": 123456789012345678901.0}})
        reply = await read(await http.post("/rpc/Odd"))
        assert reply == (200, {"bytes": "/wA=", "nan": None, "inf": [None, None], "aw==": 1})


def test_json_of_unusual_values() -> None:
    assert to_json({"a": (1, [None, math.nan]), "b": b"abc", 1: "é\u2028"}) == (
        '{"a":[1,[null,null]],"b":"YWJj","1":"é\u2028"}'.encode()
    )
    assert to_json("\udcff!") == b'"?!"'
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for odd in (deep, {"a": 1j}):
        with pytest.raises(RpcError, match="has no form in JSON"):
            to_json(odd)


def test_events_as_server_sent_events() -> None:
    event = {"topic": "a.b", "at": "now", "data": {"text": "one\ntwo\r\n", "b": b"x"}}
    expected = (
        b'event: a.b\ndata: {"topic":"a.b","at":"now","data":{"text":"one\\ntwo\\r\\n","b":"eA=="}}\n\n'
    )
    assert encode_event(event) == expected
    assert encode_event({"topic": "a\r\ndata: x\n\n"}).count(b"\n") == 3


async def test_face_recovers_when_the_daemon_returns(path: str, browse: Browse) -> None:
    http = await browse(path)
    for _ in range(2):
        await check_error(await http.post("/rpc/Echo"), 502, "daemon_unavailable", "foveal status")
        await check_error(await http.get("/events?topics=a"), 502, "daemon_unavailable", path)
        async with serving(path):
            assert (await http.post("/rpc/Echo")).status == 200
    async with serving(path):
        os.chmod(os.path.dirname(path), 0o755)
        await check_error(await http.get("/rpc/Ping"), 502, "daemon_unavailable", "chmod 700")


NAMES = ("d", "D:80", "localhost", "localhost.", "%2Frun%2Ff.sock", "")
ADDRESSES = ("127.0.0.1:8080", "[::1]:80", "[::ffff:127.0.0.1]")
DOMAINS = ("example.com", "evil.localhost:80", "127.0.0.1.example.com", "a.b.", "1.2.3.4.5", "0x7f.1")


@pytest.mark.parametrize("host", [*NAMES, *ADDRESSES, *DOMAINS])
async def test_hosts(path: str, browse: Browse, host: str) -> None:
    async with serving(path):
        http = await browse(path)
        response = await http.get("/rpc/Ping", headers={"Host": host})
        if host in DOMAINS:
            await check_error(response, 403, "permission_denied", "is a domain")
        else:
            assert response.status == 200


async def test_requests_of_web_pages_are_refused(path: str, browse: Browse) -> None:
    async with serving(path) as (server, _):
        http = await browse(path)
        for verb, where in (
            ("POST", "/rpc/Shutdown"),
            ("GET", "/events?topics=a"),
            ("OPTIONS", "/rpc/Echo"),
            ("GET", "/"),
        ):
            for origin in ("https://example.com", "http://localhost", "null"):
                response = await http.request(verb, where, headers={"Origin": origin})
                await check_error(response, 403, "permission_denied", "Origin")
                assert not [name for name in response.headers if name.startswith("Access-Control")]
        assert server.statistics().accepted == 0


async def test_root_page_describes_the_face(path: str, browse: Browse) -> None:
    http = await browse(path)
    status, about = await read(await http.get("/"))
    assert status == 200
    assert (about["version"], about["protocol"], about["paths"]) == (
        __version__,
        PROTOCOL_VERSION,
        dict(PATHS),
    )
    assert "foveal" in about["about"]


async def read_event(response: ClientResponse) -> tuple[str, Any]:
    """Read up to the next event; comments are passed over."""
    async with asyncio.timeout(20):
        name = b""
        while line := await response.content.readline():
            if line.startswith(b"event: "):
                name = line[7:].strip()
            elif line.startswith(b"data: "):
                return name.decode(), json.loads(line[6:])
    raise AssertionError("the stream has ended")


async def test_stream_sends_heartbeats(path: str, browse: Browse) -> None:
    async with serving(path):
        http = await browse(path, heartbeat_s=0.001)
        async with http.get("/events?topics=a") as stream, asyncio.timeout(20):
            for _ in range(5):
                assert await stream.content.readline() == b":\n"
                assert await stream.content.readline() == b"\n"


async def test_a_stream_ends_with_the_daemon(path: str, browse: Browse) -> None:
    http = await browse(path)
    async with serving(path) as (server, daemon):
        stream = await http.get("/events?topics=a")
        daemon.subscribers[0].publish({"topic": "a", "data": "last"})
        assert (await read_event(stream))[1]["data"] == "last"
        await server.shutdown(0)
        assert await stream.content.read() == b"\n"  # whole, and its end is announced
    await check_error(await http.get("/events?topics=a"), 502, "daemon_unavailable", "foveal status")


@pytest.mark.parametrize("query", ["", "?topics=", "?topics=,%20,", "?topic=a"])
async def test_stream_without_topics_is_refused(path: str, browse: Browse, query: str) -> None:
    async with serving(path) as (server, _):
        http = await browse(path)
        await check_error(await http.get(f"/events{query}"), 400, "invalid_params", "topics must name")
        assert server.statistics().accepted == 0
