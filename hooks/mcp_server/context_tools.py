"""The tools that give context: get_context and expand_focus."""

from __future__ import annotations

from typing import Any

from .caller import DaemonSession, ToolError
from .tool import (
    CHARACTERS_PER_TOKEN,
    RULES_NOTE,
    Arguments,
    Tool,
    inline,
    items,
    max_tokens,
    plain,
    text,
    texts,
    truth,
)

DEFAULT_TOKENS = 4000
"""Tokens of a context by default, all of them for the context: an agent asks several times in a task and
pays for each answer until the end. It holds the rules, the map, and three to five files in part or whole."""

MOST_TOKENS = 20_000
"""Maximum tokens of a context. Claude Code cuts at 25,000 by its own, higher count."""

REMARKS_TOKENS = 300
"""Tokens reserved for the lines around the context, such as gaps; a quarter of small answers."""


async def _get_context(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    if given["include_items"]:
        await _require_agent_items(session, given["include_items"])
    budget = given["max_tokens"] - min(REMARKS_TOKENS, given["max_tokens"] // 4)
    answer = await session.ask(
        "GetContext",
        session_id=session.session_id,
        prompt=given["prompt"],
        focus_paths=given["focus_paths"],
        include_items=given["include_items"],
        delta=given["delta"] or None,
        max_tokens=budget,
        reserve_tokens=0,
        max_bytes=budget * CHARACTERS_PER_TOKEN * 4,  # a character has up to four bytes
    )
    remarks = [plain(remark) for remark in (*answer["gaps"], *answer["degraded"])]
    if answer["partial"]:
        remarks.append("the project isn't known completely yet; ask again in a moment")
    if answer["truncated"]:
        remarks.append("something was cut or left out; ask with a larger max_tokens if you need it")
    tools = [
        inline(f"{item.get('server_name', '')}: {item['name']}", 100)
        for item in answer["items"]
        if item["type"] == "tool"
    ]
    return [
        f"{RULES_NOTE}\n\n{answer['context'].rstrip()}",
        *([f"\nTools that fit: {', '.join(tools)}"] if tools else []),
        *([f"\nMissing:\n- {remarks[0]}"] if remarks else []),
        *(f"- {remark}" for remark in remarks[1:]),
    ]


async def _require_agent_items(session: DaemonSession, wanted: list[dict[str, str]]) -> None:
    """Refuse items that an agent mustn't bring in by itself: those whose mode isn't `agent`."""
    listed = await session.ask("ListItems")
    modes = {_key(item): item["include"] for item in listed["items"]}
    for item in wanted:
        mode, name = modes.get(_key(item)), inline(item["name"], 100)
        if mode is None:
            raise ToolError(
                f"there is no {plain(item['type'], 20)} {name}",
                "leave it out of include_items, or take a name from the resource foveal://rules",
            )
        if mode != "agent":
            raise ToolError(
                f"{name} has the mode {mode}, and an agent may only bring in items of the mode agent",
                "leave it out: what is always or glob comes by itself, and what is manual only a person adds",
            )


def _key(item: dict[str, Any]) -> tuple[str, str, str]:
    return item["type"], item["name"], item.get("server_name") or ""


async def _expand_focus(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    names: list[str] = given["nodes"]
    scope = await session.ask("PrepareContext", session_id=session.session_id)
    answer = await session.ask_plain(
        "ExpandFocus",
        scope_id=scope["scope_id"],
        node_ids=[name for name in names if "#" in name] or None,
        paths=[name for name in names if "#" not in name] or None,
    )
    words = {"expanded": "Now in focus", "already": "In focus before", "unknown": "Not in this project"}
    lines = [
        f"{word}: {', '.join(inline(str(node), 200) for node in answer[name])}"
        for name, word in words.items()
        if answer[name]
    ]
    if answer["unknown"]:
        lines.append("Find the right path or name with search_code or find_symbol.")
    if answer["expanded"] or answer["already"]:
        lines.append("Call get_context to see them.")
    return lines


GET_CONTEXT = Tool(
    name="get_context",
    title="Get context for a task",
    description=(
        "Get what this project says about a task: its rules, earlier decisions, the code that matters, a map "
        "of the rest. Call it first, before you read or edit files, and again when the task moves elsewhere. "
        "Not for one name (find_symbol) or one place (search_code)."
    ),
    arguments=Arguments(
        {
            "prompt": text("The task in the user's words, with error messages or stack traces if there are."),
            "focus_paths": texts("Files, folders, globs or nodes (path#Name) to work on, from the root."),
            "include_items": items("Rules, references or tools of the mode agent to have, this once.", 20),
            "delta": truth(
                "Show only what is new or changed since your earlier answers, and name the rest. "
                "Only while you still have those: not after a compaction, not in a subagent."
            ),
            "max_tokens": max_tokens(500, MOST_TOKENS, DEFAULT_TOKENS),
        }
    ),
    effect="reads",
    run=_get_context,
    first=True,
)

EXPAND_FOCUS = Tool(
    name="expand_focus",
    title="Bring files into focus",
    description=(
        "Keep files, folders or definitions in focus for the rest of this session: each later get_context "
        "shows them first and what they use. For what you work on over several steps. Not to read a file "
        "once: open it, or give it to get_context as focus_paths."
    ),
    arguments=Arguments(
        {
            "nodes": texts(
                "Paths from the project's root, or definitions as path#Name.",
                required=True,
                least=1,
                most=50,
            )
        }
    ),
    effect="adds",
    run=_expand_focus,
)
