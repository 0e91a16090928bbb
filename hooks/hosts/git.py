"""git: its hooks tell events by the hook's name alone, in the folder that they run in."""

from __future__ import annotations

import secrets

from .events import Event, Origin, RepositoryMoved
from .fields import Fields
from .hook_answer import HookAnswer
from .host import HookEvent, Hooks, Host

HOST = "git"
MOVING = frozenset(("post-checkout", "post-merge", "post-commit", "post-rewrite"))


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    # Nothing tells one commit from the next here, and no hook runs twice for one.
    return RepositoryMoved(Origin(HOST, "", cwd, moment=secrets.token_hex(8))) if name in MOVING else None


def _write(name: str, answer: HookAnswer) -> str:
    return ""  # a person reads what git's hooks print


GIT = Host(
    HOST,
    "git",
    Hooks(
        _read,
        _write,
        events=(HookEvent("post-checkout"), HookEvent("post-merge"), HookEvent("post-commit")),
    ),
    default_level="project",
)
