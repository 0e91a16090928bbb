"""Claude Code's records become entries: who said what, which tools ran on which files, and how they ended."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from foveal.daemon.transcripts.claude_code import ClaudeCodeReader

from tests.transcript_cases import Claude, entries_of, read_records, said_in, write

read = partial(read_records, ClaudeCodeReader)


def test_tool_calls_have_kinds() -> None:
    def check(
        name: str, given: dict[str, Any], tool: str, paths: tuple[str, ...] = (), command: str = ""
    ) -> None:
        (entry,) = read(Claude().call(name, given))
        assert (entry.tool, entry.paths, entry.command) == (tool, paths, command)

    check("Edit", {"file_path": "/w/a.py"}, "edit", ("/w/a.py",))
    check("NotebookEdit", {"notebook_path": "/w/a.ipynb"}, "edit", ("/w/a.ipynb",))
    check("Write", {"file_path": "/w/b.py", "content": "x"}, "write", ("/w/b.py",))
    check("Read", {"file_path": "/w/c.py"}, "read", ("/w/c.py",))
    check("Bash", {"command": "make", "description": "Builds"}, "run", (), "make")
    check("Grep", {"pattern": "x", "path": "/w"}, "other")
    check("Agent", {"prompt": "Look into it", "description": "d"}, "agent")
    check("mcp__other__do", {"file_path": "x"}, "other")
    check("Edit", {"file_path": 5}, "edit")
    check("Edit", {}, "edit")


def test_result_fails_by_flag_exit_code_or_interruption() -> None:
    def check(record: dict[str, Any], text: str, *, failed: bool) -> None:
        (entry,) = read(record)
        assert (entry.kind, entry.text, entry.failed) == ("result", text, failed)

    check(Claude().result("fine"), "fine", failed=False)
    check(
        Claude().result([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb", failed=False
    )
    check(Claude().result([{"type": "image", "source": {}}]), "", failed=False)
    check(Claude().result("Error: no", is_error=True), "Error: no", failed=True)
    check(Claude().result("Exit code 2\nno rule"), "Exit code 2\nno rule", failed=True)
    check(Claude().result("Exit code 0\nyes"), "Exit code 0\nyes", failed=False)
    check(Claude().result("the docs say: Exit code 2"), "the docs say: Exit code 2", failed=False)
    check(Claude().result("x", toolUseResult={"stdout": "x", "interrupted": True}), "x", failed=True)


def test_a_long_output_keeps_its_head_and_its_tail() -> None:
    (entry,) = read(Claude().result("first\n" + "x" * 100_000 + "\nlast"))
    assert len(entry.text) <= 20_000
    assert entry.text.startswith("first\n")
    assert entry.text.endswith("\nlast")
    assert "[…]" in entry.text


def test_only_typed_text_is_a_prompt() -> None:
    def check(expected: list[tuple[str, str]], record: dict[str, Any]) -> None:
        assert said_in(read(record)) == expected

    check([("user", "a\nb")], Claude().user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    check([], Claude().user("Caveat: the messages below", isMeta=True))
    check([("boundary", "So far: x")], Claude().user("So far: x", isCompactSummary=True))
    check([], Claude().user("<command-name>/clear</command-name>\n<command-message>clear</command-message>"))
    check([], Claude().user("<local-command-stdout>Bye</local-command-stdout>"))
    check(
        [("user", "Look:")],
        Claude().user('Look:\n<pasted_content id="1">\nWe decided on X\n</pasted_content>'),
    )
    check([], Claude().user("<task-notification><result>We chose X</result></task-notification>"))
    check([], Claude().record("attachment", attachment={"type": "file", "content": {"file": "x"}}))
    check(
        [("user", "And the docs")],
        Claude().record("attachment", attachment={"type": "queued_command", "prompt": "And the docs"}),
    )
    check(
        [],
        Claude().record(
            "attachment",
            attachment={"type": "queued_command", "prompt": "x", "commandMode": "task-notification"},
        ),
    )
    check([], Claude().record("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
    check([], Claude().record("progress", data={"note": "x"}))
    check([], Claude().text("API Error: 529", isApiErrorMessage=True))
    check([], {**Claude().text("x"), "message": {"model": "<synthetic>", "content": "No response"}})


def test_plans_are_texts() -> None:
    chat = Claude()
    plan = read(chat.call("ExitPlanMode", {"plan": "Use a queue, because order matters."}))
    assert said_in(plan) == [("agent", "Use a queue, because order matters."), ("call", "other")]


def test_a_subagents_own_file(tmp_path: Path) -> None:
    chat = Claude(agent_id="ab12")
    path = write(
        tmp_path / "agent-ab12.jsonl",
        [
            chat.user("Find the leak"),
            chat.call("SubagentHandback", {"message": "It leaks in b.py because of the cache."}, "tu9"),
            chat.result("delivered", "tu9"),
            chat.text("Report sent."),
        ],
    )
    entries = entries_of(path)
    assert said_in(entries) == [
        ("user", "Find the leak"),
        ("handback", "It leaks in b.py because of the cache."),
        ("agent", "Report sent."),
    ]
    assert {(entry.agent_id, entry.session_id, entry.sidechain) for entry in entries} == {
        ("ab12", "s1", False)
    }


def test_subagents_inside_their_parents_file_are_side_chains() -> None:
    parent, child = Claude(), Claude(agent_id="ab12")
    entries = read(
        parent.user("Fix it"),
        parent.call("Agent", {"prompt": "Find it"}),
        child.user("Find it"),
        child.text("Found it."),
        parent.result(
            [{"type": "text", "text": "Found it."}],
            toolUseResult={
                "status": "completed", "agentId": "ab12", "content": [{"type": "text", "text": "Found it."}]
            },
        ),
        parent.text("Thanks."),
    )  # fmt: skip
    assert [(entry.kind, entry.agent_id, entry.sidechain) for entry in entries] == [
        ("user", "", False),
        ("call", "", False),
        ("user", "ab12", True),
        ("agent", "ab12", True),
        ("handback", "ab12", True),
        ("agent", "", False),
    ]
    launched = read(parent.result("started", toolUseResult={"status": "async_launched", "agentId": "ab12"}))
    assert said_in(launched) == [("result", "started")]


def test_rewound_turn_is_left_out(tmp_path: Path) -> None:
    chat = Claude()
    begin = [chat.user("Start"), chat.text("Ready.")]
    before = chat.last
    left = [chat.user("Use Redis"), chat.text("I chose Redis because it is fast.")]
    chat.last = before
    kept = [chat.user("Use files"), chat.text("I chose files because they are simple.")]
    path = write(tmp_path / "t.jsonl", [*begin, *left, *kept])
    assert said_in(entries_of(path)) == [
        ("user", "Start"),
        ("agent", "Ready."),
        ("user", "Use files"),
        ("agent", "I chose files because they are simple."),
    ]
