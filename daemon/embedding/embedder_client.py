"""The daemon's interface to the embedder process: it sends commands and handles the process's events."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, to_builtins

from ..config.settings import EmbeddingConfig
from ..core.child import ChildProcess
from ..core.errors import ChildDied, FovealError, Unsupported
from ..core.events import EventHub
from ..core.model_endpoint import is_on_this_machine
from ..core.work import FairGate, Work
from .messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    ChunksChanged,
    Configure,
    DropVectors,
    EmbedderEvent,
    EmbeddingEndpoint,
    ForgetVectors,
    Forgotten,
    KeepVectors,
    ModelLoaded,
    ModelProgress,
    PreferFiles,
    Pushed,
    PushVectors,
    ScoreTexts,
    SearchVectors,
    SetPaused,
    SharedProgress,
    SharedStore,
    TextScores,
    VectorHits,
    VectorProgress,
)

log = logging.getLogger(__name__)

ARGV = (sys.executable, "-m", "foveal.daemon.embedding.worker")

FOLDER = "embeddings"
"""Name of the embedder's folder in the state folder; its embeddings serve all projects."""

QUESTIONS_AT_ONCE = 4
"""Maximum number of questions sent to the embedder at the same time, which it answers in order. Further
questions wait in the daemon, where clients take turns."""

INCOMPLETE = "not all is found by meaning yet"
"""The beginning of each message that says that embedding isn't finished."""

REST_S = 5.0
"""Maximum seconds for an idle embedder to exit before it is killed; all its data is on the disk."""


class _Kept(Struct):
    """A project whose vectors are kept.

    `progress` is the last reported progress. `known` says whether the running (or starting) process was told
    of the project. `changed` says that the index has changes that the process wasn't told of, and `telling`
    that a task is telling it.
    """

    folder: str
    progress: VectorProgress | None = None
    known: bool = False
    telling: bool = False
    changed: bool = False


class EmbedderClient:
    """The projects whose chunks are embedded, and the embedder process. On the event loop only.

    `run` must be running as a task. The process starts when it is first needed, and ends when it has been
    idle for a while. `model` is the model that embeds, None before it was loaded.
    """

    def __init__(self, config: EmbeddingConfig, state_dir: str, work: Work, events: EventHub) -> None:
        self.child = ChildProcess[EmbedderEvent](
            "embedder",
            ARGV,
            self._on_event,
            self._on_started,
            self._on_died,
            lazy=True,
        )
        self.model: ModelLoaded | None = None
        self.loading: ModelProgress | None = None
        self.shared: SharedProgress | None = None
        """Counts of the exchange with the shared store; None before the first exchange."""
        self.paused = False
        self._config = config
        self._folder = os.path.join(state_dir, FOLDER)
        self._work = work
        self._events = events
        self.on_index_damage: Callable[[str, str], None] = lambda _root, _problem: None
        """Called with the root of a project whose index the embedder can't read, and with the reason."""
        self._projects: dict[str, _Kept] = {}
        self._loaded = False
        """Whether the current process has loaded the model."""
        self._problem = ""
        """Why the process can't be used, in words."""
        self._down = ""
        """Why no process is available, from the unexpected end of one process until the next is ready."""
        self._used_at = 0.0
        self._questions = FairGate(QUESTIONS_AT_ONCE)

    @property
    def enabled(self) -> bool:
        """Whether embedding is enabled in the settings."""
        return self._config.enabled

    def describe(self) -> dict[str, object] | None:
        """Return the embedder's part of Status; None where embedding is switched off."""
        if not self.enabled:
            return None
        configured = self._config.model
        running = self.child.pid is not None
        loaded = self._loaded and running
        loading = self.loading if running else None
        endpoint = self._endpoint()
        source = "endpoint" if endpoint is not None else "fastembed" if configured else "bundled"
        return {
            "model": self.model.name if self.model else configured or ("" if endpoint else DEFAULT_MODEL),
            "dim": self.model.dim if self.model else None if source != "bundled" else DEFAULT_DIMENSIONS,
            "source": source,
            "loaded": loaded,
            "loading": loading and {"phase": loading.phase, "fraction": loading.fraction},
            "former": "",
            "paused": self.paused,
            "pid": self.child.pid,
            "degraded": "",
            **self._describe_shared(),
            **_described(endpoint),
        }

    def _describe_shared(self) -> dict[str, object]:
        store = self._shared_store()
        return {} if store is None else {"shared": to_builtins(self.shared or SharedProgress(store.place))}

    def _endpoint(self) -> EmbeddingEndpoint | None:
        config = self._config
        if not config.endpoint:
            return None
        return EmbeddingEndpoint(config.endpoint, config.endpoint_key, config.endpoint_timeout_ms / 1000)

    def _shared_store(self) -> SharedStore | None:
        config = self._config
        if not config.shared:
            return None
        return SharedStore(config.shared, config.shared_password, config.shared_secret, config.shared_days)

    def keeps(self, root: str) -> bool:
        """Whether a project's chunks are being embedded."""
        return root in self._projects

    def progress(self, root: str) -> VectorProgress | None:
        """Return the progress of embedding a project, None while it isn't known.

        Progress that says that everything is embedded isn't trusted while the process is told of changes or
        is being restarted: the result is None then too.
        """
        kept = self._projects.get(root)
        if kept is None or kept.progress is None:
            return None
        return None if (kept.telling or self._down) and _is_done(kept.progress) else kept.progress

    def problem(self, root: str) -> str:
        """Return why a project can't be searched by meaning, in words, or an empty string."""
        if not self.enabled:
            return ""
        if self._down or self._problem:
            return self._down or self._problem
        kept = self._projects.get(root)
        if kept is None or kept.progress is None:
            return ""
        return kept.progress.problem

    def missing(self, root: str) -> str:
        """Return a message on how much of a project can be found by meaning, "" if all of it can.

        Also returns "" if the project can't be searched at all; then `problem` says why.
        """
        if not self.enabled or self.problem(root):
            return ""
        kept = self._projects.get(root)
        if kept is None or kept.progress is None:
            return f"{INCOMPLETE}: the embedder is starting"
        chunks, pending = kept.progress.chunks, kept.progress.pending
        if not pending:
            return ""
        shared = f"; shared embeddings: {self.shared.problem}" if self.shared and self.shared.problem else ""
        return f"{INCOMPLETE}: {chunks - pending:,} of {chunks:,} chunks are embedded{self._pause}{shared}"

    @property
    def incomplete(self) -> str:
        """The message that a project is still being embedded, without counts."""
        return f"{INCOMPLETE}: the project is still being embedded{self._pause}"

    @property
    def _pause(self) -> str:
        return "; that is paused, go on with: foveal embed --resume" if self.paused else ""

    async def run(self) -> None:
        """Serve until `stop`."""
        async with asyncio.TaskGroup() as tasks:
            resting = tasks.create_task(self._rest_when_idle(), name="embedder idle")
            await self.child.run()
            resting.cancel()

    async def stop(self, deadline_s: float) -> None:
        """Ask the process to end, and kill it after the deadline in seconds."""
        await self.child.stop(deadline_s)

    def keep(self, root: str, folder: str) -> None:
        """Start embedding a project's chunks, or start again after its index was replaced."""
        if self.enabled:
            former = self._projects.get(root)
            kept = _Kept(folder, None if former is None else former.progress, self.child.is_ready)
            self._projects[root] = kept
            if kept.known:
                self._tell(KeepVectors(root, folder))
            else:
                self.child.wake()  # `_on_started` tells it of all unknown projects

    def drop(self, root: str) -> None:
        """Stop keeping a project's vectors."""
        if self._projects.pop(root, None) is not None and self.child.pid is not None:
            self._tell(DropVectors(root))

    def note_change(self, root: str) -> None:
        """Tell the process to look for new chunks of a project; changes in quick succession are combined."""
        kept = self._projects.get(root)
        if kept is None:
            return
        kept.changed = True
        if not kept.telling:
            kept.telling = True
            self._work.start_background(self._tell_changes(root, kept), f"embed {root}")

    def prefer(self, root: str, paths: Iterable[str]) -> None:
        """Tell the process to embed the chunks of these files next, if any chunk still waits."""
        kept, wanted = self._projects.get(root), tuple(paths)
        # While the progress isn't known, all chunks may wait.
        if kept is not None and wanted and (kept.progress is None or kept.progress.pending):
            self._tell(PreferFiles(root, wanted))

    async def set_paused(self, *, paused: bool) -> None:
        """Pause or resume embedding in the background."""
        self.paused = paused
        waiting = any(kept.progress is None or kept.progress.pending for kept in self._projects.values())
        if self.child.pid is not None or (waiting and not paused):
            await self._ask(SetPaused(paused))  # this starts the process if needed

    async def push(self, root: str) -> Pushed:
        """Write a project's embeddings to the shared store. Raises `FovealError` if that isn't possible."""
        if not self._config.shared:
            raise Unsupported("no shared store is configured: set embedding.shared in config.toml")
        self._check_can_ask()
        pushed: Pushed = await self._ask(PushVectors(root))
        return pushed

    async def forget(self, root: str, folder: str, others: tuple[str, ...]) -> int:
        """Delete the embeddings that only the project in a folder uses, not those in `others`; return their
        number. Raises `FovealError` if that isn't possible."""
        if not self.enabled:
            return 0
        self._projects.pop(root, None)
        self._check_can_ask()
        forgotten: Forgotten = await self._ask(ForgetVectors(root, folder, others))
        return forgotten.embeddings

    async def search(self, command: SearchVectors) -> VectorHits:
        """Find chunks by meaning. Raises `FovealError` with the reason if that isn't possible.

        If the process isn't running, the question starts it and waits for it. If the process ended
        unexpectedly and is being restarted, `ChildDied` is raised at once.
        """
        self._check_can_ask()
        async with self._questions:
            hits: VectorHits = await self._ask(command)
        return hits

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> TextScores:
        """Compare texts by meaning that belong to no project, such as rules. Raises as `search` does.

        Texts without a vector are embedded for up to `within_s` seconds.
        """
        self._check_can_ask()
        async with self._questions:
            scores: TextScores = await self._ask(ScoreTexts(queries, documents, within_s))
        return scores

    def _check_can_ask(self) -> None:
        if not self.enabled:
            raise Unsupported("embedding is switched off (embedding.enabled)")
        if self._down:
            raise ChildDied(self._down)

    async def _ask(self, command: object) -> Any:
        self._used_at = asyncio.get_running_loop().time()
        return await self.child.request(command)

    async def _tell_changes(self, root: str, kept: _Kept) -> None:
        try:
            while kept.changed and self._projects.get(root) is kept:
                kept.changed = False
                await self._ask(ChunksChanged(root))
        finally:
            kept.telling = False
            if kept.progress is not None and _is_done(kept.progress) and self._projects.get(root) is kept:
                # `progress` didn't report until now that everything is embedded.
                self._events.publish("index.progress", progress_map(kept.progress))

    def _tell(self, command: object) -> None:
        self._work.start_background(self._ask(command), type(command).__name__)

    async def _on_started(self) -> None:
        """Configure a new process and tell it of all projects."""
        threads = self._config.threads or max(1, (os.cpu_count() or 2) // 2)
        self._loaded, self.loading = False, None
        self._used_at = asyncio.get_running_loop().time()
        self._problem = ""
        for kept in self._projects.values():
            kept.known = False
        await self._tell_at_start(
            Configure(
                self._folder,
                self._config.model,
                threads,
                self._config.max_bytes,
                self._shared_store(),
                self._endpoint(),
            )
        )
        await self._tell_at_start(SetPaused(self.paused))
        while unknown := [root for root, kept in self._projects.items() if not kept.known]:
            kept = self._projects[unknown[0]]
            kept.known = True
            await self._tell_at_start(KeepVectors(unknown[0], kept.folder))
        self._down = ""

    async def _tell_at_start(self, command: object) -> None:
        try:
            await self.child.request_at_start(command)
        except ChildDied:
            raise
        except FovealError as error:
            # Everything else works without vectors; `problem` reports the reason.
            log.warning("the embedder: %s", error)
            self._problem = str(error)

    def _on_died(self, reason: str) -> None:
        self.loading = None
        self._down = f"the embedder process {reason} and is being started again"

    def _on_event(self, event: EmbedderEvent) -> None:
        match event:
            case VectorProgress():
                kept = self._projects.get(event.root)
                if kept is not None:
                    kept.progress = event
                    if event.index_damage:
                        self.on_index_damage(event.root, event.index_damage)
                    if event.per_second:
                        self._used_at = asyncio.get_running_loop().time()
                    self._events.publish("index.progress", progress_map(event))
            case SharedProgress():
                self.shared = event
            case ModelLoaded():
                self.model, self.loading, self._loaded = event, None, True
            case ModelProgress():
                self.loading = None if event.fraction >= 1 else event
                data = {"phase": event.phase, "fraction": event.fraction}
                self._events.publish("index.progress", {"model": data})

    async def _rest_when_idle(self) -> None:
        """End the process when it had no requests and nothing to embed for the configured time."""
        idle_s = self._config.idle_minutes * 60
        while True:
            await asyncio.sleep(idle_s / 4)
            idle_for = asyncio.get_running_loop().time() - self._used_at
            busy = self.child.is_asked or self.loading is not None or any(map(self._works_at, self._projects))
            if self.child.pid is not None and not busy and idle_for >= idle_s:
                await self.child.rest(REST_S)

    def _works_at(self, root: str) -> bool:
        """Whether the process has work to do for a project, and can do it now."""
        progress = self._projects[root].progress
        return progress is None or (progress.pending > 0 and not progress.problem and not self.paused)


def _described(endpoint: EmbeddingEndpoint | None) -> dict[str, object]:
    """Return what Status says of an endpoint: where it is, and whether texts leave this machine for it."""
    if endpoint is None:
        return {}
    return {"endpoint": endpoint.place, "leaves_machine": not is_on_this_machine(endpoint.url)}


def _is_done(progress: VectorProgress) -> bool:
    return not progress.pending and not progress.problem


def progress_map(progress: VectorProgress) -> dict[str, object]:
    """Return progress in the form of events and Status; `eta_ms` is None while it can't be estimated."""
    rate = progress.per_second
    return {
        "project": progress.root,
        "embedded": progress.chunks - progress.pending,
        "pending": progress.pending,
        "chunks_per_second": rate,
        "eta_ms": round(progress.pending / rate * 1000) if rate else None,
    }
