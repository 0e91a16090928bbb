"""Shortens texts with a language model if enabled, with a cache of answers and extraction as a fallback."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..config.settings import CompressionConfig
from ..core.model_endpoint import EndpointFailed, problem_of_url
from ..core.sized_cache import SizedCache
from ..core.system import System
from ..privacy.secret_values import mask_piece
from .compress import Compressed, compress
from .document import LineRange
from .model_endpoint import ChatEndpoint, cleaned, instructions, problem_of_answer
from .words import Words

log = logging.getLogger(__name__)

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

ANSWERS_CHARACTERS = 8_000_000
"""Maximum characters of cached answers; above it the least recently used are forgotten."""


class CompressionStatistics(Struct, frozen=True):
    """Counts of the texts given to the model since the daemon started.

    `calls` are requests to the endpoint, `cached` answers from the cache, and `failures` failed requests and
    rejected answers. Tokens are those that the endpoint counts.
    """

    enabled: bool = False
    calls: int = 0
    cached: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    masked: int = 0
    last_problem: str = ""
    resting: bool = False


class ModelCompressor:
    """Shortens texts with a model, and if that fails by extraction. Blocks. Thread-safe.

    Nothing leaves the machine unless the user enabled it, and values that look like secrets never do.
    """

    def __init__(self, settings: CompressionConfig, system: System, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._system = system
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(QUESTIONS_MAX)
        self._failed_in_a_row = 0
        self._rests_until = -math.inf
        self._statistics = CompressionStatistics()
        self._answers = SizedCache[tuple[object, ...], str](ANSWERS_CHARACTERS)
        self._endpoint: ChatEndpoint | None = None
        key = environment.get(settings.api_key_env, "") if settings.api_key_env else ""
        problem = problem_of(settings, key)
        if problem:
            self._remark(problem)
        else:
            self._endpoint = ChatEndpoint(settings.endpoint, settings.model, key)
            self._statistics = CompressionStatistics(enabled=True)

    def compress(
        self,
        text: str,
        path: str,
        words: Words,
        characters: int,
        wanted: Sequence[LineRange] = (),
        *,
        ask: bool = True,
    ) -> Compressed:
        """Shorten a text as `compress` does; without `ask` only cached answers of the model are used.

        The result names the model if one made it.
        """
        if not self.may_ask(text, characters):
            return compress(text, path, words, characters, wanted)
        room = _rounded(characters)
        sent = compress(text, path, words, min(SENT_CHARACTERS_MAX, room * SENT_RATIO), wanted)
        answer = self._answer(sent.text, path, _names(words), room, ask=ask)
        if not answer:
            return compress(text, path, words, characters, wanted)
        return Compressed(answer, _lines_missing(text, answer), self._settings.model)

    def may_ask(self, text: str, characters: int) -> bool:
        """Whether a model is enabled and the text is long enough to be sent to it."""
        is_long = len(text) > characters and len(text) >= self._settings.min_tokens * CHARACTERS_PER_TOKEN
        return self._endpoint is not None and is_long

    def statistics(self) -> CompressionStatistics:
        """Return the counts so far."""
        with self._lock:
            resting = self._system.monotonic() < self._rests_until
            return replace(self._statistics, resting=resting)

    def _answer(self, text: str, path: str, names: Sequence[str], room: int, *, ask: bool) -> str | None:
        """Return the model's answer for a text, cached or new, or None if there is no usable one."""
        masked = mask_piece(text)
        digest = hashlib.blake2b(masked.text.encode("utf-8", "surrogatepass")).digest()
        key = (path.rpartition("/")[2], room, *names, digest)
        answer = self._answers.get(key)
        if answer is not None:
            self._count(cached=1)
        elif ask:
            answer = self._asked(masked.text, path, names, room)
            if answer is not None:
                self._count(masked=masked.count)
                self._answers.put(key, answer, len(answer))
        return answer

    def _asked(self, sent: str, path: str, names: Sequence[str], room: int) -> str | None:
        assert self._endpoint is not None  # checked by the caller
        if self._system.monotonic() < self._rests_until or not self._slots.acquire(blocking=False):
            return None
        try:
            prompt = instructions(path, names, room)
            self._count(calls=1)
            seconds = self._settings.timeout_ms / 1000
            answer = self._endpoint.ask(prompt, sent, room // CHARACTERS_PER_TOKEN + 64, seconds)
        except EndpointFailed as error:
            self._fail(str(error))
            return None
        finally:
            self._slots.release()
        text = cleaned(answer.text, room)
        self._count(tokens_in=answer.tokens_in, tokens_out=answer.tokens_out)
        problem = problem_of_answer(text, sent, room)
        if problem:
            self._fail(problem)
            return None
        with self._lock:
            self._failed_in_a_row = 0
        return text

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
    lines: tuple[LineRange, ...]


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
        self, text: str, path: str, words: Words, characters: int, wanted: Sequence[LineRange] = ()
    ) -> Compressed:
        """Shorten a text as `compress` does."""
        made = self._model.compress(text, path, words, characters, wanted, ask=False)
        if made.model:
            self._wanted.pop(path, None)
        elif self._model.may_ask(text, characters):
            self._wanted[path] = Wanted(text, path, words, characters, tuple(wanted))
        return made


def problem_of(settings: CompressionConfig, api_key: str) -> str:
    """Return why the model can't be used with these settings, or "" if it can."""
    variable = settings.api_key_env
    if problem := problem_of_url(
        "compression.endpoint", settings.endpoint, api_key, "compression.api_key_env"
    ):
        return problem
    if not settings.model:
        return "compression.model is empty: name the model that the endpoint is to use"
    if variable and not api_key:
        return f"the environment variable {variable} of compression.api_key_env is not set"
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
