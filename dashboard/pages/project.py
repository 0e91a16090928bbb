"""The page of one project: its index, what is left out of it, trust, hooks, and how to forget it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ..formats import count, duration
from ..hosts import connected_hosts
from ..view import Page, get

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "ready": ("ready", "good"),
    "scanning": ("looking for files", "accent"),
    "indexing": ("reading files", "accent"),
    "degraded": ("degraded", "warn"),
}
"""A project's state in words, and the kind of its badge."""

WATCHES: Final[Mapping[str, str]] = {
    "native": "watched",
    "polling": "compared with the disk every few seconds, since watching isn't possible there",
    "off": "not watched",
}

IGNORE: Final = ".fovealignore"
IGNORE_BYTES: Final = 64 * 1024
LINES: Final = 100
"""Maximum lines shown of the project's `.fovealignore`."""

FOLDERS: Final = 40
"""Maximum folders offered to be excluded: those at the top of the project, by name."""

LEFT_OUT: Final = frozenset(
    "assets build dist doc docs fixtures gen generated locales node_modules public site snapshots static"
    " third_party third-party vendor vendored".split()
)
"""Names of folders that a click may exclude: they seldom hold a project's own source. Any other is typed."""

PLACES: Final[Mapping[str, str]] = {"user": "all your projects", "project": "this project"}
"""Where a host's hooks are registered, in words."""

FORGOTTEN: Final[Mapping[str, tuple[str, str]]] = {
    "contexts": ("context", "contexts"),
    "requests": ("recorded request", "recorded requests"),
    "sessions": ("session", "sessions"),
    "scopes": ("scope", "scopes"),
    "items": ("rule, reference or tool", "rules, references and tools"),
    "decisions": ("decision", "decisions"),
    "embeddings": ("embedding", "embeddings"),
    "trusted": ("trusted file", "trusted files"),
}
"""What ForgetProject counts, in words."""


class ProjectPage(Page):
    """The page at `/project`."""

    @get("/project")
    async def _serve(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        values: dict[str, Any] = {}
        if project.root:
            cwd = project.root
            status, scopes, trust, heard, (folders, ignored) = await asyncio.gather(
                view.call("Status", cwd=cwd),
                view.call("ListScopes", cwd=cwd),
                view.call("GetTrust", cwd=cwd),
                view.call("ListHosts"),
                asyncio.to_thread(_folders, cwd),
            )
            removed = None
            if "forget" in request.query:  # counting may wait for the embedder, so only who asks waits
                reply = await view.call("ForgetProject", path=cwd, dry_run=True)
                removed = forgotten(reply["removed"])
            one: dict[str, Any] = (status["projects"] or [project.status])[0]
            values = {
                "one": one,
                "progress": progress(one),
                "skipped": sorted(one["skipped"].items(), key=lambda pair: -pair[1]),
                "scopes": scopes["scopes"],
                "trust": trust["files"],
                "removed": removed,
                "hosts": await asyncio.to_thread(connected_hosts, heard["hosts"], cwd),
                "places": PLACES,
                "folders": folders,
                "left_out": [folder for folder in folders if folder.rstrip("/").lower() in LEFT_OUT],
                "ignored": ignored,
            }
        return await view.page(
            request,
            "project.html",
            title=project.name or "Project",
            project=project,
            states=STATES,
            watches=WATCHES,
            **values,
        )


def progress(project: Mapping[str, Any]) -> list[tuple[str, int, int, str]]:
    """Return how far a project's index is: what, how much is done, of how much, and a remark."""
    files, pending, unlinked = project["files"], project["files_pending"], project["files_unlinked"]
    rows = [
        ("Files read", max(files - pending, 0), files, f"{pending:,} to go" if pending else ""),
        (
            "References linked",
            max(files - unlinked, 0),
            files,
            f"{unlinked:,} files to go" if unlinked else "",
        ),
    ]
    whole = project["embedded"] + project["pending"]
    said = {"off": "off", "paused": "paused", "failed": "failed", "waiting": "waits for the model"}.get(
        project["embedding"], ""
    )
    if project["pending"] and not said:
        said = f"{project['pending']:,} to go"
        if project["eta_ms"] is not None:
            said += f", about {duration(project['eta_ms'] / 1000)}"
    return [*rows, ("Chunks embedded", project["embedded"], whole, said)]


def forgotten(removed: Mapping[str, int]) -> list[str]:
    """Return what a project's end would remove, in words, without what there is none of."""
    return [count(removed[name], one, many) for name, (one, many) in FORGOTTEN.items() if removed.get(name)]


def _folders(root: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the folders at the top of a project, and the lines of its `.fovealignore`."""
    try:
        with os.scandir(root) as entries:
            found = sorted(
                f"{entry.name}/"
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
            )
    except OSError:
        found = []
    return found[:FOLDERS], _ignored(os.path.join(root, IGNORE))


def _ignored(path: str) -> Sequence[str]:
    try:
        # Not through a link, which might lead out of the project.
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            with open(number, encoding="utf-8", errors="replace", closefd=False) as file:
                text = file.read(IGNORE_BYTES)
        finally:
            os.close(number)  # also of a folder, which `open` refuses without closing
    except OSError:
        return ()
    lines = (line.rstrip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")][:LINES]
