"""Commands on projects: open, close, projects, reindex, embed, watch and trust."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from ..ipc.client import Client
from . import terminal
from .command import (
    CALL_TIMEOUT_S,
    FOLDER,
    Command,
    absolute,
    ask,
    check_json_can_ask,
    connect,
    current_folder,
    cwd_option,
    dry_run_option,
    is_inside,
    json_option,
    settings_of,
    yes_option,
)
from .errors import FAILED, CliError
from .progress import LOOK_S, Bar, enter_and_wait, next_news, project_status, warn_if_wide
from .status import UNFINISHED, how_far, projects_table, rate
from .times import local_time


@click.command("open", cls=Command, short_help="Open a folder as a project.")
@click.argument("path")
@json_option
@click.pass_context
def open_command(context: click.Context, path: str, as_json: bool) -> None:
    """Open the folder PATH as a project and index it in the background.

    This is needed only for a folder that isn't recognised as a project's root: 'foveal context' opens the
    project that it is called in.
    """
    project = ask(context, "OpenProject", {"path": absolute(path)})
    warn_if_wide(project["root"])
    terminal.say_reply(project, as_json, f"open: {terminal.short_path(project['root'])} ({project['state']})")


@click.command("close", cls=Command, short_help="Stop watching a project.")
@click.argument("path")
@json_option
@click.pass_context
def close_command(context: click.Context, path: str, as_json: bool) -> None:
    """Close the project at PATH: it isn't watched any more. Its index and its decisions are kept.

    Starts no daemon; exits with 1 if none runs.
    """
    path = os.path.normpath(absolute(path))
    reply = ask(context, "CloseProject", {"path": path}, start=False)
    terminal.say_reply(reply, as_json, f"closed: {terminal.short_path(path)}")


@click.command("projects", cls=Command, short_help="List the open projects.")
@click.option("--cwd", metavar="DIR", type=FOLDER, help="Only the one that this folder belongs to.")
@json_option
@click.pass_context
def projects_command(context: click.Context, cwd: str | None, as_json: bool) -> None:
    """List the open projects. Starts no daemon; exits with 1 if none runs."""
    reply = ask(context, "ListProjects", start=False)
    if cwd is not None:
        folder = os.path.realpath(absolute(cwd))
        for name in ("projects", "closed"):
            reply[name] = [one for one in reply[name] if is_inside(folder, one["root"])]
    terminal.say_reply(
        reply, as_json, projects_table(reply["projects"]) if reply["projects"] else "no project is open"
    )


@click.command("reindex", cls=Command, short_help="Compare a project with the disk again.")
@click.argument("path", required=False)
@click.option("--full", is_flag=True, help="Read every file again, not only those that changed.")
@json_option
@click.pass_context
def reindex_command(context: click.Context, path: str | None, full: bool, as_json: bool) -> None:
    """Compare the project at PATH (default: this folder) with the disk, and wait until it is indexed.

    The daemon does this automatically when a file changes. Use this command if you doubt that it did.
    """
    from .progress import reindex_and_wait

    folder = current_folder() if path is None else absolute(path)
    with connect(settings_of(context)) as client:
        line = reindex_and_wait(client, folder, full=full)
        if not as_json:
            terminal.say(line)
            return
        projects = client.call("ListProjects", timeout=CALL_TIMEOUT_S)["projects"]
    root = os.path.realpath(folder)
    terminal.say_json(next((project for project in projects if project["root"] == root), None))


FORGET_EXAMPLES = (
    "foveal forget               # shows what goes of this project, and asks",
    "foveal forget ~/old/shop --dry-run",
)
REMOVED = {
    "trusted": "trusted file",
}
"""What can go, in words for one of it, if that isn't the name without its last letter."""


@click.command(
    "forget", cls=Command, short_help="Delete all that foveal knows of a project.", examples=FORGET_EXAMPLES
)
@click.argument("project", required=False, type=FOLDER)
@yes_option
@dry_run_option
@json_option
@click.pass_context
def forget_command(
    context: click.Context, project: str | None, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Show what foveal knows of PROJECT (default: this folder's), ask, and delete it for good: its index,
    sessions, requests, contexts, and decisions. The project's own files stay as they are."""
    asks = not (yes or dry_run)
    check_json_can_ask(context, as_json=as_json, asks=asks)
    path = current_folder() if project is None else os.path.normpath(absolute(project))
    reply = ask(context, "ForgetProject", {"path": path, "dry_run": True}, hint="foveal projects")
    if not as_json:
        for line in describe_removed(reply):
            terminal.say(line)
        terminal.flush()
    known = any(reply["removed"].values())
    if not dry_run and known:
        if asks and not click.confirm("Delete all of this for good?", err=True):
            terminal.note("nothing was deleted")
            context.exit(FAILED)
        reply = ask(context, "ForgetProject", {"path": path}, hint="foveal projects")
        if not as_json:
            terminal.say(f"forgotten: {terminal.short_path(reply['root'])}")
    if as_json:
        terminal.say_json(reply)
    elif reply["problem"]:
        terminal.flush()
        terminal.note(reply["problem"])


def describe_removed(reply: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about what goes with a project."""
    shown = terminal.short_path(reply["root"])
    removed = {name: amount for name, amount in reply["removed"].items() if amount}
    if not removed:
        yield f"foveal knows nothing of {shown}"
        return
    yield f"{terminal.styled(shown, bold=True)}: this would go for good"
    for name, amount in removed.items():
        what, _, unit = name.rpartition("_")
        if unit == "bytes":
            yield f"  {what.replace('_', ' ') or 'state'}: {terminal.size(amount)}"
        else:
            yield f"  {terminal.count(amount, REMOVED.get(name, name.removesuffix('s').replace('_', ' ')))}"
    yield "The files of the project stay as they are."


KNOWN_S = 5.0
"""Maximum wait in seconds for what is embedded already: the process that tells it takes a second to start."""

ESTIMATE_S = 2.0
"""Maximum wait in seconds for the first estimate: the process that embeds starts and embeds its first batches
in about this time."""

PUSH_TIMEOUT_S = 3_600.0
"""Maximum seconds of a push: a million contents are 800 MB."""

EMBED_EXAMPLES = (
    "foveal embed                # wait until all of this project can be found by meaning",
    "foveal embed --pause        # leave the processor to others for now",
    "foveal embed --wait --push  # in a job: then share the embeddings with the team",
    "foveal embed --resume       # from any folder: go on in all open projects",
    "foveal embed --resume .     # and wait until all of this one can be found by meaning",
)


@click.command(
    "embed",
    cls=Command,
    short_help="Wait for the index of meaning, pause it, or go on.",
    examples=EMBED_EXAMPLES,
)
@click.option("--wait", is_flag=True, help="Wait until all is embedded, as without any option.")
@click.option(
    "--push", is_flag=True, help="Then write the embeddings to the team's store (embedding.shared)."
)
@click.option("--pause", is_flag=True, help="Embed nothing in the background, in any project.")
@click.option("--resume", is_flag=True, help="Go on in all projects; with PATH wait until that one is done.")
@click.argument("path", required=False)
@json_option
@click.pass_context
def embed_command(
    context: click.Context,
    pause: bool,
    resume: bool,
    wait: bool,
    push: bool,
    path: str | None,
    as_json: bool,
) -> None:
    """Wait until all chunks of the project at PATH (default: this folder) are embedded.

    The daemon embeds them by itself, in the background at low priority; until that is done, 'foveal query'
    and 'foveal context' find the rest by words, names and structure. --pause and --resume are for all open
    projects, whichever folder they are given in. A pause ends with the daemon. --json prints the project as
    'foveal projects' does, or without PATH, after a pause or resume, whether embedding is paused.
    """
    say = (lambda line: None) if as_json else terminal.say
    if pause and (wait or push):
        raise click.UsageError("--pause goes with neither --wait nor --push", context)
    if pause and (resume or path is not None):
        raise click.UsageError("--pause applies to all projects: it takes no PATH and no --resume", context)
    with connect(settings_of(context)) as client:
        was_paused = _was_paused(client, push=push)
        continued = "embedding continues in all projects" if was_paused else "embedding was not paused"
        if pause:
            reply = client.call("SetEmbedding", {"paused": True}, CALL_TIMEOUT_S)
            say("embedding is paused in all projects; to continue, run: foveal embed --resume")
        elif resume and path is None and not wait and not push:
            reply = client.call("SetEmbedding", {"paused": False}, CALL_TIMEOUT_S)
            say(continued)
            for line in _what_goes_on(client):
                say(line)
        else:
            root, ready = enter_and_wait(client, current_folder() if path is None else absolute(path))
            if resume:
                client.call("SetEmbedding", {"paused": False}, CALL_TIMEOUT_S)
                say(continued)
            say(ready)
            terminal.flush()
            say(wait_for_vectors(client, root))
            reply = project_status(client, root)
            if push:
                terminal.flush()
                pushed = client.call("PushEmbeddings", {"cwd": root}, PUSH_TIMEOUT_S)
                reply |= {"pushed": pushed}
                say(_said_of(pushed))
    if as_json:
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
    """Return a line on the unfinished embedding of an indexed project, empty if it is done. The connection
    must be subscribed, as after `open_and_wait`. Waits up to `KNOWN_S` for what is embedded already, and on a
    terminal up to `ESTIMATE_S` for an estimate."""
    project = _known_progress(client, root)
    if project["embedding"] in UNFINISHED and terminal.is_terminal(sys.stderr):
        _wait_for_estimate(client, project)
    if project["embedding"] == "paused":
        return f"embedding is paused; {how_far(project)}; to continue, run: foveal embed --resume"
    if project["embedding"] not in UNFINISHED:
        return ""
    soon = f", {rate(project)}" if rate(project) else ""
    goes_on = "" if project["embedding"] == "waiting" else f"; that goes on in the background{soon}"
    return f"{how_far(project)}{goes_on}; to wait for it: foveal embed"


def _known_progress(client: Client, root: str) -> dict[str, Any]:
    """Return a project once it is known how much of it is embedded, or time is up."""
    deadline = time.monotonic() + KNOWN_S
    while True:
        project = project_status(client, root)
        left = deadline - time.monotonic()
        if project["embedding"] != "waiting" or left <= 0:
            return project
        next_news(client, root, min(left, LOOK_S))


def _wait_for_estimate(client: Client, project: dict[str, Any]) -> None:
    """Follow a project's events until there is an estimate, nothing is left to do, or time is up."""
    deadline = time.monotonic() + ESTIMATE_S
    with Bar("embedding") as bar:
        while project["embedding"] in UNFINISHED and not project["eta_ms"]:
            _show_embedding(bar, project)
            if (left := deadline - time.monotonic()) <= 0:
                return
            project |= next_news(client, project["root"], left) or project_status(client, project["root"])


def _said_of(pushed: dict[str, Any]) -> str:
    """Return a line that says what was shared. Raises `CliError` where not all could be."""
    done = (
        f"{pushed['written']:,} of {pushed['contents']:,} contents written, {pushed['present']:,} were there"
    )
    if problem := pushed.get("problem"):
        raise CliError(f"not all embeddings are shared: {problem} ({done})")
    return f"shared: {terminal.short_path(pushed['project'])} ({done})"


def _what_goes_on(client: Client) -> Iterator[str]:
    """Yield the progress of each open project whose embedding isn't finished; one line if all are."""
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


def _was_paused(client: Client, *, push: bool) -> bool:
    """Return whether embedding is paused. Raises `CliError` where it is switched off, and for a push where
    nothing is shared: that is said before all is embedded."""
    embedder = client.call("Status", timeout=CALL_TIMEOUT_S)["embedder"]
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


TOPICS = (
    "context.built",
    "context.changed",
    "context.resumed",
    "experience.changed",
    "experience.grafted",
    "index.progress",
    "items.changed",
    "project.changed",
    "scope.changed",
    "scope.created",
    "scope.released",
    "session.changed",
)


@click.command("watch", cls=Command, short_help="Print events as they come.")
@click.argument("topics", nargs=-1, type=click.Choice(TOPICS), metavar="[TOPIC]...")
@click.option("--cwd", metavar="DIR", type=FOLDER, help="Only of the project that this folder belongs to.")
@json_option
@click.pass_context
def watch_command(context: click.Context, topics: tuple[str, ...], cwd: str | None, as_json: bool) -> None:
    """Print the daemon's events as they come, all of them or those of each TOPIC, until Ctrl-C.

    Topics: context.built, context.changed, context.resumed, experience.changed, experience.grafted,
    index.progress, items.changed, project.changed, scope.changed, scope.created, scope.released,
    session.changed.
    """
    with connect(settings_of(context)) as client:
        client.call("Subscribe", {"topics": list(topics or TOPICS)}, CALL_TIMEOUT_S)
        terminal.note("waiting for events; Ctrl-C ends it")
        folder = None if cwd is None else os.path.realpath(absolute(cwd))
        for event in client.events():
            project = event["data"].get("project")
            if folder is not None and not (project and is_inside(folder, project)):
                continue
            terminal.say(json.dumps(event, ensure_ascii=False) if as_json else to_line(event))
            terminal.flush()
    raise CliError("the daemon stopped, so no more events come", "foveal logs")


def to_line(event: dict[str, Any]) -> str:
    """Return an event as one line: local time, topic, and its data as `name=value`."""
    data = " ".join(f"{name}={_value(value)}" for name, value in event["data"].items())
    at = local_time(event.get("at", ""), "%H:%M:%S.%f")[:12]
    return terminal.clean(f"{at:<12}  {event['topic']:<18}  {data}")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


TRUST_EXAMPLES = (
    "foveal trust                 # shows what would take effect, and asks",
    "foveal trust --revoke",
)

EFFECTS = {
    "foveal.toml": "may name a file in the project that decisions are shared in",
    ".j2": "makes the prompts that are sent with a context",
}

SHOWN_CHARACTERS = 4_000


@click.command("trust", cls=Command, short_help="Let a project's files take effect.", examples=TRUST_EXAMPLES)
@click.option("--yes", "-y", is_flag=True, help="Trust the files as they are without asking.")
@click.option("--revoke", is_flag=True, help="Trust nothing of this project any more.")
@cwd_option
@json_option
@click.pass_context
def trust_command(context: click.Context, yes: bool, revoke: bool, cwd: str | None, as_json: bool) -> None:
    """Show which files of this project need trust to take effect, and trust them as they are now.

    A cloned repository can only narrow what foveal does. Its templates and its pool of decisions take
    effect after you trusted these files. When a file changes you have to trust it again.
    """
    if yes and revoke:
        raise click.UsageError("--yes and --revoke don't go together", context)
    folder = cwd or current_folder()
    if revoke:
        reply = ask(context, "RevokeTrust", {"cwd": folder})
        terminal.say_reply(
            reply, as_json, f"nothing of {terminal.short_path(reply['root'])} is trusted any more"
        )
        return
    found = ask(context, "GetTrust", {"cwd": folder})
    waiting = [file for file in found["files"] if not file["trusted"] and "problem" not in file]
    if as_json and not yes:
        terminal.say_json(found)
        return
    terminal.check_can_ask(asks=bool(waiting) and not yes)
    if not as_json:
        _show_files(found)
    if not waiting:
        if as_json:
            terminal.say_json({"root": found["root"], "trusted": []})
        return
    if not yes and not _agrees(found["root"], waiting):
        terminal.note("nothing is trusted")
        context.exit(FAILED)
    wanted = [{"path": file["path"], "digest": file["digest"]} for file in waiting]
    reply = ask(context, "Trust", {"cwd": folder, "files": wanted})
    terminal.say_reply(
        reply, as_json, f"trusted: {', '.join(terminal.clean(path) for path in reply['trusted'])}"
    )


def _show_files(found: dict[str, Any]) -> None:
    if not found["files"]:
        terminal.say(f"{terminal.short_path(found['root'])} has no files that need trust")
    for file in found["files"]:
        state = file.get("problem") or ("trusted" if file["trusted"] else "not trusted")
        effect = next(words for ending, words in EFFECTS.items() if file["path"].endswith(ending))
        terminal.say(f"{terminal.clean(file['path'])}: {terminal.clean(state)}; it {effect}")


def _agrees(root: str, files: list[dict[str, Any]]) -> bool:
    """Show the content of the files and ask."""
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
