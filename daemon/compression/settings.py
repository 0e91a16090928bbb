"""Owns what can be set about compression by a model; only the user's own configuration sets it."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..core.lazy_dataclass import dataclass

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class CompressionSettings:
    """`[compression]`: whether a model makes texts shorter, which one, and how long it may take.

    `endpoint` is the base URL of an OpenAI-compatible service, to which `/chat/completions` is added, such as
    `http://127.0.0.1:11434/v1`. `api_key_env` names the environment variable that holds its key, "" for none.
    `timeout_ms` is for one text with all attempts. A text of fewer than `min_tokens` (a quarter of its
    characters) is never sent.
    """

    enabled: bool = False
    endpoint: str = ""
    model: str = ""
    api_key_env: str = ""
    timeout_ms: int = 10_000
    min_tokens: int = 500


def problem_of(settings: CompressionSettings, api_key: str) -> str:
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
