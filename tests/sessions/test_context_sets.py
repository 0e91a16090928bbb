"""Context sets change only when they are told to, all or nothing, within their caps, and say what is odd."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, TooLarge
from foveal.daemon.privacy.secret_values import MASK
from foveal.daemon.sessions.context_sets import (
    MAX_ENTRY_CHARACTERS,
    Applet,
    SetMode,
    SetOutcome,
    applet_in,
    checked_entries,
    given_applet,
    name_warnings,
    replace_context,
    resume_text,
    set_context,
)
from foveal.daemon.sessions.session import Session

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


def test_set_above_its_limit_can_become_shorter() -> None:
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


def test_the_caps_hold_for_all_sets_at_once() -> None:
    five = {name: list(numbered(10)) for name in "abcde"}
    one, _ = replace_context(session(files=("/a",)), five, HOME)
    assert sum(map(len, one.context.values())) == 50
    for sets in ({**five, "f": ["1"]}, {"a": list(numbered(11))}):
        with pytest.raises(TooLarge, match="Nothing was changed"):
            replace_context(one, sets, HOME)
    with pytest.raises(InvalidRequest, match="twice"):
        replace_context(one, {"a": ["1"], "a ": ["2"]}, HOME)


def test_the_text_says_all_that_is_set(tmp_path: Path) -> None:
    here = tmp_path / "notes.md"
    here.touch()
    gone = [str(tmp_path / name) for name in ("a.md", "b.md")]
    session = Session(
        "s1", "/project", "2025-01-01T00:00:00.000Z",
        current_intent="fix the login",
        env_hint="NODE_ENV=test\nTZ=UTC",
        context={
            "files": (str(here), *gone, str(tmp_path)),
            "applet": ("board", "tab=2", "id=7"),
            "endpoints": ("http://localhost:8080/", "https://a.example/"),
            "ports": ("80", "8080"),
            "people": ("Ada",),
        },
    )  # fmt: skip
    resume = resume_text(session)
    assert resume.text == (
        "Context of this session, as it was left"
        " (2 files, applet board, 2 endpoints, 2 ports, 1 in people):\n"
        "Intent: fix the login\n"
        "Environment:\n"
        "  NODE_ENV=test\n"
        "  TZ=UTC\n"
        "Relevant files:\n"
        f"- {here}\n"
        f"- {tmp_path}\n"
        "(2 files not found)\n"
        "Last applet: board (tab=2, id=7)\n"
        "endpoints: http://localhost:8080/, https://a.example/\n"
        "ports: 80, 8080\n"
        "people: Ada"
    )
    assert resume.context == session.context
    assert resume.missing_files == tuple(gone)


def test_each_part_stands_alone() -> None:
    def check(one: Session, summary: str, *expected: str) -> None:
        resume = resume_text(one)
        head, *lines = resume.text.split("\n")
        assert (resume.summary, lines) == (summary, [*expected])
        assert head == f"Context of this session, as it was left{summary and f' ({summary})'}:"

    check(session(files=("/tmp",)), "1 file", "Relevant files:", "- /tmp")
    check(session(files=("/gone",)), "", "Relevant files:", "(1 file not found)")
    check(session(applet=("board",)), "applet board", "Last applet: board")
    check(session(ports=("80",)), "1 port", "ports: 80")
    kept = session(files=("/tmp", "/gone", "/usr"), applet=("git-diff", "file=a"), ports=("80",))
    assert resume_text(kept).summary == "2 files, applet git-diff, 1 port"


TEMPLATE = "https://apps.example/{slug}?{params}"


def test_a_resume_offers_to_reopen_the_applet() -> None:
    resume = resume_text(session(applet=("git-diff", "file=a b.py", "bare")), TEMPLATE)
    address = "https://apps.example/git-diff?file=a%20b.py&bare="
    assert resume.applet == Applet("git-diff", {"file": "a b.py", "bare": ""}, address)
    assert resume.text.endswith(f"\nLast applet: git-diff (file=a b.py, bare=), to reopen at {address}")
    secret = ("board", "token=ghp_0123456789abcdefghij0123456789abcdef", "password=Tr0ub4dor3x9", "tab=2")
    masked = {"token": f"{MASK}32+", "password": MASK, "tab": "2"}
    assert applet_in(secret, TEMPLATE) == Applet("board", masked)


def test_an_applet_is_given_by_its_address() -> None:
    address = "https://apps.example/git-diff?file=a%20b.py&tab=2"
    assert given_applet([address], TEMPLATE) == ("git-diff", "file=a b.py", "tab=2")
    assert given_applet(["git-diff", "tab=2"], TEMPLATE) == ("git-diff", "tab=2")
    assert given_applet([address], "") == (address,)
    for other in ("https://apps.example.evil/x?a=1", "javascript://apps.example/x"):
        with pytest.raises(InvalidRequest, match=r"no address of applet\.url") as raised:
            given_applet([other], TEMPLATE)
        assert raised.value.field == "items"


def check(set_name: str, given: list[str], *expected: str) -> None:
    assert checked_entries(set_name, given, HOME)[0] == expected


def refused(set_name: str, entry: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said) as raised:
        checked_entries(set_name, [entry], HOME)
    assert raised.value.field == "items"


def test_files_are_absolute_paths() -> None:
    check("files", ["/a/b.py", "/etc/hosts"], "/a/b.py", "/etc/hosts")
    check("files", ["~", "~/notes.md"], "/home/ada", "/home/ada/notes.md")
    check("files", ["/a//b/./c/../d/"], "/a/b/d")
    check("files", ["//a", "/../a", "/a"], "/a")
    check("files", ["/"], "/")
    check("files", [" /a b.py "], "/a b.py")
    refused("files", "a.py", "absolute")
    refused("files", "./a.py", "absolute")
    refused("files", "~bob/a.py", "absolute")
    refused("files", "file:///a.py", "absolute")


def test_endpoints_are_full_urls() -> None:
    check(
        "endpoints",
        ["http://localhost:8080/health?x=1#y", "https://[::1]/", "wss://a.example", "postgres://db/name"],
        "http://localhost:8080/health?x=1#y", "https://[::1]/", "wss://a.example", "postgres://db/name",
    )  # fmt: skip
    for entry in (
        "localhost:8080",
        "/health",
        "example.com",
        "http://",
        "http:///x",
        "http://a b/",
        "mailto:a@b",
    ):
        refused("endpoints", entry, "full URLs")
    for entry in ("http://a:0/", "http://a:99999/", "http://a:x/", "http://[::1/"):
        refused("endpoints", entry, "full URLs")


def test_password_in_a_url_is_reported() -> None:
    found = checked_entries("endpoints", ["https://ada:secret@db.example/", "https://ada@db.example/"], HOME)
    assert len(found[0]) == 2
    assert len(found[1]) == 1
    assert "db.example" in found[1][0]
    assert "secret" not in found[1][0]


def test_the_applet_has_its_form() -> None:
    check("applet", ["board", "board"], "board")
    check("applet", ["board", "tab=1", "tab=1"], "board", "tab=1")
    check("applet", [])
    for entries in (["tab=2"], ["my board"], ["board", "tab"], ["board", "=2"], ["board", " =2"]):
        with pytest.raises(InvalidRequest, match="applet") as raised:
            checked_entries("applet", entries, HOME)
        assert raised.value.field == "items"


def test_every_entry_is_one_line_of_a_length_that_is_not_empty() -> None:
    for set_name in ("files", "applet", "endpoints", "ports", "notes"):
        refused(set_name, " ", "entry 1 of .* is empty")
        refused(set_name, "/" + "x" * MAX_ENTRY_CHARACTERS, "longer than 4,096")
        for character in ("\n", "\t", "\r", "\0", "\x1b", "\u2028", "\u202e", "\ud800"):
            refused(set_name, f"/a{character}b", "control characters")


def test_duplicates_fold_in_their_normal_form() -> None:
    check("files", ["/b", "~/a", "/home/ada/a", "/home/ada//a", "/b/"], "/b", "/home/ada/a")
    check("endpoints", ["http://a/", "http://a/ "], "http://a/")
