"""A session is written so that a person can mend it, read back as it was, and never read from damage."""

from __future__ import annotations

import json

import pytest
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions.session import Session, SessionItem
from foveal.daemon.sessions.session_files import Damaged, NewerVersion, bytes_of, session_in
from hypothesis import given
from hypothesis import strategies as st

FULL = Session(
    "s1", "/project", "2025-01-01T00:00:00.000Z", "name", "planner", "2025-01-02T00:00:00.000Z",
    "2025-01-03T00:00:00.000Z", "2025-01-04T00:00:00.000Z", "fix\nit", "A=1",
    {"files": ("/a", "/b"), "ports": ("80",)},
    (SessionItem(ItemKey("rule", "A"), "always"), SessionItem(ItemKey("tool", "t", "srv"), "manual")),
    (ItemKey("reference", "r"), ItemKey("tool", "u", "srv")),
    {"tools": {"top_n": 3}},
    7,
)  # fmt: skip
NEEDED = {"version": 1, "id": "s1", "project_root": "/p", "created": "2025-01-01T00:00:00.000Z"}


def test_a_session_is_read_back_whole() -> None:
    for session in (FULL, Session("s1", "/p", "2025-01-01T00:00:00.000Z")):
        assert session_in(bytes_of(session)) == session


def test_the_file_can_be_mended_with_a_text_editor() -> None:
    lines = bytes_of(FULL).decode().splitlines()
    assert '  "current_intent": "fix\\nit",' in lines
    assert '    "files": ["/a", "/b"],' in lines
    assert '    {"type": "tool", "name": "t", "server_name": "srv", "include": "manual"}' in lines
    assert bytes_of(Session("s", "/naïve", "x")).decode().count("naïve") == 1


def test_the_same_session_gives_the_same_bytes() -> None:
    assert bytes_of(session_in(bytes_of(FULL))) == bytes_of(FULL)


def test_unknown_fields_are_kept() -> None:
    data = json.dumps({**NEEDED, "mood": {"x": [1, "\ud800"]}, "colour": None}).encode()
    session = session_in(data)
    assert session.extra == {"mood": {"x": [1, "\ud800"]}, "colour": None}
    again = json.loads(bytes_of(session))
    assert again["mood"] == {"x": [1, "\ud800"]}
    assert again["colour"] is None
    assert session_in(bytes_of(session)) == session


def test_missing_fields_are_empty_and_empty_sets_are_left_out() -> None:
    session = session_in(json.dumps({**NEEDED, "context": {"files": [], "ports": ["80"]}}).encode())
    assert session == Session("s1", "/p", "2025-01-01T00:00:00.000Z", context={"ports": ("80",)})


def test_limits_are_not_enforced_on_what_a_person_wrote() -> None:
    session = session_in(json.dumps({**NEEDED, "context": {"ports": ["x"] * 100}}).encode())
    assert len(session.context["ports"]) == 100


def test_a_selection_that_can_not_be_used_costs_no_session() -> None:
    def check(given: object, expected: object) -> None:
        session = session_in(json.dumps({**NEEDED, "selection": given}).encode())
        assert session.selection == expected
        assert session_in(bytes_of(session)) == session

    check("off", {"preset": "off"})
    check([1], {"preset": [1]})
    check(None, {})
    check({"top_n": "many"}, {"top_n": "many"})


def test_a_newer_version_is_told_from_damage() -> None:
    with pytest.raises(NewerVersion, match="version 2"):
        session_in(json.dumps({"version": 2, "all": "else"}).encode())


def test_damage_is_never_read_as_a_session() -> None:
    def check(said: str, **fields: object) -> None:
        with pytest.raises(Damaged, match=said):
            session_in(json.dumps({**NEEDED, **fields}).encode())

    check("lacks id", id=None)
    check("project_root", project_root=3)
    check("version", version="1")
    check("version", version=True)
    check("name", name=[])
    check("context", context=[])
    check("context set 'files'", context={"files": "/a"})
    check("context set 'files'", context={"files": ["/a", 1]})
    check("items", items={})
    check("items", items=["A"])
    check("type 'prompt'", items=[{"type": "prompt", "name": "A", "include": "always"}])
    check("include None", items=[{"type": "rule", "name": "A"}])
    check("name", items=[{"type": "rule", "name": 1, "include": "always"}])
    check("a list or a map", items=[{"type": "rule", "name": [], "include": "always"}])
    check("removed", removed=[3])
    check("name", removed=[{"type": "rule"}])
    check("revision", revision="x")
    for data in (
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\0" * 300,
        b"[" * 100_000,
        b'{"version": ' + b"9" * 5_000 + b"}",
    ):
        with pytest.raises(Damaged):
            session_in(data)


def test_each_cut_off_file_is_damaged() -> None:
    data = bytes_of(FULL).rstrip()
    for end in range(len(data)):
        with pytest.raises(Damaged):
            session_in(data[:end])


TEXT = st.text(max_size=20)
KEYS = st.builds(ItemKey, st.sampled_from(["rule", "reference", "tool"]), TEXT, TEXT)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@given(
    st.builds(
        Session,
        TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT,
        st.dictionaries(TEXT, st.lists(TEXT, min_size=1, max_size=3).map(tuple), max_size=3),
        st.lists(st.builds(SessionItem, KEYS, st.sampled_from(["always", "manual"])), max_size=4).map(tuple),
        st.lists(KEYS, max_size=3).map(tuple),
        st.dictionaries(TEXT, JSON, max_size=3),
        st.integers(0, 2**70),
    )
)  # fmt: skip
def test_any_session_is_read_back_whole(session: Session) -> None:
    assert session_in(bytes_of(session)) == session
