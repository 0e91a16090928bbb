"""Shortens texts with a language model if enabled, with a cache of answers and extraction as a fallback."""

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
"""Version of the instructions for the model; a new one makes earlier answers invalid."""

SENT_CHARACTERS_MAX = 120_000
"""Maximum characters sent to the model; a longer text is shortened by extraction first."""

SENT_RATIO = 16
"""Maximum ratio of the text sent to the requested size, so that nobody pays for 1 MB to get 2 KB."""

CHARACTERS_PER_TOKEN = 4
"""Estimated characters of a token, as in the context's token counter."""

FAILURES_MAX = 3
REST_SECONDS = 60.0
"""Failures in a row after which the endpoint isn't used for `REST_SECONDS`."""

QUESTIONS_MAX = 4
"""Maximum number of concurrent requests to the model; further texts are shortened by extraction."""

ROOM_STEPS = 8
"""Number of sizes between two powers of two. Requested sizes are rounded down to one of these, so that cached
answers still match when a budget changes slightly."""

LATER_MAX = 8
"""Maximum number of texts of one context that are sent to the model."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class CompressionStatistics(Struct, frozen=True):
    """Counts of the texts given to the model since the daemon started.

    `calls` are requests to the endpoint, `cached` answers from the disk, and `failures` failed requests and
    rejected answers. Tokens are counted by the endpoint, or estimated.
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
    """Shortens texts with a model, if that fails by extraction, else by cutting. Blocks. Thread-safe.

    Nothing leaves the machine unless the user enabled it, and values that look like secrets never do.
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
        """Shorten a text as `compress` does. Raises nothing.

        `seconds` is the remaining time, if less than the configured one; with 0 only cached answers are used.
        The result names the model if one made it.
        """

        def extracted(room: int) -> Compressed:
            try:
                return compress(text, path, words, room, symbols, wanted)
            except Exception as error:  # noqa: BLE001 - an error here must not fail a context: cutting always works
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
        """Whether a model is enabled and the text is long enough to be sent to it."""
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
        """Return the model's answer for a text, cached or new, or None if there is no usable one."""
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
        assert self._endpoint is not None  # checked by the caller
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
        """Report a failure of the cache; a damaged one is reopened, which quarantines the file."""
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
        """Store a problem for Status, and log it unless it is the same as the last one."""
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
    """A text that the model may shorten later, with the arguments of the last request for it."""

    text: str
    path: str
    words: Words
    characters: int
    symbols: tuple[Symbol, ...]
    names: tuple[str, ...]


class LaterCompressor:
    """Shortens the texts of one context without waiting for the model. For one thread.

    Cached answers of the model are used. Other texts are shortened by extraction and added to `wanted`.
    """

    def __init__(self, model: ModelCompressor) -> None:
        self._model = model
        self._wanted: dict[str, Wanted] = {}

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Texts that the model hasn't shortened yet, at most `LATER_MAX`."""
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
        """Shorten a text as `compress` does."""
        made = self._model.compress(text, path, words, characters, symbols, wanted, seconds=0)
        if made.model:
            self._wanted.pop(path, None)
            return made
        if self._model.may_ask(text, characters):
            self._wanted[path] = Wanted(text, path, words, characters, tuple(symbols), tuple(sorted(wanted)))
        return made


def problem_of(settings: CompressionConfig, api_key: str) -> str:
    """Return why the model can't be used with these settings, or "" if it can or is disabled.

    A key is only sent over HTTPS or to this machine.
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
    """Return the words of a prompt by descending weight, then alphabetically."""
    if isinstance(words, Mapping):
        return tuple(sorted(words, key=lambda word: (-words[word], word)))
    return tuple(sorted(set(words)))


def _rounded(characters: int) -> int:
    if characters < ROOM_STEPS * 2:
        return max(characters, 1)
    step = int(2 ** (characters.bit_length() - 1)) // ROOM_STEPS
    return characters // step * step


def _lines_missing(text: str, answer: str) -> int:
    """Return the number of non-blank lines of a text that aren't in the answer, with or without numbers."""
    shown = {line.strip().lstrip("0123456789").strip() for line in answer.split("\n")}
    shown.update(line.strip() for line in answer.split("\n"))
    return sum(bool(line) and line not in shown for line in map(str.strip, text.split("\n")))


SCHEMA_VERSION = 1
"""Version of the table; a file of another version is quarantined."""

ANSWERS_BYTES = 32_000_000
"""Maximum characters of cached answers; above it the least recently used are deleted."""

KEPT_SHARE = 0.9
"""Share of the maximum that a full cache is reduced to."""

USE_NS = 24 * 3_600_000_000_000
"""Minimum age of the stored time of last use before it is updated, so that reads seldom write."""

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
    """The cache of answers in one SQLite file. Thread-safe.

    `replaced` says why an earlier file was quarantined, or is "". All methods raise `DatabaseError` if the
    file can't be used, and the constructor also `OSError`.
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
        """Return the cached answer for a key, or None."""
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
        """Store an answer, and delete others if the cache is full."""
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
        """Close the file; the cache can't be used after that."""
        with self._lock:
            close_database(self._database)

    def _forget(self, size: int) -> int:
        """Delete the least recently used answers; return the size of the rest."""
        doomed = []
        for key, taken in self._database.execute("SELECT key, size FROM answers ORDER BY used_ns, key"):
            if size <= KEPT_SHARE * self._most:
                break
            doomed.append((key,))
            size -= taken
        self._database.executemany("DELETE FROM answers WHERE key = ?", doomed)
        return size
