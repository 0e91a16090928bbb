"""git: its hooks identify events by the hook's name alone, in the folder in which they run."""

from __future__ import annotations

import secrets

from .events import Event, Origin, RepositoryMoved
from .fields import Fields
from .hook_answer import HookAnswer
from .host import HookEvent, Hooks, Host

HOST = "git"
MOVING = frozenset(("post-checkout", "post-merge", "post-commit", "post-rewrite"))


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    # Nothing here distinguishes commits, and no hook runs twice for the same commit.
    return RepositoryMoved(Origin(HOST, "", cwd, moment=secrets.token_hex(8))) if name in MOVING else None


def _write(name: str, answer: HookAnswer) -> str:
    return ""  # a person reads the output of git's hooks


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
