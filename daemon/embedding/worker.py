"""Owns the embedder process: questions are answered on one thread, chunks embedded on others behind them.

One process for all projects of a daemon. It ends when the pipe ends, so it never outlives its daemon.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from functools import partial

import numpy as np

from ..errors import FovealError
from ..index.embedded_text import embedded_text
from ..pipe import ChildPipe, Envelope, Reply, Stop
from ..storage import DatabaseError
from ..system import System
from .defaults import DEFAULT_MODEL
from .exact import Floats, scores, stored_halves, unit
from .lazy_model import LazyModel
from .messages import (
    ChunksChanged,
    Configure,
    DropVectors,
    EmbedderEvent,
    KeepVectors,
    PreferFiles,
    SearchVectors,
    SetPaused,
    VectorHits,
)
from .model import EmbeddingModel
from .project_vectors import ProjectVectors, have_direction, no_vectors
from .upkeep import Kept, Upkeep

NICE = 10
"""Of the threads that embed in the background; questions are answered at the daemon's own priority."""

MODELS_FOLDER = "models"


class Embedder:
    """The state of the process. `send` takes replies and events to the daemon, from any thread.

    What can't be done for now is put off, and all else goes on; an error that nobody foresaw ends `run`.
    """

    def __init__(self, system: System, send: Callable[[Reply | EmbedderEvent], None]) -> None:
        self._system = system
        self._send = send
        self._upkeep: Upkeep | None = None
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._questions: queue.SimpleQueue[Envelope | None] = queue.SimpleQueue()
        self._answered = threading.Condition()
        self._open_questions = 0
        """Those that wait or are being answered: background work stands back between two texts."""
        self._stopping = False

    def submit(self, envelope: Envelope) -> None:
        """Take a command. From any thread; `run` and `answer_questions` carry them out."""
        if isinstance(envelope.command, SearchVectors):
            with self._answered:
                self._open_questions += 1
            self._questions.put(envelope)
            return
        if isinstance(envelope.command, Stop) and self._upkeep is not None:
            self._upkeep.hurry()
        self._work.put(lambda: self._reply(envelope, self._execute))

    def run(self) -> None:
        """Carry out commands and embed in the background, until a `Stop`."""
        try:
            while not self._stopping:
                upkeep = self._upkeep
                kept = None if upkeep is None else upkeep.due()
                patience = None if upkeep is None else upkeep.patience()
                try:
                    self._work.get(block=kept is None, timeout=patience)()
                except queue.Empty:
                    if upkeep is not None and kept is not None:
                        upkeep.advance(kept)
        finally:
            self._questions.put(None)
            if self._upkeep is not None:
                self._upkeep.close()

    def answer_questions(self) -> None:
        """Answer searches, one after the other, until `run` ends; an error that ends this ends `run`."""
        try:
            while (envelope := self._questions.get()) is not None:
                try:
                    self._reply(envelope, self._search)
                finally:
                    with self._answered:
                        self._open_questions -= 1
                        self._answered.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised again by `run`, on its thread
            self._work.put(partial(_raise, error))

    # Commands

    def _reply(self, envelope: Envelope, execute: Callable[[object], object]) -> None:
        try:
            value = execute(envelope.command)
        except (FovealError, DatabaseError, OSError) as error:
            self._send(Reply(envelope.number, None, str(error)))
        else:
            self._send(Reply(envelope.number, value))

    def _execute(self, command: object) -> None:
        match command:
            case Configure():
                self._configure(command)
            case KeepVectors(root, folder):
                self._configured().keep(root, folder)
            case DropVectors(root):
                self._configured().drop(root)
            case ChunksChanged(root):
                self._configured().note_change(root)
            case PreferFiles(root, paths):
                kept = self._configured().get(root)
                if kept is not None and kept.vectors is not None:
                    kept.vectors.prefer(paths)
            case SetPaused(paused):
                self._configured().pause(paused=paused)
            case Stop():
                self._stopping = True

    def _configure(self, command: Configure) -> None:
        folder = os.path.join(command.folder, MODELS_FOLDER)
        model = LazyModel(command.model or DEFAULT_MODEL, folder, self._system, self._send)
        self._upkeep = Upkeep(command, model, self._system, self._send, self._wait_for_questions, _give_way)

    def _configured(self) -> Upkeep:
        if self._upkeep is None:
            raise FovealError("the embedder isn't configured")
        return self._upkeep

    def _wait_for_questions(self) -> None:
        """Wait until no question is open."""
        if self._open_questions:
            with self._answered:
                self._answered.wait_for(lambda: not self._open_questions)

    # Questions

    def _search(self, command: object) -> VectorHits:
        assert isinstance(command, SearchVectors)
        upkeep = self._configured()
        kept = upkeep.get(command.root)
        vectors = None if kept is None else kept.vectors
        if kept is None or vectors is None:
            problem = "" if kept is None else kept.problem or upkeep.model.problem
            raise FovealError(problem or "the vectors of the project are not loaded yet")
        try:
            return self._find(kept, vectors, upkeep.model.get(), command)
        except DatabaseError as error:
            # Dealt with where nothing else is being done for the project.
            self._work.put(partial(upkeep.note_failure, kept, vectors, error))
            raise FovealError(kept.problem or f"the vectors can't be read ({error})") from error

    def _find(
        self, kept: Kept, vectors: ProjectVectors, model: EmbeddingModel, command: SearchVectors
    ) -> VectorHits:
        queries = np.concatenate([no_vectors(model.dim), *map(model.embed_query, command.texts)])
        queries = queries[have_direction(queries)]
        if not len(queries):
            return VectorHits((), vectors.pending)
        hits = vectors.search(queries, command.limit, command.files, command.kinds, command.min_score)
        if not hits.hits and not vectors.is_loaded:
            raise FovealError("the vectors of the project are being loaded")
        first = self._embed_first(kept, vectors, model, command)
        if not first:
            return hits
        # As they are kept, so that a content has one score, whether it is found the first time or later.
        found = scores(stored_halves(np.stack(list(first.values())), model.dim), unit(queries, model.dim))
        scored = dict(hits.hits) | dict(zip(first, found.tolist(), strict=True))
        ordered = sorted(scored.items(), key=lambda hit: (-hit[1], hit[0]))
        if command.min_score is not None:
            ordered = [hit for hit in ordered if hit[1] >= command.min_score]
        return VectorHits(tuple(ordered[: command.limit]), max(0, hits.pending - len(first)))

    def _embed_first(
        self, kept: Kept, vectors: ProjectVectors, model: EmbeddingModel, command: SearchVectors
    ) -> dict[bytes, Floats]:
        """Embed what a question needs and has no vector yet, as far as its time allows."""
        deadline = self._system.monotonic() + command.first_s
        chunks = vectors.lacking(command.first) if command.first_s > 0 else []
        embedded: dict[bytes, Floats] = {}
        for chunk in chunks:
            if self._system.monotonic() > deadline:
                break
            vector = model.embed([embedded_text(chunk.path, chunk)])
            if have_direction(vector).all():
                embedded[chunk.digest] = vector[0]
        if embedded:
            done, matrix = (
                [one for one in chunks if one.digest in embedded],
                np.stack(list(embedded.values())),
            )
            self._work.put(partial(self._configured().keep_embedded, kept, vectors, done, matrix))
        return embedded


def main() -> None:
    """Serve on the socket whose descriptor is the one argument."""
    pipe = ChildPipe(int(sys.argv[1]))
    embedder = Embedder(System(), pipe.send)
    pipe.listen(embedder.submit)
    questions = threading.Thread(target=embedder.answer_questions, name="questions")
    questions.start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        embedder.run()
    questions.join()
    pipe.close()


def _raise(error: BaseException) -> None:
    raise error


def _give_way() -> None:
    """Lower the priority of this thread; on systems where it would be that of the process, it stays."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICE)


if __name__ == "__main__":
    main()
