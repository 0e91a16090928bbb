"""The methods about projects: opening, indexing, unsaved buffers, trust in their settings."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from ..core.errors import InvalidRequest, NotFound, PermissionDenied, TooLarge, Unsupported
from ..core.parameters import NonEmpty
from ..embedding.records import VectorProgress
from ..embedding.service import EmbedderClient
from ..engine.service import Engine, EngineMethods
from ..project.records import NAME as IGNORE_FILE
from ..project.service import relative_path
from ..workspace.records import BUFFER_CHARACTERS
from ..workspace.service import Project
from .marks import Count, File, Plain, Root, Text
from .method import DaemonRequest, FolderRequest, ProjectRequest, method, reply_of

EmbeddingState = Literal["off", "waiting", "running", "paused", "failed", "done"]


class OpenRequest(FolderRequest, frozen=True, kw_only=True):
    cwd: str | None = None

    @property
    def inside(self) -> str | None:
        """The folder around which the project is opened, whatever the path."""
        return self.cwd


class CloseRequest(FolderRequest, frozen=True, kw_only=True):
    path: NonEmpty


class CloseReply(Struct, frozen=True):
    closed: bool


class ReindexRequest(FolderRequest, frozen=True, kw_only=True):
    path: str
    full: bool = False


class NotifyFileRequest(ProjectRequest, frozen=True, kw_only=True):
    path: NonEmpty
    event: Literal["opened", "focused", "changed", "closed"]
    text: str | None = None


class NotifyFileReply(Struct, frozen=True):
    noted: Text[str]


class EmbeddingRequest(DaemonRequest, frozen=True, kw_only=True):
    paused: bool


class PushEmbeddingsReply(Struct, frozen=True):
    project: Root[str]
    contents: Count[int]
    written: Count[int]
    present: Count[int]
    problem: Text[str | UnsetType] = UNSET


class EmbeddingReply(Struct, frozen=True):
    paused: bool


class PoolReply(Struct, frozen=True, rename={"parts": "files", "size_bytes": "bytes"}):
    """The figures of a project's experiences, with the attributes of `PoolStatistics`."""

    deleted: Count[int]
    parts: Count[int]
    size_bytes: Count[int]
    bad_lines: Count[int]
    unknown_lines: Count[int]
    repeated_lines: Count[int]
    repaired_tails: Count[int]
    retired: Count[int]
    retired_at: Plain[str | None]
    shared: Text[str | None]
    problem: Text[str | None]


class LinkedReply(Struct, frozen=True):
    """A project that another one links, by its path from that one's root."""

    name: Text[str]
    path: File[str]
    state: Literal["scanning", "indexing", "ready", "degraded", "closed"]


class ProjectReply(Struct, frozen=True):
    root: Root[str]
    state: Literal["scanning", "indexing", "ready", "degraded"]
    files: Count[int]
    symbols: Count[int]
    chunks: Count[int]
    embedding: EmbeddingState
    embedded: Count[int]
    pending: Count[int]
    chunks_per_second: Count[float]
    eta_ms: Count[int | None]
    files_pending: Count[int]
    files_unhashed: Count[int]
    files_unlinked: Count[int]
    watch: Literal["native", "polling", "off"]
    degraded: Text[list[str]]
    unfinished: Text[str]
    skipped: Count[dict[str, int]]
    rules: Count[int]
    experiences: Count[int]
    pool: PoolReply
    index_bytes: Count[int]
    clock: Plain[str]
    linked: list[LinkedReply]
    question: Text[str | UnsetType] = UNSET


class ClosedProject(Struct, frozen=True):
    root: Root[str]
    state: Literal["closed"]


class ProjectsReply(Struct, frozen=True):
    projects: list[ProjectReply]
    closed: list[ClosedProject]


class FileToTrust(Struct, frozen=True):
    path: str
    digest: str


class TrustRequest(ProjectRequest, frozen=True, kw_only=True):
    files: tuple[FileToTrust, ...] = ()


class TrustedFile(Struct, frozen=True):
    path: File[str]
    digest: Plain[str]
    size_bytes: Plain[int]
    trusted: bool
    problem: Text[str | UnsetType] = UNSET


class TrustStateReply(Struct, frozen=True):
    root: Root[str]
    files: list[TrustedFile]


class TrustReply(Struct, frozen=True):
    root: Root[str]
    trusted: Text[list[str]]


class RevokeTrustReply(Struct, frozen=True):
    root: Root[str]
    revoked: Count[int]


class ForgetRequest(FolderRequest, frozen=True, kw_only=True):
    path: NonEmpty
    dry_run: bool = False


class ForgetReply(Struct, frozen=True):
    root: Root[str]
    removed: Count[dict[str, int]]
    dry_run: bool
    problem: Text[str]
    kept: Text[str] = ""


class ExcludeRequest(ProjectRequest, frozen=True, kw_only=True):
    path: NonEmpty
    excluded: bool


class ExcludeReply(Struct, frozen=True):
    root: Root[str]
    path: File[str]
    excluded: bool
    file: Text[str]
    line: Text[str]
    changed: bool


class ProjectMethods(EngineMethods):
    """The methods over one engine."""

    @method("OpenProject", policy="user's folder", access="read")
    async def open(self, request: OpenRequest) -> ProjectReply:
        """Open a project by its root, or the project that the folder `cwd` belongs to. The reply comes at
        once; the state is `scanning` until the indexer reports."""
        projects = self._engine.projects
        if request.cwd is not None:
            return await project_reply(self._engine, await projects.at(request.cwd))
        if request.path is None:
            raise InvalidRequest("path is missing; it must be a string", "path")
        return await project_reply(self._engine, await projects.open_named(request.path))

    @method("CloseProject", policy="user's folder", access="person")
    async def close(self, request: CloseRequest) -> CloseReply:
        """Close a project at once; the indexer is told later."""
        if "\0" in request.path:
            raise InvalidRequest("path has a NUL character in it, which no path can have", "path")
        if not await self._engine.close_project(request.path):
            # An agent may not be allowed in the others; ListProjects tells it of those that it may see.
            roots = ", ".join(project.root for project in self._engine.projects) or "none"
            if request.agent.is_named:
                raise NotFound(f"{request.path!r:.200} isn't open;", "ListProjects names those that are")
            raise NotFound(f"{request.path!r:.200} isn't open; these are: {roots}")
        return CloseReply(closed=True)

    @method("ListProjects", policy="daemon", access="read")
    async def list_projects(self, request: DaemonRequest) -> ProjectsReply:
        """List the open projects, and in `closed` those that were open before, also under an earlier
        daemon, and whose folders are still there."""
        projects = self._engine.projects
        closed = await projects.closed()
        return ProjectsReply(
            [await project_reply(self._engine, project) for project in projects],
            [ClosedProject(root, "closed") for root in closed],
        )

    @method("ForgetProject", policy="user's folder", access="person")
    async def forget(self, request: ForgetRequest) -> ForgetReply:
        """Remove all that the daemon keeps of a project, by its root or a folder in it, and close it; with
        `dry_run` only count it; below."""
        root = await self._engine.projects.known_root(request.path)
        found = await self._engine.forgetting.forget(root, dry_run=request.dry_run)
        return ForgetReply(root, dict(found.removed), request.dry_run, found.problem, found.kept)

    @method("ExcludePath", policy="project", access="person")
    async def exclude(self, request: ExcludeRequest) -> ExcludeReply:
        """Leave a file or folder out of the index, or with `excluded` false no longer, by one line of the
        project's `.fovealignore`; `changed` is false if nothing had to be written."""
        root = await self._engine.projects.root_of(request.cwd)
        path, written = await self._engine.projects.exclude(root, request.path, excluded=request.excluded)
        return ExcludeReply(
            root, path, request.excluded, os.path.join(root, IGNORE_FILE), written.line, written.changed
        )

    @method("ReindexProject", policy="user's folder", access="read")
    async def reindex(self, request: ReindexRequest) -> ProjectReply:
        """Compare a project with the disk; with `full` every file is read again."""
        project = await self._engine.projects.open_named(request.path)
        await self._engine.indexing.reindex(project, full=request.full)
        return await project_reply(self._engine, project)

    @method("NotifyFile", policy="own", access="add")
    def notify_file(self, request: NotifyFileRequest) -> NotifyFileReply | Awaitable[NotifyFileReply]:
        """Report an editor's change of a file before it is saved. `text` is an unsaved buffer, which replaces
        the file until the next `changed` without one, or `closed`."""
        text = request.text
        if text is not None and len(text) > BUFFER_CHARACTERS:
            raise TooLarge(
                f"text has {len(text):,} characters; at most {BUFFER_CHARACTERS:,} are kept for a buffer"
            )
        project = self._engine.projects.at_nowait(request.cwd)
        # At once if possible, since the connection's next request may be answered at once too.
        if project is None or request.agent.is_named:
            return self._note_file_later(request)
        return self._note_file(project, request)

    async def _note_file_later(self, request: NotifyFileRequest) -> NotifyFileReply:
        project = await self._engine.projects.at(request.cwd)
        if request.agent.is_named:
            policy = await self._engine.permissions.require(project, request.agent)
            if policy.hides(relative_path(project.root, request.path, "path")):
                raise PermissionDenied(f"{policy.sources} hides this file from this agent")
        return self._note_file(project, request)

    def _note_file(self, project: Project, request: NotifyFileRequest) -> NotifyFileReply:
        relative = relative_path(project.root, request.path, "path")
        self._engine.note_file(project, relative, request.event, request.text)
        return NotifyFileReply(relative)

    @method("SetEmbedding", policy="daemon", access="person")
    async def set_embedding(self, request: EmbeddingRequest) -> EmbeddingReply:
        """Stop embedding in the background for all projects, or go on, until the daemon ends; `unsupported`
        where embedding is switched off."""
        if not self._engine.semantics.enabled:
            raise Unsupported("embedding is switched off (embedding.enabled in config.toml)")
        await self._engine.semantics.set_paused(paused=request.paused)
        return EmbeddingReply(request.paused)

    @method("PushEmbeddings", policy="user's project", access="person")
    async def push_embeddings(self, request: ProjectRequest) -> PushEmbeddingsReply:
        """Write the embeddings of a project that the shared store lacks; `unsupported` if no store is
        configured."""
        project = await self._engine.projects.at(request.cwd)
        pushed = await self._engine.semantics.push(project.root)
        return PushEmbeddingsReply(
            project.root, pushed.contents, pushed.written, pushed.present, pushed.problem or UNSET
        )

    @method("GetTrust", policy="user's project", access="person")
    async def get_trust(self, request: ProjectRequest) -> TrustStateReply:
        """List the files of a project whose effect needs trust."""
        root = await self._engine.projects.root_of(request.cwd)
        files, trusted = await self._engine.projects.trust_of(root)
        return TrustStateReply(
            root,
            [
                reply_of(TrustedFile, file, trusted=file.digest in trusted.digests.get(file.path, ()))
                for file in files
            ],
        )

    @method("Trust", policy="user's project", access="person")
    async def trust(self, request: TrustRequest) -> TrustReply:
        """Trust files as GetTrust showed them; `trusted` are the paths that weren't before.
        `invalid_params` for a file that has changed since."""
        root = await self._engine.projects.root_of(request.cwd)
        wanted = {file.path: file.digest for file in request.files}
        return TrustReply(root, list(await self._engine.projects.trust(root, wanted)))

    @method("RevokeTrust", policy="user's project", access="person")
    async def revoke_trust(self, request: ProjectRequest) -> RevokeTrustReply:
        """Revoke the trust in all files of a project; `revoked` counts them."""
        root = await self._engine.projects.root_of(request.cwd)
        return RevokeTrustReply(root, await self._engine.projects.revoke_trust(root))


async def project_reply(engine: Engine, project: Project, *, asks: bool = False) -> ProjectReply:
    """Return a project in the form of the wire; `asks` adds what a person is asked about it."""
    size = await engine.size(project)
    progress, known = project.index_state.progress, engine.semantics.progress(project.root)
    vectors = known or VectorProgress(project.root, 0, 0, 0.0)
    skipped = project.tree.skipped
    if progress is not None:
        skipped |= {f"folder:{reason}": count for reason, count in progress.skipped}
    problem, missing = engine.semantics.problem(project.root), engine.semantics.missing(project.root)
    pool = project.pool.statistics()
    degraded = [
        *project.degraded,
        *([f"no search by meaning: {problem}"] if problem else []),
        *([missing] if missing else []),
        *([f"experiences: {pool.problem}"] if pool.problem else []),
    ]
    rate = vectors.per_second
    return ProjectReply(
        root=project.root,
        state=project.state,
        files=len(project.tree.files),
        symbols=project.tree.symbols,
        chunks=size.chunks,
        embedding=_embedding_state(engine.semantics, known),
        embedded=vectors.chunks - vectors.pending,
        pending=vectors.pending,
        chunks_per_second=rate,
        eta_ms=round(vectors.pending / rate * 1000) if rate else None,
        files_pending=project.tree.pending,
        files_unhashed=project.tree.pending,
        files_unlinked=0 if progress is None else progress.unlinked,
        watch="off" if progress is None else progress.watch,
        degraded=degraded,
        unfinished=missing,
        skipped=skipped,
        rules=len(project.instructions.rules.items),
        experiences=pool.experiences,
        pool=reply_of(PoolReply, pool),
        index_bytes=size.bytes,
        clock=project.clock,
        linked=[
            LinkedReply(each.name, each.prefix, other.state if other is not None else "closed")
            for each in project.config.linked.projects
            for other in (engine.projects.get(each.root),)
        ],
        question=(asks and engine.projects.previous.question_nowait(project)) or UNSET,
    )


def _embedding_state(semantics: EmbedderClient, progress: VectorProgress | None) -> EmbeddingState:
    """Return the state of a project's embedding."""
    if not semantics.enabled:
        return "off"
    if progress is None:
        return "waiting"
    if progress.problem:
        return "failed"
    if not progress.pending:
        return "done"
    return "paused" if semantics.paused else "running"
