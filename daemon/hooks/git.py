"""Owns how git's hooks tell events: by the hook's name alone, in the folder that they run in."""

from __future__ import annotations

import secrets

from .answer import HookAnswer
from .dialect import Dialect
from .events import Event, Origin, RepositoryMoved
from .fields import Fields

HOST = "git"
MOVING = frozenset(("post-checkout", "post-merge", "post-commit", "post-rewrite"))


def read(fields: Fields, name: str, cwd: str) -> Event | None:
    """Return the event of a hook, None for one that moves nothing."""
    # Nothing tells one commit from the next here, and none is told twice.
    return RepositoryMoved(Origin(HOST, "", cwd, moment=secrets.token_hex(8))) if name in MOVING else None


def write(name: str, answer: HookAnswer) -> str:
    """Return nothing: what a hook of git prints, a person reads."""
    return ""


GIT = Dialect(HOST, read, write, {})
