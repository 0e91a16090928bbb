"""The tools for a session: set_relevant_context, get_relevant_context and status."""

from __future__ import annotations

import os
from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .caller import Inquiry, ToolError
from .tool import (
    NOTE,
    TEXT,
    TEXTS,
    WHOLE,
    Arguments,
    Tool,
    choice,
    inline,
    left_out,
    max_tokens,
    plain,
    reply,
    rows,
    text,
    texts,
)

DEFAULT_TOKENS = 1000
"""Maximum tokens of an answer by default: fifty entries of usual length, the maximum of a session."""

MOST_TOKENS = 10_000

SETS = "files (paths), endpoints (URLs), ports, applet (a name, then key=value)"


async def _set(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    entries: list[str] = given["items"]
    if given["set_name"] == "files":
        root = await inquiry.root()
        entries = [_absolute(root, entry) for entry in entries]
    answer = await inquiry.ask_session(
        "SetRelevantContext", set_name=given["set_name"], items=entries, mode=given["mode"]
    )
    lists = {name: list(answer[name]) for name in ("items", "added", "removed")}
    return {
        "set_name": answer["set_name"],
        **lists,
        "warnings": [plain(warning) for warning in answer["warnings"]],
    }


def _absolute(root: str, entry: str) -> str:
    """Return a file's absolute path, as sessions keep it; a model names files from the root."""
    return entry if entry.startswith(("/", "~")) else os.path.normpath(os.path.join(root, entry))


def _render_set(answer: dict[str, Any]) -> str:
    lines = [_line(answer["set_name"], answer["items"])]
    if answer["removed"]:
        lines.append(f"Removed: {_listed(answer['removed'])}")
    return "\n".join([*lines, *answer["warnings"], *left_out(answer)])


async def _get(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = await inquiry.ask_plain(
            "GetRelevantContext", session_id=inquiry.session_id, set_name=given["set_name"]
        )
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        return {"sets": []}  # nothing was set yet, and reading makes no session
    sets = [{"set_name": name, "items": list(entries)} for name, entries in answer["context"].items()]
    return {"sets": [context_set for context_set in sets if context_set["items"]]}


def _render_get(answer: dict[str, Any]) -> str:
    if not answer["sets"] and not answer.get("more"):
        return "Nothing is set. Set it with set_relevant_context."
    sets = [_line(context_set["set_name"], context_set["items"]) for context_set in answer["sets"]]
    return "\n".join([NOTE, *sets, *left_out(answer)])


def _line(name: str, entries: list[str]) -> str:
    return f"{inline(name, 100)}: {_listed(entries) or 'nothing'}"


def _listed(entries: list[str]) -> str:
    return ", ".join(inline(entry) for entry in entries)


SET_RELEVANT_CONTEXT = Tool(
    name="set_relevant_context",
    title="Remember what matters to this session",
    description=(
        "Remember files, endpoints, ports or an applet for this session: they come back after a compaction "
        "or when the session is resumed, and files are shown by get_context. Use it when you start on a spec "
        "or notes file, when the user asks to keep a file in mind, for servers that run. Not for decisions "
        "(record_decision) or files that matter for one question."
    ),
    arguments=Arguments(
        {
            "set_name": text(f"Which set: {SETS}, or a name of yours.", required=True, most=200),
            "items": texts(
                "Its entries; an empty list clears it. Paths are from the root.", required=True, most=50
            ),
            "mode": choice("replace what is there, or merge: add to it.", ("replace", "merge"), "replace"),
        }
    ),
    reply=reply({"set_name": TEXT, "items": TEXTS, "added": TEXTS, "removed": TEXTS, "warnings": TEXTS}),
    effect="replaces",
    run=_set,
    render=_render_set,
)

GET_RELEVANT_CONTEXT = Tool(
    name="get_relevant_context",
    title="Read what matters to this session",
    description=(
        "Read the files, endpoints, ports and such that were remembered for this session. Use it after a "
        "compaction, or when you don't know what was set. Not for the content of files (get_context)."
    ),
    arguments=Arguments(
        {
            "set_name": text(f"Only this set: {SETS}, …", most=200),
            "max_tokens": max_tokens(200, MOST_TOKENS, DEFAULT_TOKENS),
        }
    ),
    reply=reply({"sets": rows({"set_name": TEXT, "items": TEXTS})}),
    effect="reads",
    run=_get,
    render=_render_get,
)


async def _status(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    await inquiry.root()  # opens the project, which Status doesn't
    answer = await inquiry.ask("Status")
    if not answer["projects"]:
        raise ToolError("the project was closed", "call get_context, which opens it again")
    project = answer["projects"][0]
    counts = (
        "state",
        "files",
        "symbols",
        "embedding",
        "embedded",
        "pending",
        "watch",
        "rules",
        "experiences",
    )
    return {
        "project": project["root"],
        **{name: project[name] for name in counts},
        "session_id": inquiry.session_id,
        "version": answer["version"],
        "degraded": [plain(reason) for reason in (*project["degraded"], *answer["degraded"])],
    }


def _render(answer: dict[str, Any]) -> str:
    project = f"Project {inline(answer['project'])}: {answer['state']}"
    counts = (
        f", {answer['files']} files, {answer['symbols']} definitions, {answer['rules']} rules, "
        f"{answer['experiences']} decisions"
    )
    lines = [
        # Who may not see all files isn't told how many there are.
        f"{project}{counts if answer['files'] else ''}.",
        f"Search by meaning: {answer['embedding']}, {answer['pending']} to do. Watch: {answer['watch']}.",
        f"Session {inline(answer['session_id'], 200)}, foveal {answer['version']}.",
    ]
    return "\n".join([*lines, *answer["degraded"], *left_out(answer)])


STATUS = Tool(
    name="status",
    title="Show the state of the index",
    description=(
        "Show whether this project is indexed completely, and what doesn't work as it should. Use it when "
        "answers of the other tools look incomplete or say that they are. Not needed before using them."
    ),
    arguments=Arguments(),
    reply=reply(
        {
            "project": TEXT,
            "state": {**TEXT, "description": "scanning, indexing, ready or degraded"},
            "files": WHOLE,
            "symbols": WHOLE,
            "embedding": TEXT,
            "embedded": WHOLE,
            "pending": WHOLE,
            "watch": TEXT,
            "rules": WHOLE,
            "experiences": WHOLE,
            "session_id": TEXT,
            "version": TEXT,
            "degraded": TEXTS,
        }
    ),
    effect="reads",
    run=_status,
    render=_render,
)
