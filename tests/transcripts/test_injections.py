"""What foveal and hosts put into a conversation is taken out of it, whoever repeats it to whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foveal.daemon.context.render import TITLE
from foveal.daemon.transcripts.injections import (
    CONTEXT_TAG,
    CONTEXT_TITLE,
    asked,
    is_own_command,
    is_own_tool,
    printed,
    said,
)

from tests.transcript_cases import (
    Claude,
    codex_item,
    codex_message,
    codex_meta,
    entries_of,
    said_in,
    write,
)

CONTEXT = f"{TITLE}## Recent Decisions\n\n- Use WAL because readers must not wait.\n"


def test_context_title_matches_renderer() -> None:
    assert TITLE.strip() == CONTEXT_TITLE


def test_injected_text_is_removed() -> None:
    def check(text: str, expected: str) -> None:
        assert said(text) == expected

    check("Fix it", "Fix it")
    check(f"Fix it\n\n{CONTEXT}", "Fix it")
    check(CONTEXT, "")
    check("Fix it\r\n# PROJECT CONTEXT\r\n- Use WAL", "Fix it")
    check(f"<{CONTEXT_TAG}>\n{CONTEXT}</{CONTEXT_TAG}>\n\nFix it", "Fix it")
    check(f'A<{CONTEXT_TAG} id="1">x</{CONTEXT_TAG}>B<{CONTEXT_TAG}>y</{CONTEXT_TAG}>C', "ABC")
    check("Fix it\n<system-reminder>We use tabs</system-reminder>", "Fix it")
    check("<system-reminder>\nmulti\nline\n</system-reminder>", "")
    check("The <system-reminder> element", "The <system-reminder> element")
    check("<system-reminders>x</system-reminders>", "<system-reminders>x</system-reminders>")
    check("<skill>\nx\n</skill>go", "go")
    check("<permissions instructions>x</permissions instructions>go", "go")
    check("# AGENTS.md instructions for /w\n\nUse tabs", "")
    check("See # PROJECT CONTEXT in the log", "See # PROJECT CONTEXT in the log")
    check("if a < b: # PROJECT CONTEXT", "if a < b: # PROJECT CONTEXT")


def test_tool_output_keeps_its_text() -> None:
    assert printed("<skill>a</skill>\n<system-reminder>b</system-reminder>") == "<skill>a</skill>\n"
    assert printed(f"line\n{CONTEXT}") == "line\n"


def test_unclosed_tags_take_linear_time() -> None:
    # Quadratic in this many it would take hours.
    text = "<system-reminder>" * 200_000
    assert said(text) == text
    assert said("<system-reminder></system-reminder>" * 100_000) == ""


def test_own_tools_and_commands_are_known() -> None:
    for name in (
        "mcp__foveal__get_context", "mcp__plugin_foveal_foveal__search_code", "foveal.get_context",
        "mcp__plugin_other_foveal__search_code", "foveal__get_context", "mcp_foveal_search_code",
        "foveal-search_code", "foveal_search_code",
    ):  # fmt: skip
        assert is_own_tool(name), name
    assert is_own_tool("get_context", "mcp__foveal")
    assert is_own_tool("get_context", "mcp__foveal__")
    assert not is_own_tool("get_context", "mcp__other")
    for name in ("get_context", "mcp__other__foveal__x", "mcp__foveal2__x"):
        assert not is_own_tool(name), name
    for command in (
        "foveal context src/a.py", "cd /w && foveal query x", "FOVEAL_SOCKET=/x foveal decisions",
        "uvx foveal context", "python3 -m foveal context", "./venv/bin/foveal", "x=$(foveal context)",
    ):  # fmt: skip
        assert is_own_command(command), command
    for command in ("grep foveal README.md", "ls foveal-data", "make"):
        assert not is_own_command(command), command


def test_injections_in_transcripts_are_ignored(tmp_path: Path) -> None:
    """Whatever way our decision came in, no entry repeats it."""
    chat = Claude()
    hook: dict[str, Any] = {"type": "hook_additional_context", "content": [CONTEXT]}
    started = {"type": "hook_success", "stdout": json.dumps({"additionalContext": CONTEXT}), "exitCode": 0}
    claude = write(
        tmp_path / "claude.jsonl",
        [
            chat.record("attachment", attachment=started),
            chat.user(f"Fix it\n<{CONTEXT_TAG}>\n{CONTEXT}</{CONTEXT_TAG}>"),
            chat.record("attachment", attachment=hook),
            chat.call("mcp__foveal__get_context", {"prompt": "x"}, "t1"),
            chat.result([{"type": "text", "text": CONTEXT}], "t1"),
            chat.call("Bash", {"command": "foveal context a.py"}, "t2"),
            chat.result("- Use WAL because readers must not wait.", "t2"),
            chat.call("Read", {"file_path": "/w/a.py"}, "t3"),
            chat.result(f"1 x\n<system-reminder>{CONTEXT}</system-reminder>", "t3"),
            chat.call("Agent", {"prompt": f"Look\n\n{CONTEXT}"}, "t4"),
            chat.user(CONTEXT, isMeta=True),
            chat.text("Fixed."),
        ],
    )
    assert said_in(entries_of(claude)) == [
        ("user", "Fix it"),
        ("call", "foveal context a.py"),
        ("result", ""),
        ("call", "read"),
        ("result", "1 x\n"),
        ("call", "agent"),
        ("agent", "Fixed."),
    ]
    shell = json.dumps({"command": ["bash", "-lc", "foveal context"]})
    codex = write(
        tmp_path / "codex.jsonl",
        [
            codex_meta(base_instructions={"text": CONTEXT}),
            codex_message("developer", CONTEXT),
            codex_message("user", f"Fix it\n\n{CONTEXT}"),
            codex_item("function_call", name="get_context", namespace="mcp__foveal", call_id="c1"),
            codex_item("function_call_output", call_id="c1", output=CONTEXT),
            codex_item("function_call", name="shell", arguments=shell, call_id="c2"),
            codex_item(
                "function_call_output", call_id="c2", output="- Use WAL because readers must not wait."
            ),
            codex_message("assistant", "Fixed."),
        ],
    )
    assert said_in(entries_of(codex)) == [
        ("user", "Fix it"),
        ("call", "foveal context"),
        ("result", ""),
        ("agent", "Fixed."),
    ]
    plain = write(
        tmp_path / "plain.jsonl",
        [
            {"role": "user", "content": f"Fix it\n{CONTEXT}"},
            {"role": "tool", "content": CONTEXT, "tool": {"name": "mcp__foveal__get_context"}},
            {"role": "tool", "content": "- Use WAL", "tool": {"command": "foveal context"}},
        ],
    )
    assert said_in(entries_of(plain)) == [("user", "Fix it"), ("call", "foveal context"), ("result", "")]


def test_pasted_text_is_part_of_the_question_only() -> None:
    text = "<system-reminder>x</system-reminder>why?\n<pasted_content id='1'>KeyError</pasted_content>"
    assert asked(text) == "why?\n<pasted_content id='1'>KeyError</pasted_content>"
    assert said(text) == "why?"
    assert asked("<command-name>/cost</command-name>\n<command-args></command-args>") == ""
