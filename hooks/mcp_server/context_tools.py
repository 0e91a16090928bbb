"""The tools that give context: get_context and expand_focus."""

from __future__ import annotations

from typing import Any

from .caller import Inquiry, ToolError
from .tool import (
    CHARACTERS_PER_TOKEN,
    RULES_NOTE,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    Arguments,
    Tool,
    bullets,
    fit,
    inline,
    items,
    kept,
    max_tokens,
    plain,
    reply,
    text,
    texts,
    tokens_of,
    truth,
)

DEFAULT_TOKENS = 4000
"""Tokens of a context by default, half of GetContext's: an agent asks several times in a task and pays for
each answer until the end. It holds the rules, the map, and three to five files in part or whole."""

MOST_TOKENS = 20_000
"""Maximum tokens of a context. Claude Code cuts at 25,000 by its own, higher count."""

REMARKS_TOKENS = 250
"""Tokens reserved for the lists around the context, such as files and gaps; an eighth of small answers."""

AS_JSON = 8 / 9
"""Size of code as text relative to the same as JSON, which escapes line breaks, quotes and backslashes."""

TRIES = 4
"""Maximum tries to fit a context. JSON is at most twice as large, so the second nearly always fits."""


async def _get_context(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    if given["include_items"]:
        await _require_agent_items(inquiry, given["include_items"])
    room = min(REMARKS_TOKENS, given["max_tokens"] // 8)
    budget = int((given["max_tokens"] - room) * AS_JSON)
    for _ in range(TRIES):
        if given["delta"]:
            await inquiry.forget_unseen()
        answer = _answer(await _context(inquiry, given, budget), room)
        size = tokens_of(answer, _render_context(answer))
        if size <= given["max_tokens"]:
            return answer
        inquiry.note_unseen()
        # Scaled from the actual size, which may be below the budget: a larger budget changes nothing.
        budget = min(budget, answer["tokens"]) * given["max_tokens"] // size - 20
    raise ToolError(
        f"the context doesn't fit into {given['max_tokens']} tokens", "ask with a larger max_tokens"
    )


async def _context(inquiry: Inquiry, given: dict[str, Any], budget: int) -> dict[str, Any]:
    return await inquiry.ask(
        "GetContext",
        session_id=inquiry.session_id,
        prompt=given["prompt"],
        focus_paths=given["focus_paths"],
        include_items=given["include_items"],
        delta=given["delta"] or None,
        max_tokens=max(budget, 1),
        reserve_tokens=0,
        max_bytes=max(budget, 1) * CHARACTERS_PER_TOKEN * 4,  # a character has up to four bytes
    )


async def _require_agent_items(inquiry: Inquiry, wanted: list[dict[str, str]]) -> None:
    """Refuse items that an agent mustn't bring in by itself: those whose mode isn't `agent`."""
    listed = await inquiry.ask("ListItems")
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


def _answer(context: dict[str, Any], room: int) -> dict[str, Any]:
    """Return a context with its files, tools and gaps, as many as fit."""
    files = dict.fromkeys(
        part["path"] for part in context["slices"] if part["layer"] == "focus" and part.get("path")
    )
    tools = [
        {"name": item["name"], "server_name": item.get("server_name", "")}
        for item in context["items"]
        if item["type"] == "tool"
    ]
    beside = {
        "files": list(files),
        "gaps": [plain(gap) for gap in context["gaps"]],
        "degraded": [plain(reason) for reason in context["degraded"]],
        **kept({"tools": tools}, "tools"),
    }
    names = ("context", "tokens", "truncated", "partial")
    shown = {name: context[name] for name in names}
    return {**shown, **kept(context, "saved_tokens"), **fit(beside, lambda _: "", room)}


def _render_context(answer: dict[str, Any]) -> str:
    lines = [RULES_NOTE, "", answer["context"].rstrip()]
    if answer.get("tools"):
        names = [inline(f"{tool['server_name']}: {tool['name']}", 100) for tool in answer["tools"]]
        lines += ["", f"Tools that fit: {', '.join(names)}"]
    remarks = bullets([*answer["gaps"], *answer["degraded"]])
    if answer["partial"]:
        remarks.append("- the project isn't known completely yet; ask again in a moment")
    if answer["truncated"]:
        remarks.append("- something was cut or left out; ask with a larger max_tokens if you need it")
    if answer.get("more"):
        remarks.append(f"- {answer['more']} more files or remarks aren't listed")
    return "\n".join([*lines, *(["", "Missing:", *remarks] if remarks else [])])


async def _expand_focus(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    names: list[str] = given["nodes"]
    answer = await inquiry.ask_scope(
        "ExpandFocus",
        node_ids=[name for name in names if "#" in name] or None,
        paths=[name for name in names if "#" not in name] or None,
    )
    return {name: [str(node) for node in answer[name]] for name in ("expanded", "already", "unknown")}


def _render_expanded(answer: dict[str, Any]) -> str:
    words = {"expanded": "Now in focus", "already": "In focus before", "unknown": "Not in this project"}
    lines = [
        f"{word}: {', '.join(inline(node, 200) for node in answer[name])}"
        for name, word in words.items()
        if answer[name]
    ]
    if answer["unknown"]:
        lines.append("Find the right path or name with search_code or find_symbol.")
    if answer["expanded"] or answer["already"]:
        lines.append("Call get_context to see them.")
    if answer.get("more"):
        lines.append(f"{answer['more']} more aren't listed.")
    return "\n".join(lines)


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
    reply=reply(
        {
            "context": {**TEXT, "description": "Markdown; text of the project is in fences"},
            "tokens": WHOLE,
            "files": TEXTS,
            "truncated": TRUTH,
            "partial": {**TRUTH, "description": "the project isn't known completely yet"},
            "gaps": {**TEXTS, "description": "what is missing"},
            "degraded": {**TEXTS, "description": "what was answered worse than it could be"},
        },
        saved_tokens={**WHOLE, "description": "of what is only named, since it was shown before"},
        tools={"type": "array", "items": {"type": "object", "additionalProperties": TEXT}},
    ),
    effect="reads",
    run=_get_context,
    render=_render_context,
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
    reply=reply({"expanded": TEXTS, "already": TEXTS, "unknown": TEXTS}),
    effect="adds",
    run=_expand_focus,
    render=_render_expanded,
)
