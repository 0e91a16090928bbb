"""The daemon's side of the embedder: what it asks for, and what it does with events."""

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
from ..core.work import FairGate, Work
from .messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    ChunksChanged,
    Configure,
    DropVectors,
    EmbedderEvent,
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
"""The embedder's own folder in the state folder; its embeddings serve all projects."""

QUESTIONS_AT_ONCE = 4
"""Questions that are with the embedder at the same time; it answers them in order, and further ones wait for
their client's turn."""

INCOMPLETE = "not all is found by meaning yet"
"""How each sentence begins that says that embedding goes on."""

REST_S = 5.0
"""Seconds that an idle embedder has to end before it is killed; everything it holds is on the disk."""


class _Kept(Struct):
    """A project whose vectors are kept: how far that is, whether the process that runs (or is being started)
    knows of it, and whether news of it are on their way."""

    folder: str
    progress: VectorProgress | None = None
    known: bool = False
    telling: bool = False
    changed: bool = False


class Semantics:
    """The projects whose chunks are embedded. On the event loop only.

    `run` must be running as a task. The process starts when it is first needed and rests when it has had
    nothing to do for a while. `model` says which one embeds, None before it was loaded.
    """

    def __init__(self, config: EmbeddingConfig, state_dir: str, work: Work, events: EventHub) -> None:
        self.child = ChildProcess[EmbedderEvent](
            "embedder",
            ARGV,
            self._on_event,
            self._on_started,
            self._on_died,
            on_silent=self._on_silent,
            lazy=True,
        )
        self.model: ModelLoaded | None = None
        self.loading: ModelProgress | None = None
        self.shared: SharedProgress | None = None
        """What was exchanged with the shared store; None as long as nothing was."""
        self.paused = False
        self._config = config
        self._folder = os.path.join(state_dir, FOLDER)
        self._work = work
        self._events = events
        self.on_index_damage: Callable[[str, str], None] = lambda _root, _problem: None
        """Hears of which project the embedder can't read the index, and why."""
        self._projects: dict[str, _Kept] = {}
        self._loaded = False
        """The process that runs now has loaded the model."""
        self._problem = ""
        """Why the process can't be used, in words."""
        self._down = ""
        """Why there is none, from the end of one that wasn't asked to end until the next is ready."""
        self._used_at = 0.0
        self._questions = FairGate(QUESTIONS_AT_ONCE)

    @property
    def enabled(self) -> bool:
        """Whether the user wants anything embedded."""
        return self._config.enabled

    def describe(self) -> dict[str, object] | None:
        """Return the embedder's part of Status; None where embedding is switched off."""
        if not self.enabled:
            return None
        configured = self._config.model
        running = self.child.pid is not None
        formers = [kept.progress.former for kept in self._projects.values() if kept.progress is not None]
        loaded = self._loaded and running
        loading = self.loading if running else None
        return {
            "model": self.model.name if self.model else configured or DEFAULT_MODEL,
            "dim": self.model.dim if self.model else None if configured else DEFAULT_DIMENSIONS,
            "source": "fastembed" if configured else "bundled",
            "loaded": loaded,
            "loading": loading and {"phase": loading.phase, "fraction": loading.fraction},
            "former": next(filter(None, formers), ""),
            "paused": self.paused,
            "pid": self.child.pid,
            "degraded": self.model.degraded if self.model else "",
            **self._describe_shared(),
        }

    def _describe_shared(self) -> dict[str, object]:
        store = self._shared_store()
        return {} if store is None else {"shared": to_builtins(self.shared or SharedProgress(store.place))}

    def _shared_store(self) -> SharedStore | None:
        config = self._config
        if not config.shared:
            return None
        return SharedStore(config.shared, config.shared_password, config.shared_secret, config.shared_days)

    def keeps(self, root: str) -> bool:
        """Whether a project's chunks are being embedded."""
        return root in self._projects

    def progress(self, root: str) -> VectorProgress | None:
        """Return how far the embedding of a project is, None as long as that isn't known.

        Whether all is embedded isn't known while the process takes in changes, or is started again.
        """
        kept = self._projects.get(root)
        if kept is None or kept.progress is None:
            return None
        return None if (kept.telling or self._down) and _is_done(kept.progress) else kept.progress

    def problem(self, root: str) -> str:
        """Return why a project can't be searched by meaning, in words, or nothing."""
        if not self.enabled:
            return ""
        if self._down or self._problem:
            return self._down or self._problem
        kept = self._projects.get(root)
        if kept is None or kept.progress is None:
            return ""
        problem, former = kept.progress.problem, kept.progress.former
        return f"{problem}; {former}, the former model, answers meanwhile" if problem and former else problem

    def missing(self, root: str) -> str:
        """Say how much of a project can't be found by meaning yet, or nothing; `problem` says why it can't
        be."""
        if not self.enabled or self.problem(root):
            return ""
        kept = self._projects.get(root)
        if kept is None or kept.progress is None:
            return f"{INCOMPLETE}: nothing of it is known to be embedded"
        chunks, pending = kept.progress.chunks, kept.progress.pending
        if not pending:
            return ""
        shared = f"; shared embeddings: {self.shared.problem}" if self.shared and self.shared.problem else ""
        return f"{INCOMPLETE}: {chunks - pending:,} of {chunks:,} chunks are embedded{self._pause}{shared}"

    @property
    def incomplete(self) -> str:
        """Say to anyone that a project is still being embedded, without a word of how much."""
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
        """End the process, and kill it after the deadline in seconds."""
        await self.child.stop(deadline_s)

    def keep(self, root: str, folder: str) -> None:
        """Have a project's chunks embedded from now on, or again after its index was replaced."""
        if self.enabled:
            former = self._projects.get(root)
            kept = _Kept(folder, None if former is None else former.progress, self.child.is_ready)
            self._projects[root] = kept
            if kept.known:
                self._tell(KeepVectors(root, folder))
            else:
                self.child.wake()  # and it gets all projects that it doesn't know

    def drop(self, root: str) -> None:
        """Have a project's vectors kept no more."""
        if self._projects.pop(root, None) is not None and self.child.pid is not None:
            self._tell(DropVectors(root))

    def note_change(self, root: str) -> None:
        """Have new chunks of a project looked for; many changes in a row lead to few looks."""
        kept = self._projects.get(root)
        if kept is None:
            return
        kept.changed = True
        if not kept.telling:
            kept.telling = True
            self._work.start_unheard(self._tell_changes(root, kept), f"embed {root}")

    def prefer(self, root: str, paths: Iterable[str]) -> None:
        """Have the chunks of these files embedded next, if any still wait."""
        kept, wanted = self._projects.get(root), tuple(paths)
        # As long as nothing is known of a project all of it may wait.
        if kept is not None and wanted and (kept.progress is None or kept.progress.pending):
            self._tell(PreferFiles(root, wanted))

    async def set_paused(self, *, paused: bool) -> None:
        """Stop or go on with embedding in the background."""
        self.paused = paused
        waiting = any(kept.progress is None or kept.progress.pending for kept in self._projects.values())
        if self.child.pid is not None or (waiting and not paused):
            await self._ask(SetPaused(paused))  # which starts a process that rests

    async def push(self, root: str) -> Pushed:
        """Write a project's embeddings to the shared store. Raises `FovealError` where that can't be done."""
        if not self._config.shared:
            raise Unsupported("no shared store is configured: set embedding.shared in config.toml")
        self._check_can_ask()
        pushed: Pushed = await self._ask(PushVectors(root))
        return pushed

    async def search(self, command: SearchVectors) -> VectorHits:
        """Find chunks by meaning. Raises `FovealError` with the reason where that can't be done.

        A process that is started for the question is waited for, but not one that is started again after it
        ended by itself.
        """
        self._check_can_ask()
        async with self._questions:
            hits: VectorHits = await self._ask(command)
        return hits

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> TextScores:
        """Compare texts by meaning that belong to no project, such as rules. Raises as `search` does.

        New texts are embedded as long as `wait_s` allows.
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
                # It was held back until now that all is embedded.
                self._events.publish("index.progress", progress_map(kept.progress))

    def _tell(self, command: object) -> None:
        self._work.start_unheard(self._ask(command), type(command).__name__)

    async def _on_started(self) -> None:
        """Configure a new process and tell it of all projects."""
        threads = self._config.threads or max(1, (os.cpu_count() or 2) // 2)
        self._loaded, self.loading = False, None
        self._used_at = asyncio.get_running_loop().time()
        self._problem = ""
        for kept in self._projects.values():
            kept.known = False
        await self._tell_at_start(
            Configure(self._folder, self._config.model, threads, self._config.max_bytes, self._shared_store())
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
            # Without vectors all else goes on, and says so.
            log.warning("the embedder: %s", error)
            self._problem = str(error)

    def _on_died(self, reason: str) -> None:
        self.loading = None
        self._down = f"the embedder process {reason} and is being started again"

    def _on_silent(self, reason: str) -> None:
        self._down = reason

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
        """End the process when nothing was asked and nothing embedded for the time that is configured."""
        idle_s = self._config.idle_minutes * 60
        while True:
            await asyncio.sleep(idle_s / 4)
            idle_for = asyncio.get_running_loop().time() - self._used_at
            busy = self.child.is_asked or self.loading is not None or any(map(self._works_at, self._projects))
            if self.child.pid is not None and not busy and idle_for >= idle_s:
                await self.child.rest(REST_S)

    def _works_at(self, root: str) -> bool:
        """Whether there is something to do for a project that can be done."""
        progress = self._projects[root].progress
        return progress is None or (progress.pending > 0 and not progress.problem and not self.paused)


def _is_done(progress: VectorProgress) -> bool:
    return not progress.pending and not progress.problem


def progress_map(progress: VectorProgress) -> dict[str, object]:
    """Return progress as events and Status tell it; `eta_ms` is None while it can't be estimated."""
    rate = progress.per_second
    return {
        "project": progress.root,
        "embedded": progress.chunks - progress.pending,
        "pending": progress.pending,
        "chunks_per_second": rate,
        "eta_ms": round(progress.pending / rate * 1000) if rate else None,
    }
