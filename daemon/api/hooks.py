"""The method that answers hooks: takes a host's event and returns the text to print."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from ...hooks.hosts.events import Event, Origin
from ...hooks.hosts.hook_answer import NOTHING, HookAnswer
from ...hooks.hosts.registry import HOSTS, host_named
from ...hooks.hosts.tool_uses import ToolUse
from ..access.records import Agent
from ..access.service import visible_sets
from ..context.records import NO_HELP, SEARCH_UNFINISHED, HelpRequest, ScopeSelector, ToolHelp
from ..core.errors import FovealError, InvalidRequest, PermissionDenied
from ..core.metric_history import PromptOutcome
from ..core.system import System
from ..engine.service import Engine
from ..hooks.records import INCOMPLETE_CHARACTERS, HookContext, HookContextRequest, OpenedSession
from ..hooks.service import (
    Clock,
    HookGrafts,
    LastEvents,
    RecentEvents,
    Responder,
    TurnReadings,
    fields_in,
    folder_in,
    formats_of,
    host_version,
    incomplete_line,
    native_rules,
)
from ..privacy.policy import Policy
from ..project.service import relative_path
from ..rules.records import Item
from ..sessions.records import MASKED_CHARACTERS, Session, SessionEvent, SessionState
from ..sessions.service import is_id
from ..transcripts.service import asked
from ..workspace.service import Project
from .contexts import ContextMethods, GetContextRequest
from .marks import Plain, Text
from .method import (
    DEADLINE_MAX_MS,
    AgentRequest,
    DaemonRequest,
    ItemFields,
    method,
    milliseconds_since,
)

OF_SUBAGENTS = frozenset(("subagent", "subagent_end", "prompt", "edit", "compacting"))
"""Events of subagents, which work in the session of their parent whatever is hidden from them."""

OWN_FILE_BYTES = 256 * 1024
"""Maximum bytes of an instruction file that is compared with others."""

TRANSCRIPT_END_BYTES = 512 * 1024
"""Bytes at the end of a transcript in which the task of a subagent is looked for."""

DEFAULT_TOKENS = 8_000
"""Default tokens of a start context, if the host only counts characters."""

DEADLINE_MS = 2_000
"""Default milliseconds for an answer: hosts wait 3 s for a prompt's hook."""

PROJECT_VARIABLES = [
    host.hooks.project_variable for host in HOSTS if host.hooks and host.hooks.project_variable
]
"""Variables that hold a host's project folder; the folder in the payload changes with the agent's."""


class HookEventRequest(AgentRequest, frozen=True, kw_only=True):
    host: str
    payload: str | dict[str, Any] | None = None
    event: str = ""
    cwd: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    deadline_ms: Annotated[int, Meta(ge=1, le=DEADLINE_MAX_MS)] = DEADLINE_MS
    spooled: str = ""


class HookEventReply(Struct, frozen=True):
    output: Text[str]


class HeardHost(Struct, frozen=True):
    """A host that sent events: its last one and when."""

    host: Plain[str]
    title: Plain[str]
    last_event: Plain[str]
    last_event_at: Plain[str]


class HostsReply(Struct, frozen=True):
    hosts: list[HeardHost]


class HookMethods:
    """The hook method over one engine. `run` must be running as a task while requests are served."""

    def __init__(self, engine: Engine, contexts: ContextMethods) -> None:
        self._engine = engine
        self._responder = Responder(DaemonHookBackend(engine, contexts))
        self._recent = RecentEvents(lambda: asyncio.get_running_loop().time())
        self._grafts = HookGrafts(engine.state_dir, self._graft, System())
        engine.forgetting.pause = self._grafts.without
        self._turns = TurnReadings(self._read_turn)
        self._events_seen = LastEvents(engine.state_dir, System())

    async def run(self) -> None:
        """Graft the findings of subagents, also from events that hooks spooled without a daemon, and keep
        when hosts last sent events; never returns."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._grafts.run())
            tasks.create_task(self._turns.run())
            tasks.create_task(self._events_seen.run())

    @method("HookEvent", policy="own", access="add")
    async def hook_event(self, request: HookEventRequest) -> HookEventReply:
        """Return the exact bytes that a hook of this host prints ([hooks](hooks.md)); `payload` is a text
        or a map."""
        started = time.perf_counter()
        host, payload, variables = request.host, request.payload, request.variables
        clock = Clock(asyncio.get_running_loop().time, request.deadline_ms / 1000)
        fields = fields_in("" if payload is None else payload)
        name = request.event or fields.text("hook_event_name", "hookEventName")
        cwd = _project_folder(variables) or request.cwd
        texts = {key: str(value) for key, value in variables.items()}
        formats = formats_of(host, fields, name, texts)
        event = formats.reads.read(fields, name, cwd)
        if event is None or self._recent.is_repeated(event):
            await self._grafts.drop(request.spooled)
            return HookEventReply("")
        version = host_version(formats.host, texts)
        event = replace(event, origin=replace(event.origin, agent_name=request.agent.name, version=version))
        if not os.path.isabs(event.origin.cwd):
            raise InvalidRequest("the payload names no folder; give cwd, an absolute path", "cwd")
        origin = await self._permitted(event)
        is_own = origin is not None and origin.session_id == event.origin.session_id
        if not is_own:
            await self._grafts.drop(request.spooled)
        if origin is None:
            return HookEventReply("")
        event = replace(event, origin=origin)
        self._events_seen.note(formats.host, name)
        for happened in session_events(event):
            self._engine.timeline.record(happened)
        if is_own and event.kind in {"turn_end", "end", "subagent_end"}:
            text = payload if isinstance(payload, str) else json.dumps(payload, default=repr)
            await self._keep(formats.host, name, event, text, request.spooled)
        if is_own and event.kind == "turn_end":
            self._turns.note(event)
        limit = formats.reads.limit(name, version)
        # A host that takes no text at its prompts gets it with the next event that takes some.
        is_prompt = event.kind == "prompt" and event.by_person and event.prompt.strip() and limit.characters
        outcome: PromptOutcome = "late"
        try:
            answer = await self._responder.answer(event, limit, clock)
            outcome = _outcome(answer, clock)
        except asyncio.CancelledError:  # the host stopped waiting
            self._note_late(event)
            raise
        finally:
            if is_prompt:
                self._engine.metrics.prompt_answered(outcome, milliseconds_since(started))
        if clock.ran_out:
            self._note_late(event)
        return HookEventReply("" if answer == NOTHING else formats.writes.write(name, answer))

    def _note_late(self, event: Event) -> None:
        """Note that an agent went on without what was prepared for it."""
        if self._engine.timeline.too_late(event.origin.session_id, event.origin.agent_id):
            self._engine.metrics.context_was_late()

    @method("ListHosts", policy="daemon", access="person")
    async def list_hosts(self, request: DaemonRequest) -> HostsReply:
        """List the hosts whose hooks ever sent an event, the one that was heard last first."""
        heard = [
            HeardHost(name, known.title if (known := host_named(name)) else name, event, at)
            for name, (event, at) in (await self._events_seen.all()).items()
        ]
        return HostsReply(sorted(heard, key=lambda one: one.last_event_at, reverse=True))

    async def _permitted(self, event: Event) -> Origin | None:
        """Return where an event comes from, without its session if that belongs to an agent that may see
        more; None for an agent that isn't allowed."""
        origin, permissions = event.origin, self._engine.permissions
        session = await self._engine.sessions.find(origin.session_id)
        if session.problem:  # nobody knows whose it is: each part of the answer says so
            return origin
        try:
            root = await self._engine.projects.root_of(origin.cwd)
            view = await permissions.view(root, Agent.of(origin.policy_name, ""), None, session)
        except PermissionDenied:
            return None
        except FovealError:  # no project, or none whose rules can be read: each part says so
            return origin
        is_own = session.session is None or view.sees_all_of(session.session.agent_name)
        is_subagents = bool(origin.agent_id) and event.kind in OF_SUBAGENTS
        return origin if is_own or is_subagents else replace(origin, session_id="")

    async def _keep(self, host: str, name: str, event: Event, text: str, spooled: str) -> None:
        """Spool an event for grafting, unless its hook did. Hooks may have spooled earlier events, too."""
        if event.kind == "subagent_end":
            await self._grafts.keep(host, name, event.origin.cwd, text, spooled)
        else:
            self._grafts.look()
            await self._grafts.rest(host, name, event, text, spooled)

    async def _graft(self, cwd: str, path: str, session_id: str, agent_id: str, speaker: str) -> None:
        project = await self._engine.projects.at(cwd)
        try:  # the event may have waited in the spool for a daemon
            await self._engine.permissions.require(project, Agent.of(agent_id, ""))
        except PermissionDenied:
            return
        result = await self._engine.grafting.graft(project, path, session_id, agent_id, speaker)
        self._engine.timeline.read_transcript(project.root, session_id, result.cwd or cwd, result.activity)
        self._engine.timeline.decided(project.root, project.pool.some(result.experience_ids))
        self._engine.commit_marks.look(project)  # decisions may have been committed in the meantime

    async def _read_turn(self, origin: Origin, path: str) -> None:
        """Take what an agent did to files in a turn, if it was given a context."""
        project = self._engine.projects.get(await self._engine.projects.root_of(origin.cwd))
        if project is None or not self._engine.timeline.has_shown(origin.session_id):
            return
        found = await self._engine.grafting.read_turn(project, path)
        if found is not None:
            cwd = found.cwd or origin.cwd
            self._engine.timeline.read_transcript(project.root, origin.session_id, cwd, found.activity)


def _outcome(answer: HookAnswer, clock: Clock) -> PromptOutcome:
    """Return what a prompt got: text, or why it got none."""
    if answer.context:
        return "part" if clock.ran_out or clock.failed or clock.partial else "whole"
    if clock.ran_out or clock.failed:
        return "late" if clock.ran_out else "failed"
    return "idle" if clock.is_idle else "nothing"


def session_events(event: Event) -> Iterator[SessionEvent]:
    """Yield what an event adds to the timeline of its session."""
    origin = event.origin
    happened = partial(
        SessionEvent,
        origin.session_id,
        origin.host,
        origin.cwd,
        agent_id=origin.agent_id,
        agent_name=origin.policy_name,
    )
    match event.kind:
        case "start" | "end":
            yield happened(event.kind)
        case "resume" | "restart":
            yield happened("resume")
        case "compacting":
            yield happened("compaction")
        case "prompt" if event.by_person and event.prompt.strip():
            yield happened("prompt", text=event.prompt[:MASKED_CHARACTERS])
        case "subagent":
            yield happened("subagent", text=event.prompt[:MASKED_CHARACTERS])
        case "edit":
            if event.paths:
                yield happened("edit", paths=event.paths)
            if event.read:
                yield happened("read", paths=event.read)


def _project_folder(variables: Mapping[str, Any]) -> str:
    found = (variables.get(name) for name in PROJECT_VARIABLES)
    return next((path for path in found if isinstance(path, str) and os.path.isabs(path)), "")


class DaemonHookBackend:
    """The daemon's side of hooks: sessions, contexts and hot files. On the event loop only."""

    def __init__(self, engine: Engine, contexts: ContextMethods) -> None:
        self._engine = engine
        self._contexts = contexts
        self._system = System()

    async def open_session(self, origin: Origin) -> OpenedSession:
        """Begin a session under the host's id, or resume an existing one."""
        with suppress(FovealError):  # a folder without a project is normal here
            if (project := await self._open_project(origin)) is not None:
                self._engine.commit_marks.look(project)
        if await self._session(origin) is not None:
            self._engine.context_log.forget_window(origin.session_id)
            return await self._resumed(origin)
        if is_id(origin.session_id):
            project = await self._engine.projects.at(origin.cwd)
            await self._engine.begin_session(project, origin.session_id, agent_name=origin.policy_name)
        return OpenedSession(False, "", {})

    async def continue_session(self, origin: Origin) -> OpenedSession | None:
        """Resume a session without forgetting what its window holds."""
        return None if await self._session(origin) is None else await self._resumed(origin)

    async def task_in(self, origin: Origin, transcript_path: str) -> str:
        """Return the task of a subagent that begins, as its parent's transcript has it, or for the main agent
        the prompt that it answers; without what the host and hooks added."""
        host = host_named(origin.host)
        find = host.hooks.task_in if host is not None and host.hooks is not None else None
        if find is None:
            return ""
        return await asyncio.to_thread(lambda: asked(find(_end_of(transcript_path), origin.agent_type)))

    async def is_answered(self, origin: Origin, prompt: str) -> bool:
        """Whether a prompt is the latest that the timeline has of a session, with a context."""
        return await self._engine.timeline.is_answered(origin.session_id, prompt)

    async def knows_session(self, origin: Origin) -> bool:
        """Whether a session was begun under the host's id."""
        return await self._session(origin) is not None

    async def sets(self, origin: Origin) -> Mapping[str, tuple[str, ...]] | None:
        """Return a session's context sets, None if there is no session."""
        session = await self._session(origin)
        return None if session is None else (await self._shown(origin, session))[0]

    async def asks_something(self, prompt: str) -> bool:
        """Whether a prompt contains a term that a project could define."""
        return await asyncio.to_thread(_asks, prompt)  # long prompts; the first call loads tables of words

    async def context(self, ask: HookContextRequest) -> HookContext:
        """Return a context in Markdown, without the rules that the host reads by itself; it may be empty."""
        now = asyncio.get_running_loop().time
        started, called = now(), time.perf_counter()
        request = await self._request(ask)
        if request is None:
            return HookContext()
        left_ms = max(1, ask.deadline_ms - int((now() - started) * 1000))
        request = replace(request, deadline_ms=left_ms)
        reply = await self._contexts.reply(request, called, news=ask.news)
        text: str = reply["context"]
        if text and ask.prompt and reply["partial"]:
            text = f"{incomplete_line([*reply['gaps'], *reply['degraded']])}\n\n{text}"
        return HookContext(text, SEARCH_UNFINISHED in reply["gaps"], reply["partial"])

    async def prepare(self, ask: HookContextRequest) -> None:
        """Begin to build the same context in the background."""
        request = await self._request(ask)
        if request is not None:
            await self._contexts.prepare(request, news=ask.news)

    async def tool_help(
        self, origin: Origin, use: ToolUse, task: str, is_said: Callable[[str], bool], deadline_ms: int
    ) -> ToolHelp:
        """Return help for an agent's own search in an open project."""
        project = await self._open_project(origin)
        if project is None:
            return NO_HELP
        policy = await self._policy(project, origin)
        folder = await asyncio.to_thread(os.path.realpath, origin.cwd)
        held = self._engine.context_log.windows.of(origin.session_id, origin.agent_id).slices

        def is_known(key: str) -> bool:
            place = key.removeprefix("place:")
            return is_said(key) or key in held or f"document:{place}" in held or f"needed:{place}" in held

        request = HelpRequest(use, folder, asked(task), is_known)
        return await self._engine.tool_help.help(project, policy, request, deadline_ms)

    async def _policy(self, project: Project, origin: Origin) -> Policy:
        """Return the policy of an agent by its own name and its session's."""
        agent = Agent.of(origin.policy_name, "")
        return await self._engine.permissions.require(project, agent, session_id=origin.session_id)

    async def note_edits(self, origin: Origin, paths: tuple[str, ...]) -> None:
        """Record files that were written as hot; files outside of the project are ignored."""
        project = await self._engine.projects.at(origin.cwd)
        policy = await self._policy(project, origin)
        for path in paths:
            with suppress(FovealError):
                relative = relative_path(project.root, os.path.join(origin.cwd, path), "path")
                if not policy.denies(relative):
                    self._engine.note_written(project, relative)

    async def repository_moved(self, origin: Origin) -> None:
        """Rescan the files and commits of an open project; git's hooks open no project."""
        project = await self._open_project(origin)
        if project is not None:
            self._engine.commit_marks.look(project)
            await self._engine.indexing.reindex(project, full=False)

    async def idle(self, origin: Origin) -> None:
        """Note that a turn ended; its decisions may have been committed, or undone."""
        project = await self._open_project(origin)
        if project is not None:
            self._engine.commit_marks.look(project)
        if await self._session(origin) is not None:
            await self._engine.sessions.idle(origin.session_id)

    async def end(self, origin: Origin) -> None:
        """Note that a session ended."""
        if await self._session(origin) is not None:
            await self._engine.sessions.end(origin.session_id)

    def forget_window(self, origin: Origin) -> None:
        """Record that a conversation lost its injected texts. Each subagent has a window of its own."""
        if origin.session_id:
            self._engine.context_log.forget_window(origin.session_id, origin.agent_id)

    async def _open_project(self, origin: Origin) -> Project | None:
        return self._engine.projects.get(await self._engine.projects.root_of(origin.cwd))

    async def _resumed(self, origin: Origin) -> OpenedSession:
        session, resume = await self._engine.sessions.resume(origin.session_id)
        sets, text = await self._shown(origin, session, resume.text)
        return OpenedSession(True, text, sets)

    async def _shown(
        self, origin: Origin, session: Session, text: str = ""
    ) -> tuple[Mapping[str, tuple[str, ...]], str]:
        """Return what the agent may see of a session's sets, and of a text about it."""
        root = session.project_root
        agent = Agent.of(origin.policy_name, "")
        view = await self._engine.permissions.view(root, agent, None, SessionState(session))
        policy = view.policy
        if policy.is_limited and not view.sees_all_of(session.agent_name):
            return {}, ""
        shown = "" if policy.names_denied(text, root) else policy.mask(text)
        return visible_sets(policy, session.context, root), shown

    async def _session(self, origin: Origin) -> Session | None:
        return (await self._engine.sessions.find(origin.session_id)).session if origin.session_id else None

    async def _request(self, ask: HookContextRequest) -> GetContextRequest | None:
        """Return the request for an agent's context, None if its token limit is 0."""
        origin, project = ask.origin, await self._engine.projects.at(ask.origin.cwd)
        session = await self._session(origin)
        # In another project the context of a conversation is requested without its session.
        usable = is_id(origin.session_id) and (session is None or session.project_root == project.root)
        session_id = origin.session_id if usable else ""
        # The rest of the time is for the context itself, which is useful even without its rules.
        native = await self._native(project, origin, ask.deadline_ms // 2)
        tokens = ask.limit.tokens or DEFAULT_TOKENS
        if ask.news:
            tokens = min(tokens, project.config.context.hook_tokens)
        characters = ask.limit.characters - (0 if project.index_state.searchable else INCOMPLETE_CHARACTERS)
        if not tokens:
            return None
        parent = ""
        if session_id and origin.agent_id:
            scope = self._engine.scoping.find(project.root, ScopeSelector(session_id=session_id))
            parent = scope.id if scope is not None else ""
        return GetContextRequest(
            cwd=origin.cwd,
            agent_name=origin.policy_name,
            agent_id=origin.agent_id,
            session_id=session_id,
            prompt=asked(ask.prompt),
            max_tokens=tokens,
            reserve_tokens=0,
            max_bytes=max(1, characters),
            exclude_items=tuple(ItemFields(item.type, item.name) for item in native),
            deadline_ms=ask.deadline_ms,
            delta=True,
            parent_scope_id=parent,
        )

    async def _native(self, project: Project, origin: Origin, deadline_ms: int) -> tuple[Item, ...]:
        """Return the rules that a host reads itself, looked up in a thread."""
        items = await self._engine.items_of(project, deadline_ms)
        find = partial(_native_in, origin, project.root, items.items, self._system)
        return await asyncio.to_thread(find)


def _end_of(path: str) -> str:
    """Return the end of a transcript, "" if it can't be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        file.seek(max(0, size - TRANSCRIPT_END_BYTES))
        return file.read(TRANSCRIPT_END_BYTES).decode("utf-8", "replace")


def _asks(prompt: str) -> bool:
    # Imported here: its tables of words take longer to load than the daemon to start.
    from ..search.service import is_small_talk, take_apart

    text = asked(prompt)
    return bool(text) and not is_small_talk(take_apart(text))


def _native_in(origin: Origin, root: str, items: tuple[Item, ...], system: System) -> tuple[Item, ...]:
    def read(name: str) -> str | None:
        try:
            data, _ = system.read(os.path.join(root, name), OWN_FILE_BYTES)
        except OSError:
            return None
        return data.decode("utf-8", "replace")

    return native_rules(origin.host, items, folder_in(root, origin.cwd), read, origin.version)
