"""The command `foveal embed`: waits for the index of meaning, pauses it, goes on with it, shares it."""

from __future__ import annotations

import time
from typing import Any

from ..ipc.client import Client
from . import terminal
from .command import Run, command
from .connection import connect
from .embedding import UNFINISHED, how_far, rate
from .errors import CliError
from .options import argument, flag
from .progress import LOOK_S, Bar, call, next_news, open_and_wait, project_status
from .settings import absolute, current_folder
from .text import count, short_path

KNOWN_S = 5.0
"""Maximum wait in seconds for what is embedded already: the process that tells it takes a second to start."""


PUSH_TIMEOUT_S = 3_600.0
"""Maximum seconds of a push: a million contents are 800 MB."""


@command(
    "Wait for the index of meaning, pause it, or go on.",
    flag("--wait", "Wait until all is embedded, as without any option."),
    flag("--push", "Then write the embeddings to the team's store (embedding.shared)."),
    flag("--pause", "Embed nothing in the background, in any project."),
    flag("--resume", "Go on in all projects; with PATH wait until that one is done."),
    argument("path", required=False),
)
def embed_command(run: Run) -> None:
    """Wait until all chunks of the project at PATH (default: this folder) are embedded.

    The daemon embeds them by itself, in the background at low priority; until that is done, 'foveal query'
    and 'foveal context' find the rest by words, names and structure. --pause and --resume are for all open
    projects, whichever folder they are given in. A pause ends with the daemon. --json prints the project as
    'foveal projects' does, or without PATH, after a pause or resume, whether embedding is paused.

    For example:

        foveal embed                # wait until all of this project can be found by meaning
        foveal embed --pause        # leave the processor to others for now
        foveal embed --wait --push  # in a job: then share the embeddings with the team
        foveal embed --resume       # from any folder: go on in all open projects
        foveal embed --resume .     # and wait until all of this one can be found by meaning
    """
    if run.pause and (run.wait or run.push):
        raise run.usage("--pause goes with neither --wait nor --push")
    if run.pause and (run.resume or run.path is not None):
        raise run.usage("--pause applies to all projects: it takes no PATH and no --resume")
    with connect(run.settings) as client:
        was_paused = _was_paused(client, push=run.push)
        continued = "embedding continues in all projects" if was_paused else "embedding was not paused"
        if run.pause:
            reply = call(client, "SetEmbedding", paused=True)
            run.say("embedding is paused in all projects; to continue, run: foveal embed --resume")
        elif run.resume and run.path is None and not run.wait and not run.push:
            reply = call(client, "SetEmbedding", paused=False)
            run.say(continued)
        else:
            folder = current_folder() if run.path is None else absolute(run.path)
            root, ready = open_and_wait(client, cwd=folder)
            if run.resume:
                call(client, "SetEmbedding", paused=False)
                run.say(continued)
            run.say(ready)
            terminal.flush()
            run.say(wait_for_vectors(client, root))
            reply = project_status(client, root)
            if run.push:
                terminal.flush()
                pushed = client.call("PushEmbeddings", {"cwd": root}, PUSH_TIMEOUT_S)
                reply |= {"pushed": pushed}
                run.say(_said_of(pushed))
    if run.as_json:
        terminal.say_json(reply)


def wait_for_vectors(client: Client, root: str) -> str:
    """Wait until all chunks of an indexed project have their vectors; returns a line that says so.

    The connection must be subscribed, as after `open_and_wait`. Raises `CliError` if they can't be embedded.
    """
    started = time.monotonic()
    with Bar("embedding") as bar:
        project = project_status(client, root)
        while project["embedding"] in UNFINISHED:
            _show_embedding(bar, project)
            news = next_news(client, root)
            if news is None or not news.get("chunks_per_second", "model" in news):
                # Without a rate it is done, paused or impossible: which one only the status tells.
                news = project_status(client, root)
            project |= news
    shown = short_path(root)
    match project["embedding"]:
        case "done":
            chunks = count(project["chunks"], "chunk")
            return f"embedded: {shown} ({chunks}) in {time.monotonic() - started:.1f} s"
        case "paused":
            raise CliError(f"embedding is paused; {how_far(project)}", "foveal embed --resume")
        case "off":
            raise _off()
    raise CliError(f"{shown} can't be embedded: {'; '.join(project['degraded'])}", "foveal logs")


def background_remark(client: Client, root: str) -> str:
    """Return a line on the unfinished embedding of an indexed project, empty if it is done. The connection
    must be subscribed, as after `open_and_wait`. Waits up to `KNOWN_S` for what is embedded already."""
    deadline = time.monotonic() + KNOWN_S
    project = project_status(client, root)
    while project["embedding"] == "waiting" and (left := deadline - time.monotonic()) > 0:
        next_news(client, root, min(left, LOOK_S))
        project = project_status(client, root)
    if project["embedding"] == "paused":
        return f"embedding is paused; {how_far(project)}; to continue, run: foveal embed --resume"
    if project["embedding"] not in UNFINISHED:
        return ""
    goes_on = "" if project["embedding"] == "waiting" else "; that goes on in the background"
    return f"{how_far(project)}{goes_on}; to wait for it: foveal embed"


def _said_of(pushed: dict[str, Any]) -> str:
    """Return a line that says what was shared. Raises `CliError` where not all could be."""
    done = (
        f"{pushed['written']:,} of {pushed['contents']:,} contents written, {pushed['present']:,} were there"
    )
    if problem := pushed.get("problem"):
        raise CliError(f"not all embeddings are shared: {problem} ({done})")
    return f"shared: {short_path(pushed['project'])} ({done})"


def _was_paused(client: Client, *, push: bool) -> bool:
    """Return whether embedding is paused. Raises `CliError` where it is switched off, and for a push where
    nothing is shared: that is said before all is embedded."""
    embedder = call(client, "Status")["embedder"]
    if embedder is None:
        raise _off()
    if push and "shared" not in embedder:
        raise CliError(
            "no store is configured that embeddings could be shared in",
            "name it in config.toml, embedding.shared; docs/teams.md says how",
        )
    return bool(embedder["paused"])


def _off() -> CliError:
    return CliError(
        "embedding is switched off", "set embedding.enabled = true in config.toml, then: foveal restart"
    )


def _show_embedding(bar: Bar, project: dict[str, Any]) -> None:
    """Show how far the embedding of a project is, or what is done to get the model ready for it."""
    model = project.get("model")
    if model and model["fraction"] < 1:
        bar.show(f"embedding model: {model['phase']}", round(model["fraction"] * 100), 100)
        return
    if project["embedding"] == "waiting":
        bar.show("embedding", path=project["root"])
    else:
        total = project["embedded"] + project["pending"]
        bar.show("embedding", project["embedded"], total, rate(project), path=project["root"])
