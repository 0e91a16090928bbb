"""Compression by a language model where the user enabled it, its cache, and the fallback to extraction."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ..config.settings import CompressionConfig
from ..core.storage import (
    DatabaseError,
    close_database,
    damage_raised,
    database_bytes,
    may_pass,
    open_database,
    transaction,
)
from ..core.system import System
from ..languages.shared.records import Symbol
from ..privacy.secret_values import mask_piece
from .compress import Compressed, compress, cut
from .document import Document, Words
from .model_endpoint import (
    ChatEndpoint,
    EndpointFailed,
    ModelAnswer,
    cleaned,
    instructions,
    problem_of_answer,
)

log = logging.getLogger(__name__)

VERSION = 1
"""Raised when the model is asked in another way: earlier answers are no longer given then."""

SENT_CHARACTERS_MAX = 120_000
"""A longer text is brought down to this by the extractive way first, so that any model can read it."""

SENT_RATIO = 16
"""Maximum text sent, in times the room, brought down the same way: nobody pays for a MB to get 2 KB."""

CHARACTERS_PER_TOKEN = 4
"""The product's estimate; see the context's token counter."""

FAILURES_MAX = 3
REST_SECONDS = 60.0
"""After so many failures in a row the endpoint isn't asked for so long: a context shouldn't wait for it."""

QUESTIONS_MAX = 4
"""Maximum number of questions at the same time; further ones are answered without the model."""

ROOM_STEPS = 8
"""Rooms between a power of two and the next are rounded down to one of so many, so that answers are found
again when a budget shifts a little."""

LATER_MAX = 8
"""Maximum number of texts of one context given to the model, those that weigh most."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class CompressionStatistics(Struct, frozen=True):
    """What became of the texts that a model was to compress, since the start.

    `calls` are questions to the endpoint, `cached` answers from the disk, `failures` those of the endpoint
    and answers that were refused. Tokens are the endpoint's own count, or estimated.
    """

    enabled: bool
    calls: int
    cached: int
    failures: int
    tokens_in: int
    tokens_out: int
    masked: int
    last_problem: str
    resting: bool


class ModelCompressor:
    """Compresses by a model if it can, else by extraction, else by cutting. Blocks: for threads, not a loop.

    Nothing leaves the machine unless the settings say so, and never a value that looks like a secret.
    Threads may share it.
    """

    def __init__(
        self,
        settings: CompressionConfig,
        system: System,
        cache_path: str,
        environment: Mapping[str, str],
    ) -> None:
        self._settings = settings
        self._system = system
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(QUESTIONS_MAX)
        self._failed_in_a_row = 0
        self._rests_until = -math.inf
        self._statistics = CompressionStatistics(False, 0, 0, 0, 0, 0, 0, "", resting=False)
        self._cache: ModelCache | None = None
        key = environment.get(settings.api_key_env, "") if settings.api_key_env else ""
        problem = problem_of(settings, key)
        self._endpoint: ChatEndpoint | None = None
        if problem:
            self._remark(problem)
        elif settings.enabled:
            self._endpoint = ChatEndpoint(settings.endpoint, settings.model, key, system)
            self._open_cache(cache_path)
        self._statistics = replace(self._statistics, enabled=self._endpoint is not None)

    def compress(
        self,
        text: str,
        path: str,
        words: Words,
        characters: int,
        symbols: Sequence[Symbol] = (),
        wanted: Collection[str] = (),
        seconds: float = math.inf,
    ) -> Compressed:
        """Return a text within a number of characters, as `compress` does; raises nothing.

        `seconds` is the time that is left, if it is less than the setting; with 0 only what was answered
        before is used. A form that a model made bears its name.
        """

        def extracted(room: int) -> Compressed:
            try:
                return compress(text, path, words, room, symbols, wanted)
            except Exception as error:  # noqa: BLE001 - a fault of ours must cost no context: cutting always works
                self._remark(f"extraction failed ({type(error).__name__}): the text was cut")
                folded = cut(Document(text), (), room)
                return Compressed(folded.text, folded.left_out_lines, "cut")

        if not self.may_ask(text, characters):
            return extracted(characters)
        room = _rounded(characters)
        sent = extracted(min(SENT_CHARACTERS_MAX, room * SENT_RATIO))
        answer = self._answer(sent.text, path, _names(words), room, seconds)
        if not answer:
            return extracted(characters)
        return Compressed(answer, _lines_missing(text, answer), sent.kind, self._settings.model)

    def may_ask(self, text: str, characters: int) -> bool:
        """Whether a model would be asked to make a text that short: there is one, and the text is long."""
        is_long = len(text) > characters and len(text) >= self._settings.min_tokens * CHARACTERS_PER_TOKEN
        return self._endpoint is not None and is_long

    def statistics(self) -> CompressionStatistics:
        """Return the counts so far."""
        with self._lock:
            resting = self._system.monotonic() < self._rests_until
            return replace(self._statistics, resting=resting)

    def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()

    def _answer(self, text: str, path: str, names: Sequence[str], room: int, seconds: float) -> str | None:
        """Return what a model made of a text, or None if it can't or what it made is of no use."""
        masked = mask_piece(text)
        key = self._key(masked.text, path, names, room)
        answer = self._remembered(key)
        if answer is None and seconds > 0:
            answer = self._asked(masked.text, path, names, room, seconds)
            if answer is not None:
                self._count(masked=masked.count)
                self._remember(key, answer)
        return answer

    def _asked(self, sent: str, path: str, names: Sequence[str], room: int, seconds: float) -> str | None:
        assert self._endpoint is not None  # looked at by the caller
        if self._system.monotonic() < self._rests_until or not self._slots.acquire(blocking=False):
            return None
        try:
            prompt = instructions(path, names, room)
            tokens = room // CHARACTERS_PER_TOKEN + 64
            time = min(seconds, self._settings.timeout_ms / 1000)
            self._count(calls=1)
            answer = self._endpoint.ask(prompt, sent, tokens, time)
        except EndpointFailed as error:
            self._fail(str(error))
            return None
        finally:
            self._slots.release()
        text = cleaned(answer.text, room)
        self._count_tokens(answer, prompt, sent)
        problem = problem_of_answer(text, sent, room)
        if problem:
            self._fail(problem)
            return None
        with self._lock:
            self._failed_in_a_row = 0
        return text

    # The cache

    def _open_cache(self, path: str) -> None:
        try:
            self._cache = ModelCache(path, self._system)
        except (OSError, DatabaseError) as error:
            self._remark(f"answers aren't kept: {error}")
        else:
            if self._cache.replaced:
                self._remark(self._cache.replaced)

    def _key(self, sent: str, path: str, names: Sequence[str], room: int) -> bytes:
        name = path.rpartition("/")[2]
        parts = (str(VERSION), self._settings.endpoint, self._settings.model, name, str(room), *names)
        digest = hashlib.blake2b(digest_size=20)
        for part in (*parts, "", sent):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.digest()

    def _remembered(self, key: bytes) -> str | None:
        if self._cache is None:
            return None
        try:
            answer = self._cache.get(key)
        except DatabaseError as error:
            self._distrust("an answer could not be read", error)
            return None
        if answer is not None:
            self._count(cached=1)
        return answer

    def _remember(self, key: bytes, answer: str) -> None:
        if self._cache is None:
            return
        try:
            self._cache.put(key, answer)
        except DatabaseError as error:
            self._distrust("an answer could not be kept", error)

    def _distrust(self, what: str, error: DatabaseError) -> None:
        """Say that the cache failed; one that is damaged is opened anew, which quarantines it."""
        self._remark(f"{what}: {error}")
        cache = self._cache
        if cache is not None and not may_pass(error):
            self._cache = None
            cache.close()
            self._open_cache(cache.path)

    # The counts

    def _fail(self, problem: str) -> None:
        with self._lock:
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= FAILURES_MAX:
                self._rests_until = self._system.monotonic() + REST_SECONDS
                self._failed_in_a_row = 0
        self._count(failures=1)
        self._remark(problem)

    def _remark(self, problem: str) -> None:
        """Keep a problem for Status, and log it unless it was the last one that was logged."""
        with self._lock:
            known = self._statistics.last_problem == problem
            self._statistics = replace(self._statistics, last_problem=problem)
        if not known:
            log.warning("Compression by a model: %s", problem)

    def _count_tokens(self, answer: ModelAnswer, prompt: str, sent: str) -> None:
        tokens_in = answer.tokens_in or math.ceil((len(prompt) + len(sent)) / CHARACTERS_PER_TOKEN)
        tokens_out = answer.tokens_out or math.ceil(len(answer.text) / CHARACTERS_PER_TOKEN)
        self._count(tokens_in=tokens_in, tokens_out=tokens_out)

    def _count(self, **more: int) -> None:
        with self._lock:
            counts = {name: getattr(self._statistics, name) + count for name, count in more.items()}
            self._statistics = replace(self._statistics, **counts)


class Wanted(Struct, frozen=True):
    """A text that a model may make shorter, as it was asked for last."""

    text: str
    path: str
    words: Words
    characters: int
    symbols: tuple[Symbol, ...]
    names: tuple[str, ...]


class LaterCompressor:
    """Compresses the texts of one context. For one thread.

    What the model made of the same text for the same room and words is used; of the rest the extractive form
    is given, and it is noted in `wanted`.
    """

    def __init__(self, model: ModelCompressor) -> None:
        self._model = model
        self._wanted: dict[str, Wanted] = {}

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Texts that the model has not compressed yet, at most `LATER_MAX`."""
        return tuple(self._wanted.values())[:LATER_MAX]

    def __call__(
        self,
        text: str,
        path: str,
        words: Words,
        characters: int,
        symbols: Sequence[Symbol] = (),
        wanted: Collection[str] = (),
    ) -> Compressed:
        """Return a text within a number of characters, as `compress` does."""
        made = self._model.compress(text, path, words, characters, symbols, wanted, seconds=0)
        if made.model:
            self._wanted.pop(path, None)
            return made
        if self._model.may_ask(text, characters):
            self._wanted[path] = Wanted(text, path, words, characters, tuple(symbols), tuple(sorted(wanted)))
        return made


def problem_of(settings: CompressionConfig, api_key: str) -> str:
    """Say in words why a model can't be asked with these settings, or "" if it can or isn't to be.

    A key is sent over HTTPS only, or to this machine itself.
    """
    if not settings.enabled:
        return ""
    try:
        url = urlsplit(settings.endpoint)
        host = url.hostname or ""
        _ = url.port
    except ValueError:
        return f"compression.endpoint is no URL: {settings.endpoint!r}"
    if url.scheme not in ("http", "https") or not host or url.query or url.fragment:
        return f"compression.endpoint must be an http or https URL without a query, not {settings.endpoint!r}"
    if url.username is not None or url.password is not None:
        return "compression.endpoint must hold no password: name its variable in compression.api_key_env"
    if not settings.model:
        return "compression.model is empty: name the model that the endpoint is to use"
    if settings.api_key_env and not api_key:
        return f"the environment variable {settings.api_key_env} of compression.api_key_env is not set"
    if not api_key.isascii() or not api_key.isprintable():
        return f"the environment variable {settings.api_key_env} holds characters that no key has"
    if api_key and url.scheme == "http" and host not in _LOOPBACK:
        return "compression.endpoint must be https: a key isn't sent unencrypted to another machine"
    return ""


def _names(words: Words) -> tuple[str, ...]:
    """Return the words of a prompt, the weightiest first, equal ones by the alphabet."""
    if isinstance(words, Mapping):
        return tuple(sorted(words, key=lambda word: (-words[word], word)))
    return tuple(sorted(set(words)))


def _rounded(characters: int) -> int:
    if characters < ROOM_STEPS * 2:
        return max(characters, 1)
    step = int(2 ** (characters.bit_length() - 1)) // ROOM_STEPS
    return characters // step * step


def _lines_missing(text: str, answer: str) -> int:
    """Return how many lines of a text, but for blank ones, don't stand in an answer, with numbers or not."""
    shown = {line.strip().lstrip("0123456789").strip() for line in answer.split("\n")}
    shown.update(line.strip() for line in answer.split("\n"))
    return sum(bool(line) and line not in shown for line in map(str.strip, text.split("\n")))


SCHEMA_VERSION = 1
"""Raised when the table changes; a file of another version is set aside."""

ANSWERS_BYTES = 32_000_000
"""Characters of answers that are kept; above it those unused for longest are forgotten."""

KEPT_SHARE = 0.9
"""A cache that is full is cut to this share, not to be full again at once."""

USE_NS = 24 * 3_600_000_000_000
"""The time of the last use is written when it is a day old, so that reading hardly ever writes."""

SCHEMA = """
CREATE TABLE answers (
    key BLOB PRIMARY KEY,
    answer TEXT NOT NULL,
    size INTEGER NOT NULL,
    used_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX answers_by_use ON answers (used_ns);
"""


class ModelCache:
    """Answers by key, in one private SQLite file. Safe across threads.

    `replaced` says why an earlier file was set aside, or is empty. Every method raises `DatabaseError` where
    the file can't be used; the constructor `OSError` too.
    """

    def __init__(self, path: str, system: System, most: int = ANSWERS_BYTES) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.path = path
        self._system = system
        self._most = most
        self._lock = threading.Lock()
        opened = open_database(path, SCHEMA, SCHEMA_VERSION, system)
        self._database = opened.database
        self.replaced = opened.replaced
        self._size = self._database.execute("SELECT COALESCE(SUM(size), 0) FROM answers").fetchone()[0]

    def get(self, key: bytes) -> str | None:
        """Return the answer that was kept under a key."""
        with self._lock, damage_raised():
            row = self._database.execute(
                "SELECT answer, used_ns FROM answers WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            now = self._system.time_ns()
            if abs(now - row[1]) > USE_NS:
                self._database.execute("UPDATE answers SET used_ns = ? WHERE key = ?", (now, key))
            return str(row[0])

    def put(self, key: bytes, answer: str) -> None:
        """Keep an answer, and forget others if there is no more room."""
        with self._lock, damage_raised(), transaction(self._database):
            before = self._database.execute("SELECT size FROM answers WHERE key = ?", (key,)).fetchone()
            self._database.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                (key, answer, len(answer), self._system.time_ns()),
            )
            size = self._size + len(answer) - (before[0] if before else 0)
            if size > self._most:
                size = self._forget(size)
            self._size = size

    def bytes(self) -> int:
        """Return the size of the file in bytes."""
        return database_bytes(self.path)

    def close(self) -> None:
        """Close the file; nothing may be asked after that."""
        with self._lock:
            close_database(self._database, self.path)

    def _forget(self, size: int) -> int:
        """Forget the answers unused for longest; return how large the rest is."""
        doomed = []
        for key, taken in self._database.execute("SELECT key, size FROM answers ORDER BY used_ns, key"):
            if size <= KEPT_SHARE * self._most:
                break
            doomed.append((key,))
            size -= taken
        self._database.executemany("DELETE FROM answers WHERE key = ?", doomed)
        return size
