"""Experiences, items and sessions come without what names hidden files, and with their secrets masked."""

from __future__ import annotations

from foveal.daemon.access.permissions import visible_items, visible_session
from foveal.daemon.memory.records import Experience
from foveal.daemon.memory.service import visible_experience, visible_experiences
from foveal.daemon.privacy.policy import NO_POLICY, Policy
from foveal.daemon.rules.records import Item, ItemKey
from foveal.daemon.rules.service import StoredItems, merge_items
from foveal.daemon.sessions.records import Session
from foveal.daemon.sessions.session import IncludedItem

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
POLICY = Policy("x", ("r",), deny_paths=("secret/**",), deny_items=("tool:db/*",))


def experience(decision: str, *files: str, rationale: str = "") -> Experience:
    return Experience("i", "t", "a", "s", decision, rationale, files)


def item(name: str, text: str = "text", *parts: str, kind: str = "rule", server: str = "") -> Item:
    return Item(kind, name, "always", text, f"/p/{name}", server_name=server, parts=parts)  # type: ignore[arg-type]  # a type of item


def test_experiences_about_hidden_files_are_left_out() -> None:
    given = [
        experience("about it", "secret/a.py"),
        experience("about both", "secret/a.py", "b.py"),
        experience("names secret/a.py", "b.py"),
        experience("fine", rationale=f"the token {TOKEN}"),
    ]
    left = visible_experiences(POLICY, given, "/p")
    assert [(one.decision, one.files_touched) for one in left] == [("about both", ("b.py",)), ("fine", ())]
    assert left[1].rationale == "the token [masked]32+"
    assert visible_experience(NO_POLICY, given[0], "/p") == given[0]


def test_items_of_hidden_files_and_with_parts_of_them_are_left_out() -> None:
    items = merge_items(
        [
            item("CLAUDE.md", "all", "/p/CLAUDE.md", "/p/secret/notes.md"),
            item("AGENTS.md", f"key {TOKEN}", "/p/AGENTS.md"),
            item("secret/AGENTS.md", "hidden"),
            item("config/.env", "hidden"),
        ],
        [],
        StoredItems(),
        [item("query", "{}", kind="tool", server="db"), item("send", "{}", kind="tool", server="mail")],
    )
    left = visible_items(POLICY, items, "/p")
    assert [(one.name, one.text) for one in left.items] == [("AGENTS.md", "key [masked]32+"), ("send", "{}")]
    assert set(left.by_key) == {ItemKey("rule", "AGENTS.md"), ItemKey("tool", "send", "mail")}
    assert "CLAUDE.md" in [one.name for one in visible_items(NO_POLICY, items, "/p").items]


def test_a_session_has_no_entry_that_names_what_is_hidden() -> None:
    key, other = ItemKey("rule", "a"), ItemKey("rule", "b")
    session = Session(
        "id",
        "/p",
        "t",
        current_intent="mend secret/a.py",
        env_hint=f"with {TOKEN}",
        context={"files": ("/p/secret/a b.py", "/p/b.py"), "notes": ("see secret/a.py", "read")},
        items=(IncludedItem.of(key, "always"), IncludedItem.of(other, "manual")),
        removed=(key,),
    )
    left = visible_session(POLICY, session, frozenset({key}))
    assert (left.current_intent, left.env_hint) == ("", "with [masked]32+")
    assert left.context == {"files": ("/p/b.py",), "notes": ("read",)}
    assert [one.key for one in left.items] == [other]
    assert left.removed == ()
