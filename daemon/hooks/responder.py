"""Answers to the events of agents: the effect of each event, and its text for the model."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ...hooks.hosts.events import Event, Origin
from ...hooks.hosts.hook_answer import NO_OUTPUT, NOTHING, HookAnswer, OutputLimit
from ...hooks.hosts.tool_uses import ToolUse
from ..context.records import NO_HELP, ToolHelp
from ..core.errors import FovealError
from .answer import changed_line, fork_section, resumed_line, session_section, text_limit, wrapped

log = logging.getLogger(__name__)
T = TypeVar("T")

LEAST_CHARACTERS = 600
"""Minimum characters left for a context; a shorter one isn't worth reading."""

CONTEXT_SHARE = 0.9
"""Share of the remaining time for a context, which is cut short rather than late."""

WINDOWS_MAX = 1_000
"""Maximum number of conversations whose context windows are tracked."""
SENT_MAX = 256
"""Maximum number of texts remembered as sent to a window."""
TASKS_MAX = 32
"""Maximum number of subagents announced but not started."""


class HookContextRequest(Struct, frozen=True):
    """A hook's request for a context: the prompt, the limit of the output, and the time in milliseconds.

    With `news` the context holds only the prompt's additions to the conversation's first context.
    """

    origin: Origin
    prompt: str
    limit: OutputLimit
    deadline_ms: int
    news: bool = False


class HookContext(Struct, frozen=True):
    """A context for a hook, in Markdown; `late` if the search for its prompt ran out of time, `partial` if a
    part of it is missing for any reason."""

    text: str = ""
    late: bool = False
    partial: bool = False


class OpenedSession(Struct, frozen=True):
    """A session that began or was resumed: `text` restores it, `sets` are its context sets."""

    resumed: bool
    text: str
    sets: Mapping[str, tuple[str, ...]]


class HookBackend(Protocol):
    """The daemon's operations for hooks. Every method may raise `FovealError`."""

    async def open_session(self, origin: Origin) -> OpenedSession:
        """Begin a session under the host's id, or resume it if it exists."""

    async def continue_session(self, origin: Origin) -> OpenedSession | None:
        """Resume a session whose window still holds its texts, None if there is no session."""

    async def task_in(self, origin: Origin, transcript_path: str) -> str:
        """Return the task of a subagent that begins, as its parent's transcript has it, or ""; for the main
        agent the prompt that it answers."""

    async def is_answered(self, origin: Origin, prompt: str) -> bool:
        """Whether a prompt is a session's latest and has its context, even from an earlier daemon."""

    async def knows_session(self, origin: Origin) -> bool:
        """Whether a session exists under the host's id."""

    async def sets(self, origin: Origin) -> Mapping[str, tuple[str, ...]] | None:
        """Return a session's context sets, None if there is no session."""

    async def asks_something(self, prompt: str) -> bool:
        """Whether a prompt contains a term that a project could define; `yes, continue` doesn't."""

    async def context(self, request: HookContextRequest) -> HookContext:
        """Return a context without the rules that the host reads itself; it may be empty."""

    async def prepare(self, request: HookContextRequest) -> None:
        """Begin to build the same context in the background."""

    async def tool_help(
        self, origin: Origin, use: ToolUse, task: str, is_said: Callable[[str], bool], deadline_ms: int
    ) -> ToolHelp:
        """Return help for an agent's own search, without what was said already."""

    async def note_edits(self, origin: Origin, paths: tuple[str, ...]) -> None:
        """Record files that were written as hot."""

    async def repository_moved(self, origin: Origin) -> None:
        """Rescan the files of an open project."""

    async def idle(self, origin: Origin) -> None:
        """Note that a turn ended."""

    async def end(self, origin: Origin) -> None:
        """Note that a session ended."""

    def forget_window(self, origin: Origin) -> None:
        """Record that a conversation lost its injected texts."""


class Clock:
    """The deadline of an event's answer, and what became of that. `now` returns monotonic seconds."""

    ran_out = False
    """Whether a part of the answer was left out because it took too long."""
    failed = False
    """Whether a part of the answer was left out because of an error."""
    partial = False
    """Whether a context of the answer lacks a part."""
    is_idle = False
    """Whether the prompt needs no context: it asks nothing, or was answered before."""

    def __init__(self, now: Callable[[], float], within_s: float) -> None:
        self._now = now
        self._at = now() + within_s

    @property
    def left_s(self) -> float:
        """The remaining seconds, at least 0."""
        return max(0.0, self._at - self._now())


class Responder:
    """Answers events. On the event loop only.

    A failing part of an answer is logged and left out; the other parts are sent.
    """

    def __init__(self, backend: HookBackend) -> None:
        self._backend = backend
        self._windows = Windows()

    async def answer(self, event: Event, limit: OutputLimit, clock: Clock) -> HookAnswer:
        """Act on an event, and return the text for the model and the line for the user."""
        match event.kind:
            case "start" | "restart":
                return await self._start(event.origin, event.prompt, limit, clock)
            case "resume":
                return await self._resume(event, limit, clock)
            case "prompt":
                return await self._prompt(event, limit, clock)
            case "announce":
                self._window(event.origin).announce(event.agent_type, event.prompt)
            case "subagent":
                return await self._subagent(event, limit, clock)
            case "edit":
                return await self._edited(event, limit, clock)
            case "turn_end":
                await self._part(self._backend.idle(event.origin), clock)
            case "compacting":
                window = self._window(event.origin)
                keeps_start = window.started and event.keeps_start
                self._clear(event.origin)
                window.started = window.started or keeps_start
            case "end":
                self._windows.drop(_key(event.origin))
                await self._part(self._backend.end(event.origin), clock)
            case "moved":
                await self._part(self._backend.repository_moved(event.origin), clock)
            case "subagent_end":
                pass  # it is grafted from the spool; an answer would run the subagent again
        return NOTHING

    async def _start(self, origin: Origin, prompt: str, limit: OutputLimit, clock: Clock) -> HookAnswer:
        """Begin or resume the session. A new window contains no injected texts.

        Some hosts send the prompt as well, whose own event then needs no answer.
        """
        self._clear(origin)
        window = self._window(origin)
        window.start_prompt = prompt if limit.characters else ""
        sections, message = await self._open(origin, window, clock)
        if not limit.characters:
            return HookAnswer(message=message)
        asks = bool(prompt) and await self._part(self._backend.asks_something(prompt), clock)
        found = await self._filled(origin, prompt if asks else "", sections, limit, clock)
        window.started = True  # only now: if the host stops waiting, this is cancelled earlier
        if _is_kept(origin):
            window.task = prompt if asks else ""
            window.pending_prompt = prompt if asks is not False and found.late else ""
        return HookAnswer(found.text, message)

    async def _resume(self, event: Event, limit: OutputLimit, clock: Clock) -> HookAnswer:
        """Resume a session whose window still holds the sent texts; send its sets, and to a fork its id."""
        origin, known = event.origin, self._windows.get(_key(event.origin))
        window = self._window(origin)
        if event.is_fork:
            await self._open(origin, window, clock)
            window.started = bool(limit.characters)
            return HookAnswer(wrapped(fork_section(origin.session_id), limit))
        opened = await self._part(self._backend.continue_session(origin), clock)
        if opened is None:
            return await self._start(origin, "", limit, clock)
        window.sets = opened.sets
        window.started = window.started or known is None
        text = wrapped(opened.text, limit)  # the sets may have changed since the window got them
        return HookAnswer(text, resumed_line(opened.sets) if opened.text else "")

    async def _prompt(self, event: Event, limit: OutputLimit, clock: Clock) -> HookAnswer:
        if not event.by_person or not event.prompt.strip():
            return NOTHING
        origin, window = event.origin, await self._known_window(event.origin, clock)
        window.prompts_come = window.prompts_come or event.kind == "prompt"
        message = "" if origin.agent_id else await self._change(origin, window, clock)
        if window.is_answered(event.prompt, origin.agent_id):
            clock.is_idle = True
            return HookAnswer(message=message)
        asks = await self._part(self._backend.asks_something(event.prompt), clock)
        is_main = not origin.agent_id  # some hosts send the prompts of subagents too
        if asks is not False and _is_kept(origin):
            window.task = event.prompt
        # A prompt that asks nothing brings what was late for the one before. If the time ran out here (None),
        # the prompt itself is late.
        pending = window.pending_prompt if is_main else ""
        prompt = pending if asks is False else event.prompt
        clock.is_idle = not prompt
        if not limit.characters:
            if prompt:
                window.pending_prompt = prompt
                await self._part(
                    self._backend.prepare(_request(origin, prompt, limit, clock, news=True)), clock
                )
            return HookAnswer(message=message)
        if window.started or not is_main:
            found = await self._news(origin, prompt, limit, clock) if prompt else HookContext()
        else:
            # The start event was lost, or the host compacted the window without an event.
            sections, opened = await self._open(origin, window, clock)
            message = message or opened
            found = await self._filled(origin, prompt, sections, limit, clock)
            window.started = True
        if is_main:  # what is late a second time is dropped: each further try would delay the agent
            window.pending_prompt = prompt if found.late and prompt != pending and origin.session_id else ""
        text = found.text
        return HookAnswer(text if text and window.is_new(text, origin.agent_id) else "", message)

    async def _subagent(self, event: Event, limit: OutputLimit, clock: Clock) -> HookAnswer:
        origin, window = event.origin, self._window(event.origin)
        task = event.prompt or window.take_task(origin.agent_type)
        if not task and event.transcript_path:
            task = await self._part(self._backend.task_in(origin, event.transcript_path), clock) or ""
        window.note_task(origin.agent_id, task)
        # Also built in the background, so that it continues if this answer runs out of time.
        await self._part(self._backend.prepare(_request(origin, task, limit, clock, news=bool(task))), clock)
        if not limit.characters:
            if task and origin.agent_id:
                window.pending_tasks.append((origin.agent_id, task))
            return NOTHING
        text = (await self._filled(origin, task, [], limit, clock)).text
        return HookAnswer(text) if text and window.is_new(text, origin.agent_id or task) else NOTHING

    async def _edited(self, event: Event, limit: OutputLimit, clock: Clock) -> HookAnswer:
        """Record the files, and send what is pending if the host takes text after tools."""
        origin = event.origin
        if event.paths:
            await self._part(self._backend.note_edits(origin, event.paths), clock)
        if not limit.characters:
            return NOTHING
        if event.transcript_path:
            await self._note_prompt(event, clock)
        window = self._windows.get(_key(origin))
        if window is not None and origin.agent_id and (task := window.take_pending_task(origin.agent_id)):
            text = (await self._filled(origin, task, [], limit, clock)).text
            return HookAnswer(text) if text and window.is_new(text, origin.agent_id) else NOTHING
        is_late = window is not None and not window.started and bool(event.transcript_path)
        if window is None or origin.agent_id or not (window.pending_prompt or is_late):
            return await self._helped(event, limit, clock) if event.use is not None else NOTHING
        prompt, window.pending_prompt = window.pending_prompt, ""  # at once: tools run in parallel
        begins, window.started = not window.started, True
        try:
            if begins:  # the host takes no text at the start, or that event was lost
                sections, _ = await self._open(origin, window, clock)
                found = await self._filled(origin, prompt, sections, limit, clock)
            else:
                found = await self._news(origin, prompt, limit, clock)
        except asyncio.CancelledError:
            window.started = not begins
            # The host stopped waiting. It is still pending, but not for ever: each try delays a tool.
            window.pending_prompt, window.given_up = ("" if window.given_up == prompt else prompt), prompt
            raise
        if found.late and (begins or event.transcript_path) and window.given_up != prompt:
            window.pending_prompt = window.given_up = prompt
        return HookAnswer(found.text) if found.text and window.is_new(found.text) else NOTHING

    async def _note_prompt(self, event: Event, clock: Clock) -> None:
        """Note the prompt that is answered, unless events bring the prompts of this conversation."""
        window = await self._known_window(event.origin, clock)
        if window.prompts_come:
            return
        prompt = await self._part(self._backend.task_in(event.origin, event.transcript_path), clock) or ""
        if prompt.strip() and prompt != window.found_prompt:
            first, window.found_prompt = not window.found_prompt, prompt
            if first and await self._part(self._backend.is_answered(event.origin, prompt), clock):
                window.task = prompt  # an earlier daemon brought its context
                return
            await self._prompt(replace(event, prompt=prompt), NO_OUTPUT, clock)

    async def _helped(self, event: Event, limit: OutputLimit, clock: Clock) -> HookAnswer:
        """Return help beside a search of the agent's own, one at a time, since tools run in parallel."""
        origin, window = event.origin, await self._known_window(event.origin, clock)

        async def find() -> ToolHelp:
            async with window.helping:
                said, ms = partial(window.has, agent_id=origin.agent_id), int(clock.left_s * 1000)
                task = window.task_of(origin.agent_id)
                found = await self._backend.tool_help(origin, event.use or ToolUse(), task, said, max(1, ms))
                for key in found.keys:
                    window.is_new(key, origin.agent_id)
                return found

        own = Clock(asyncio.get_running_loop().time, clock.left_s)  # late help makes no prompt late
        found = await self._part(find(), own) or NO_HELP
        return HookAnswer(wrapped(found.text, limit))

    async def _news(self, origin: Origin, prompt: str, limit: OutputLimit, clock: Clock) -> HookContext:
        """Return a prompt's additions to its window, if there are any."""
        tokens = None if limit.tokens is None else max(1, limit.tokens - len(limit.lead) // 3)
        request = _request(origin, prompt, OutputLimit(text_limit(limit), tokens), clock, news=True)
        found = await self._context(request, clock)
        return replace(found, text=wrapped(found.text, limit))

    async def _context(self, request: HookContextRequest, clock: Clock) -> HookContext:
        """Return a context; it is late if the deadline passed, too."""
        found = await self._part(self._backend.context(request), clock)
        if found is None:
            return HookContext(late=clock.ran_out)
        clock.ran_out = clock.ran_out or found.late
        clock.partial = clock.partial or found.partial
        return found

    async def _open(self, origin: Origin, window: Window, clock: Clock) -> tuple[list[str], str]:
        """Return the sections at the start of a session, and the line for its user."""
        if not origin.session_id:
            return [], ""
        opened = await self._part(self._backend.open_session(origin), clock)
        if opened is None:
            return [], ""
        window.sets = opened.sets
        sections = [opened.text] if opened.text else []
        sections.append(session_section(origin.session_id))
        return sections, resumed_line(opened.sets) if opened.resumed and opened.text else ""

    async def _filled(
        self, origin: Origin, prompt: str, sections: list[str], limit: OutputLimit, clock: Clock
    ) -> HookContext:
        """Return sections, a context that fits the rest of the limit, and what a prompt adds to it.

        For a prompt that begins a conversation the same holds as for later ones: what it brings is decided
        and limited as news. That is asked for first, so that the timeline has it for the prompt.
        """
        head = "\n\n".join(sections)
        left = text_limit(limit) - len(head) - 2
        tokens = None if limit.tokens is None else max(1, limit.tokens - len(head + limit.lead) // 3)
        news, found = HookContext(), HookContext()
        if prompt and origin.session_id and left >= LEAST_CHARACTERS:
            request = _request(origin, prompt, OutputLimit(left, tokens), clock, news=True)
            news, prompt = await self._context(request, clock), ""
            left -= len(news.text) + 2
            tokens = None if tokens is None else max(1, tokens - len(news.text) // 3)
        if left >= LEAST_CHARACTERS:
            found = await self._context(_request(origin, prompt, OutputLimit(left, tokens), clock), clock)
        text = "\n\n".join(filter(None, (head, found.text, news.text)))
        return HookContext(wrapped(text, limit), news.late or found.late)

    async def _known_window(self, origin: Origin, clock: Clock) -> Window:
        """Return a conversation's window; a session from before this daemon's start has had its first
        sections."""
        known = self._windows.get(_key(origin)) is not None
        window = self._window(origin)
        if not known and origin.session_id:
            window.started = bool(await self._part(self._backend.knows_session(origin), clock))
        return window

    async def _change(self, origin: Origin, window: Window, clock: Clock) -> str:
        """Return the line for a user whose context sets changed since the last line."""
        if not origin.session_id:
            return ""
        sets = await self._part(self._backend.sets(origin), clock)
        before, window.sets = window.sets, sets if sets is not None else window.sets
        return "" if sets is None or before is None else changed_line(before, sets)

    async def _part(self, work: Awaitable[T], clock: Clock) -> T | None:
        """Return the result of one part of an answer, None if it fails or takes too long."""
        try:
            async with asyncio.timeout(clock.left_s):
                return await work
        except (FovealError, TimeoutError) as error:
            clock.ran_out = clock.ran_out or isinstance(error, TimeoutError)
            clock.failed = clock.failed or isinstance(error, FovealError)
            log.warning("a part of an answer to a hook was left out: %s", str(error) or "it took too long")
            return None

    def _window(self, origin: Origin) -> Window:
        return self._windows.at(_key(origin))

    def _clear(self, origin: Origin) -> None:
        """Record that a window was emptied: the conversation's, or a subagent's."""
        self._window(origin).clear(origin.agent_id)
        self._backend.forget_window(origin)


def _request(
    origin: Origin, prompt: str, limit: OutputLimit, clock: Clock, *, news: bool = False
) -> HookContextRequest:
    return HookContextRequest(origin, prompt, limit, max(1, int(clock.left_s * CONTEXT_SHARE * 1000)), news)


def _is_kept(origin: Origin) -> bool:
    """Whether prompts are kept for later events: the main agent's in a session. Without a session's id
    several agents of a folder share a window."""
    return not origin.agent_id and bool(origin.session_id)


def _key(origin: Origin) -> str:
    """Return the key of a conversation: its id, or its host and folder."""
    return origin.session_id or f"{origin.host}\0{origin.cwd}"


class Window(Struct):
    """The texts that foveal put into the context window of one conversation."""

    started: bool = False
    """Whether the sections of a session's start were sent."""
    pending_prompt: str = ""
    """A prompt whose context the host couldn't take or that was late; the next event that takes text brings
    it."""
    pending_tasks: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=TASKS_MAX))
    """Subagents whose start took no text, and their tasks; their first tool brings the context."""
    prompts_come: bool = False
    """Whether an event brought a prompt."""
    found_prompt: str = ""
    """The last prompt that was found in the transcript."""
    given_up: str = ""
    """The last prompt for whose context the host stopped waiting at a tool."""
    sets: Mapping[str, tuple[str, ...]] | None = None
    """The session's context sets when its user last got a line about them."""
    task: str = ""
    """The last prompt that asks something."""
    helping: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while help for a tool is looked for."""
    start_prompt: str = ""
    """The prompt that came with the session's start."""
    _sent: OrderedDict[tuple[str, bytes], None] = field(default_factory=OrderedDict)
    _tasks: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=TASKS_MAX))
    _begun: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=TASKS_MAX))
    """The latest subagents that got the context of their task: their ids and tasks."""

    def is_new(self, text: str, agent_id: str = "") -> bool:
        """Whether a text wasn't sent to this agent yet; it is recorded as sent."""
        key = self._digest(text, agent_id)
        if key in self._sent:
            return False
        self._sent[key] = None
        if len(self._sent) > SENT_MAX:
            self._sent.popitem(last=False)
        return True

    def has(self, text: str, agent_id: str = "") -> bool:
        """Whether a text was sent to this agent."""
        return self._digest(text, agent_id) in self._sent

    def task_of(self, agent_id: str) -> str:
        """Return what a subagent, or the main agent, works on; "" if it isn't known."""
        return next((task for began, task in reversed(self._begun) if agent_id == began), self.task)

    def is_answered(self, prompt: str, agent_id: str) -> bool:
        """Whether the context of a prompt came with the session's start, or of a task with its subagent's."""
        if agent_id:
            return (agent_id, prompt.strip()) in self._begun
        answered, self.start_prompt = self.start_prompt, ""
        return bool(answered) and answered.strip() == prompt.strip()

    def note_task(self, agent_id: str, task: str) -> None:
        """Remember the task of a subagent that begins; its host may send it once more as a prompt."""
        if agent_id and task.strip():
            self._begun.append((agent_id, task.strip()))

    @staticmethod
    def _digest(text: str, agent_id: str) -> tuple[str, bytes]:
        return agent_id, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def announce(self, agent_type: str, task: str) -> None:
        """Remember the task of a subagent that is about to start."""
        self._tasks.append((agent_type, task))

    def take_task(self, agent_type: str) -> str:
        """Return the oldest task announced for a subagent's type, or ""."""
        for number, (kind, task) in enumerate(self._tasks):
            if kind == agent_type or not kind:
                del self._tasks[number]
                return task
        return ""

    def take_pending_task(self, agent_id: str) -> str:
        """Return the task of a subagent whose start took no text, once."""
        found = next((pair for pair in self.pending_tasks if pair[0] == agent_id), None)
        if found is not None:
            self.pending_tasks.remove(found)
        return found[1] if found else ""

    def clear(self, agent_id: str = "") -> None:
        """Drop the record of texts sent to the window: the host removed them.

        A subagent has a window of its own: with `agent_id` only its record is dropped.
        """
        if agent_id:
            for key in [key for key in self._sent if key[0] == agent_id]:
                del self._sent[key]
            return
        self.started = False
        self._sent.clear()


class Windows:
    """The windows of the most recent conversations, by key."""

    def __init__(self) -> None:
        self._windows: OrderedDict[str, Window] = OrderedDict()

    def get(self, key: str) -> Window | None:
        """Return a window, None if it is unknown."""
        return self._windows.get(key)

    def at(self, key: str) -> Window:
        """Return a window, a new one if it is unknown."""
        window = self._windows.setdefault(key, Window())
        self._windows.move_to_end(key)
        if len(self._windows) > WINDOWS_MAX:
            self._windows.popitem(last=False)
        return window

    def drop(self, key: str) -> None:
        """Drop a conversation that ended."""
        self._windows.pop(key, None)
