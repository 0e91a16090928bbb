"""The command `foveal context`: what an agent gets for a prompt."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from ..ipc.client import Client
from ..ipc.errors import NOT_FOUND, RpcError
from . import terminal
from .command import Reply, Run, command, given
from .connection import CALL_TIMEOUT_S, connect
from .errors import CliError
from .last import LAST
from .options import CWD, QUIET, argument, choice, flag, number, option
from .sessions import last_heard
from .settings import absolute
from .text import clean, clean_lines, count, local_time, shortened

NAME_WIDTH = 40
"""Maximum characters of a session's name in a remark."""

FORMATS = ("markdown", "prompts", "messages", "json")
FRESHNESS = ("shown", "tree", "no")
FRESH = choice(
    "--fresh",
    FRESHNESS,
    "What is compared with the disk: the files shown [default], the whole tree, nothing.",
)


PARAMETERS = (
    argument("prompt", required=False),
    option(
        "--focus focus_paths",
        "PATH",
        "A file, a folder, file#symbol or a quoted glob, seen from here or from the project's root.",
        multiple=True,
    ),
    option("--constraint constraints", "TEXT", "A rule that the agent must follow.", multiple=True),
    number("--max-tokens", 1, None, "Tokens that the context and the answer share [default: 4000]."),
    number(
        "--reserve-tokens",
        0,
        None,
        "Tokens of it that are kept for the answer [default: 2000, at most a quarter].",
    ),
    number("--max-bytes", 1, None, "The size of the context."),
    choice("--format", FORMATS, "How it is rendered [default: markdown]."),
    FRESH,
    CWD,
    option(
        "--session session_id",
        "ID",
        "The session that it belongs to, with its items; last only looks at what the agent of this project's"
        " latest session would get [default: $FOVEAL_SESSION].",
        envvar="FOVEAL_SESSION",
    ),
    option(
        "--agent agent_name",
        "NAME",
        "The agent that it is for, as in [agents.NAME] [default: the session's].",
    ),
    option("--model", "NAME", "The model that reads it; [context.models] may set its budget."),
    option("--parent-scope parent_scope_id", "ID", "A scope whose constraints hold here too."),
    option(
        "--history",
        "FILE",
        "The conversation so far, for --format messages: JSON [{role, content}], or a line of it each.",
    ),
    flag("--delta", "Only what this agent of this session doesn't hold yet."),
    flag("--preview", "For you to look at: nothing of it stays, counts as sent or is a request."),
    number("--deadline-ms", 0, None, "Answer within this time, if need be in part."),
    option("--task-type", "TYPE", "The kind of task, such as bugfix."),
    QUIET,
)


@command(
    "Print the context for a prompt.",
    *PARAMETERS,
    argument_hint="put the prompt into quotes, and globs too: foveal context \"…\" --focus 'src/*.py'",
)
def context_command(run: Run) -> None:
    """Print the context for PROMPT: rules, decisions, the files in focus with what they import, a map.

    A PROMPT of - is read from the standard input. The context goes to the standard output; remarks on what
    is missing, its tokens and its time go to the standard error.

    For example:

        foveal context "how do sessions expire?" --focus src/auth.py
        foveal context --focus 'src/auth.py#Session.login' --focus 'tests/*auth*'
        git diff | foveal context - --max-tokens 4000 > context.md
        foveal context "how do sessions expire?" --session last
        foveal context "review this" --constraint "no new dependencies" --json | jq .tokens
    """
    params = run.without("quiet") | {
        "prompt": terminal.read_text("prompt") if run.prompt == "-" else run.prompt,
        "history": None if run.history is None else read_history(run.history),
        "focus_paths": tuple(map(run.locate, run.focus_paths)),
    }
    if "" in run.focus_paths:
        raise run.usage("a --focus is empty: name a path, or leave it out")
    with connect(run.settings) as client:
        session = _session(run, client)
        if session is not None:
            params["session_id"] = session["session_id"]
            params["agent_name"] = run.agent_name or session["agent_name"]
            params["preview"] = run.preview or run.session_id == LAST
        timeout_s = CALL_TIMEOUT_S + (run.deadline_ms or 0) / 1000
        reply = client.call("GetContext", given(params), timeout_s)
        remark = ""
        if not (run.as_json or run.quiet):
            with suppress(RpcError):  # the context counts as sent by now, and is printed whatever comes
                remark = _about_session(run, client, session)
    if run.as_json:
        terminal.say_json(reply)
        return
    _print_context(reply, run.format or "markdown")
    if not run.quiet:
        terminal.flush()
        if remark:
            terminal.note(remark)
        for remark in remarks(reply):
            terminal.note(remark)


def _session(run: Run, client: Client) -> Reply | None:
    """Return the session that --session names, None for none and for one that isn't known.

    Raises `CliError` for `last` without a session.
    """
    if run.session_id != LAST:
        return _known_session(client, run.session_id) if run.session_id else None
    if (session := _latest_session(run, client)) is None:
        raise CliError("no session of this project is open", "foveal sessions list --all", NOT_FOUND)
    return session


def _known_session(client: Client, session_id: str) -> Reply | None:
    try:
        found: Reply = client.call("GetSession", {"session_id": session_id}, CALL_TIMEOUT_S)
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        return None
    return found


def _latest_session(run: Run, client: Client) -> Reply | None:
    """Return the session of the project that was last heard of and that hasn't ended."""
    sessions: list[Reply] = client.call("ListSessions", {"cwd": run.folder}, CALL_TIMEOUT_S)["sessions"]
    return next((session for session in sessions if not session["ended"]), None)


def _about_session(run: Run, client: Client, session: Reply | None) -> str:
    """Return a remark on the session that a context is of, "" if there is nothing to say."""
    if run.session_id == LAST and session:
        return f"what {_described(session)} would get; nothing counts as sent"
    if session is not None:
        counts = session["agent_name"] and not run.preview and terminal.is_terminal(sys.stdout)
        return f"this counts as sent to {_described(session)}; --preview only looks" if counts else ""
    if run.session_id:
        return (
            f"no session {clean(run.session_id)} is known, so the context has no session's items; to see the"
            " known ones: foveal sessions list"
        )
    if (latest := _latest_session(run, client)) is None:
        return ""
    return f"this is of no session; for what {_described(latest)} would get, add: --session last"


def _described(session: Reply) -> str:
    """Return a session in a few words: its agent, its name, and when it was last heard of."""
    name = shortened(clean(session["name"] or session["session_id"]), NAME_WIDTH)
    whose = f"{clean(session['agent_name'])}'s session" if session["agent_name"] else "the session"
    return f"{whose} {name} (last heard of {local_time(last_heard(session))})"


def read_history(file: str) -> list[dict[str, str]]:
    """Return the messages in a file of JSON, or of a JSON object a line; - is the standard input. Raises
    `BadParameter`."""
    if file == "-":
        text = terminal.read_text("history")
    else:
        with open(absolute(file), encoding="utf-8", errors="replace") as opened:
            text = opened.read()
    try:
        try:
            found = json.loads(text)
        except ValueError:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        messages = [found] if isinstance(found, dict) else found
        return [{"role": message["role"], "content": message["content"]} for message in messages]
    except (ValueError, TypeError, KeyError) as error:
        raise click.BadParameter(
            f'{file} holds no messages: each is {{"role": "user", "content": "…"}}', param_hint="'--history'"
        ) from error


def remarks(reply: dict[str, Any]) -> Sequence[str]:
    """Return remarks on a context: its gaps first, then what it cost."""
    found = [*reply["gaps"]]
    found += [f"degraded: {reason}" for reason in reply["degraded"]]
    if reply["partial"]:
        found.append("partial: the deadline passed or a scan is running; ask again for what is missing")
    state = ", from the cache" if reply["cached"] else ""
    cut = ", shortened to fit" if reply["truncated"] else ""
    found.append(f"{count(reply['tokens'], 'token')} in {reply['elapsed_ms']:.1f} ms{state}{cut}")
    return found


def _print_context(reply: Reply, form: str) -> None:
    if form == "prompts":
        terminal.say_json({name: reply[name] for name in ("system_prompt", "user_prompt")})
    elif form == "messages":
        terminal.say_json(reply["messages"])
    else:
        text = reply["context"]
        # Files may contain control sequences for a terminal; a pipe gets the text unchanged.
        shown = clean_lines(text) if terminal.is_terminal(sys.stdout) else text
        terminal.write(shown if shown.endswith("\n") else f"{shown}\n")
