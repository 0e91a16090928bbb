"""An RpcError crosses the wire as `{code, message, data?}` and survives a peer that damages the map."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.ipc import errors
from foveal.ipc.errors import INTERNAL, RpcError


def check(error: RpcError, expected: dict[str, Any]) -> None:
    assert error.to_map() == expected
    back = RpcError.from_map(expected)
    assert (back.code, back.message, back.data) == (error.code, error.message, error.data)


def test_to_map_and_back() -> None:
    check(RpcError("not_found", "no such scope"), {"code": "not_found", "message": "no such scope"})
    check(
        RpcError("invalid_params", "cwd is missing", {"field": "cwd"}),
        {"code": "invalid_params", "message": "cwd is missing", "data": {"field": "cwd"}},
    )
    check(RpcError("busy", "", {}), {"code": "busy", "message": "", "data": {}})


@pytest.mark.parametrize(
    "damaged", [{}, {"code": 7, "message": None, "data": []}, {b"code": "x"}, {"data": "text"}]
)
def test_a_damaged_map_is_still_an_error(damaged: dict[Any, Any]) -> None:
    error = RpcError.from_map(damaged)
    assert error.code == INTERNAL
    assert error.message
    assert error.data is None


def test_the_codes_are_those_of_the_contract() -> None:
    contract = (
        "unknown_method invalid_params not_found permission_denied project_unavailable too_large timeout "
        "busy unsupported internal"
    )
    codes = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)}
    assert codes == set(contract.split())


def test_it_reads_as_its_message() -> None:
    error = RpcError("timeout", "too slow", {"ms": 1})
    assert str(error) == "too slow"
    assert repr(error) == "RpcError('timeout', 'too slow', {'ms': 1})"
