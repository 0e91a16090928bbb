"""Requests to an OpenAI-compatible service, which the user named. Knows nothing of what is asked.

Redirects aren't followed and proxies of the environment aren't used: texts only go where the user said. The
HTTP client is imported with the first request (80 ms).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from .errors import FovealError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class EndpointFailed(FovealError):
    """The endpoint or the network failed. The message contains nothing that was sent or received.

    `may_pass` says whether the same request may succeed later, `status` the answer's status or 0, `wait_s`
    the seconds that the endpoint wants to be left alone.
    """

    def __init__(self, message: str, *, may_pass: bool = True, status: int = 0, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.may_pass = may_pass
        self.status = status
        self.wait_s = wait_s


def post(url: str, body: Mapping[str, Any], key: str, seconds: float, max_bytes: int) -> bytes:
    """Return the answer to a JSON body, of at most `max_bytes`, within `seconds`. Blocks. Thread-safe.

    Raises `EndpointFailed`.
    """
    return asyncio.run(_post(url, body, key, seconds, max_bytes))


async def _post(url: str, body: Mapping[str, Any], key: str, seconds: float, max_bytes: int) -> bytes:
    import httpx2

    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        # Reading the machine's certificates takes 20 ms, and only HTTPS needs them.
        client_of = partial(httpx2.AsyncClient, verify=urlsplit(url).scheme != "http")
        # The client's own timeouts restart with each received byte.
        async with (
            asyncio.timeout(seconds),
            client_of(timeout=seconds, trust_env=False, follow_redirects=False) as client,
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            if (status := response.status_code) != 200:
                raise EndpointFailed(
                    f"the endpoint answered with status {status}",
                    may_pass=status in _PASSING,
                    status=status,
                    wait_s=_seconds(response.headers.get("Retry-After", "")),
                )
            received = bytearray()
            async for chunk in response.aiter_raw():
                received += chunk
                if len(received) > max_bytes:
                    raise EndpointFailed(
                        f"the endpoint's answer has more than {max_bytes:,} bytes", may_pass=False
                    )
            return bytes(received)
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise EndpointFailed("the endpoint took too long") from error
    except httpx2.ConnectError as error:
        raise EndpointFailed("the endpoint can't be reached") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        raise EndpointFailed(f"the connection to the endpoint broke ({type(error).__name__})") from error


def _seconds(written: str) -> float:
    """Return the seconds of a `Retry-After` header; 0 for none, and for a date, which few services send."""
    try:
        seconds = float(written)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def is_on_this_machine(url: str) -> bool:
    """Return whether a URL means this machine, so that nothing sent there leaves it."""
    try:
        return urlsplit(url).hostname in _LOOPBACK
    except ValueError:
        return False


def problem_of_url(setting: str, written: str, key: str, key_setting: str) -> str:
    """Return why a service can't be used with this URL and key, or "" if it can.

    A key is only sent over HTTPS or to this machine.
    """
    try:
        url = urlsplit(written)
        host = url.hostname or ""
        _ = url.port
    except ValueError:
        return f"{setting} is no URL: {written!r}"
    if url.username is not None or url.password is not None:
        return f"{setting} must hold no password: say in {key_setting} where it is"
    if url.scheme not in ("http", "https") or not host or url.query or url.fragment:
        return f"{setting} must be an http or https URL without a query, not {written!r}"
    if not key.isascii() or not key.isprintable():
        return f"what {key_setting} names holds characters that no key has"
    if key and url.scheme == "http" and host not in _LOOPBACK:
        return f"{setting} must be https: a key isn't sent unencrypted to another machine"
    return ""
