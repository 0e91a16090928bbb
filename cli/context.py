"""The command `foveal context`: what an agent gets for a prompt."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from ..ipc.client import Client
from ..ipc.errors import NOT_FOUND, RpcError
from . import terminal
from .command import Reply, Run, command, given
from .connection import CALL_TIMEOUT_S, connect
from .options import CWD, QUIET, argument, choice, flag, number, option
from .settings import absolute
from .text import clean, clean_lines, count

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
    number("--max-tokens", 1, None, "The budget of the whole conversation in tokens."),
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
    option("--session session_id", "ID", "The session that it belongs to."),
    option("--agent agent_name", "NAME", "The agent that it is for, as in [agents.NAME]."),
    option("--model", "NAME", "The model that reads it; [context.models] may set its budget."),
    option("--parent-scope parent_scope_id", "ID", "A scope whose constraints hold here too."),
    option(
        "--history",
        "FILE",
        "The conversation so far, for --format messages: JSON [{role, content}], or a line of it each.",
    ),
    flag("--delta", "Only what this agent of this session doesn't hold yet."),
    flag("--preview", "For you to look at: recorded as no request, and nothing counts as sent."),
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
        foveal context "review this" --constraint "no new dependencies" --json | jq .tokens
    """
    params = run.without("quiet") | {
        "prompt": terminal.read_text("prompt") if run.prompt == "-" else run.prompt,
        "history": None if run.history is None else read_history(run.history),
        "focus_paths": tuple(map(run.locate, run.focus_paths)),
    }
    with connect(run.settings) as client:
        timeout_s = CALL_TIMEOUT_S + (run.deadline_ms or 0) / 1000
        reply = client.call("GetContext", given(params), timeout_s)
        asks = run.session_id and not run.as_json and not run.quiet
        known = not asks or _is_known(client, run.session_id)
    if run.as_json:
        terminal.say_json(reply)
        return
    _print_context(reply, run.format or "markdown")
    if not run.quiet:
        terminal.flush()
        if not known:
            terminal.note(
                f"no session {clean(run.session_id)} is known, so the context has no session's items; to see"
                " the known ones: foveal sessions list"
            )
        for remark in remarks(reply):
            terminal.note(remark)


def _is_known(client: Client, session_id: str) -> bool:
    try:
        client.call("GetSession", {"session_id": session_id}, CALL_TIMEOUT_S)
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        return False
    return True


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
