"""The tools for a session: set_relevant_context, get_relevant_context and status."""

from __future__ import annotations

import os
from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .caller import DaemonSession, ToolError
from .tool import NOTE, Arguments, Tool, choice, inline, max_tokens, plain, text, texts

DEFAULT_TOKENS = 1000
"""Maximum tokens of an answer by default: fifty entries of usual length, the maximum of a session."""

MOST_TOKENS = 10_000

SETS = "files (paths), endpoints (URLs), ports, applet (a name, then key=value)"


async def _set(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    entries: list[str] = given["items"]
    if given["set_name"] == "files":  # sessions keep absolute paths, and a model names files from the root
        root = await session.open_project()
        entries = [_absolute(root, entry) for entry in entries]
    answer = await session.ask_session(
        "SetRelevantContext", set_name=given["set_name"], items=entries, mode=given["mode"]
    )
    removed = [f"Removed: {_listed(answer['removed'])}"] if answer["removed"] else []
    return [_line(answer["set_name"], answer["items"]), *removed, *map(plain, answer["warnings"])]


def _absolute(root: str, entry: str) -> str:
    return entry if entry.startswith(("/", "~")) else os.path.normpath(os.path.join(root, entry))


async def _get(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    try:
        answer = await session.ask_plain(
            "GetRelevantContext", session_id=session.session_id, set_name=given["set_name"]
        )
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        answer = {"context": {}}  # nothing was set yet, and reading makes no session
    sets = [_line(name, entries) for name, entries in answer["context"].items() if entries]
    return [NOTE, *sets] if sets else ["Nothing is set. Set it with set_relevant_context."]


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
    effect="replaces",
    run=_set,
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
    effect="reads",
    run=_get,
)


async def _status(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    await session.open_project()  # Status doesn't
    answer = await session.ask("Status")
    if not answer["projects"]:
        raise ToolError("the project was closed", "call get_context, which opens it again")
    project = answer["projects"][0]
    counts = (
        f", {project['files']} files, {project['symbols']} definitions, {project['rules']} rules, "
        f"{project['experiences']} decisions"
    )
    return [
        # Who may not see all files isn't told how many there are.
        f"Project {inline(project['root'])}: {project['state']}{counts if project['files'] else ''}.",
        f"Search by meaning: {project['embedding']}, {project['pending']} to do. Watch: {project['watch']}.",
        f"Session {inline(session.session_id, 200)}, foveal {answer['version']}.",
        *map(plain, (*project["degraded"], *answer["degraded"])),
    ]


STATUS = Tool(
    name="status",
    title="Show the state of the index",
    description=(
        "Show whether this project is indexed completely, and what doesn't work as it should. Use it when "
        "answers of the other tools look incomplete or say that they are. Not needed before using them."
    ),
    arguments=Arguments(),
    effect="reads",
    run=_status,
)
