"""The tools for what is kept: set_relevant_context for a session, and recall, which reads all of it."""

from __future__ import annotations

import os
from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .caller import DaemonSession, ToolError
from .context_tools import expand_focus
from .decision_tools import OUTCOMES, list_decisions
from .tool import NOTE, Arguments, Tool, choice, inline, max_tokens, number, plain, text, texts

DEFAULT_TOKENS = 1000
"""Maximum tokens of an answer by default: ten decisions with their reasons, or fifty entries of usual length,
the maximum of a session."""

MOST_TOKENS = 10_000

FOCUS = "focus"
"""The set that is no list of the session but its focus."""


async def _set(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    if given["set_name"] == FOCUS:
        return await expand_focus(session, given["items"])
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
        answer = await session.ask_plain("GetRelevantContext", session_id=session.session_id)
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        answer = {"context": {}}  # nothing was set yet, and reading makes no session
    sets = {name: entries for name, entries in answer["context"].items() if entries}
    if not sets:
        return ["Nothing is set. Set it with set_relevant_context."]
    wanted = given["query"]
    if wanted and wanted not in sets:
        return [f"Nothing is set as {inline(wanted, 100)}. There is: {_listed(list(sets))}."]
    return [NOTE, *(_line(name, entries) for name, entries in sets.items() if wanted in {None, name})]


def _line(name: str, entries: list[str]) -> str:
    return f"{inline(name, 100)}: {_listed(entries) or 'nothing'}"


def _listed(entries: list[str]) -> str:
    return ", ".join(inline(entry) for entry in entries)


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


async def _recall(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    read = {"decisions": list_decisions, "session": _get, "status": _status}[given["about"]]
    return await read(session, given)


SET_RELEVANT_CONTEXT = Tool(
    name="set_relevant_context",
    description=(
        "Keep for this session, past compaction: files (shown by get_context), endpoints, ports, applet (a "
        "name, key=value) or your own set; focus takes paths and path#Name. For a spec, running servers, "
        "what the user asks to keep in mind. Not for decisions (record_decision)."
    ),
    arguments=Arguments(
        {
            "set_name": text(required=True, most=200),
            "items": texts("none clears it, not focus", required=True, most=50),
            "mode": choice(("replace", "merge"), "replace"),
        }
    ),
    effect="replaces",
    run=_set,
)

RECALL = Tool(
    name="recall",
    description=(
        "Read earlier agents' decisions (before you change what looks odd), this session's sets (after a "
        "compaction) or the index's status. Not for code (search_code)."
    ),
    arguments=Arguments(
        {
            "about": choice(("decisions", "session", "status"), "decisions"),
            "query": text("words, or a set's name", most=1000),
            "outcome": choice(OUTCOMES),
            "since": text("ISO 8601", most=40),
            "limit": number(1, 200, 10),
            "max_tokens": max_tokens(200, MOST_TOKENS, DEFAULT_TOKENS),
        }
    ),
    effect="reads",
    run=_recall,
)
