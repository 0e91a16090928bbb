"""Owns what each event of an agent does and is answered with; knows no host's words and no wire."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from msgspec import Struct, field

from ..core.errors import FovealError
from .answer import NOTHING, HookAnswer, OutputLimit, text_room, wrapped
from .backend import Ask, HookBackend
from .events import (
    Event,
    FileEdited,
    Origin,
    PromptSubmitted,
    RepositoryMoved,
    SessionCompacted,
    SessionEnding,
    SessionResumed,
    SessionStarted,
    SubagentAnnounced,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from .texts import changed_line, resumed_line, session_section

log = logging.getLogger(__name__)
T = TypeVar("T")

LEAST_CHARACTERS = 600
"""A context with less room says too little to be worth reading."""

SHARE = 0.9
"""Of the time that is left a context may take so much; it comes in part rather than late."""


class Clock:
    """How long an event's answer may still take. `now` gives monotonic seconds."""

    def __init__(self, now: Callable[[], float], within_s: float) -> None:
        self._now = now
        self._at = now() + within_s

    @property
    def left_s(self) -> float:
        """The seconds that are left, 0 where there are none."""
        return max(0.0, self._at - self._now())


class Responder:
    """Answers events. On the event loop only.

    Each part of an answer stands for itself: one that fails is logged and left out, since an agent is better
    off with the others than with none.
    """

    def __init__(self, ground: HookBackend) -> None:
        self._ground = ground
        self._windows = Windows()

    async def answer(self, event: Event, room: OutputLimit, clock: Clock) -> HookAnswer:
        """Do what an event asks for, and return what its answer brings to the model and to the user."""
        match event:
            case SessionStarted() | SessionResumed() | SessionCompacted():
                return await self._start(event.origin, room, clock)
            case PromptSubmitted():
                return await self._prompt(event, room, clock)
            case SubagentAnnounced():
                self._window(event.origin).announce(event.agent_type, event.task)
            case SubagentStarting():
                return await self._subagent(event, room, clock)
            case FileEdited():
                return await self._edited(event, room, clock)
            case TurnEnded():
                await self._part(self._ground.idle(event.origin), clock)
            case WindowCompacting():
                self._lose(event.origin)
            case SessionEnding():
                self._windows.drop(_key(event.origin))
                await self._part(self._ground.end(event.origin), clock)
            case RepositoryMoved():
                await self._part(self._ground.repository_moved(event.origin), clock)
            case SubagentStopped():
                pass  # what it found out is grafted from the spool; an answer would run it again
        return NOTHING

    async def _start(self, origin: Origin, room: OutputLimit, clock: Clock) -> HookAnswer:
        """Begin or resume the session. A window that starts holds nothing of ours, whatever came before."""
        self._lose(origin)
        window = self._window(origin)
        sections, message = await self._open(origin, window, clock)
        if not room.characters:
            return HookAnswer(message=message)
        text = await self._filled(origin, "", sections, room, clock)
        window.started = True  # only now: a host that waits no longer ends this before
        return HookAnswer(text, message)

    async def _prompt(self, event: PromptSubmitted, room: OutputLimit, clock: Clock) -> HookAnswer:
        if not event.by_person or not event.prompt.strip():
            return NOTHING
        origin, window = event.origin, await self._met(event.origin, clock)
        message = "" if origin.agent_id else await self._change(origin, window, clock)
        asks = await self._part(self._ground.asks_something(event.prompt), clock)
        prompt = event.prompt if asks else ""
        if not room.characters:
            if prompt:
                window.owed_prompt = prompt
                await self._part(self._ground.prepare(_ask(origin, prompt, room, clock, news=True)), clock)
            return HookAnswer(message=message)
        is_main = not origin.agent_id  # a subagent's prompts are told by some hosts too
        if window.started or not is_main:
            text = await self._news(origin, prompt, room, clock) if prompt else ""
        else:
            # No daemon heard of the start, or the window was compacted by a host that doesn't say when.
            sections, opened = await self._open(origin, window, clock)
            message = message or opened
            text = await self._filled(origin, prompt, sections, room, clock)
            window.started = True
        window.owed_prompt = ""
        return HookAnswer(text if text and window.is_new(text, origin.agent_id) else "", message)

    async def _subagent(self, event: SubagentStarting, room: OutputLimit, clock: Clock) -> HookAnswer:
        origin, window = event.origin, self._window(event.origin)
        task = event.task or window.take_task(origin.agent_type)
        # Begun for itself too, so that it goes on where this answer's time is over.
        await self._part(self._ground.prepare(_ask(origin, task, room, clock)), clock)
        if not room.characters:
            return NOTHING
        text = await self._filled(origin, task, [], room, clock)
        return HookAnswer(text) if text and window.is_new(text, origin.agent_id or task) else NOTHING

    async def _edited(self, event: FileEdited, room: OutputLimit, clock: Clock) -> HookAnswer:
        """Note the files, and bring what a prompt is owed where the host takes text behind tools."""
        if event.paths:
            await self._part(self._ground.note_edits(event.origin, event.paths), clock)
        window = self._windows.get(_key(event.origin))
        if window is None or not window.owed_prompt or not room.characters or event.origin.agent_id:
            return NOTHING
        prompt, window.owed_prompt = window.owed_prompt, ""  # at once: tools run side by side
        try:
            text = await self._news(event.origin, prompt, room, clock)
        except asyncio.CancelledError:
            window.owed_prompt = prompt  # the host waits no longer; it is still owed
            raise
        return HookAnswer(text) if text and window.is_new(text) else NOTHING

    async def _news(self, origin: Origin, prompt: str, room: OutputLimit, clock: Clock) -> str:
        """Return what a prompt adds to what its window holds, nothing where that is nothing."""
        ask = _ask(origin, prompt, OutputLimit(text_room(room), room.tokens), clock, news=True)
        return wrapped(await self._part(self._ground.context(ask), clock) or "", room)

    async def _open(self, origin: Origin, window: Window, clock: Clock) -> tuple[list[str], str]:
        """Return the sections that a session begins with, and the line for its user."""
        if not origin.session_id:
            return [], ""
        opened = await self._part(self._ground.open_session(origin), clock)
        if opened is None:
            return [], ""
        window.sets = opened.sets
        sections = [opened.text] if opened.text else []
        sections.append(session_section(origin.session_id))
        return sections, resumed_line(opened.sets) if opened.resumed and opened.text else ""

    async def _filled(
        self, origin: Origin, prompt: str, sections: list[str], room: OutputLimit, clock: Clock
    ) -> str:
        """Return sections, and behind them a context for the room that they leave."""
        head = "\n\n".join(sections)
        left = text_room(room) - len(head) - 2
        text = ""
        if left >= LEAST_CHARACTERS:
            tokens = None if room.tokens is None else max(1, room.tokens - len(head) // 3)
            ask = _ask(origin, prompt, OutputLimit(left, tokens), clock)
            text = await self._part(self._ground.context(ask), clock) or ""
        return wrapped("\n\n".join(part for part in (head, text) if part), room)

    async def _met(self, origin: Origin, clock: Clock) -> Window:
        """Return a conversation's window. One that began before this daemon did has had its start."""
        known = self._windows.get(_key(origin)) is not None
        window = self._window(origin)
        if not known and origin.session_id:
            window.started = bool(await self._part(self._ground.knows_session(origin), clock))
        return window

    async def _change(self, origin: Origin, window: Window, clock: Clock) -> str:
        """Return the line for a user whose session's context changed since they last heard of it."""
        if not origin.session_id:
            return ""
        sets = await self._part(self._ground.sets(origin), clock)
        before, window.sets = window.sets, sets if sets is not None else window.sets
        return "" if sets is None or before is None else changed_line(before, sets)

    async def _part(self, work: Awaitable[T], clock: Clock) -> T | None:
        """Return what becomes of one part of an answer, None where it fails or takes too long."""
        try:
            async with asyncio.timeout(clock.left_s):
                return await work
        except (FovealError, TimeoutError) as error:
            log.warning("a part of an answer to a hook was left out: %s", str(error) or "it took too long")
            return None

    def _window(self, origin: Origin) -> Window:
        return self._windows.at(_key(origin))

    def _lose(self, origin: Origin) -> None:
        """Note that a window was emptied: the conversation's, or that of one of its subagents."""
        self._window(origin).lose(origin.agent_id)
        self._ground.forget_window(origin)


def _ask(origin: Origin, prompt: str, room: OutputLimit, clock: Clock, *, news: bool = False) -> Ask:
    return Ask(origin, prompt, room, max(1, int(clock.left_s * SHARE * 1000)), news)


def _key(origin: Origin) -> str:
    """Return what a conversation is known by; one without an id by its host and folder."""
    return origin.session_id or f"{origin.host}\0{origin.cwd}"


WINDOWS_MAX = 1_000
SENT_MAX = 256
TASKS_MAX = 32
"""Subagents that were announced and haven't begun; more are none that ever will."""


class Window(Struct):
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
