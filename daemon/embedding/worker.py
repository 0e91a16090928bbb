"""The embedder process: embeds chunks in the background, and answers questions on separate threads first.

One process serves all projects of a daemon. It ends when the pipe to the daemon is closed, so it never
outlives the daemon.
"""

from __future__ import annotations

import os
import queue
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from msgspec import Struct

from ..core.errors import FovealError
from ..core.pipe import ChildPipe, Envelope, Reply, Stop
from ..core.storage import DatabaseError
from ..core.system import System
from .lazy_model import LazyModel
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
from .shared_source import SourceError, VectorCodec, read_credential
from .sharing import SharedEmbeddings, Vectors, open_source
from .text_scores import TextScorer
from .vector_search import VectorSearch
from .vector_updater import MODELS_FOLDER, OpenShared, VectorUpdater


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
        self._parts: _Parts | None = None
        """What works for the daemon; None before `Configure`."""
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._questions: queue.SimpleQueue[Envelope | None] = queue.SimpleQueue()
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
        if isinstance(envelope.command, Stop) and self._parts is not None:
            self._parts.updater.model.close()
            self._parts.scorer.hurry()
        self._work.put(lambda: self._reply(envelope))

    def run(self) -> None:
        """Execute commands and embed in the background, until a `Stop`."""
        try:
            while not self._stopping:
                updater = None if self._parts is None else self._parts.updater
                project = None if updater is None else updater.due()
                patience = None if updater is None else updater.patience()
                try:
                    self._work.get(block=project is None, timeout=patience)()
                except queue.Empty:
                    if updater is not None and project is not None:
                        updater.advance(project)
        finally:
            self._questions.put(None)
            self._texts.put(None)
            if self._parts is not None:
                self._parts.updater.close()

    def answer_questions(self) -> None:
        """Answer searches one after another until `run` ends. An unexpected error here ends `run` too."""
        self._answer(self._questions)

    def score_texts(self) -> None:
        """Compare texts until `run` ends, on another thread than searches, which so don't wait for it."""
        self._answer(self._texts)
        if self._parts is not None:
            self._parts.scorer.close()

    def _answer(self, waiting: queue.SimpleQueue[Envelope | None]) -> None:
        try:
            while (envelope := waiting.get()) is not None:
                try:
                    self._reply(envelope)
                finally:
                    with self._answered:
                        self._open_questions -= 1
                        self._answered.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised again by `run`, on its thread
            self._work.put(partial(_raise, error))

    # Commands

    def _reply(self, envelope: Envelope) -> None:
        try:
            if isinstance(envelope.command, PushVectors):
                self._push(envelope.number, envelope.command)
                return
            value = self._execute(envelope.command)
        except (FovealError, DatabaseError, OSError) as error:
            self._send(Reply(envelope.number, None, str(error)))
        else:
            self._send(Reply(envelope.number, value))

    def _execute(self, command: object) -> Forgotten | VectorHits | TextScores | None:
        match command:
            case SearchVectors():
                return self._configured().searches.answer(command)
            case ScoreTexts():
                return self._configured().scorer.answer(command)
            case ForgetVectors():
                return self._configured().updater.forget(command)
            case Configure():
                self._configure(command)
            case KeepVectors(root, folder):
                self._configured().updater.keep(root, folder)
            case DropVectors(root):
                self._configured().updater.drop(root)
            case ChunksChanged(root):
                self._configured().updater.note_change(root)
            case PreferFiles(root, paths):
                project = self._configured().updater.get(root)
                if project is not None and project.vectors is not None:
                    project.vectors.prefer(paths)
            case SetPaused(paused):
                self._configured().updater.pause(paused=paused)
            case Stop():
                self._stopping = True
        return None

    def _push(self, number: int, command: PushVectors) -> None:
        """Start a push; the reply is sent when it has ended."""
        self._configured().updater.push(command.root, lambda pushed: self._send(Reply(number, pushed)))

    def _configure(self, command: Configure) -> None:
        folder = os.path.join(command.folder, MODELS_FOLDER)
        # Earlier versions prepared the default model here.
        shutil.rmtree(os.path.join(folder, "all-MiniLM-L6-v2-int8"), ignore_errors=True)
        name = command.model or ("" if command.endpoint else DEFAULT_MODEL)
        model = LazyModel(
            name, folder, self._system, self._send, self._note_model, command.endpoint, self._environment
        )
        updater = VectorUpdater(
            command,
            model,
            self._system,
            self._send,
            self._wait_for_questions,
            self._work.put,
            self._open_shared(command.shared),
        )
        searches = VectorSearch(updater, self._system, self._work.put)
        self._parts = _Parts(updater, searches, TextScorer(command.folder, model, self._system))

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

    def _configured(self) -> _Parts:
        if self._parts is None:
            raise FovealError("the embedder isn't configured")
        return self._parts

    def _wait_for_questions(self) -> None:
        """Wait until all questions are answered."""
        if self._open_questions:
            with self._answered:
                self._answered.wait_for(lambda: not self._open_questions)

    def _note_model(self) -> None:
        """Continue work that waited for the model, or report why there is no model. From any thread."""
        if self._parts is not None:
            self._work.put(self._parts.updater.note_model)


class _Parts(Struct, frozen=True):
    """What `Configure` makes."""

    updater: VectorUpdater
    searches: VectorSearch
    scorer: TextScorer


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


def _raise(error: BaseException) -> None:
    raise error


if __name__ == "__main__":
    main()
