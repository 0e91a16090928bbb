"""What foveal and hosts put into a conversation is taken out of it, whoever repeats it to whom."""

from __future__ import annotations

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


def test_pasted_text_is_part_of_the_question_only() -> None:
    text = "<system-reminder>x</system-reminder>why?\n<pasted_content id='1'>KeyError</pasted_content>"
    assert asked(text) == "why?\n<pasted_content id='1'>KeyError</pasted_content>"
    assert said(text) == "why?"
    assert asked("<command-name>/cost</command-name>\n<command-args></command-args>") == ""
