"""Owns what the answers to events stand on: what they ask of the daemon, and nothing of how it does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from .answer import OutputLimit
from .events import Origin


class Ask(Struct, frozen=True):
    """A context that is wanted: for whom, about which prompt, how large, within how many milliseconds.

    With `news` only what the prompt adds to what the conversation began with.
    """

    origin: Origin
    prompt: str
    room: OutputLimit
    deadline_ms: int
    news: bool = False


class OpenedSession(Struct, frozen=True):
    """A session that was begun or resumed: `text` is what it goes on with, `sets` its context sets."""

    resumed: bool
    text: str
    sets: Mapping[str, tuple[str, ...]]


class HookBackend(Protocol):
    """What the daemon does for the agents' events. Everything may raise `FovealError`."""

    async def open_session(self, origin: Origin) -> OpenedSession:
        """Begin a session under the host's id, or resume the one that there is."""

    async def knows_session(self, origin: Origin) -> bool:
        """Whether a session was begun under the host's id."""

    async def sets(self, origin: Origin) -> Mapping[str, tuple[str, ...]] | None:
        """Return a session's context sets, None where there is no session."""

    async def asks_something(self, prompt: str) -> bool:
        """Whether a prompt names anything that a project could hold; `yes, continue` doesn't."""

    async def context(self, ask: Ask) -> str:
        """Return a context in Markdown, without the rules that the host reads by itself, or nothing."""

    async def prepare(self, ask: Ask) -> None:
        """Begin the same in the background."""

    async def note_edits(self, origin: Origin, paths: tuple[str, ...]) -> None:
        """Take in that files were written: they are hot."""

    async def repository_moved(self, origin: Origin) -> None:
        """Look at the files of an open project again."""

    async def idle(self, origin: Origin) -> None:
        """Note that a turn ended."""

    async def end(self, origin: Origin) -> None:
        """Note that a session ended."""

    def forget_window(self, origin: Origin) -> None:
        """Note that a conversation lost what it was sent."""
