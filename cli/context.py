"""Owns `foveal context`: the request from the command line, the context to stdout, remarks to stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from . import terminal
from .command import Command, current_folder, cwd_option, json_option, read_text, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .focus import locate

FORMATS = ("markdown", "prompts", "messages", "json")
FRESHNESS = ("shown", "tree", "no")


EXAMPLES = (
    'foveal context "how do sessions expire?" --focus src/auth.py',
    "foveal context --focus 'src/auth.py#Session.login' --focus 'tests/*auth*'",
    "git diff | foveal context - --max-tokens 4000 > context.md",
    'foveal context "review this" --constraint "no new dependencies" --json | jq .tokens',
)
ARGUMENT_HINT = "put the prompt into quotes, and globs too: foveal context \"…\" --focus 'src/*.py'"


@click.command(
    "context",
    cls=Command,
    short_help="Print the context for a prompt.",
    examples=EXAMPLES,
    argument_hint=ARGUMENT_HINT,
)
@click.argument("prompt", required=False)
@click.option(
    "--focus",
    "focus",
    multiple=True,
    metavar="PATH",
    help="A file, a folder, file#symbol or a quoted glob, seen from here or from the project's root.",
)
@click.option(
    "--constraint", "constraints", multiple=True, metavar="TEXT", help="What the agent must keep to."
)
@click.option(
    "--max-tokens", metavar="N", type=click.IntRange(min=1), help="The model's tokens that all share."
)
@click.option("--max-bytes", metavar="N", type=click.IntRange(min=1), help="The size of the context.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="How it is rendered [default: markdown].")
@click.option(
    "--fresh",
    type=click.Choice(FRESHNESS),
    help="What is compared with the disk: the files shown [default], the whole tree, nothing.",
)
@cwd_option
@click.option("--session", metavar="ID", help="The session that it belongs to.")
@click.option(
    "--deadline-ms", metavar="N", type=click.IntRange(min=0), help="When a poorer answer is better than none."
)
@click.option("--task-type", metavar="TYPE", help="The kind of task, such as bugfix.")
@click.option("-q", "--quiet", is_flag=True, help="No remarks on the standard error.")
@json_option
@click.pass_context
def context_command(
    context: click.Context,
    prompt: str | None,
    focus: tuple[str, ...],
    constraints: tuple[str, ...],
    max_tokens: int | None,
    max_bytes: int | None,
    form: str | None,
    fresh: str | None,
    cwd: str | None,
    session: str | None,
    deadline_ms: int | None,
    task_type: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Print the context for PROMPT: rules, decisions, the files in focus with what they import, a map.

    A PROMPT of - is read from the standard input. The context goes to the standard output; what is missing
    in it, its tokens and its time go to the standard error.
    """
    settings = settings_of(context)
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    given = {
        "cwd": folder,
        "prompt": read_text("prompt") if prompt == "-" else prompt,
        "focus_paths": [locate(path, folders) for path in focus] or None,
        "constraints": list(constraints) or None,
        "max_tokens": max_tokens,
        "max_bytes": max_bytes,
        "format": form,
        "fresh": fresh,
        "session_id": session,
        "deadline_ms": deadline_ms,
        "task_type": task_type,
    }
    params = {name: value for name, value in given.items() if value is not None}
    timeout = CALL_TIMEOUT_S + (deadline_ms or 0) / 1000
    with connect(settings) as client:
        if terminal.is_terminal(sys.stderr) and not quiet:
            from .progress import spinner

            with spinner(settings, folder):
                reply = client.call("GetContext", params, timeout)
        else:
            reply = client.call("GetContext", params, timeout)
    if as_json:
        terminal.say_json(reply)
        return
    _print_context(reply, form or "markdown")
    if not quiet:
        terminal.flush()
        for remark in remarks(reply):
            terminal.note(remark)


def remarks(reply: dict[str, Any]) -> Sequence[str]:
    """Return what a person should know of a context beside its text: gaps first, then what it cost."""
    found = [*reply["gaps"]]
    found += [f"degraded: {reason}" for reason in reply["degraded"]]
    if reply["partial"]:
        found.append("partial: the deadline or a scan in progress left something out; ask again for the rest")
    state = ", from the cache" if reply["cached"] else ""
    cut = ", shortened to fit" if reply["truncated"] else ""
    found.append(f"{terminal.count(reply['tokens'], 'token')} in {reply['elapsed_ms']:.1f} ms{state}{cut}")
    return found


def _print_context(reply: dict[str, Any], form: str) -> None:
    if form == "prompts":
        terminal.say_json({name: reply[name] for name in ("system_prompt", "user_prompt")})
    elif form == "messages":
        terminal.say_json(reply["messages"])
    else:
        text = reply["context"]
        # Files may hold what would steer a terminal; a pipe gets the very bytes.
        shown = terminal.clean_lines(text) if terminal.is_terminal(sys.stdout) else text
        terminal.write(shown if shown.endswith("\n") else f"{shown}\n")
