"""Bytes become messages and messages bytes, however they are cut; what can't be read is refused early.

The stream of a peer may be garbage, endless, or claim sizes that it never sends: none costs memory.
"""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from typing import Any

import msgpack  # type: ignore[import-untyped] # it ships no types
import pytest
from foveal.ipc.errors import RpcError
from foveal.ipc.protocol import (
    MAX_FRAME_BYTES,
    Decoder,
    Message,
    Notification,
    ProtocolError,
    Request,
    Response,
    UnusableRequest,
    encode_error,
    encode_notification,
    encode_request,
    encode_response,
)
from hypothesis import example, given
from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(TEXT, inner, max_size=20),
    max_leaves=30,
)
PARAMS = st.dictionaries(TEXT, VALUES, max_size=5)
MSGIDS = st.integers(0, 2**32 - 1)
MESSAGES = (
    st.builds(Request, MSGIDS, TEXT, PARAMS)
    | st.builds(Response, MSGIDS, st.none(), VALUES)
    | st.builds(Notification, TEXT, PARAMS)
)


def encode(message: Message) -> bytes:
    if isinstance(message, Request):
        return encode_request(message.msgid, message.method, message.params)
    if isinstance(message, Notification):
        return encode_notification(message.method, message.params)
    assert isinstance(message, Response)
    return encode_response(message.msgid, message.result)


def drain(decoder: Decoder) -> list[Message]:
    messages = []
    while (message := decoder.next_message()) is not None:
        messages.append(message)
    return messages


def decode(*chunks: bytes) -> list[Message]:
    decoder = Decoder()
    messages = []
    for chunk in chunks:
        decoder.feed(chunk)
        messages += drain(decoder)
    return messages


def check(frame: Any, expected: Message) -> None:
    packed = frame if isinstance(frame, bytes) else msgpack.packb(frame)
    assert decode(packed) == [expected]
    assert decode(*(packed[i : i + 1] for i in range(len(packed)))) == [expected]


def check_fatal(packed: bytes, msgid: int | None, code: str = "invalid_params") -> None:
    """Expect the end at exactly these bytes, no later ones being needed, in one feed as in single bytes."""
    for chunks in ([packed], [packed[i : i + 1] for i in range(len(packed))]):
        with pytest.raises(ProtocolError) as caught:
            decode(*chunks)
        assert (caught.value.msgid, caught.value.code) == (msgid, code)


@given(st.lists(MESSAGES, max_size=8), st.lists(st.integers(0, 2000), max_size=8))
def test_round_trip_however_the_bytes_are_cut(messages: list[Message], cuts: list[int]) -> None:
    stream = b"".join(map(encode, messages))
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert decode(*(stream[a:b] for a, b in pairwise(edges))) == messages


GARBAGE = st.lists(
    st.binary(max_size=20) | st.sampled_from([b"\x94\x00\x01\xa4Ping\x90", b"\x94\x00\x02\xa4Ping\x91\x80"]),
    max_size=8,
)
"""Bytes with whole requests among them: of random bytes alone hardly any is a message."""


@given(GARBAGE.map(b"".join), st.integers(0, 200))
@example(b"\x94\x00\x01\xa4Ping\x90" * 3 + b"\xc1", 15)
def test_garbage_gives_messages_or_one_error_the_same_for_every_cut(garbage: bytes, cut: int) -> None:
    def outcome(*chunks: bytes) -> tuple[list[str], str]:
        decoder = Decoder()
        messages: list[str] = []
        try:
            for chunk in chunks:
                decoder.feed(chunk)
                while (message := decoder.next_message()) is not None:
                    messages.append(repr(message))
        except ProtocolError:
            return messages, "dead"
        return messages, "open"

    whole = outcome(garbage)
    assert outcome(garbage[:cut], garbage[cut:]) == whole
    assert outcome(*(garbage[i : i + 1] for i in range(len(garbage)))) == whole


def test_shapes() -> None:
    check([0, 1, "Ping", []], Request(1, "Ping", {}))
    check([0, 2**64 - 1, "m", [{"a": [1, None]}]], Request(2**64 - 1, "m", {"a": [1, None]}))
    check([2, "event", [{"topic": "x"}]], Notification("event", {"topic": "x"}))
    check([2, "event", []], Notification("event", {}))
    check([1, 3, None, {"a": b"\x00"}], Response(3, None, {"a": b"\x00"}))
    check([1, 3, {"code": "busy", "message": "m"}, None], Response(3, {"code": "busy", "message": "m"}, None))
    check([1, 3, "text", None], Response(3, {"code": "internal", "message": "text"}, None))
    check(b"\xdc\x00\x04\x00\xcd\x00\x07\xd9\x01m\xdc\x00\x00", Request(7, "m", {}))  # long forms


def check_invalid(frame: Any, msgid: int | None, word: str) -> None:
    """Expect an error for this request, and that the stream goes on."""
    packed = frame if isinstance(frame, bytes) else msgpack.packb(frame)
    for chunks in (
        [packed + encode_request(9, "next")],
        [packed[:-1], packed[-1:] + encode_request(9, "next")],
    ):
        first, second = decode(*chunks)
        assert isinstance(first, UnusableRequest)
        assert first.msgid == msgid
        assert first.error["code"] == "invalid_params"
        assert word in first.error["message"]
        assert second == Request(9, "next", {})


def test_unusable_params_concern_only_their_request() -> None:
    check_invalid([0, 5, "m", [1]], 5, "one map")
    check_invalid([0, 5, "m", [{}, {}]], 5, "one map")
    check_invalid([0, 5, "m", [None]], 5, "one map")
    check_invalid([2, "m", ["text"]], None, "one map")
    check_invalid([0, 5, "m", [{b"cwd": "/"}]], 5, "strings")
    check_invalid([0, 5, "m", [{1: 2}]], 5, "key")
    check_invalid([0, 5, "m", [{"a": {None: 2}}]], 5, "key")
    check_invalid([2, "m", [{1: 2}]], None, "key")
    check_invalid([0, 5, "m", [{"a": msgpack.ExtType(4, b"x")}]], 5, "extension")
    check_invalid([0, 5, "m", [{"a": [{"b": msgpack.Timestamp(1, 2)}]}]], 5, "extension")
    check_invalid(b"\x94\x00\x05\xa1m\x91\xc7\x03\xff\x00\x00\x01", 5, "decoded")
    check_invalid(b"\x94\x00\x05\xa1m" + b"\x91" * 5000 + b"\xc0", 5, "decoded")
    check_invalid(b"\x94\x00\x05\xa1m\x91\x81\x90\x01", 5, "list")


def test_wrong_shapes_end_the_stream() -> None:
    bodies: list[Any] = [
        7,
        "GET / HTTP/1.1",
        None,
        {},
        [],
        [0],
        [0, 1, "m"],
        [3, 1, "m", []],
        [0, 1, "m", [], 1],
    ]
    for body in bodies:
        check_fatal(msgpack.packb(body), None)
    check_fatal(msgpack.packb([0, 6, 7, []]), 6)
    check_fatal(msgpack.packb([0, 6, b"m", []]), 6)
    check_fatal(msgpack.packb([0, 6, "m", {}]), 6)
    check_fatal(msgpack.packb([0, 6, "m", None]), 6)
    check_fatal(msgpack.packb([0, -1, "m", []]), None)
    check_fatal(msgpack.packb([False, 6, "m", []]), None)
    check_fatal(msgpack.packb([0, True, "m", []]), None)
    check_fatal(msgpack.packb([2, 5, []]), None)
    check_fatal(msgpack.packb([2, "m", {}]), None)
    check_fatal(msgpack.packb([1, 6, None, {1: 2}]), None)
    check_fatal(b"\x94\x00\x06\xc1", 6)
    check_fatal(b"\xc1", None)
    check_fatal(b"G", None)
    check_fatal(b"\xda", None)  # a string's head can't begin a frame


HEAD = b"\x94\x00\xcd\x01\x02\xa1m\x91"


def test_the_bytes_of_that_length_inside_of_a_text_are_only_bytes() -> None:
    blob = b"\xc9\xff\xff\xff\xff" * 3
    decoder = Decoder()
    decoder.feed(encode_request(1, "Ping", {"x": blob}) * 2)
    assert [decoder.next_message(), decoder.next_message()] == [Request(1, "Ping", {"x": blob})] * 2


def test_many_small_items_are_too_large_as_soon_as_they_are_announced() -> None:
    million = b"\xdd" + struct.pack(">I", 1_000_000)
    check_fatal(HEAD + b"\xdc\x00\x20" + million * 17, 258, "too_large")


def test_the_limit_is_exact() -> None:
    head = encode_response(1, "x" * 70_000)[:-70_000]
    longest = MAX_FRAME_BYTES - len(head)
    fitting = encode_response(1, "x" * longest)
    assert len(fitting) == MAX_FRAME_BYTES
    assert len(decode(fitting)) == 1
    assert len(decode(fitting[:100], fitting[100:])) == 1
    one_more = head[:-4] + struct.pack(">I", longest + 1)
    for chunks in ([one_more], [one_more + b"x" * (longest + 1)]):
        with pytest.raises(ProtocolError, match="limit"):
            decode(*chunks)
    with pytest.raises(RpcError) as caught:
        encode_response(1, "x" * (longest + 1))
    assert caught.value.code == "too_large"


def test_text_that_is_not_utf8_is_read_with_replacement_characters() -> None:
    check(b"\x94\x00\x01\xa1m\x91\x81\xa1p\xa2\xffa", Request(1, "m", {"p": "\ufffda"}))


def test_numbers_beyond_the_wire() -> None:
    values = [2**64, -(2**63) - 1, 10**400, -(10**400), math.nan, math.inf, -0.0]
    (response,) = decode(encode_response(1, values))
    assert isinstance(response, Response)
    assert response.result[:4] == [2.0**64, -(2.0**63), math.inf, -math.inf]
    assert math.isnan(response.result[4])
    assert response.result[5] == math.inf
    assert math.copysign(1, response.result[6]) == -1


def test_an_error_always_arrives() -> None:
    assert decode(encode_error(4, RpcError("busy", "m", {"n": 1}))) == [
        Response(4, {"code": "busy", "message": "m", "data": {"n": 1}}, None)
    ]
    assert decode(encode_error(4, RpcError("busy", "m", {"n": object()}))) == [
        Response(4, {"code": "busy", "message": "m"}, None)
    ]
    (huge,) = decode(encode_error(4, RpcError("busy", "m" * MAX_FRAME_BYTES)))
    assert isinstance(huge, Response)
    assert huge.error is not None
    assert len(huge.error["message"]) == 10_000


def test_an_empty_list_in_the_place_of_the_map_is_an_empty_map() -> None:
    decoder = Decoder()
    decoder.feed(msgpack.packb([0, 1, "Ping", [[]]]))
    assert decoder.next_message() == Request(1, "Ping", {})
