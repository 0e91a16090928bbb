"""Owns what is known of the windows of conversations: what was put into them, and what is still owed."""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import field

from ..core.lazy_dataclass import dataclass

WINDOWS_MAX = 1_000
SENT_MAX = 256
TASKS_MAX = 32
"""Subagents that were announced and haven't begun; more are none that ever will."""


@dataclass(slots=True)
class Window:
    """What the model of one conversation has before it, as far as it came from here."""

    started: bool = False
    """Whether it was given what a session begins with."""
    owed_prompt: str = ""
    """A prompt whose context the host could not take; the next event that can brings it."""
    sets: Mapping[str, tuple[str, ...]] | None = None
    """The session's context sets as its user last heard of them."""
    _sent: OrderedDict[tuple[str, bytes], None] = field(default_factory=OrderedDict)
    _tasks: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=TASKS_MAX))

    def is_new(self, text: str, agent_id: str = "") -> bool:
        """Whether a text wasn't put before this agent yet; from now on it was."""
        key = (agent_id, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
        if key in self._sent:
            return False
        self._sent[key] = None
        if len(self._sent) > SENT_MAX:
            self._sent.popitem(last=False)
        return True

    def announce(self, agent_type: str, task: str) -> None:
        """Remember the task of a subagent that is about to start."""
        self._tasks.append((agent_type, task))

    def take_task(self, agent_type: str) -> str:
        """Return the task of a subagent that starts: the oldest that was announced for its type, or ""."""
        for number, (kind, task) in enumerate(self._tasks):
            if kind == agent_type or not kind:
                del self._tasks[number]
                return task
        return ""

    def lose(self, agent_id: str = "") -> None:
        """Forget what was put into the window: the host has thrown it out.

        That of a subagent is one of its own: with `agent_id` only what went there is forgotten.
        """
        if agent_id:
            for key in [key for key in self._sent if key[0] == agent_id]:
                del self._sent[key]
            return
        self.started = False
        self._sent.clear()


class Windows:
    """The windows of the conversations that were last heard of, by their key."""

    def __init__(self) -> None:
        self._windows: OrderedDict[str, Window] = OrderedDict()

    def get(self, key: str) -> Window | None:
        """Return a window that is known."""
        return self._windows.get(key)

    def at(self, key: str) -> Window:
        """Return a window, new if it isn't known."""
        window = self._windows.setdefault(key, Window())
        self._windows.move_to_end(key)
        if len(self._windows) > WINDOWS_MAX:
            self._windows.popitem(last=False)
        return window

    def drop(self, key: str) -> None:
        """Forget a conversation that ended."""
        self._windows.pop(key, None)
