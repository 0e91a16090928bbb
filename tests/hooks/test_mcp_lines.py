"""A line is a message, or it is told why it is none; ids are found where they stand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from foveal.hooks.mcp_lines import NoMessage, answered_id, encode, error_line, read_line


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "method", "request_id"),
    [
        (line(id=1, method="a"), "a", 1),
        (line(id="x", method="a", params={"b": [1]}), "a", "x"),
        (line(id=0, method="a"), "a", 0),
        (line(method="a"), "a", None),
        (line(id=1, result={}), "", None),
        (line(id=1, error={"code": 1, "message": "m"}), "", None),
    ],
)
def test_messages(data: bytes, method: str, request_id: Any) -> None:
    read = read_line(data)
    assert read is not None
    assert (read.method, read.request_id, read.data) == (method, request_id, data)


@pytest.mark.parametrize("data", [b"\n", b"  \r\n"])
def test_empty_lines(data: bytes) -> None:
    assert read_line(data) is None


@pytest.mark.parametrize(
    ("data", "told_id", "code"),
    [
        (b"x\n", None, -32700),
        (b"\xc3\x28\n", None, -32700),
        (b"[]\n", None, -32600),
        (b"null\n", None, -32600),
        (b'{"id": 1, "method": "a"}\n', 1, -32600),
        (line(id=None, method="a"), None, -32600),
        (line(id=True, method="a"), None, -32600),
        (line(id=1, method=""), 1, -32600),
        (line(id=1, method="a", params=None), 1, -32600),
        (line(id=1, result=1, error={}), 1, -32600),
        (line(result=1), None, -32600),
    ],
)
def test_what_is_no_message(data: bytes, told_id: Any, code: int) -> None:
    with pytest.raises(NoMessage) as raised:
        read_line(data)
    reply = json.loads(raised.value.reply)
    assert (reply["id"], reply["error"]["code"]) == (told_id, code)
    assert raised.value.reply.endswith(b"\n")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (line(method="notifications/cancelled", params={"requestId": 7}), 7),
        (line(method="notifications/cancelled", params={"requestId": [7]}), None),
        (line(method="notifications/cancelled"), None),
        (line(method="notifications/progress", params={"requestId": 7}), None),
    ],
)
def test_cancelled_ids(data: bytes, expected: Any) -> None:
    read = read_line(data)
    assert read is not None
    assert read.cancelled_id == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (line(id=3, result={}), 3),
        (error_line("x", -32000, "m"), "x"),
        (line(id=3, method="roots/list"), None),
        (line(method="notifications/message"), None),
        (error_line(None, -32700, "m"), None),
    ],
)
def test_answered_ids(data: bytes, expected: Any) -> None:
    assert answered_id(data) == expected


@pytest.mark.parametrize(
    ("data", "sent"),
    [
        (b'{"jsonrpc":"2.0","method":"a"}', b'{"jsonrpc":"2.0","method":"a"}\n'),
        (b'{"jsonrpc":"2.0","method":"\\ud800"}\n', b'{"jsonrpc":"2.0","method":"?"}\n'),
        (b'{"jsonrpc":"2.0","method":"\\uD83D\\uDE00"}\n', '{"jsonrpc":"2.0","method":"😀"}\n'.encode()),
    ],
)
def test_what_the_server_would_drop_is_mended(data: bytes, sent: bytes) -> None:
    read = read_line(data)
    assert read is not None
    assert read.data == sent
    assert json.loads(encode(read.message)) == json.loads(sent)
