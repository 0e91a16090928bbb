"""Scopes keep their identity, inherit constraints, are evicted least recently used, and survive a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.context.scopes import ScopeStore, ScopeTable
from foveal.daemon.core.system import System
from foveal.daemon.sessions.records import Scope
from foveal.daemon.workspace.records import HotNode
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

SCOPE = Scope(id="", root="/p", identity="i")
FULL = Scope(
    id="s_1",
    root="/p",
    identity="i",
    session_id="session",
    agent_id="agent",
    agent_name="name",
    task_type="review",
    focus_paths=("a.py", "größe.py"),
    expanded=("b.py#f",),
    constraints=("no new dependencies",),
    inherited=("be quick",),
    parent_id="s_0",
    hot=(HotNode("c.py", "edited"),),
    created_at="2026-01-31T12:00:00.000Z",
    revision=3,
)


def table(max_bytes: int = 1_000_000, max_count: int = 1_000) -> ScopeTable:
    return ScopeTable(max_bytes, max_count)


def add(scopes: ScopeTable, name: str, **values: object) -> Scope:
    return scopes.add(replace(SCOPE, identity=name, **values))


# Identity


# Memory


def test_the_least_recently_used_are_evicted_by_count() -> None:
    scopes = table(max_count=2)
    one, two, three = (add(scopes, name) for name in "123")
    scopes.find("1")
    assert scopes.evict() == [two]
    assert scopes.of_project(None) == [one, three]
    assert scopes.evict() == []


def test_the_scope_at_hand_is_never_evicted() -> None:
    scopes = table(max_count=0)
    one, two = add(scopes, "1"), add(scopes, "2")
    assert scopes.evict(keep=one.id) == [two]
    assert scopes.evict(keep=one.id) == []
    assert scopes.evict() == [one]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "update", "remove", "evict", "get"]),
            st.integers(0, 4),
            st.integers(0, 3_000),
        ),
        max_size=40,
    )
)
def test_the_count_of_memory_is_always_the_sum_of_its_parts(steps: list[tuple[str, int, int]]) -> None:
    scopes = table(max_bytes=8_000, max_count=4)
    for step, which, size in steps:
        known = scopes.of_project(None)
        scope = known[which] if which < len(known) else None
        if step == "add":
            add(scopes, str(which), focus_paths=("p" * size,))
        elif step == "evict":
            scopes.evict()
            assert len(scopes) <= 4
            assert scopes.memory_bytes <= 8_000
        elif scope is not None and step == "update":
            scopes.update(replace(scope, focus_paths=("q" * size,)))
        elif scope is not None and step == "remove":
            scopes.remove(scope.id)
        elif scope is not None:
            scopes.get(scope.id)
    live = scopes.of_project(None)
    assert scopes.memory_bytes == sum(one.memory_bytes for one in live)


# Constraints


def test_constraints_come_from_all_ancestors_the_farthest_first_and_once() -> None:
    scopes = table()
    top = add(scopes, "top", constraints=("a", "b"))
    middle = add(scopes, "middle", constraints=("b", "c"), parent_id=top.id)
    leaf = add(scopes, "leaf", constraints=("d",), parent_id=middle.id)
    assert scopes.constraints_above(leaf) == ("a", "b", "c")
    assert scopes.constraints_above(top) == ()
    scopes.update(replace(top, constraints=("e",)))
    assert scopes.constraints_above(leaf) == ("e", "b", "c")


def test_a_released_parent_leaves_its_constraints_as_they_were_then() -> None:
    scopes = table()
    top = add(scopes, "top", constraints=("old",))
    middle = add(scopes, "middle", constraints=("b",), parent_id=top.id, inherited=("old",))
    leaf = add(scopes, "leaf", parent_id=middle.id, inherited=("old", "b"))
    other = add(scopes, "other", parent_id=top.id, inherited=("old",))
    scopes.update(replace(top, constraints=("new",)))
    scopes.update(replace(middle, constraints=("c",)))
    scopes.take_changes()
    scopes.remove(middle.id)
    assert scopes.get(leaf.id).inherited == ("new", "c")
    scopes.remove(top.id)
    assert [scopes.constraints_above(scopes.get(each.id)) for each in (leaf, other)] == [
        ("new", "c"),
        ("new",),
    ]
    changes = scopes.take_changes()
    assert set(changes) == {top.id, middle.id, leaf.id, other.id}, "what they inherit is written"
    scopes.remove(leaf.id)
    scopes.remove(other.id)
    assert scopes.memory_bytes == 0


# What is written


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ScopeStore]:
    opened = ScopeStore(str(tmp_path / "scopes.sqlite"), System())
    yield opened
    opened.close()


def test_changes_that_could_not_be_written_are_taken_again_as_they_are_by_then() -> None:
    scopes = table()
    one, two = add(scopes, "1"), add(scopes, "2")
    taken = scopes.take_changes()
    scopes.remove(one.id)
    scopes.mark_changed(taken)
    assert scopes.take_changes() == {one.id: None, two.id: two}


def test_every_field_survives_a_restart(tmp_path: Path, store: ScopeStore) -> None:
    assert all(getattr(FULL, one.name) != one.default for one in fields(Scope))
    store.write({FULL.id: FULL})
    again = ScopeStore(str(tmp_path / "scopes.sqlite"), System())
    assert again.load() == [FULL]
    assert again.replaced == ""
    again.close()


def test_a_write_that_fails_changes_nothing(store: ScopeStore) -> None:
    store.write({"a": replace(SCOPE, id="a")})
    with pytest.raises(TypeError):
        store.write({"a": None, "b": replace(SCOPE, task_type=object())})
    assert [scope.id for scope in store.load()] == ["a"]
    store.write({"a": None})
    assert store.load() == []


def test_a_record_of_a_newer_program_is_read_as_far_as_it_is_known(tmp_path: Path, store: ScopeStore) -> None:
    record = {"id": "s", "root": "/p", "identity": "i", "focus_paths": ["a"], "mood": "good"}
    store._db.execute("INSERT INTO scopes VALUES ('s', 1, ?)", (json.dumps(record),))
    assert store.load() == [Scope("s", "/p", "i", focus_paths=("a",))]


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "scopes.sqlite"
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    store = ScopeStore(str(path), System())
    assert "kept as scopes.sqlite.damaged-" in store.replaced
    assert store.load() == []
    store.close()
