"""Items are listed, put, changed, deleted and searched from the command line, over a real daemon."""

from __future__ import annotations

import io
import sys

import pytest

from tests.command_cases import CommandLine
from tests.conftest import write_files


def names(foveal: CommandLine, *arguments: str) -> list[tuple[str, str]]:
    return [(item["name"], item["include"]) for item in foveal.json("items", "list", *arguments)["items"]]


def test_a_rule_file_is_an_item_and_can_be_kept_out(foveal: CommandLine) -> None:
    header, row = foveal.says("items", "list").splitlines()
    assert header.split() == ["TYPE", "NAME", "INCLUDE", "LEVEL", "FROM", "DESCRIPTION"]
    assert row.split()[:3] == ["rule", "CLAUDE.md", "always"]
    assert str(foveal.folder / "CLAUDE.md") in row
    said = foveal.says("items", "put", "rule", "CLAUDE.md", "--include", "manual")
    assert said == "put: rule CLAUDE.md (manual)\n"
    assert names(foveal) == [("CLAUDE.md", "manual")]
    code, output, errors = foveal("items", "delete", "rule", "CLAUDE.md")
    assert (code, output) == (0, "deleted: rule CLAUDE.md\n")
    assert errors == f"note: the item of {foveal.folder}/CLAUDE.md is back (always)\n"
    assert names(foveal) == [("CLAUDE.md", "always")]


def test_items_of_all_kinds(foveal: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    put = ("items", "put")
    foveal.says(*put, "rule", "sql", "--glob", "src/**", "--text", "Bind values.", "--level", "200")
    foveal.says(
        *put, "reference", "readme", "--include", "agent", "--file", "README.md", "--description", "Setup"
    )
    foveal.says(*put, "tool", "search", "--server", "github", "--include", "manual")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Grüße.\n".encode())))
    foveal.says(*put, "rule", "piped", "--include", "agent", "--text", "-")
    found = {item["name"]: item for item in foveal.json("items", "list")["items"]}
    assert [found["sql"][name] for name in ("include", "globs", "priority_level", "text")] == [
        "glob", ["src/**"], 200, "Bind values.",
    ]  # fmt: skip
    assert found["readme"]["text"] == "# Shop\n\nSells things.\n\n## Setup\n\nRun it."
    assert found["readme"]["source"] == str(foveal.folder / "README.md")
    assert found["search"]["server_name"] == "github"
    assert found["piped"]["text"] == "Grüße."
    assert names(foveal, "--type", "tool") == [("search", "manual")]
    assert names(foveal, "--include", "glob", "--include", "manual") == [
        ("sql", "glob"),
        ("search", "manual"),
    ]
    assert foveal.says("items", "list", "--type", "reference", "--include", "glob") == "no items\n"
    assert foveal.json("items", "delete", "tool", "search", "--server", "github")["deleted"] is True
    assert names(foveal, "--type", "tool") == []


def test_what_can_not_be_put_or_deleted(foveal: CommandLine) -> None:
    def check(arguments: list[str], code: int, expected: str) -> None:
        assert expected in foveal.fails("items", *arguments, code=code)

    write_files(foveal.folder, {"binary": b"\xff\xfe", "large": b"x" * 300_000})
    check(
        ["put", "rule", "x", "--text", "y"],
        2,
        "error: say when agents get it: --include with one of always, agent, ",
    )
    check(["put", "rule", "x", "--include", "agent", "--text", "y", "--file", "z"], 2, "exclude each other")
    check(["put", "tool", "x", "--include", "agent"], 2, "a tool is named with its server: --server NAME")
    check(["put", "rule", "x", "--include", "agent"], 1, "item.text is missing")
    check(["delete", "rule", "x", "--server", "s"], 2, "--server goes with tools, and this is a rule")
    check(["delete", "skill", "x"], 2, "'skill' is not one of 'rule', 'reference', 'tool'")
    check(["put", "rule", "x", "--include", "agent", "--file", "gone"], 1, "error: gone: No such file")
    check(["put", "rule", "x", "--include", "agent", "--file", "binary"], 1, "binary is no UTF-8 text")
    check(
        ["put", "rule", "x", "--include", "agent", "--file", "large"], 1, "large is larger than 262,144 bytes"
    )
    check(["put", "rule", "x", "--include", "agent", "--level", "0"], 2, "0 is not in the range 1<=x<=999")
    check(["delete", "rule", "nope"], 1, "hint: foveal items list\n")
    check(["delete", "rule", "CLAUDE.md"], 1, "wasn't put by a client")
    check(["lst"], 2, "hint: did you mean foveal items list?")


def test_a_search_without_a_model_says_so(foveal: CommandLine) -> None:
    code, output, errors = foveal("items", "search", "which logger?", "--preset", "normal", "--top-n", "3")
    assert (code, output) == (1, "")
    assert errors.startswith("note: degraded: items of mode agent are left out: ")
    assert "\nnote: 0 items in " in errors
    code, output, _ = foveal("items", "search", "which logger?", "--json")
    assert code == 1
    assert '"items": []' in output


def test_usage(foveal: CommandLine) -> None:
    assert foveal.says("items", "usage").startswith("no request had an item (")
    session = foveal.says("sessions", "create").strip()
    request = foveal.json("context", "log out", "--session", session)["request_id"]
    used = [{"type": "rule", "name": "CLAUDE.md"}]
    foveal.daemon.call("ReportReply", session_id=session, request_id=request, used=used)
    header, row, *rest = foveal.says("items", "usage", "--days", "2").splitlines()
    assert header.split() == ["ITEM", "INCLUDE", "REQUESTS", "REPLIES", "REFERRED", "SHARE", "LAST"]
    assert row.split()[:7] == ["rule", "CLAUDE.md", "always", "1", "1", "1", "100%"]
    assert rest == []
    assert foveal.json("items", "usage")["suggestions"] == []
