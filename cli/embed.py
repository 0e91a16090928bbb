"""Owns `foveal embed`: waiting until all of a project can be found by meaning, stopping and going on."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from ..ipc.client import Client
from . import terminal
from .bar import Bar
from .command import Command, absolute, current_folder, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .embedding_progress import UNFINISHED, how_far, rate
from .errors import CliError
from .progress import enter_and_wait, next_news, project_status

ESTIMATE_S = 2.0
"""Maximum wait in seconds for the first estimate: the process that embeds starts and embeds its first batches
in about this time."""

EXAMPLES = (
    "foveal embed                # wait until all of this project can be found by meaning",
    "foveal embed --pause        # leave the processor to others for now",
    "foveal embed --resume       # from any folder: go on in all open projects",
    "foveal embed --resume .     # and wait until all of this one can be found by meaning",
)


@click.command(
    "embed", cls=Command, short_help="Wait for the index of meaning, pause it, or go on.", examples=EXAMPLES
)
@click.option("--pause", is_flag=True, help="Embed nothing in the background, in any project.")
@click.option("--resume", is_flag=True, help="Go on in all projects; with PATH wait until that one is done.")
@click.argument("path", required=False)
@click.pass_context
def embed_command(context: click.Context, pause: bool, resume: bool, path: str | None) -> None:
    """Wait until all chunks of the project at PATH (default: this folder) are embedded.

    The daemon embeds them by itself, in the background at low priority; until that is done, 'foveal query'
    and 'foveal context' find the rest by words, names and structure. --pause and --resume are for all open
    projects, whichever folder they are given in. A pause ends with the daemon.
    """
    if pause and (resume or path is not None):
        raise click.UsageError("--pause stops all embedding: it takes no PATH and no --resume", context)
    with connect(settings_of(context)) as client:
        was_paused = _was_paused(client)
        if pause:
            client.call("SetEmbedding", {"paused": True}, CALL_TIMEOUT_S)
            terminal.say("embedding is paused in all projects; go on with: foveal embed --resume")
        elif resume and path is None:
            _resume(client, was_paused=was_paused)
            for line in _what_goes_on(client):
                terminal.say(line)
        else:
            root, ready = enter_and_wait(client, current_folder() if path is None else absolute(path))
            if resume:
                _resume(client, was_paused=was_paused)
            terminal.say(ready)
            terminal.flush()
            terminal.say(wait_for_vectors(client, root))


def wait_for_vectors(client: Client, root: str) -> str:
    """Wait until all chunks of an indexed project have their vectors; returns a line that says so.

    The connection must be subscribed, as after `open_and_wait`. Raises `CliError` where that won't come.
    """
    started = time.monotonic()
    with Bar("embedding") as bar:
        project = project_status(client, root)
        while project["embedding"] in UNFINISHED:
            _show(bar, project)
            news = next_news(client, root)
            if news is None or not news.get("chunks_per_second", "model" in news):
                # Without a rate it is done, paused or impossible: which one only the status tells.
                news = project_status(client, root)
            project |= news
    shown = terminal.short_path(root)
    match project["embedding"]:
        case "done":
            count = terminal.count(project["chunks"], "chunk")
            return f"embedded: {shown} ({count}) in {time.monotonic() - started:.1f} s"
        case "paused":
            raise CliError(f"embedding is paused; {how_far(project)}", "foveal embed --resume")
        case "off":
            raise _off()
    raise CliError(f"{shown} can't be embedded: {'; '.join(project['degraded'])}", "foveal logs")


def background_remark(client: Client, root: str) -> str:
    """Return a line on what of an indexed project is still to be embedded; nothing where nothing is.

    The connection must be subscribed, as after `open_and_wait`. A person waits up to `ESTIMATE_S` for a time.
    """
    project = project_status(client, root)
    if project["embedding"] in UNFINISHED and terminal.is_terminal(sys.stderr):
        _wait_for_estimate(client, project)
    if project["embedding"] == "paused":
        return f"embedding is paused; {how_far(project)}; go on with: foveal embed --resume"
    if project["embedding"] not in UNFINISHED:
        return ""
    soon = f", {rate(project)}" if rate(project) else ""
    return f"{how_far(project)}; that goes on in the background{soon}; to wait for it: foveal embed"


def _wait_for_estimate(client: Client, project: dict[str, Any]) -> None:
    """Take over news of a project until there is an estimate or nothing more to do, or time is up."""
    deadline = time.monotonic() + ESTIMATE_S
    with Bar("embedding") as bar:
        while project["embedding"] in UNFINISHED and not project["eta_ms"]:
            _show(bar, project)
            if (left := deadline - time.monotonic()) <= 0:
                return
            project |= next_news(client, project["root"], left) or project_status(client, project["root"])


def _resume(client: Client, *, was_paused: bool) -> None:
    client.call("SetEmbedding", {"paused": False}, CALL_TIMEOUT_S)
    terminal.say("embedding goes on in all projects" if was_paused else "embedding was not paused")


def _what_goes_on(client: Client) -> Iterator[str]:
    """Yield how far the embedding of each open project is that isn't done; one line where none is."""
    projects = client.call("Status", timeout=CALL_TIMEOUT_S)["projects"]
    left = [project for project in projects if project["embedding"] != "done"]
    for project in left:
        failed = project["embedding"] == "failed"
        how = f"can't be embedded: {'; '.join(project['degraded'])}" if failed else how_far(project)
        yield f"{terminal.short_path(project['root'])}: {how}"
    if not projects:
        yield "no project is open; to open this one and embed it: foveal embed"
    elif not left:
        yield f"nothing is left to embed in {terminal.count(len(projects), 'open project')}"


def _was_paused(client: Client) -> bool:
    """Return whether embedding is paused. Raises `CliError` where it is switched off."""
    embedder = client.call("Status", timeout=CALL_TIMEOUT_S)["embedder"]
    if embedder is None:
        raise _off()
    return bool(embedder["paused"])


def _off() -> CliError:
    return CliError(
        "embedding is switched off", "set embedding.enabled = true in config.toml, then: foveal restart"
    )


def _show(bar: Bar, project: dict[str, Any]) -> None:
    """Show how far the embedding of a project is, or what is done to get the model ready for it."""
    model = project.get("model")
    if model and model["fraction"] < 1:
        bar.show(f"embedding model: {model['phase']}", round(model["fraction"] * 100), 100)
        return
    what = f"embedding {terminal.short_path(project['root'])}"
    if project["embedding"] == "waiting":
        bar.show(what)
    else:
        bar.show(what, project["embedded"], project["embedded"] + project["pending"], rate(project))
