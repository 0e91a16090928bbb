"""Owns the methods about projects and their files: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..app.engine import Engine
from ..core.errors import InvalidRequest, NotFound, TooLarge, Unsupported
from ..core.parameters import MISSING, Parameters
from ..embedding.messages import VectorProgress
from ..embedding.semantics import Semantics, progress_map
from ..project.project import Project
from ..project.roots import relative_path
from ..project.unsaved_buffers import BUFFER_CHARACTERS
from .memory import pool_map
from .method_parts import Answer, Method

EVENTS_OF_FILES = ("opened", "focused", "changed", "closed")


class ProjectMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.methods: Mapping[str, Method] = {
            "OpenProject": self._open,
            "CloseProject": self._close,
            "ListProjects": self._list,
            "ReindexProject": self._reindex,
            "NotifyFile": self._notify_file,
            "SetEmbedding": self._set_embedding,
        }

    async def _open(self, parameters: Parameters) -> dict[str, Any]:
        projects = self._engine.projects
        if parameters.has("cwd"):
            project = await projects.at(parameters.text("cwd"))
        else:
            project = await projects.open_named(parameters.text("path"))
        return await project_map(self._engine, project)

    async def _close(self, parameters: Parameters) -> dict[str, Any]:
        path = parameters.text("path", empty=False)
        if "\0" in path:
            raise InvalidRequest("path has a NUL character in it, which no path can have", "path")
        if not await self._engine.close_project(path):
            roots = ", ".join(project.root for project in self._engine.projects)
            raise NotFound(f"{path!r:.200} isn't open; these are: {roots or 'none'}")
        return {"closed": True}

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        projects = self._engine.projects
        closed = await projects.closed()
        return {
            "projects": [await project_map(self._engine, project) for project in projects],
            "closed": [{"root": root, "state": "closed"} for root in closed],
        }

    async def _reindex(self, parameters: Parameters) -> dict[str, Any]:
        full = parameters.flag("full")
        project = await self._engine.projects.open_named(parameters.text("path"))
        await self._engine.indexing.reindex(project, full=full)
        return await project_map(self._engine, project)

    def _notify_file(self, parameters: Parameters) -> Answer:
        event = parameters.choice("event", "", EVENTS_OF_FILES)
        text = parameters.optional_text("text")
        if text is not None and len(text) > BUFFER_CHARACTERS:
            raise TooLarge(
                f"text has {len(text):,} characters; at most {BUFFER_CHARACTERS:,} are kept for a buffer"
            )
        cwd, path = parameters.text("cwd"), parameters.text("path", empty=False)
        project = self._engine.projects.at_nowait(cwd)
        if project is None:
            return self._note_file_later(cwd, path, event, text)
        # At once, since the next request on the connection may be answered at once too.
        return self._note_file(project, path, event, text)

    async def _note_file_later(self, cwd: str, path: str, event: str, text: str | None) -> dict[str, Any]:
        return self._note_file(await self._engine.projects.at(cwd), path, event, text)

    def _note_file(self, project: Project, path: str, event: str, text: str | None) -> dict[str, Any]:
        relative = relative_path(project.root, path, "path")
        self._engine.note_file(project, relative, event, text)
        return {"noted": relative}

    async def _set_embedding(self, parameters: Parameters) -> dict[str, Any]:
        paused = parameters.flag("paused", MISSING)
        if not self._engine.semantics.enabled:
            raise Unsupported("embedding is switched off (embedding.enabled in config.toml)")
        await self._engine.semantics.set_paused(paused=paused)
        return {"paused": paused}


async def project_map(engine: Engine, project: Project) -> dict[str, Any]:
    """Return a project as the wire has it."""
    size = await engine.size(project)
    progress, embedding = project.index_state.progress, engine.semantics.progress(project.root)
    skipped = project.tree.skipped
    if progress is not None:
        skipped |= {f"folder:{reason}": count for reason, count in progress.skipped}
    vectors = progress_map(embedding or VectorProgress(project.root, 0, 0, 0.0))
    problem, missing = engine.semantics.problem(project.root), engine.semantics.missing(project.root)
    pool = project.pool.statistics()
    degraded = [
        *project.degraded,
        *([f"no search by meaning: {problem}"] if problem else []),
        *([missing] if missing else []),
        *([f"experiences: {pool.problem}"] if pool.problem else []),
    ]
    return {
        **{name: value for name, value in vectors.items() if name != "project"},
        "root": project.root,
        "state": project.state,
        "files": len(project.tree.files),
        "symbols": project.tree.symbols,
        "chunks": size.chunks,
        "embedding": _embedding_state(engine.semantics, embedding),
        "files_pending": project.tree.pending,
        "files_unhashed": project.tree.unhashed,
        "files_unlinked": 0 if progress is None else progress.unlinked,
        "watch": "off" if progress is None else progress.watch,
        "degraded": degraded,
        "skipped": skipped,
        "rules": len(project.instructions.rules.items),
        "experiences": pool.experiences,
        "pool": pool_map(pool),
        "index_bytes": size.bytes,
        "clock": project.clock,
    }


def _embedding_state(semantics: Semantics, progress: VectorProgress | None) -> str:
    """Return how a project's embedding stands: off, waiting, running, paused, failed or done."""
    if not semantics.enabled:
        return "off"
    if progress is None:
        return "waiting"
    if progress.problem:
        return "failed"
    if not progress.pending:
        return "done"
    return "paused" if semantics.paused else "running"
