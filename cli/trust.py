"""Owns `foveal trust`: letting a project's files do more than narrow, once a person saw them."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from ..ipc.client import Client
from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .errors import FAILED

EXAMPLES = (
    "foveal trust                 # shows what would take effect, and asks",
    "foveal trust --revoke",
)

EFFECTS = {
    "foveal.toml": "may name a file in the project that decisions are shared in",
    ".j2": "makes the prompts that are sent with a context",
}

SHOWN_CHARACTERS = 4_000


@click.command("trust", cls=Command, short_help="Let a project's files take effect.", examples=EXAMPLES)
@click.option("--yes", is_flag=True, help="Trust the files as they are without asking.")
@click.option("--revoke", is_flag=True, help="Trust nothing of this project any more.")
@cwd_option
@json_option
@click.pass_context
def trust_command(context: click.Context, yes: bool, revoke: bool, cwd: str | None, as_json: bool) -> None:
    """Show which files of this project need trust to take effect, and trust them as they are now.

    A repository that was cloned can only narrow what foveal does. Its templates and a pool of decisions in
    it take effect once you trusted these files; one that changes has to be trusted again.
    """
    if yes and revoke:
        raise click.UsageError("--yes and --revoke don't go together", context)
    folder = cwd or current_folder()
    with connect(settings_of(context)) as client:
        if revoke:
            reply = client.call("RevokeTrust", {"cwd": folder}, CALL_TIMEOUT_S)
            if as_json:
                terminal.say_json(reply)
            else:
                terminal.say(f"nothing of {reply['root']} is trusted any more")
            return
        found = client.call("GetTrust", {"cwd": folder}, CALL_TIMEOUT_S)
        waiting = [file for file in found["files"] if not file["trusted"] and "problem" not in file]
        if as_json and not yes:
            terminal.say_json(found)
            return
        if not as_json:
            _show(found)
        if not waiting:
            if as_json:
                terminal.say_json({"root": found["root"], "trusted": []})
            return
        if not yes and not _agrees(found["root"], waiting):
            terminal.note("nothing is trusted")
            context.exit(FAILED)
        reply = _trust(client, folder, waiting)
    if as_json:
        terminal.say_json(reply)
    else:
        terminal.say(f"trusted: {', '.join(terminal.clean(path) for path in reply['trusted'])}")


def _trust(client: Client, folder: str, files: list[dict[str, Any]]) -> dict[str, Any]:
    wanted = [{"path": file["path"], "digest": file["digest"]} for file in files]
    reply: dict[str, Any] = client.call("Trust", {"cwd": folder, "files": wanted}, CALL_TIMEOUT_S)
    return reply


def _show(found: dict[str, Any]) -> None:
    if not found["files"]:
        terminal.say(f"{terminal.clean(found['root'])} has no files that need trust")
    for file in found["files"]:
        state = file.get("problem") or ("trusted" if file["trusted"] else "not trusted")
        effect = next(words for ending, words in EFFECTS.items() if file["path"].endswith(ending))
        terminal.say(f"{terminal.clean(file['path'])}: {terminal.clean(state)}; it {effect}")


def _agrees(root: str, files: list[dict[str, Any]]) -> bool:
    """Show the content of the files and ask; nobody can be asked without a terminal."""
    if not sys.stdin.isatty():
        raise click.UsageError("nobody can be asked here: look at the files, then use --yes")
    for file in files:
        path = os.path.join(root, file["path"])
        with open(path, encoding="utf-8", errors="replace") as opened:
            text = opened.read(SHOWN_CHARACTERS + 1)
        terminal.say(f"\n{terminal.clean(file['path'])}:")
        for line in text[:SHOWN_CHARACTERS].split("\n"):
            terminal.say(f"  {terminal.clean(line)}")
        if len(text) > SHOWN_CHARACTERS:
            terminal.say(f"  … more: read {terminal.clean(path)}")
    return click.confirm(f"Trust {terminal.count(len(files), 'file')} as shown?", default=False)
