"""The tool get_context, and what keeps files in focus for it."""

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
    items = await _agent_items(session, given["include_items"]) if given["include_items"] else None
    budget = given["max_tokens"] - min(REMARKS_TOKENS, given["max_tokens"] // 4)
    answer = await session.ask(
        "GetContext",
        session_id=session.session_id,
        prompt=given["prompt"],
        focus_paths=given["focus_paths"],
        include_items=items,
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


async def _agent_items(session: DaemonSession, wanted: list[Any]) -> list[dict[str, str]]:
    """Return the items that an agent names. Refuse those that it mustn't bring in by itself: only those of
    the mode `agent`."""
    found: list[dict[str, str]] = []
    listed = (await session.ask("ListItems"))["items"]
    for entry in wanted:
        named = [item for item in listed if _is_named(item, entry)]
        name = inline(entry if isinstance(entry, str) else str(entry["name"]), 100)
        if not named:
            raise ToolError(
                f"there is no rule, reference or tool {name}",
                "leave it out of include_items, or take a name from the resource foveal://rules",
            )
        found += [{key: item[key] for key in ITEM_KEYS if item.get(key)} for item in named
                  if item["include"] == "agent"]  # fmt: skip
        if all(item["include"] != "agent" for item in named):
            mode = named[0]["include"]
            raise ToolError(
                f"{name} has the mode {mode}, and an agent may only bring in items of the mode agent",
                "leave it out: what is always or glob comes by itself, and what is manual only a person adds",
            )
    return found


ITEM_KEYS = ("type", "name", "server_name")


def _is_named(item: dict[str, Any], entry: str | dict[str, Any]) -> bool:
    """Whether an entry names an item: its name, `server: name` for a tool, or the map of its key."""
    if isinstance(entry, str):
        return entry in {item["name"], f"{item.get('server_name')}: {item['name']}"}
    return all((item.get(key) or "") == (entry.get(key) or "") for key in ITEM_KEYS)


async def expand_focus(session: DaemonSession, names: list[str]) -> list[str]:
    """Keep paths and nodes (path#Name) in focus for the session, and return the lines that say which."""
    if not names:
        raise ToolError("nothing leaves the focus", "name the paths or nodes that shall be in it")
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
        lines.append("Find the right path or name with search_code.")
    if answer["expanded"] or answer["already"]:
        lines.append("Call get_context to see them.")
    return lines


GET_CONTEXT = Tool(
    name="get_context",
    description=(
        "What this project says about a task: rules, earlier decisions, the code that matters, a map. Call "
        "it before you read or edit files, and when the task moves. Not for one place (search_code)."
    ),
    arguments=Arguments(
        {
            "prompt": text("the task in the user's words, with errors"),
            "focus_paths": texts("files, folders, globs, path#Name"),
            "include_items": items("rules, references or tools of the mode agent", 20),
            "delta": truth("only what is new since answers that you still have"),
            "max_tokens": max_tokens(500, MOST_TOKENS, DEFAULT_TOKENS),
        }
    ),
    effect="reads",
    run=_get_context,
    first=True,
)
