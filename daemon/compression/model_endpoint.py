"""Owns the chat endpoint: one question over HTTP and its answer, bounded in time and size, with retries.

The only file of this room that knows HTTP. What it needs for that is imported at the first question, 80 ms.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core.errors import FovealError
from ..core.lazy_dataclass import dataclass
from ..core.system import System

if TYPE_CHECKING:
    from tenacity import RetryCallState

ATTEMPTS = 3
"""So often one question is asked at most, and only within its time."""

BACKOFF_SECONDS = 0.5
"""The pause before the second attempt; each next one is twice as long, if the endpoint names none."""

ANSWER_BYTES_MAX = 1_000_000
"""An answer with more bytes is refused: no text that it was asked for is that long."""

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""States of HTTP that may be better soon."""


class EndpointFailed(FovealError):
    """The endpoint's fault, or the network's: no usable answer. The message holds nothing that was sent."""


class _MayPass(EndpointFailed):
    """A failure that another attempt may mend, after so many seconds if the endpoint said."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model wrote, and how many tokens the endpoint says that it read and wrote; 0 if it doesn't."""

    text: str
    tokens_in: int
    tokens_out: int


class ChatEndpoint:
    """An OpenAI-compatible chat endpoint. Blocks; not on an event loop. Threads may share it.

    Redirects aren't followed and the environment's proxies aren't used: a text goes where the user said, or
    nowhere.
    """

    def __init__(self, base_url: str, model: str, api_key: str, system: System) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._model = model
        self._api_key = api_key
        self._system = system

    def ask(self, instructions: str, text: str, tokens: int, seconds: float) -> Answer:
        """Ask for an answer of at most so many tokens, within so many seconds with all attempts.

        Raises `EndpointFailed`.
        """
        from tenacity import Retrying, retry_if_exception_type

        deadline = self._system.monotonic() + seconds
        body = {
            "model": self._model,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": text}],
            "temperature": 0,
            "max_tokens": tokens,
            "stream": False,
        }
        attempts = Retrying(
            stop=lambda state: (
                state.attempt_number >= ATTEMPTS
                or self._system.monotonic() + state.upcoming_sleep >= deadline
            ),
            wait=_pause,
            retry=retry_if_exception_type(_MayPass),
            sleep=self._system.sleep,
            reraise=True,
        )
        return attempts(self._attempt, body, deadline)

    def _attempt(self, body: Mapping[str, Any], deadline: float) -> Answer:
        seconds = deadline - self._system.monotonic()
        if seconds <= 0:
            raise EndpointFailed("the endpoint took too long")
        return _answer(asyncio.run(self._post(body, seconds)))

    async def _post(self, body: Mapping[str, Any], seconds: float) -> bytes:
        import httpx2

        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        try:
            # The client's own timeouts are for each step, and start anew with every byte of a slow answer.
            async with (
                asyncio.timeout(seconds),
                httpx2.AsyncClient(timeout=seconds, trust_env=False, follow_redirects=False) as client,
                client.stream("POST", self._url, json=body, headers=headers) as response,
            ):
                _check(response.status_code, response.headers)
                return await _read(response.aiter_raw())
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise EndpointFailed("the endpoint took too long") from error
        except httpx2.ConnectError as error:
            raise EndpointFailed("the endpoint can't be reached") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise _MayPass(f"the connection to the endpoint broke ({type(error).__name__})") from error


def _pause(state: RetryCallState) -> float:
    """Return the seconds before the next attempt: as many as the endpoint asked for, else ever more."""
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, _MayPass) and error.retry_after is not None:
        return error.retry_after
    return BACKOFF_SECONDS * 2.0 ** (state.attempt_number - 1)


def _check(status: int, headers: Mapping[str, str]) -> None:
    if status in _PASSING:
        raise _MayPass(
            f"the endpoint answered with status {status}", _seconds(headers.get("retry-after", ""))
        )
    if status != 200:
        raise EndpointFailed(f"the endpoint answered with status {status}")
    if headers.get("content-encoding", "identity") not in ("", "identity"):
        raise EndpointFailed("the endpoint packed its answer though it was asked not to")


def _seconds(written: str) -> float | None:
    """Return the seconds of a Retry-After header, or None for a date or anything else."""
    return float(written) if written.isascii() and written.isdigit() and len(written) < 7 else None


async def _read(chunks: Any) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > ANSWER_BYTES_MAX:
            raise EndpointFailed(f"the endpoint's answer has more than {ANSWER_BYTES_MAX:,} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _answer(data: bytes) -> Answer:
    """Return what an answer says. Raises `EndpointFailed` unless it is that of a chat endpoint, and whole."""
    try:
        reply = json.loads(data)
        choice = reply["choices"][0]
        text = choice["message"]["content"]
    except (ValueError, RecursionError) as error:
        raise EndpointFailed("the endpoint's answer is no JSON") from error
    except (TypeError, KeyError, IndexError) as error:
        raise EndpointFailed("the endpoint's answer holds no choice with a message") from error
    if not isinstance(text, str):
        raise EndpointFailed("the endpoint's answer holds no text")
    if choice.get("finish_reason") not in (None, "stop", "length"):
        raise EndpointFailed("the endpoint didn't finish its answer")
    usage = reply.get("usage")
    return Answer(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _count(usage: object, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40 else 0
