"""What results share is packed once: the bytes are those of a result that is packed whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from foveal.daemon.api.handlers import ENTRY_MAX_BYTES, MEMORY_MAX_BYTES, SharedFields
from foveal.ipc.errors import RpcError
from foveal.ipc.protocol import PackedResult, encode_response, pack_fields

MORE = {"cached": True, "clock": "a-1", "elapsed_ms": 0.2}


def shared(fields: SharedFields, kept: Mapping[str, Any]) -> Any:
    return fields.result(kept, {**kept, **MORE})


@pytest.mark.parametrize("count", [0, 1, 12, 13, 30, 70_000])
def test_the_bytes_are_those_of_the_whole_result(count: int) -> None:
    kept = {f"field{number}": {"text": "ä" * (number % 9), "n": number} for number in range(count)}
    result = SharedFields().result(kept, {**kept, **MORE})
    if count == 70_000:  # more than is kept
        assert result == {**kept, **MORE}
        result = PackedResult(count, pack_fields(kept), MORE)
    assert isinstance(result, PackedResult)
    assert encode_response(7, result) == encode_response(7, {**kept, **MORE})


def test_what_is_shared_is_packed_once() -> None:
    fields, kept = SharedFields(), {"context": "x" * 1000}
    first = shared(fields, kept)
    assert shared(fields, kept).fields is first.fields
    assert fields.memory_bytes == len(first.fields)
    assert shared(fields, dict(kept)).fields is not first.fields  # equal, but who knows for how long


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    kept = {"context": "a\udc80b"}
    assert encode_response(1, shared(SharedFields(), kept)) == encode_response(1, {"context": "a?b", **MORE})


def test_a_result_that_is_too_large_is_an_error() -> None:
    large = PackedResult(1, pack_fields({"context": "x" * (9 << 20)}), {"more": "y" * (9 << 20)})
    with pytest.raises(RpcError, match="the limit is"):
        encode_response(1, large)


def test_what_has_no_form_is_an_error() -> None:
    with pytest.raises(RpcError, match="can't be packed"):
        shared(SharedFields(), {"context": {1, 2}})


def test_memory_is_bounded_and_the_least_recently_used_goes() -> None:
    fields = SharedFields()
    size = ENTRY_MAX_BYTES - 100
    many = [{"context": str(number) * size} for number in range(MEMORY_MAX_BYTES // size)]
    first = [shared(fields, one).fields for one in many]
    assert shared(fields, many[0]).fields is first[0]
    shared(fields, {"context": "x" * size})
    assert fields.memory_bytes <= MEMORY_MAX_BYTES
    assert shared(fields, many[0]).fields is first[0]
    assert shared(fields, many[1]).fields is not first[1]
