"""The commands on what an agent gets, and why: contexts and nodes, and the scopes that they are made for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from . import terminal
from .command import (
    CALL_TIMEOUT_S,
    Command,
    absolute,
    ask,
    connect,
    current_folder,
    cwd_option,
    is_inside,
    json_option,
    list_options,
    locate,
    read_text,
    settings_of,
)

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
    "--constraint", "constraints", multiple=True, metavar="TEXT", help="A rule that the agent must follow."
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(min=1),
    help="The budget of the whole conversation in tokens.",
)
@click.option(
    "--reserve-tokens",
    metavar="N",
    type=click.IntRange(min=0),
    help="Tokens of it that are kept for the answer [default: 2000, at most a quarter].",
)
@click.option("--max-bytes", metavar="N", type=click.IntRange(min=1), help="The size of the context.")
@click.option("--format", type=click.Choice(FORMATS), help="How it is rendered [default: markdown].")
@click.option(
    "--fresh",
    type=click.Choice(FRESHNESS),
    help="What is compared with the disk: the files shown [default], the whole tree, nothing.",
)
@cwd_option
@click.option("--session", "session_id", metavar="ID", help="The session that it belongs to.")
@click.option("--agent", "agent_name", metavar="NAME", help="The agent that it is for, as in [agents.NAME].")
@click.option("--model", metavar="NAME", help="The model that reads it; [context.models] may set its budget.")
@click.option(
    "--parent-scope", "parent_scope_id", metavar="ID", help="A scope whose constraints hold here too."
)
@click.option(
    "--history",
    metavar="FILE",
    help="The conversation so far, for --format messages: JSON [{role, content}], or a line of it each.",
)
@click.option("--delta", is_flag=True, help="Only what this agent of this session doesn't hold yet.")
@click.option(
    "--preview", is_flag=True, help="For you to look at: recorded as no request, and nothing counts as sent."
)
@click.option(
    "--deadline-ms",
    metavar="N",
    type=click.IntRange(min=0),
    help="Answer within this time, if need be in part.",
)
@click.option("--task-type", metavar="TYPE", help="The kind of task, such as bugfix.")
@click.option("-q", "--quiet", is_flag=True, help="No remarks on the standard error.")
@json_option
@click.pass_context
def context_command(
    context: click.Context,
    /,
    prompt: str | None,
    focus: tuple[str, ...],
    cwd: str | None,
    history: str | None,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Print the context for PROMPT: rules, decisions, the files in focus with what they import, a map.

    A PROMPT of - is read from the standard input. The context goes to the standard output; remarks on what
    is missing, its tokens and its time go to the standard error.
    """
    settings = settings_of(context)
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    wanted = {
        **given,
        "cwd": folder,
        "prompt": read_text("prompt") if prompt == "-" else prompt,
        "history": None if history is None else read_history(history),
        "focus_paths": tuple(locate(path, folders) for path in focus),
    }
    params = {name: value for name, value in wanted.items() if value not in (None, (), False)}
    timeout = CALL_TIMEOUT_S + (given["deadline_ms"] or 0) / 1000
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
    _print_context(reply, given["format"] or "markdown")
    if not quiet:
        terminal.flush()
        for remark in remarks(reply):
            terminal.note(remark)


def read_history(file: str) -> list[dict[str, str]]:
    """Return the messages in a file of JSON, or of a JSON object a line; - is the standard input. Raises
    `BadParameter`."""
    if file == "-":
        text = read_text("history")
    else:
        with open(absolute(file), encoding="utf-8", errors="replace") as opened:
            text = opened.read()
    try:
        found = json.loads(text)
    except ValueError:
        found = [_json_or_none(line) for line in text.splitlines() if line.strip()]
    if isinstance(found, dict):
        found = [found]
    if not (isinstance(found, list) and all(_is_message(message) for message in found)):
        raise click.BadParameter(
            f'{file} holds no messages: each is {{"role": "user", "content": "…"}}', param_hint="'--history'"
        )
    return [{"role": message["role"], "content": message["content"]} for message in found]


def _json_or_none(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and all(isinstance(message.get(key), str) for key in ("role", "content"))


def remarks(reply: dict[str, Any]) -> Sequence[str]:
    """Return remarks on a context: its gaps first, then what it cost."""
    found = [*reply["gaps"]]
    found += [f"degraded: {reason}" for reason in reply["degraded"]]
    if reply["partial"]:
        found.append("partial: the deadline passed or a scan is running; ask again for what is missing")
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
        # Files may contain control sequences for a terminal; a pipe gets the text unchanged.
        shown = terminal.clean_lines(text) if terminal.is_terminal(sys.stdout) else text
        terminal.write(shown if shown.endswith("\n") else f"{shown}\n")


NEIGHBOURS = {
    "superclasses": "inherits",
    "subclasses": "inherited by",
    "callers": "called by",
    "callees": "calls",
}
"""The labels of a node's lists of neighbours."""


@click.command("node", cls=Command, short_help="Show a file or definition and its neighbours.")
@click.argument("node_id")
@cwd_option
@json_option
@click.pass_context
def node_command(context: click.Context, node_id: str, cwd: str | None, as_json: bool) -> None:
    """Show a node: a file (src/auth.py), a definition (src/auth.py#Session.login) or a section.

    Its text is printed, and before it what it imports and who imports it, who calls it and what it calls.
    """
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    params = {"cwd": folder, "node_id": locate(node_id, folders)}
    reply = ask(context, "GetNode", params)
    terminal.say_reply(reply, as_json, *describe_node(reply))
    if not as_json:
        terminal.note_degraded(reply)


def describe_node(node: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about a node: its head, its neighbours, its text."""
    first, last = node["start_line"], node["end_line"]
    place = f"{node['kind']}, line{'' if first == last else 's'} {terminal.lines_of(first, last)}"
    yield f"{terminal.styled(terminal.clean(node['node_id']), bold=True)} ({terminal.clean(place)})"
    if node.get("doc"):
        yield terminal.clean(node["doc"])
    for imported in node["imports"]:
        name = f" {imported['name']}" if imported.get("name") else ""
        path = (
            f" -> {imported['path']}"
            if imported.get("path")
            else " (missing)"
            if imported.get("missing")
            else ""
        )
        yield terminal.clean(f"imports      {imported['module']}{name}{path}")
    for importer in node["importers"]:
        yield terminal.clean(f"imported by  {importer['path']}:{importer['line']}")
    for symbol in node["symbols"]:
        yield terminal.clean(
            f"defines      {symbol['node_id']} ({symbol['kind']}, line {symbol['start_line']})"
        )
    for name, label in NEIGHBOURS.items():
        for neighbour in node.get(name, ()):
            yield terminal.clean(f"{label:<13}{_neighbour(neighbour)}")
        if name in node.get("more", ()):
            yield f"{label:<13}…"
    yield ""
    text = node["definition"]
    yield terminal.clean_lines(text) if terminal.is_terminal(sys.stdout) else text
    if node["truncated"]:
        yield "…"


def _neighbour(neighbour: dict[str, Any]) -> str:
    """Return a neighbour with the place of the reference, and a remark if only the name is known."""
    by_name = "  (by name)" if neighbour["certainty"] == "name" else ""
    name = neighbour.get("node_id") or neighbour["name"]
    return f"{name}  at {neighbour['path']}:{neighbour['line']}{by_name}"


FOCUS_CHARACTERS = 60


@click.command("scopes", cls=Command, short_help="List what each agent has in focus.")
@list_options
@click.pass_context
def scopes_command(context: click.Context, cwd: str | None, everywhere: bool, as_json: bool) -> None:
    """List the scopes of this project: what each agent has in focus."""
    params = {} if everywhere else {"cwd": cwd or current_folder()}
    reply = ask(context, "ListScopes", params)
    terminal.say_reply(reply, as_json, _table(reply["scopes"]) if reply["scopes"] else "no scopes")


@click.command("expand", cls=Command, short_help="Add nodes to a scope's focus.")
@click.argument("scope_id")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@json_option
@click.pass_context
def expand_command(context: click.Context, scope_id: str, nodes: tuple[str, ...], as_json: bool) -> None:
    """Add files, folders or definitions (file#symbol) to what a scope shows in full."""
    _change(context, "ExpandFocus", scope_id, nodes, as_json)


@click.command("contract", cls=Command, short_help="Take nodes out of a scope's focus.")
@click.argument("scope_id")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@json_option
@click.pass_context
def contract_command(context: click.Context, scope_id: str, nodes: tuple[str, ...], as_json: bool) -> None:
    """Take files, folders or definitions (file#symbol) out of a scope's focus."""
    _change(context, "ContractFocus", scope_id, nodes, as_json)


@click.command("release", cls=Command, short_help="Forget a scope.")
@click.argument("scope_id")
@json_option
@click.pass_context
def release_command(context: click.Context, scope_id: str, as_json: bool) -> None:
    """Forget a scope."""
    reply = ask(context, "ReleaseScope", {"scope_id": scope_id}, hint="foveal scopes")
    terminal.say_reply(reply, as_json, f"released: {terminal.clean(scope_id)}")


def _change(
    context: click.Context, method: str, scope_id: str, nodes: tuple[str, ...], as_json: bool
) -> None:
    root = ask(context, "GetScope", {"scope_id": scope_id}, hint="foveal scopes")["project"]
    folder = os.path.realpath(current_folder())
    inside = is_inside(folder, root)
    # From the current folder if that lies in the scope's project, else from its root.
    node_ids = [locate(node, [folder]) if inside else node for node in nodes]
    reply = ask(context, method, {"scope_id": scope_id, "node_ids": node_ids})
    lines = (terminal.clean(f"{outcome}: {node}") for outcome, found in reply.items() for node in found)
    terminal.say_reply(reply, as_json, *lines)
    if reply["unknown"]:
        context.exit(1)


def _table(scopes: list[dict[str, Any]]) -> str:
    header = ("SCOPE", "PROJECT", "FOCUS", "FOR", "MEMORY")
    rows = [
        (
            scope["scope_id"],
            terminal.short_path(scope["project"]),
            terminal.shortened(", ".join([*scope["focus_paths"], *scope["expanded"]]), FOCUS_CHARACTERS),
            scope.get("agent_name") or scope.get("session_id") or "",
            terminal.size(scope["memory_bytes"]),
        )
        for scope in scopes
    ]
    return terminal.table(header, rows, right=(4,), paths=(1,), texts=(2, 3))
