"""A request's size is what it says, else what its model's settings say; the same parameters are read once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from foveal.daemon.api.contexts import (
    MODEL_CHARACTERS_MAX,
    GetContextRequest,
    _request,
)
from foveal.daemon.config.settings import ContextConfig
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.core.parameters import read_request
from foveal.daemon.workspace.service import Project

CONFIG = ContextConfig(max_tokens=9_000, reserve_tokens=2_000, models=(("claude-*", 24_000), ("tiny", 400)))


def request(values: dict[str, Any]) -> Any:
    project = SimpleNamespace(config=SimpleNamespace(context=CONFIG))
    return _request(cast("Project", project), "", read_request(GetContextRequest, values))


@pytest.mark.parametrize(
    ("values", "max_tokens", "reserve"),
    [
        ({}, 9_000, 2_000),
        ({"model": "gpt"}, 9_000, 2_000),
        ({"model": "claude-opus"}, 24_000, 2_000),
        ({"model": "tiny"}, 400, 100),
        ({"model": "claude-opus", "max_tokens": 500}, 500, 125),
    ],
)
def test_the_size_of_a_context_follows_the_model(
    values: dict[str, Any], max_tokens: int, reserve: int
) -> None:
    found = request(values)
    assert (found.max_tokens, found.reserve_tokens) == (max_tokens, reserve)
    assert found.model == values.get("model", "")


def test_a_name_that_no_model_has_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="model is longer"):
        request({"model": "x" * (MODEL_CHARACTERS_MAX + 1)})
