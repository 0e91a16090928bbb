"""What stands in a context set has one form, stands there once, and can't fake a line."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.sessions.context_sets import MAX_ENTRY_CHARACTERS, checked_entries

HOME = "/home/ada"


def check(set_name: str, given: list[str], *expected: str) -> None:
    assert checked_entries(set_name, given, HOME).entries == expected


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


def test_the_home_may_be_the_root() -> None:
    assert checked_entries("files", ["~/a", "~"], "/").entries == ("/a", "/")


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


def test_a_password_in_a_url_is_said() -> None:
    found = checked_entries("endpoints", ["https://ada:secret@db.example/", "https://ada@db.example/"], HOME)
    assert len(found.entries) == 2
    assert len(found.warnings) == 1
    assert "db.example" in found.warnings[0]
    assert "secret" not in found.warnings[0]


def test_ports_are_numbers_as_strings() -> None:
    check("ports", ["1", "8080", "65535"], "1", "8080", "65535")
    check("ports", ["08080", "8080"], "8080")
    for entry in ("0", "65536", "-1", "http", "80a", "8 0", "+80", "٣", "²", "9" * 4_000):
        refused("ports", entry, "1 to 65535")


def test_the_applet_has_its_form() -> None:
    check("applet", ["board", "board"], "board")
    check("applet", ["board", "tab=1", "tab=1"], "board", "tab=1")
    check("applet", [])
    refused("applet", "tab=1", "slug")


def test_other_sets_take_any_line() -> None:
    check("notes", ["see the wiki", " a ", "a"], "see the wiki", "a")


def test_every_entry_is_one_line_of_a_length_that_is_not_empty() -> None:
    for set_name in ("files", "applet", "endpoints", "ports", "notes"):
        refused(set_name, " ", "entry 1 of .* is empty")
        refused(set_name, "/" + "x" * MAX_ENTRY_CHARACTERS, "longer than 4,096")
        for character in ("\n", "\t", "\r", "\0", "\x1b", "\u2028", "\u202e", "\ud800"):
            refused(set_name, f"/a{character}b", "control characters")


def test_duplicates_fold_in_their_normal_form() -> None:
    check("files", ["/b", "~/a", "/home/ada/a", "/home/ada//a", "/b/"], "/b", "/home/ada/a")
    check("endpoints", ["http://a/", "http://a/ "], "http://a/")
