"""Owns what answers to hooks ask of the engine: sessions, contexts and hot files, for one agent each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from ...hooks.hosts.events import Origin
from ..app.engine import Engine
from ..context.scoping import ScopeSelector
from ..core.errors import FovealError
from ..core.parameters import Parameters
from ..core.system import System
from ..hooks.answer import INCOMPLETE_CHARACTERS, incomplete_line
from ..hooks.native_rules import folder_in, native_rules
from ..hooks.responder import HookContextRequest, OpenedSession
from ..project.projects import Project
from ..project.roots import relative_path
from ..rules.items import Item
from ..sessions.session_ids import is_id
from ..sessions.sessions import Session
from ..transcripts.injections import asked
from .contexts import ContextMethods
from .guard import PolicyGuard
from .sessions import SessionMethods

OWN_FILE_BYTES = 256 * 1024
"""Of an instruction file that is compared with the others."""

DEFAULT_TOKENS = 8_000
"""Tokens of the context of a start where the host counts characters alone."""


class DaemonHookBackend:
    """The ground of hooks over one engine. On the event loop only."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._methods = {**ContextMethods(engine).methods, **SessionMethods(engine).methods}
        self._news = ContextMethods(engine, news=True).methods
        # As for any client: an agent hears of its session what its rules grant, and no more.
        self._guard = PolicyGuard(engine.permissions, engine.projects, engine.scopes, engine.sessions)
        self._system = System()

    async def open_session(self, origin: Origin) -> OpenedSession:
        """Begin a session under the host's id, or resume the one that there is."""
        about = {"session_id": origin.session_id, "agent_name": origin.policy_name}
        with suppress(FovealError):  # no project is no news here
            if (project := await self._open_project(origin)) is not None:
                self._engine.commit_marks.look(project)
        if await self._session(origin) is not None:
            reply = await self._call("ResumeSession", about)
            return OpenedSession(True, reply["text"], _sets(reply))
        if is_id(origin.session_id):
            await self._call("CreateSession", about | {"cwd": origin.cwd})
        return OpenedSession(False, "", {})

    async def knows_session(self, origin: Origin) -> bool:
        """Whether a session was begun under the host's id."""
        return await self._session(origin) is not None

    async def sets(self, origin: Origin) -> Mapping[str, tuple[str, ...]] | None:
        """Return a session's context sets, None where there is no session."""
        if await self._session(origin) is None:
            return None
        about = {"session_id": origin.session_id, "agent_name": origin.policy_name}
        return _sets(await self._call("GetRelevantContext", about))

    async def asks_something(self, prompt: str) -> bool:
        """Whether a prompt names anything that a project could hold."""
        return await asyncio.to_thread(_asks, prompt)  # it may be long, and loads tables of words at first

    async def context(self, ask: HookContextRequest) -> str:
        """Return a context in Markdown, without the rules that the host reads by itself, or nothing."""
        now = asyncio.get_running_loop().time
        started = now()
        request = await self._request(ask)
        request["deadline_ms"] = max(1, ask.deadline_ms - int((now() - started) * 1000))
        if not request["max_tokens"]:
            return ""
        reply = await self._call("GetContext", request, news=ask.news)
        text: str = reply["context"]
        if text and ask.prompt and reply["partial"]:
            text = f"{incomplete_line([*reply['gaps'], *reply['degraded']])}\n\n{text}"
        return text

    async def prepare(self, ask: HookContextRequest) -> None:
        """Begin the same in the background."""
        request = await self._request(ask)
        if request["max_tokens"]:
            await self._call("PrepareContext", request, news=ask.news)

    async def note_edits(self, origin: Origin, paths: tuple[str, ...]) -> None:
        """Take in that files were written: they are hot. Those outside of the project don't matter."""
        project = await self._engine.projects.at(origin.cwd)
        for path in paths:
            with suppress(FovealError):
                absolute = os.path.join(origin.cwd, path)
                self._engine.note_file(
                    project, relative_path(project.root, absolute, "path"), "changed", None
                )

    async def repository_moved(self, origin: Origin) -> None:
        """Look at the files and commits of an open project again; git's hooks open none."""
        project = await self._open_project(origin)
        if project is not None:
            self._engine.commit_marks.look(project)
            await self._engine.indexing.reindex(project, full=False)

    async def idle(self, origin: Origin) -> None:
        """Note that a turn ended; it may have committed what was decided, or undone it."""
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
        """Note that a conversation lost what it was sent. Each subagent has a window of its own."""
        if origin.session_id:
            self._engine.context_log.forget_window(origin.session_id, origin.agent_id)

    async def _open_project(self, origin: Origin) -> Project | None:
        return self._engine.projects.get(await self._engine.projects.root_of(origin.cwd))

    async def _call(self, method: str, fields: Mapping[str, Any], *, news: bool = False) -> dict[str, Any]:
        methods = self._news if news else self._methods
        answer = self._guard.answer(method, methods[method], Parameters(fields))
        return answer if isinstance(answer, dict) else await answer

    async def _session(self, origin: Origin) -> Session | None:
        return (await self._engine.sessions.find(origin.session_id)).session if origin.session_id else None

    async def _request(self, ask: HookContextRequest) -> dict[str, Any]:
        """Return the parameters of GetContext for an agent."""
        origin, project = ask.origin, await self._engine.projects.at(ask.origin.cwd)
        session = await self._session(origin)
        # A conversation that went on in another project is asked for there without its session.
        usable = is_id(origin.session_id) and (session is None or session.project_root == project.root)
        session_id = origin.session_id if usable else ""
        # The rest of the time is for the context itself, which has something to say without its rules too.
        native = await self._native(project, origin, ask.deadline_ms // 2)
        tokens = ask.limit.tokens or DEFAULT_TOKENS
        if ask.news:
            tokens = min(tokens, project.config.context.hook_tokens)
        characters = ask.limit.characters - (0 if project.searchable else INCOMPLETE_CHARACTERS)
        request: dict[str, Any] = {
            "cwd": origin.cwd,
            "agent_name": origin.policy_name,
            "agent_id": origin.agent_id,
            "session_id": session_id,
            "prompt": asked(ask.prompt),
            "max_tokens": tokens,
            "reserve_tokens": 0,
            "max_bytes": max(1, characters),
            "exclude_items": [{"type": item.type, "name": item.name} for item in native],
            "deadline_ms": ask.deadline_ms,
            "delta": True,
        }
        if session_id and origin.agent_id:
            parent = self._engine.scoping.find(project.root, ScopeSelector(session_id=session_id))
            if parent is not None:
                request["parent_scope_id"] = parent.id
        return request

    async def _native(self, project: Project, origin: Origin, deadline_ms: int) -> tuple[Item, ...]:
        """Return the rules that a host reads by itself, looked up in a thread."""
        items = await self._engine.items_of(project, deadline_ms)
        find = partial(_native_in, origin, project.root, items.items, self._system)
        return await asyncio.to_thread(find)


def _asks(prompt: str) -> bool:
    # Here and not above: its tables of words take longer to load than the daemon to start.
    from ..search.question import take_apart
    from ..search.small_talk import is_small_talk

    text = asked(prompt)
    return bool(text) and not is_small_talk(take_apart(text))


def _native_in(origin: Origin, root: str, items: tuple[Item, ...], system: System) -> tuple[Item, ...]:
    def read(name: str) -> str | None:
        try:
            data, _ = system.read(os.path.join(root, name), OWN_FILE_BYTES)
        except OSError:
            return None
        return data.decode("utf-8", "replace")

    return native_rules(origin.host, items, folder_in(root, origin.cwd), read)


def _sets(reply: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(entries) for name, entries in reply["context"].items()}
