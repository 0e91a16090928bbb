"""A method of which nothing was decided is held by what its request is about; errors name nothing hidden."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.api.guard import WAYS, _way_of, _without_hidden
from foveal.daemon.api.visible_reply import Sight
from foveal.daemon.core.errors import FovealError, InvalidRequest, NotFound
from foveal.daemon.core.parameters import Parameters
from foveal.daemon.privacy.policy import Policy

SIGHT = Sight(Policy("x", ("r",), deny_paths=("secret/**",)), "/p")


@pytest.mark.parametrize(
    ("fields", "way"),
    [
        ({"scope_id": "s", "cwd": "/p"}, "scope"),
        ({"session_id": "s", "cwd": "/p"}, "session"),
        ({"cwd": "/p"}, "cwd"),
        ({}, "listed"),
    ],
)
def test_what_was_not_decided_is_held_by_what_it_is_about(fields: dict[str, Any], way: str) -> None:
    assert _way_of(Parameters(fields)) == way
    assert way in WAYS.values()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NotFound("no such thing; did you mean secret/a.py?"), "this can't be answered for this agent"),
        (InvalidRequest("is it secret/a.py?", "path"), "this can't be answered for this agent"),
        (NotFound("no such thing"), "no such thing"),
        (NotFound("no ghp_" + "a1B2c3D4e5" * 4), r"no \[masked\]"),
    ],
)
def test_errors_keep_their_kind_and_name_nothing_hidden(error: FovealError, message: str) -> None:
    with pytest.raises(type(error), match=message) as raised:
        raise _without_hidden(error, SIGHT)
    assert "secret" not in str(raised.value)
    if isinstance(error, InvalidRequest):
        assert isinstance(raised.value, InvalidRequest)
        assert raised.value.field == "path"
