"""Which instruction files each host reads by itself, so that they are never put before it twice."""

from __future__ import annotations

from collections.abc import Mapping

from foveal.daemon.hooks.native_rules import folder_in, native_rules
from foveal.daemon.rules.records import Item


def rule(name: str, text: str = "", parts: tuple[str, ...] = ()) -> Item:
    return Item(
        "rule", name, "always", text or f"text of {name}", f"/w/{name}", parts=parts or (f"/w/{name}",)
    )


ALL = (
    "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/a.md", "~/.claude/CLAUDE.md",
    "/etc/claude-code/CLAUDE.md", "web/CLAUDE.md", ".claude/skills/x/SKILL.md", "AGENTS.md", "web/AGENTS.md",
    "~/.codex/AGENTS.md", ".agents/skills/y/SKILL.md", ".cursor/rules/b.mdc", "web/.cursor/rules/c.mdc",
    ".cursorrules", "GEMINI.md", "web/GEMINI.md", "~/.gemini/GEMINI.md", ".github/copilot-instructions.md",
    ".github/instructions/d.instructions.md", "~/.copilot/instructions/e.instructions.md", ".windsurfrules",
    ".clinerules/f.md", "team",
)  # fmt: skip


def check(
    host: str, names: tuple[str, ...] | list[Item], expected: set[str], folder: str = "",
    files: Mapping[str, str] | None = None, version: str = "",
) -> None:  # fmt: skip
    items = [one if isinstance(one, Item) else rule(one) for one in names]
    found = native_rules(host, items, folder, (files or {}).get, version)
    assert {item.name for item in found} == expected


def test_native_rules_of_each_host() -> None:
    claude = {name for name in ALL if "CLAUDE" in name or name.startswith(".claude/")}
    check("claude-code", ALL, claude)
    check("codex", ALL, {"AGENTS.md", "~/.codex/AGENTS.md", ".agents/skills/y/SKILL.md"})
    check(
        "codex",
        ALL,
        {"AGENTS.md", "web/AGENTS.md", "~/.codex/AGENTS.md", ".agents/skills/y/SKILL.md"},
        "web/src",
    )
    check("cursor", ALL, {
        ".cursor/rules/b.mdc", "web/.cursor/rules/c.mdc", ".cursorrules", "AGENTS.md", "web/AGENTS.md",
    })  # fmt: skip
    check("gemini", ALL, {"GEMINI.md", "web/GEMINI.md", "~/.gemini/GEMINI.md"})
    check("copilot", ALL, {
        "AGENTS.md", "web/AGENTS.md", "CLAUDE.md", "web/CLAUDE.md", "GEMINI.md",
        "web/GEMINI.md", ".github/copilot-instructions.md",
        ".github/instructions/d.instructions.md", "~/.copilot/instructions/e.instructions.md",
    })  # fmt: skip
    check("qwen-code", (*ALL, "QWEN.md", "web/QWEN.md"), {"QWEN.md", "AGENTS.md"})
    check("qwen-code", ("QWEN.md", "web/AGENTS.md"), {"QWEN.md", "web/AGENTS.md"}, "web/src")
    check(
        "droid",
        (*ALL, ".factory/AGENTS.md", "~/.factory/AGENTS.md", ".agents/AGENTS.md"),
        {
            *("AGENTS.md", "web/AGENTS.md", "CLAUDE.md", "web/CLAUDE.md", ".factory/AGENTS.md"),
            *("~/.factory/AGENTS.md", ".agents/AGENTS.md"),
        },
    )
    check("antigravity", (*ALL, ".agents/rules/a.md"), {
        "AGENTS.md", "GEMINI.md", "~/.gemini/GEMINI.md", ".agents/rules/a.md",
    })  # fmt: skip
    check("kiro", (*ALL, ".kiro/steering/a.md"), {"AGENTS.md", ".kiro/steering/a.md"})
    check("cline", (*ALL, ".cline/rules/a.md"), {"AGENTS.md", ".clinerules/f.md", ".cline/rules/a.md"})
    check("git", ALL, set())


def test_claude_code_reads_agents_files_only_without_a_claude_file() -> None:
    names = ("AGENTS.md", "web/AGENTS.md", ".claude/AGENTS.md")
    check("claude-code", names, set(names), version="2.1.277")
    check("claude-code", ("AGENTS.md", "CLAUDE.local.md"), {"CLAUDE.local.md"}, version="2.1.330")


def test_older_or_unknown_claude_code_reads_no_agents_file() -> None:
    for version in ("2.1.276", "2.1.197", "1.9", ""):
        check("claude-code", ("AGENTS.md", "web/AGENTS.md"), set(), version=version)


def test_imports_of_native_files_are_native() -> None:
    items = [rule("CLAUDE.md", parts=("/w/AGENTS.md", "/w/CLAUDE.md")), rule("AGENTS.md"), rule("GEMINI.md")]
    check("claude-code", items, {"CLAUDE.md", "AGENTS.md"})


def test_copies_of_native_files_are_native() -> None:
    # Discovery makes one item of the two, which has the name of the first.
    items = [rule("AGENTS.md", "Use  the logger.\n"), rule("GEMINI.md", "Other.")]
    files = {"CLAUDE.md": "<!-- for\nClaude -->\nUse the\nlogger.\n"}
    check("claude-code", items, {"AGENTS.md"}, files=files)
    check("claude-code", items, set(), files={"CLAUDE.md": "Else."})


def test_folders() -> None:
    assert folder_in("/w", "/w") == ""
    assert folder_in("/w", "/w/web/src") == "web/src"
    assert folder_in("/w", "/elsewhere") == ""
