"""git: its hooks identify events by the hook's name alone, in the folder in which they run."""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from . import host
from .events import EventKind

HOOKS: tuple[str, ...] = ("post-checkout", "post-merge", "post-commit")
MOVED: EventKind = "moved"

GIT = host.Host(
    "git",
    "git",
    host.Hooks(
        host="git",
        kinds=dict.fromkeys((*HOOKS, "post-rewrite"), MOVED),
        # Nothing in a payload distinguishes commits, and no hook runs twice for the same commit.
        refine=lambda event, fields: replace(
            event, origin=replace(event.origin, moment=secrets.token_hex(8))
        ),
        events=tuple(host.HookEvent(name) for name in HOOKS),
    ),
    default_level="project",
)
