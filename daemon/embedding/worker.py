"""The embedder process: embeds chunks in the background, and answers questions on separate threads first.

One process serves all projects of a daemon. It ends when the pipe to the daemon is closed, so it never
outlives the daemon.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.pipe import ChildPipe, Envelope, Reply, Stop
from ..core.storage import DatabaseError, damage_raised
from ..core.system import System
from ..index.chunks import embedded_text
from .exact import Floats, scores, stored_halves, unit
from .lazy_model import Former, LazyModel
from .messages import (
    DEFAULT_MODEL,
    ChunksChanged,
    Configure,
    DropVectors,
    EmbedderEvent,
    ForgetVectors,
    Forgotten,
    KeepVectors,
    PreferFiles,
    PushVectors,
    ScoreTexts,
    SearchVectors,
    SetPaused,
    SharedProgress,
    SharedStore,
    TextScores,
    VectorHits,
)
from .model import EmbeddingModel
from .project_vectors import ProjectVectors, have_direction, no_vectors
from .shared_source import SourceError, VectorCodec, read_credential
from .sharing import SharedEmbeddings, Vectors, open_source
from .text_scores import TextScorer
from .upkeep import MODELS_FOLDER, EmbeddedProject, OpenShared, Upkeep


class Embedder:
    """The state of the process. `send` sends replies and events to the daemon, from any thread.

    Work that fails temporarily is postponed, and other work continues; an unexpected error ends `run`.
    """

    def __init__(
        self,
        system: System,
        send: Callable[[Reply | EmbedderEvent], None],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._system = system
        self._environment = environment
        self._send = send
        self._upkeep: Upkeep | None = None
        self._searches: VectorSearch | None = None
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._questions: queue.SimpleQueue[Envelope | None] = queue.SimpleQueue()
        self._scorer: TextScorer | None = None
        self._texts: queue.SimpleQueue[Envelope | None] = queue.SimpleQueue()
        self._answered = threading.Condition()
        self._open_questions = 0
        """The number of questions that wait or are being answered; while it isn't 0, no text is embedded in
        the background."""
        self._stopping = False

    def submit(self, envelope: Envelope) -> None:
        """Queue a command for `run`, `answer_questions` or `score_texts`. From any thread."""
        if isinstance(envelope.command, SearchVectors | ScoreTexts):
            with self._answered:
                self._open_questions += 1
            waiting = self._questions if isinstance(envelope.command, SearchVectors) else self._texts
            waiting.put(envelope)
            return
        if isinstance(envelope.command, Stop) and self._upkeep is not None:
            self._upkeep.hurry()
            if self._scorer is not None:
                self._scorer.hurry()
        if isinstance(envelope.command, PushVectors):
            self._work.put(lambda: self._push(envelope))
            return
        self._work.put(lambda: self._reply(envelope, self._execute))

    def run(self) -> None:
        """Execute commands and embed in the background, until a `Stop`."""
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
            self._texts.put(None)
            if self._upkeep is not None:
                self._upkeep.close()

    def answer_questions(self) -> None:
        """Answer searches one after another until `run` ends. An unexpected error here ends `run` too."""
        self._answer(self._questions, self._search)

    def score_texts(self) -> None:
        """Compare texts until `run` ends, on another thread than searches, which so don't wait for it."""
        self._answer(self._texts, self._score)
        if self._scorer is not None:
            self._scorer.close()

    def _answer(
        self, waiting: queue.SimpleQueue[Envelope | None], execute: Callable[[object], object]
    ) -> None:
        try:
            while (envelope := waiting.get()) is not None:
                try:
                    self._reply(envelope, execute)
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

    def _execute(self, command: object) -> Forgotten | None:
        match command:
            case ForgetVectors():
                return self._configured().forget(command)
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
        return None

    def _configure(self, command: Configure) -> None:
        folder = os.path.join(command.folder, MODELS_FOLDER)
        name = command.model or DEFAULT_MODEL
        model = LazyModel(name, folder, self._system, self._send, self._note_model)
        self._upkeep = Upkeep(
            command,
            model,
            self._system,
            self._send,
            self._wait_for_questions,
            _give_way,
            self._work.put,
            self._open_shared(command.shared),
        )
        self._searches = VectorSearch(self._upkeep, self._system, self._work.put)
        self._scorer = TextScorer(command.folder, model, self._system)

    def _open_shared(self, shared: SharedStore | None) -> OpenShared | None:
        """Return a function that opens the shared store; None if none is configured or it can't be used."""
        if shared is None:
            return None
        try:
            password = read_credential(shared.password, self._environment, self._system)
            secret = read_credential(shared.secret, self._environment, self._system)
            source = open_source(shared, password)
        except SourceError as error:
            self._send(SharedProgress(shared.place, problem=str(error)))
            return None

        def open_shared(model_key: str, load: Callable[[Sequence[bytes]], Vectors]) -> SharedEmbeddings:
            codec = VectorCodec(model_key, secret)
            sharing = SharedEmbeddings(source, codec, load, self._send, self._system)
            # A daemon thread: it has no work that must be finished before the process exits.
            threading.Thread(target=self._share, args=(sharing,), name="shared", daemon=True).start()
            return sharing

        return open_shared

    def _share(self, sharing: SharedEmbeddings) -> None:
        """Exchange embeddings. An unexpected error here ends `run` too."""
        try:
            sharing.run()
        except BaseException as error:  # noqa: BLE001 - raised again by `run`, on its thread
            self._work.put(partial(_raise, error))

    def _push(self, envelope: Envelope) -> None:
        """Start a push; the reply is sent when it has ended."""
        assert isinstance(envelope.command, PushVectors)
        try:
            self._configured().push(
                envelope.command.root, lambda pushed: self._send(Reply(envelope.number, pushed))
            )
        except (FovealError, DatabaseError) as error:
            self._send(Reply(envelope.number, None, str(error)))

    def _configured(self) -> Upkeep:
        if self._upkeep is None:
            raise FovealError(_NOT_CONFIGURED)
        return self._upkeep

    def _wait_for_questions(self) -> None:
        """Wait until all questions are answered."""
        if self._open_questions:
            with self._answered:
                self._answered.wait_for(lambda: not self._open_questions)

    def _note_model(self) -> None:
        """Continue work that waited for the model, or report why there is no model. From any thread."""
        upkeep = self._upkeep
        if upkeep is not None:
            self._work.put(upkeep.note_model)

    # Questions

    def _search(self, command: object) -> VectorHits:
        assert isinstance(command, SearchVectors)
        if self._searches is None:
            raise FovealError(_NOT_CONFIGURED)
        return self._searches.answer(command)

    def _score(self, command: object) -> TextScores:
        assert isinstance(command, ScoreTexts)
        if self._scorer is None:
            raise FovealError(_NOT_CONFIGURED)
        return self._scorer.answer(command)


def main() -> None:
    """Serve on the socket whose descriptor is the only command-line argument."""
    pipe = ChildPipe(int(sys.argv[1]))
    embedder = Embedder(System(), pipe.send, os.environ)
    pipe.listen(embedder.submit)
    asked = (
        threading.Thread(target=embedder.answer_questions, name="questions"),
        threading.Thread(target=embedder.score_texts, name="texts"),
    )
    for thread in asked:
        thread.start()
    code = 0
    try:
        embedder.run()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the daemon has ended
    except BaseException:  # noqa: BLE001 - it is printed, and ends the process
        sys.excepthook(*sys.exc_info())
        code = 1
    for thread in asked:
        thread.join()
    # Exit at once: a model download has threads for which the interpreter would wait, and no work is left.
    # The pipe isn't closed before, because the listening thread would then exit the process first.
    os._exit(code)


_NOT_CONFIGURED = "the embedder isn't configured"


def _raise(error: BaseException) -> None:
    raise error


def _give_way(nice: int) -> None:
    """Raise the niceness of this thread. Only on Linux, since elsewhere it would affect the whole process.

    The thread also gets the scheduling policy for batch jobs (SCHED_BATCH), so that it doesn't preempt a
    process that wakes up, such as an editor. Questions are answered at the daemon's own priority.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))


class VectorSearch:
    """Answers searches on a separate thread. `later` runs a function on the thread of `upkeep`."""

    def __init__(self, upkeep: Upkeep, system: System, later: Callable[[Callable[[], None]], None]) -> None:
        self._upkeep = upkeep
        self._system = system
        self._later = later

    def answer(self, command: SearchVectors) -> VectorHits:
        """Find chunks with the configured model, or with a former one while that one covers more chunks.

        Raises `FovealError` with the reason if neither model can be used now.
        """
        kept = self._upkeep.get(command.root)
        if kept is None:
            raise FovealError(_NOT_LOADED)
        deadline = self._system.monotonic() + command.wait_s
        former = kept.former
        if former is None or not former.covers_more_than(kept.vectors):
            return self._by_present(kept, command, deadline)
        try:
            return self._by_former(kept, former, command)
        except FovealError as error:
            note = f"the former embedding model can't answer meanwhile: {error}"
        try:
            return replace(self._by_present(kept, command, deadline), note=note)
        except FovealError as error:
            raise FovealError(f"{error}; {note}") from error

    def _by_former(self, kept: EmbeddedProject, former: Former, command: SearchVectors) -> VectorHits:
        model = former.model.get(command.wait_s)
        queries = _embedded(model, command.texts)
        if not len(queries):
            return VectorHits((), former.vectors.pending)
        hits = self._search(kept, former.vectors, queries, command)
        name = self._upkeep.model.name
        return replace(
            hits, note=f"searched with the model {former.model.name} until {name} has embedded all"
        )

    def _by_present(self, kept: EmbeddedProject, command: SearchVectors, deadline: float) -> VectorHits:
        vectors = kept.vectors
        if vectors is None and kept.problem:
            raise FovealError(kept.problem)
        model = self._upkeep.model.get(max(0.0, deadline - self._system.monotonic()))
        if vectors is None:
            raise FovealError(_NOT_LOADED)
        queries = _embedded(model, command.texts)
        if not len(queries):
            return VectorHits((), vectors.pending)
        hits = self._search(kept, vectors, queries, command)
        first = self._embed_first(kept, vectors, model, command)
        if not first:
            return hits
        # Rounded like stored vectors, so that a content has the same score in this search and in later ones.
        found = scores(stored_halves(np.stack(list(first.values())), model.dim), unit(queries, model.dim))
        scored = dict(hits.hits) | dict(zip(first, found.tolist(), strict=True))
        ordered = sorted(scored.items(), key=lambda hit: (-hit[1], hit[0]))
        if command.min_score is not None:
            ordered = [hit for hit in ordered if hit[1] >= command.min_score]
        return VectorHits(tuple(ordered[: command.limit]), max(0, hits.pending - len(first)))

    def _search(
        self, kept: EmbeddedProject, vectors: ProjectVectors, queries: Floats, command: SearchVectors
    ) -> VectorHits:
        try:
            with damage_raised():
                hits = vectors.search(queries, command.limit, command.files, command.kinds, command.min_score)
        except DatabaseError as error:
            raise self._failed(kept, vectors, error) from error
        if not hits.hits and not vectors.is_loaded:
            raise FovealError("the vectors of the project are being loaded")
        return hits

    def _embed_first(
        self, kept: EmbeddedProject, vectors: ProjectVectors, model: EmbeddingModel, command: SearchVectors
    ) -> dict[bytes, Floats]:
        """Embed the chunks in `command.first` without a vector, for up to `command.first_s` seconds."""
        deadline = self._system.monotonic() + command.first_s
        try:
            with damage_raised():
                chunks = vectors.lacking(command.first) if command.first_s > 0 else []
        except DatabaseError as error:
            raise self._failed(kept, vectors, error) from error
        embedded: dict[bytes, Floats] = {}
        for chunk in chunks:
            if self._system.monotonic() > deadline:
                break
            vector = model.embed([embedded_text(chunk.path, chunk.names, chunk.text)])
            if have_direction(vector).all():
                embedded[chunk.digest] = vector[0]
        if embedded:
            done = [chunk for chunk in chunks if chunk.digest in embedded]
            matrix = np.stack(list(embedded.values()))
            self._later(partial(self._upkeep.keep_embedded, kept, vectors, done, matrix))
        return embedded

    def _failed(self, kept: EmbeddedProject, vectors: ProjectVectors, error: DatabaseError) -> FovealError:
        """Report a failure to `upkeep` on its thread; return the error to raise."""
        self._later(partial(self._upkeep.note_failure, kept, vectors, error))
        return FovealError(kept.problem or f"the vectors can't be read ({error})")


_NOT_LOADED = "the vectors of the project are not loaded yet"


def _embedded(model: EmbeddingModel, texts: tuple[str, ...]) -> Floats:
    """Return the embeddings of a question's texts, (windows, dim), without those that have no direction."""
    queries = np.concatenate([no_vectors(model.dim), *map(model.embed_query, texts)])
    return queries[have_direction(queries)]


if __name__ == "__main__":
    main()
