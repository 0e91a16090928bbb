"""Context sets change only when they are told to, all or nothing, within their caps, and say what is odd."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest, TooLarge
from foveal.daemon.sessions.context_sets import (
    MAX_ENTRIES,
    MAX_SET_ENTRIES,
    SetMode,
    SetOutcome,
    name_warnings,
    replace_context,
    set_context,
)
from foveal.daemon.sessions.session import Session
from hypothesis import given
from hypothesis import strategies as st

HOME = "/home/ada"


def session(**context: tuple[str, ...]) -> Session:
    return Session("s1", "/project", "2025-01-01T00:00:00.000Z", context=context)


def change(
    one: Session, set_name: str, items: list[str], mode: SetMode = "replace"
) -> tuple[Session, SetOutcome]:
    return set_context(one, set_name, items, mode, HOME)


def numbered(count: int, start: int = 1) -> tuple[str, ...]:
    return tuple(str(number) for number in range(start, start + count))


def test_a_set_is_replaced_merged_and_cleared() -> None:
    one, outcome = change(session(), "files", ["~/a", "/b", "/b"])
    assert one.context == {"files": ("/home/ada/a", "/b")}
    assert outcome == SetOutcome("files", ("/home/ada/a", "/b"), ("/home/ada/a", "/b"))
    assert outcome.text == "files has 2 entries (2 added, 0 removed)."
    one, outcome = change(one, "files", ["/b", "/c"], "merge")
    assert one.context == {"files": ("/home/ada/a", "/b", "/c")}
    assert (outcome.added, outcome.removed) == (("/c",), ())
    one, outcome = change(one, "files", ["/c", "/d"])
    assert one.context == {"files": ("/c", "/d")}
    assert (outcome.added, outcome.removed) == (("/d",), ("/home/ada/a", "/b"))
    same, outcome = change(one, "files", [], "merge")
    assert same == one
    assert not outcome.changed
    assert outcome.text == "files is as it was (2 entries)."
    one, outcome = change(one, "files", [])
    assert one.context == {}
    assert (outcome.items, outcome.removed) == ((), ("/c", "/d"))
    assert outcome.text == "files was cleared (2 removed)."
    one, outcome = change(one, "files", [])
    assert outcome.text == "files is as it was (0 entries)."


def test_setting_what_is_set_changes_nothing() -> None:
    one, _ = change(session(), "ports", ["80"])
    same, outcome = change(one, "ports", ["80", "080"])
    assert same == one
    assert outcome.text == "ports is as it was (1 entry)."


def test_the_applet_is_merged_as_a_page() -> None:
    one, _ = change(session(), "applet", ["board", "tab=1", "id=7"])
    one, outcome = change(one, "applet", ["board", "tab=2"], "merge")
    assert one.context == {"applet": ("board", "tab=2", "id=7")}
    assert (outcome.added, outcome.removed) == (("tab=2",), ("tab=1",))
    one, _ = change(one, "applet", ["notes"], "merge")
    assert one.context == {"applet": ("notes",)}


def test_an_unknown_set_is_kept_with_a_warning_that_names_the_nearest() -> None:
    def check(name: str, expected: str) -> None:
        assert "".join(name_warnings(name)) == expected
        one, outcome = change(session(), name, ["80"] if name == "ports" else ["/x"])
        assert one.context
        assert "".join(outcome.warnings) == expected
        assert outcome.text.endswith(expected)

    check("files", "")
    check("ports", "")
    check("fles", "fles: did you mean files?")
    check("Files", "Files: did you mean files?")
    check("file", "file: did you mean files?")
    check("port", "port: did you mean ports?")
    check("endpoint", "endpoint: did you mean endpoints?")
    check("applets", "applets: did you mean applet?")
    check(
        "people", "people is none of the known sets (files, applet, endpoints, ports); it is kept as it is."
    )


def test_a_name_is_one_short_line() -> None:
    one, _ = change(session(), " my\nset ", ["a"])
    assert one.context == {"my set": ("a",)}
    for name in ("", " \n", "x" * 61):
        with pytest.raises(InvalidRequest, match="set_name") as raised:
            change(session(), name, ["a"])
        assert raised.value.field == "set_name"


def test_ten_entries_a_set_after_folding() -> None:
    full, _ = change(session(), "ports", [*numbered(MAX_SET_ENTRIES), "1", "01"])
    assert full.context["ports"] == numbered(MAX_SET_ENTRIES)
    same, _ = change(full, "ports", ["3"], "merge")
    assert same == full

    def refused(items: list[str], mode: SetMode) -> None:
        with pytest.raises(
            TooLarge, match=r"ports would have 11 entries, and a set has at most 10\. Nothing was changed"
        ):
            change(full, "ports", items, mode)

    refused(["11"], "merge")
    refused(list(numbered(11)), "replace")


def test_fifty_entries_in_all() -> None:
    one = session()
    for name in ("ports", "a", "b", "c", "d"):
        one, _ = change(one, name, list(numbered(10)))
    assert sum(map(len, one.context.values())) == MAX_ENTRIES
    with pytest.raises(
        TooLarge, match=r"all sets together would have 51 entries, and at most 50.* Nothing was changed"
    ):
        change(one, "files", ["/x"], "merge")
    one, _ = change(one, "d", list(numbered(10, 5)))  # as many as before
    one, _ = change(one, "a", [])
    one, _ = change(one, "files", ["/x"])
    assert sum(map(len, one.context.values())) == 41


def test_what_a_person_made_longer_can_become_shorter() -> None:
    long = session(notes=numbered(60))
    kept, _ = change(long, "notes", [], "merge")
    assert kept == long
    shorter, _ = change(long, "notes", ["1"])
    assert shorter.context == {"notes": ("1",)}
    with pytest.raises(TooLarge):
        change(long, "notes", list(numbered(59)))
    with pytest.raises(TooLarge):
        change(long, "ports", ["80"])


def test_an_entry_that_cannot_be_used_changes_nothing_and_is_named() -> None:
    with pytest.raises(InvalidRequest, match="absolute paths") as raised:
        change(session(), "files", ["/a", "b"])
    assert raised.value.field == "items"


def test_all_sets_are_replaced_at_once() -> None:
    one = session(files=("/a",), notes=("n",))
    one, outcomes = replace_context(one, {"ports": ["80", "080"], "files": ["/a", "~/b"], "fles": []}, HOME)
    assert one.context == {"files": ("/a", "/home/ada/b"), "ports": ("80",)}
    assert outcomes == (
        SetOutcome("files", ("/a", "/home/ada/b"), added=("/home/ada/b",)),
        SetOutcome("ports", ("80",), added=("80",)),
        SetOutcome("fles", (), warnings=("fles: did you mean files?",)),
        SetOutcome("notes", (), removed=("n",)),
    )
    one, _ = replace_context(one, {}, HOME)
    assert one.context == {}


def test_the_caps_hold_for_all_sets_at_once() -> None:
    five = {name: list(numbered(10)) for name in "abcde"}
    one, _ = replace_context(session(files=("/a",)), five, HOME)
    assert sum(map(len, one.context.values())) == 50
    for sets in ({**five, "f": ["1"]}, {"a": list(numbered(11))}):
        with pytest.raises(TooLarge, match="Nothing was changed"):
            replace_context(one, sets, HOME)
    with pytest.raises(InvalidRequest, match="twice"):
        replace_context(one, {"a": ["1"], "a ": ["2"]}, HOME)


def test_the_order_of_the_sets_does_not_depend_on_the_order_of_the_calls() -> None:
    calls = [("zoo", ["z"]), ("ports", ["80"]), ("bar", ["b"]), ("files", ["/a"])]
    texts = set()
    for order in (calls, calls[::-1]):
        one = session()
        for name, items in order:
            one, _ = change(one, name, items)
        texts.add(tuple(one.context))
    assert texts == {("files", "ports", "bar", "zoo")}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["files", "ports", "a", "b", "c", "d", "e"]),
            st.lists(st.integers(1, 30).map(str), max_size=14),
            st.sampled_from(["replace", "merge"]),
        ),
        max_size=30,
    )
)
def test_no_series_of_calls_exceeds_a_cap(calls: list[tuple[str, list[str], SetMode]]) -> None:
    one = session()
    for name, items, mode in calls:
        try:
            one, outcome = change(
                one, name, [f"/{item}" if name == "files" else item for item in items], mode
            )
        except TooLarge:
            continue
        assert one.context.get(name, ()) == outcome.items
    assert all(0 < len(entries) <= MAX_SET_ENTRIES for entries in one.context.values())
    assert all(len(set(entries)) == len(entries) for entries in one.context.values())
    assert sum(map(len, one.context.values())) <= MAX_ENTRIES
