"""Owns the form of a session's id, which is the name of its folder too; knows no session."""

from __future__ import annotations

import re
import secrets

from ..core.errors import InvalidRequest

MAX_ID_CHARACTERS = 128
"""Hosts give UUIDs (36 characters) or these with a prefix; a folder's name may have 255."""


def new_id() -> str:
    """Return an id that no session has: 64 random bits."""
    return f"ses_{secrets.token_hex(8)}"


def is_id(text: str) -> bool:
    """Whether a text can be a session's id: a folder's name that leads nowhere else and is not hidden."""
    return _ID.fullmatch(text) is not None


def checked_id(text: str) -> str:
    """Return an id that a client gave. Raises `InvalidRequest` for one that can't be used."""
    if not is_id(text):
        raise InvalidRequest(
            f"session_id must have 1 to {MAX_ID_CHARACTERS} characters, letters, digits and . _ : @ + -, and"
            f" begin with a letter or digit, not {text!r:.80}",
            "session_id",
        )
    return text


_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@+-]{{0,{MAX_ID_CHARACTERS - 1}}}")
