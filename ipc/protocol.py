"""MessagePack-RPC framing: bytes in, messages out, without I/O. The only module that knows msgpack.

A frame is first measured, then decoded. Measuring builds nothing, so a peer's claim (a string of 1 GB, a list
of 100 million) costs no memory before its bytes arrive, and they never do: the claim is refused at the
header. msgpack measures frames that arrive complete in one feed; the scanner here measures partial ones.
"""

from __future__ import annotations

from math import copysign, inf

import msgpack  # type: ignore[import-untyped] # it ships no types

from .errors import INTERNAL, INVALID_PARAMS, TOO_LARGE, RpcError
from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

PROTOCOL_VERSION: Final = 1
MAX_FRAME_BYTES: Final = 16 * 1024 * 1024

REQUEST: Final = 0
RESPONSE: Final = 1
NOTIFICATION: Final = 2


class ProtocolError(Exception):
    """The peer violated the protocol: the rest of the stream can't be read.

    `code` is `too_large` for a frame above the limit, else `invalid_params`. `msgid` is that of the request
    concerned, or None if it is unknown.
    """

    def __init__(self, message: str, msgid: int | None = None, code: str = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.msgid = msgid
        self.code = code


class Request(Record):
    """`[0, msgid, method, [params]]`: answered by a response with the same `msgid` (0 to 2**64 - 1)."""

    __slots__ = ("method", "msgid", "params")

    def __init__(self, msgid: int, method: str, params: dict[str, Any]) -> None:
        self.msgid = msgid
        self.method = method
        self.params = params


class Response(Record):
    """`[1, msgid, error, result]`. `error` is None or a map `{code, message, data?}`."""

    __slots__ = ("error", "msgid", "result")

    def __init__(self, msgid: int, error: dict[str, Any] | None, result: Any) -> None:
        self.msgid = msgid
        self.error = error
        self.result = result


class Notification(Record):
    """`[2, method, [params]]`: never answered."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method = method
        self.params = params


class UnusableRequest(Record):
    """A well-framed request with unusable content; the stream continues after it.

    It is answered with `error`, an `invalid_params` map. `msgid` is None for a notification, which isn't
    answered.
    """

    __slots__ = ("error", "msgid")

    def __init__(self, msgid: int | None, error: dict[str, Any]) -> None:
        self.msgid = msgid
        self.error = error


class PackedResult(Record):
    """A result that is a map: `count` fields packed by `pack_fields`, followed by `more`."""

    __slots__ = ("count", "fields", "more")

    def __init__(self, count: int, fields: bytes, more: dict[str, Any]) -> None:
        self.count = count
        self.fields = fields
        self.more = more


Message = Request | Response | Notification | UnusableRequest


class Decoder:
    """Turns a byte stream into messages: `feed` it bytes, then call `next_message` until it returns None.

    Holds at most one partial frame of `max_frame_bytes` and the bytes fed but not yet read. After a
    `ProtocolError` it is dead and raises the same error again.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._error: ProtocolError | None = None
        self._chunk = b""
        self._start = 0
        self._measure: msgpack.Unpacker | None = None
        self.partial = bytearray()
        """The bytes of an incomplete frame, or of a complete frame not yet read."""
        self._position = 0
        self._owed = 1
        self.frame_bytes = 0
        """The bytes of the last message's frame."""

    @property
    def empty(self) -> bool:
        """Whether no bytes are held."""
        return not self._chunk and not self.partial

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream, any number of them."""
        if self.partial:
            self.partial += data
            return
        self._chunk = self._chunk[self._start :] + data if self._start < len(self._chunk) else data
        self._start, self._measure = 0, None

    def next_message(self) -> Message | None:
        """Return the next complete message, or None if more bytes are needed. Raises `ProtocolError`."""
        if self._error is not None:
            raise self._error
        if not self.partial and self._start >= len(self._chunk):
            return None
        try:
            frame = self._whole_frame() or self._scanned_frame()
            if frame is None:
                return None
            self.frame_bytes = len(frame)
            return _to_message(frame)
        except ProtocolError as error:
            self._error = error
            self._load(b"")
            self.partial = bytearray()
            raise

    def _load(self, chunk: bytes) -> None:
        self._chunk = chunk
        self._start = 0
        self._measure = None

    def _scanned_frame(self) -> bytearray | None:
        """Return the next frame if msgpack couldn't measure it: it came in parts, or has unusual bytes."""
        if not self.partial:
            self.partial += memoryview(self._chunk)[self._start :]
            self._position, self._owed = 0, 1
            self._load(b"")
        end = self._scan()
        if end is None:
            return None
        # Moved, since copying 16 MB takes some milliseconds.
        taken, self.partial = self.partial, bytearray()
        self._load(bytes(taken[end:]))
        del taken[end:]
        return taken

    def _whole_frame(self) -> bytes | None:
        """Return the next frame if it is complete in the chunk and msgpack can measure it."""
        if self.partial:
            return None
        if self._measure is None:
            self._measure = msgpack.Unpacker(max_buffer_size=0)
            self._measure.feed(self._chunk)
        try:
            self._measure.skip()
        except (msgpack.OutOfData, ValueError, RecursionError):  # not msgpack, or too deep for its stack
            return None
        start, end = self._start, self._measure.tell()
        frame = self._chunk[start:end]
        if _OVERFLOWING in frame:
            return None
        if len(frame) > self._max_frame_bytes:
            raise self._too_large(frame, len(frame))
        if end == len(self._chunk):
            self._chunk, self._start, self._measure = b"", 0, None
        else:
            self._start = end
        return frame

    def _scan(self) -> int | None:
        """Measure the received part of the frame; return its end, or None if it is incomplete.

        `_owed` is the number of values that the headers so far still promise. Each takes at least a byte, so
        position plus owed bounds the frame from below: a claim is refused before its bytes arrive.
        """
        data, position, owed, limit = self.partial, self._position, self._owed, self._max_frame_bytes
        size = len(data)
        if position == 0 and data[0] not in _FRAME_HEADS:
            raise ProtocolError(_NOT_RPC)
        while owed and position < size:
            byte = data[position]
            if byte < 0x80 or byte >= 0xE0:
                position, owed = position + 1, owed - 1
            elif byte < 0xA0:
                count = byte & 0x0F
                position, owed = position + 1, owed - 1 + (count if byte >= 0x90 else 2 * count)
            elif byte < 0xC0:
                position, owed = position + 1 + (byte & 0x1F), owed - 1
            else:
                kind, width = _HEADERS[byte - 0xC0]
                if kind == _RESERVED:
                    raise ProtocolError(_NOT_RPC, _peek_msgid(data))
                if position + 1 + width > size:
                    break
                count = int.from_bytes(data[position + 1 : position + 1 + width], "big")
                position += 1 + width
                owed -= 1
                if kind == _ARRAY:
                    owed += count
                elif kind == _MAP:
                    owed += 2 * count
                elif kind == _EXTENSION:
                    position += 1 + count
                elif kind == _BYTES:
                    position += count
                else:
                    position += kind - width
            if position + owed > limit:
                raise self._too_large(data, position + owed)
        self._position, self._owed = position, owed
        return position if not owed and position <= size else None

    def _too_large(self, frame: bytes | bytearray, size: int) -> ProtocolError:
        return ProtocolError(
            f"the frame takes at least {size} bytes, the limit is {self._max_frame_bytes}; send less at once",
            _peek_msgid(frame),
            TOO_LARGE,
        )


def encode_request(msgid: int, method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Return the bytes of a request. Raises `RpcError` if params can't be packed or are too large."""
    return _encode([REQUEST, msgid, method, [] if params is None else [params]], INVALID_PARAMS)


def encode_response(msgid: int, result: Any) -> bytes:
    """Return the bytes of a reply. Raises `RpcError` if the result can't be packed or is too large.

    A result is None, bool, int, float, str, bytes, list, tuple or dict. Lone surrogates become `?`, an int of
    more than 64 bits becomes the nearest float, as in most readers of JSON.
    """
    if type(result) is PackedResult:
        head = msgpack.packb([RESPONSE, msgid, None])[1:]
        header = _map_header(result.count + len(result.more))
        frame = b"".join((b"\x94", head, header, result.fields, pack_fields(result.more)))
        if len(frame) > MAX_FRAME_BYTES:
            raise _too_large(len(frame))
        return frame
    return _encode([RESPONSE, msgid, None, result], INTERNAL)


def pack_fields(fields: Mapping[str, Any]) -> bytes:
    """Return the packed names and values of a map, for a `PackedResult`. Raises `RpcError`."""
    body = _encode(fields if type(fields) is dict else dict(fields), INTERNAL)
    return body[len(_map_header(len(fields))) :]


def encode_error(msgid: int, error: RpcError) -> bytes:
    """Return the bytes of an error reply. Data that can't be packed is left out: an error always arrives."""
    try:
        return _encode([RESPONSE, msgid, error.to_map(), None], INTERNAL)
    except RpcError:
        bare = {"code": error.code, "message": error.message[:_MESSAGE_CHARACTERS]}
        return _encode([RESPONSE, msgid, bare, None], INTERNAL)


def encode_notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Return the bytes of a notification. Raises `RpcError` if params can't be packed or are too large."""
    return _encode([NOTIFICATION, method, [] if params is None else [params]], INVALID_PARAMS)


_MESSAGE_CHARACTERS: Final = 10_000
"""Maximum characters of a message in an error whose map was too large for a frame."""

_OVERFLOWING: Final = b"\xc9\xff\xff\xff\xff"
"""The header of a 4 GiB extension, whose length overflows when msgpack adds 1 in 32 bits: msgpack measures it
as empty. The scanner measures frames with these bytes, whatever they mean there."""

_NOT_RPC: Final = "these bytes are not MessagePack-RPC"

_FRAME_HEADS: Final = frozenset((0x93, 0x94, 0xDC, 0xDD))
"""First bytes of an array of 3 or 4, short or long form: every frame begins with one of them."""

_BYTES, _ARRAY, _MAP, _EXTENSION, _RESERVED = -1, -2, -3, -4, -5
_HEADERS: Final = (
    *((0, 0), (_RESERVED, 0), (0, 0), (0, 0)),  # nil, never used, false, true
    *((_BYTES, 1), (_BYTES, 2), (_BYTES, 4)),  # bin
    *((_EXTENSION, 1), (_EXTENSION, 2), (_EXTENSION, 4)),
    *((4, 0), (8, 0)),  # float
    *((1, 0), (2, 0), (4, 0), (8, 0)),  # uint
    *((1, 0), (2, 0), (4, 0), (8, 0)),  # int
    *((2, 0), (3, 0), (5, 0), (9, 0), (17, 0)),  # fixext: a type byte and its data
    *((_BYTES, 1), (_BYTES, 2), (_BYTES, 4)),  # str
    *((_ARRAY, 2), (_ARRAY, 4), (_MAP, 2), (_MAP, 4)),
)
"""For the first bytes 0xc0 to 0xdf: the number of bytes that follow (if not negative), and the bytes of the
length field. From the MessagePack specification, its table of formats."""


def _to_message(frame: bytes | bytearray) -> Message:
    """Decode a complete frame. Raises `ProtocolError` if it isn't MessagePack-RPC."""
    try:
        body = msgpack.unpackb(frame, unicode_errors="replace", ext_hook=_refuse_extension)
        if b"\xff" in frame:  # the type byte of a timestamp, rare in anything else
            _refuse_timestamps(body)
    except (ValueError, TypeError, RecursionError) as error:
        return _undecodable(frame, error)
    if type(body) is list and body and type(body[0]) is int:  # a bool doesn't count as an int here
        if len(body) == 4:
            kind, msgid, second, third = body
            if type(msgid) is int and msgid >= 0:
                if kind == REQUEST and type(second) is str and type(third) is list:
                    params = _params(third)
                    if isinstance(params, str):
                        return _invalid(msgid, params)
                    return Request(msgid, second, params)
                if kind == RESPONSE:
                    return Response(msgid, _error_map(second), third)
        elif len(body) == 3:
            kind, method, arguments = body
            if kind == NOTIFICATION and type(method) is str and type(arguments) is list:
                params = _params(arguments)
                if isinstance(params, str):
                    return _invalid(None, params)
                return Notification(method, params)
    raise ProtocolError(_NOT_RPC, _peek_msgid(frame))


def _invalid(msgid: int | None, message: str) -> UnusableRequest:
    return UnusableRequest(msgid, RpcError(INVALID_PARAMS, message, {"field": "params"}).to_map())


def _params(arguments: list[Any]) -> dict[str, Any] | str:
    """Return the params of an argument list, or a message about its error."""
    if not arguments:
        return {}
    params = arguments[0]
    if arguments == [[]]:
        return {}  # Lua has one empty table, and Neovim packs it as a list
    if len(arguments) > 1 or type(params) is not dict:
        return "the argument list must be empty or hold one map of parameters"
    for key in params:
        if type(key) is not str:
            return f"the names of parameters must be strings, not {type(key).__name__}"
    return params


def _error_map(error: Any) -> dict[str, Any] | None:
    """Return a response's error as a map: other MessagePack-RPC servers send strings or lists."""
    if error is None or type(error) is dict:
        return error
    return {"code": INTERNAL, "message": str(error)}


def _undecodable(frame: bytes | bytearray, error: Exception) -> UnusableRequest:
    """Classify a complete frame with forbidden values: only a request can be answered."""
    message = f"the frame can't be decoded: {str(error) or 'it is nested too deep'}"
    head = _peek_head(frame)
    if head[:1] == [REQUEST] and len(head) == 2:
        return _invalid(head[1], message)
    if head == [NOTIFICATION]:
        return _invalid(None, message)
    raise ProtocolError(message)


def _peek_msgid(frame: bytes | bytearray) -> int | None:
    """Return the msgid of a request, complete or not, broken or not, if its first bytes contain it."""
    head = _peek_head(frame)
    return head[1] if len(head) == 2 and head[0] == REQUEST else None


def _peek_head(frame: bytes | bytearray) -> list[int]:
    """Return `[type, msgid]` of a request or response, `[type]` of a notification, `[]` of anything else."""
    unpacker = msgpack.Unpacker(max_array_len=4, max_map_len=0, max_buffer_size=_HEAD_BYTES)
    unpacker.feed(bytes(memoryview(frame)[:_HEAD_BYTES]))
    try:
        count, kind = unpacker.read_array_header(), unpacker.unpack()
        if type(kind) is not int:
            return []
        if count == 3:
            return [kind]
        msgid = unpacker.unpack()
        return [kind, msgid] if count == 4 and type(msgid) is int and msgid >= 0 else []
    except (msgpack.OutOfData, ValueError, TypeError):
        return []


_HEAD_BYTES: Final = 5 + 9 + 9
"""Maximum bytes of the array's header, the type and the msgid."""


def _refuse_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"extension types (here {code}) are not used; times are ISO 8601 strings")


def _refuse_timestamps(body: Any) -> None:
    """Raise ValueError if the body contains a timestamp, which msgpack decodes without calling the hook."""
    stack = [body]
    while stack:
        value = stack.pop()
        if type(value) is list:
            stack.extend(value)
        elif type(value) is dict:
            stack.extend(value.values())
        elif type(value) is msgpack.Timestamp:
            _refuse_extension(-1, b"")


def _map_header(count: int) -> bytes:
    """Return the header of a map with `count` fields, in MessagePack's shortest form."""
    if count < 1 << 4:
        return bytes((0x80 | count,))
    return b"\xde" + count.to_bytes(2, "big") if count < 1 << 16 else b"\xdf" + count.to_bytes(4, "big")


def _encode(body: list[Any] | dict[str, Any], code: str) -> bytes:
    try:
        try:
            frame: bytes = msgpack.packb(body, default=_narrow)
        except UnicodeEncodeError:  # lone surrogates, from JSON's \ud800 or a file name that isn't UTF-8
            frame = msgpack.packb(body, default=_narrow, unicode_errors="replace")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RpcError(code, f"the message can't be packed: {error}") from error
    if len(frame) > MAX_FRAME_BYTES:
        raise _too_large(len(frame))
    return frame


def _too_large(size: int) -> RpcError:
    return RpcError(
        TOO_LARGE, f"the message takes {size} bytes, the limit is {MAX_FRAME_BYTES}; ask for or send less"
    )


def _narrow(value: Any) -> float:
    """Return an int of more than 64 bits as a float; refuse other values that msgpack can't pack."""
    if not isinstance(value, int):
        raise TypeError(f"values of type {type(value).__name__} have no form on the wire")
    try:
        return float(value)
    except OverflowError:
        return copysign(inf, value > 0 or -1)
