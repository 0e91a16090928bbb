"""What was sent last, and what contexts cost and were good for, as a person reads it."""

from __future__ import annotations

import sys
from typing import Any

import click
import pytest
from foveal.cli import terminal
from foveal.cli.last import describe_last
from foveal.cli.usage import describe_usage as lines_of

from tests.command_cases import CommandLine

GIVEN: dict[str, Any] = {
    "context_id": "c_0123456789abcdef",
    "project": "/p/shop",
    "at": "2026-01-31T12:00:00.000Z",
    "times": 2,
    "agent_name": "claude-code",
    "session_id": "s-1",
    "prompt": "how do sessions\nexpire?",
    "tokens": 1234,
    "max_tokens": 1500,
    "reserve_tokens": 0,
    "bytes": 4936,
    "gaps": ["no room for b.py"],
    "degraded": [],
    "slices": [
        {
            "id": "map",
            "type": "skeleton",
            "layer": "horizon",
            "tokens": 34,
            "compressed": False,
        },
        {
            "id": "focus:a.py",
            "type": "document",
            "layer": "focus",
            "tokens": 1200,
            "compressed": True,
            "path": "a.py",
            "start_line": 3,
            "end_line": 9,
        },
    ],
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")


def test_the_last_context_reads() -> None:
    given = {
        **GIVEN,
        "verdict": "Sent 1 of 3 places; max_tokens bound.",
        "limit": "max_tokens",
        "used": [{"path": "a.py", "how": "edited", "at": "2026-01-31T12:01:00.000Z"}],
        "near": [
            {
                "kind": "place",
                "path": "b.py",
                "line": 7,
                "symbol": "expire",
                "score": 0.25,
                "reason": "no room; found by its name",
                "found_by": "its name",
                "node_id": "b.py#expire",
            },
            {"kind": "rule", "path": "", "line": 0, "score": None, "reason": "removed", "name": "sql"},
        ],
    }
    lines = list(describe_last(given))
    assert lines[0] == "Sent 1 of 3 places; max_tokens bound."
    assert lines[3].startswith("at:       2026-01-31 ")
    assert lines[3].endswith(", sent 2 times")
    assert lines[4:] == [
        "for:      claude-code, s-1",
        "prompt:   how do sessions expire?",
        "cost:     1,234 of 1,500 tokens, 4.9 kB",
        "sent (2 parts):",
        "   1,200  focus   a.py:3-9 (shortened)",
        "      34  map     map",
        "used (1 file):",
        "  edited  a.py",
        "came near, and wasn't sent:",
        "    0.25  b.py:7 expire",
        "          no room",
        "          rule sql",
        "          removed",
        "missing:  no room for b.py",
        "",
        "the exact text: foveal last --text",
        "why a file is in it, or isn't: foveal why c_0123456789abcdef PATH",
    ]
    assert "used:     nothing of it yet, as far as hooks tell" in describe_last({**GIVEN, "used": []})


def test_the_last_context_is_the_one_that_was_sent(foveal: CommandLine) -> None:
    nothing = foveal.fails("last")
    assert nothing.startswith("error: no agent got a context of this project yet (a preview is none)\nhint: ")
    foveal.json("up", ".")
    sent = foveal.json("context", "how do sessions expire?")
    foveal.json("context", "what is a cart?", "--preview")
    assert foveal.json("last")["context_id"] == sent["context_id"]
    assert foveal.says("last", "--text") == sent["context"]
    shown = foveal.says("last")
    assert "prompt:   how do sessions expire?\n" in shown
    assert "src/shop/sessions.py" in shown
    assert foveal.json("last", "--all")["context_id"] == sent["context_id"]


ROW: dict[str, Any] = {
    "key": "2026-01-31",
    "turns": 12,
    "tokens": 12_345,
    "bytes": 40_000,
    "tokens_before": 20_000,
    "places_shown": 40,
    "places_used": 10,
    "sessions": 3,
}


def test_usage_reads() -> None:
    reply = {
        "rows": [ROW],
        "total": ROW,
        "never_used": [{"path": f"src/{number}.py", "project": "/p", "shown": 9} for number in range(12)],
        "afterwards": {
            "sessions": 3,
            "tokens": 9_000,
            "files_given": 40,
            "read_again": 4,
            "read_elsewhere": 1,
        },
    }
    header, row, total, *rest = "\n".join(lines_of(reply, "day")).splitlines()
    assert header.split() == ["DAY", "TURNS", "TOKENS", "SHOWN", "USED", "SHARE", "SESSIONS"]
    assert row.split() == ["2026-01-31", "12", "12,345", "40", "10", "25%", "3"]
    assert total.split()[0] == "total"
    assert rest[1] == "shown most and never used (12 files):"
    assert rest[2] == "      9 times  src/0.py"
    assert rest[12] == "  and 2 more: --json lists them"
    assert "".join(rest[14:]) == (
        "where it can be observed (3 sessions): given 9,000 tokens that show 40 files, of which agents opened"
        " 4 all the same; they read 1 other file that they weren't shown"
    )
    empty = {**reply, "rows": []}
    assert list(lines_of(empty, "day")) == ["no agent got a context in this time"]


def test_what_hooks_tell_is_counted_and_forgotten(
    foveal: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events of a session as Claude Code sends them, through the daemon and back to a person."""
    foveal.json("up", ".")
    own = {"session_id": f"s-{foveal.folder.parent.name}", "cwd": str(foveal.folder), "transcript_path": ""}

    def happens(name: str, **fields: Any) -> None:
        payload = {"hook_event_name": name, **own, **fields}
        foveal.daemon.call("HookEvent", host="claude-code", payload=payload)

    happens("SessionStart", source="startup")
    happens("UserPromptSubmit", prompt="how do sessions expire in src/shop/sessions.py?")
    file = str(foveal.folder / "src" / "shop" / "sessions.py")
    happens("PostToolUse", tool_name="Edit", tool_input={"file_path": file}, tool_response={})
    shown = foveal.says("last")
    assert shown.startswith("Sent ")
    assert "for:      claude-code, s-" in shown
    assert "  edited  src/shop/sessions.py\n" in shown

    [found] = foveal.json("contexts", "--path", "src/shop/sessions.py", "--agent", "claude-code")["contexts"]
    assert found["session_id"] == own["session_id"]
    assert foveal.json("contexts", "--path", "logo.png")["contexts"] == []
    assert foveal.json("contexts", "--until", "2001-01-01")["contexts"] == []

    [row] = foveal.json("usage", "--by", "session")["rows"]
    assert (row["key"], row["places_used"]) == (own["session_id"], 1)
    assert foveal.says("usage").splitlines()[0].split()[0] == "DAY"
    assert foveal.json("usage", "--until", "2001-01-01")["rows"] == []
    assert str(foveal.folder) in [
        row["key"] for row in foveal.json("usage", "--all", "--by", "project")["rows"]
    ]

    assert foveal.fails("forget") == "error: can't prompt: stdin is not a terminal; pass --yes\n"
    assert "--json needs --yes or --dry-run" in foveal.fails("forget", "--json", code=2)
    listed = foveal.says("forget", "--dry-run")
    assert "\n  1 session\n" in listed
    assert foveal.json("last")["session_id"] == own["session_id"]
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: stream is sys.stdin)
    monkeypatch.setattr(click.termui, "visible_prompt_func", lambda text: "n")
    code, output, errors = foveal("forget")
    assert (code, output) == (1, listed)
    assert errors.endswith("note: nothing was deleted\n")
    monkeypatch.undo()
    root = str(foveal.folder)
    gone = foveal.daemon.call("ForgetProject", path=root, dry_run=True)["removed"]
    assert gone["contexts"] >= 1


def test_forget_deletes_what_is_known(foveal: CommandLine) -> None:
    assert "nothing is known of " in foveal.fails("forget", "--yes")
    foveal.json("up", ".")
    foveal.json("context", "how do sessions expire?")
    below = ("--cwd", str(foveal.folder / "src"))
    reply = foveal.json("forget", "--yes", *below)
    assert (reply["root"], reply["dry_run"]) == (str(foveal.folder), False)
    assert reply["removed"]["contexts"] == 1
    assert "no agent got a context of this project yet" in foveal.fails("last")
    assert "nothing is known of " in foveal.fails("forget", str(foveal.folder), "--yes")
    assert (foveal.folder / "src" / "shop" / "sessions.py").exists()
