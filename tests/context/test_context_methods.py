"""A request's size is what it says, else what its model's settings say; the same parameters are read once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from foveal.daemon.api.contexts import (
    CALL_PATHS_MAX,
    CALLS_MAX,
    MODEL_CHARACTERS_MAX,
    ContextCall,
    ContextMethods,
    GetContextRequest,
    _request,
)
from foveal.daemon.config.settings import ContextConfig
from foveal.daemon.context.scopes import ScopeTable, identity_of
from foveal.daemon.context.scoping import ScopeService
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.core.parameters import read_request
from foveal.daemon.engine.engine import Engine
from foveal.daemon.sessions.scope import Scope
from foveal.daemon.workspace.project import Project
from msgspec.structs import replace

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


@dataclass
class Desk:
    """The methods over real scopes, with a project of which settings and root are all that is read."""

    methods: ContextMethods
    scopes: ScopeTable
    project: Project
    made: Scope

    def ask(self, **values: Any) -> ContextCall | None:
        return self.methods._call_nowait(self.project, read_request(GetContextRequest, values))


@pytest.fixture
def desk() -> Desk:
    scopes, nothing = ScopeTable(1 << 20, 100), cast("Any", None)
    scoping = ScopeService(scopes, nothing, nothing, nothing, nothing)
    engine = SimpleNamespace(scopes=scopes, scoping=scoping)
    project = SimpleNamespace(root="/p", config=SimpleNamespace(context=CONFIG))
    made = scopes.add(Scope("", "/p", identity_of("/p", focus_paths=("a.py",)), focus_paths=("a.py",)))
    return Desk(ContextMethods(cast("Engine", engine)), scopes, cast("Project", project), made)


def test_the_same_parameters_are_read_once(desk: Desk) -> None:
    first = desk.ask(focus_paths=["a.py"], max_tokens=5_000)
    assert first is not None
    assert (first.scope, first.request.max_tokens) == (desk.made, 5_000)
    assert desk.ask(focus_paths=["a.py"], max_tokens=5_000) is first
    other = desk.ask(focus_paths=["a.py"], max_tokens=5_001)
    assert other is not None
    assert other.request.max_tokens == 5_001
    prompted = {"focus_paths": ["a.py"], "prompt": "why?"}
    assert desk.ask(**prompted) is not desk.ask(**prompted), "a prompt is asked once"


def test_they_are_read_again_when_the_scope_or_the_settings_changed(desk: Desk) -> None:
    first = desk.ask(focus_paths=["a.py"])
    changed = desk.scopes.update(replace(desk.made, expanded=("b.py",)))
    second = desk.ask(focus_paths=["a.py"])
    assert first is not None
    assert second is not None
    assert (first.scope, second.scope) == (desk.made, changed)
    narrowed = SimpleNamespace(context=dataclasses.replace(CONFIG, max_tokens=4_000))
    desk.project = cast("Project", SimpleNamespace(root="/p", config=narrowed))
    third = desk.ask(focus_paths=["a.py"])
    assert third is not None
    assert (second.request.max_tokens, third.request.max_tokens) == (9_000, 4_000)
    desk.scopes.remove(desk.made.id)
    assert desk.ask(focus_paths=["a.py"]) is None


def test_what_is_equal_but_of_another_type_is_still_refused(desk: Desk) -> None:
    assert desk.ask(focus_paths=["a.py"], max_tokens=1, delta=True) is not None
    for wrong in ({"max_tokens": True, "delta": True}, {"max_tokens": 1, "delta": 1}):
        with pytest.raises(InvalidRequest):
            desk.ask(focus_paths=["a.py"], **wrong)


def test_few_requests_are_remembered_and_no_long_ones(desk: Desk) -> None:
    for number in range(CALLS_MAX + 10):
        desk.ask(focus_paths=["a.py"], max_tokens=number + 1)
    assert len(desk.methods._calls) <= CALLS_MAX
    before = len(desk.methods._calls)
    desk.ask(focus_paths=["a.py"] * (CALL_PATHS_MAX + 1))
    assert len(desk.methods._calls) == before
