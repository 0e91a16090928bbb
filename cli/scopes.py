"""Commands on scopes, the files that an agent works on: scopes, expand, contract, release."""

from __future__ import annotations

import os
from typing import Any

import click

from ..ipc.client import Client
from . import terminal
from .command import Command, current_folder, cwd_option, json_option, locate, settings_of
from .connect import CALL_TIMEOUT_S, connect

FOCUS_CHARACTERS = 60


@click.command("scopes", cls=Command, short_help="List what each agent has in focus.")
@cwd_option
@click.option("--all", "everywhere", is_flag=True, help="Of all projects, not only of this one.")
@json_option
@click.pass_context
def scopes_command(context: click.Context, cwd: str | None, everywhere: bool, as_json: bool) -> None:
    """List the scopes of this project: what each agent has in focus."""
    params = {} if everywhere else {"cwd": cwd or current_folder()}
    with connect(settings_of(context)) as client:
        reply = client.call("ListScopes", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    elif reply["scopes"]:
        terminal.say(_table(reply["scopes"]))
    else:
        terminal.say("no scopes")


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
    with connect(settings_of(context)) as client:
        reply = client.call("ReleaseScope", {"scope_id": scope_id}, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        terminal.say(f"released: {terminal.clean(scope_id)}")


def _change(
    context: click.Context, method: str, scope_id: str, nodes: tuple[str, ...], as_json: bool
) -> None:
    with connect(settings_of(context)) as client:
        params = {"scope_id": scope_id, "node_ids": _node_ids(client, scope_id, nodes)}
        reply = client.call(method, params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        for outcome, found in reply.items():
            for node in found:
                terminal.say(f"{terminal.clean(outcome)}: {terminal.clean(node)}")
    if reply["unknown"]:
        context.exit(1)


def _node_ids(client: Client, scope_id: str, nodes: tuple[str, ...]) -> list[str]:
    """Locate nodes from the current folder if that lies in the scope's project, else from its root."""
    root = client.call("GetScope", {"scope_id": scope_id}, CALL_TIMEOUT_S)["project"]
    folder = os.path.realpath(current_folder())
    inside = f"{folder}/".startswith(f"{root.rstrip('/')}/")
    return [locate(node, [folder]) if inside else node for node in nodes]


def _table(scopes: list[dict[str, Any]]) -> str:
    header = ("SCOPE", "PROJECT", "FOCUS", "FOR", "MEMORY")
    rows = [
        (
            scope["scope_id"],
            terminal.short_path(scope["project"]),
            _shortened(", ".join([*scope["focus_paths"], *scope["expanded"]])),
            scope.get("agent_name") or scope.get("session_id") or "",
            terminal.size(scope["memory_bytes"]),
        )
        for scope in scopes
    ]
    return terminal.table(header, rows, right=(4,))


def _shortened(text: str) -> str:
    return text if len(text) <= FOCUS_CHARACTERS else f"{text[: FOCUS_CHARACTERS - 1]}…"
