"""The methods about sessions: conversations, with their items and context sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from ..core.parameters import NonEmpty, Texts
from ..engine.service import EngineMethods
from ..rules.records import ItemKey, ItemType
from ..rules.service import item_key
from ..sessions.records import Applet, ItemOutcome, Session, SetMode
from ..sessions.service import SessionChange, item_is_not_there, name_warnings, unknown_item
from .marks import Count, Owner, Plain, Root, Said, Text
from .method import (
    AgentRequest,
    ItemName,
    ProjectRequest,
    SessionRequest,
    item_name,
    method,
    reply_of,
)

Selection = str | dict[str, Any]
"""The choice of items: a preset's name, `off`, or a map of settings."""


class SessionItemEntry(ItemName, frozen=True, kw_only=True):
    include: Plain[str]


class CreateSessionRequest(ProjectRequest, frozen=True, kw_only=True):
    session_id: str = ""
    name: str = ""
    selection: Selection | None = None


class SessionHead(Struct, frozen=True, kw_only=True, rename={"id": "session_id", "project_root": "project"}):
    """What a session and its row in a list have in common."""

    id: Text[str]
    project_root: Root[str]
    name: Said[str]
    agent_name: Owner[str]
    created: Plain[str]
    last_observed: Plain[str | None]
    last_idle: Plain[str | None]
    ended: Plain[str | None]
    current_intent: Said[str]


class AppletReply(Struct, frozen=True):
    """The applet of a session; `url` opens it again, and is empty where `applet.url` gives none."""

    slug: Said[str]
    parameters: Said[dict[str, str]]
    url: Said[str]


class SessionReply(SessionHead, frozen=True, kw_only=True):
    env_hint: Said[str]
    context: Said[Mapping[str, tuple[str, ...]]]
    applet: AppletReply | None
    items: list[SessionItemEntry]
    removed: list[ItemName]
    selection: Plain[Mapping[str, object]]
    revision: Plain[int]
    warnings: Said[list[str] | UnsetType] = UNSET


class ListSessionsRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None


class SessionSummaryReply(SessionHead, frozen=True, kw_only=True):
    items: Count[int]
    context_items: Count[int]
    revision: Plain[int]


class SessionsReply(Struct, frozen=True):
    sessions: list[SessionSummaryReply]
    warnings: Text[list[str]]


class ContextSetFields(Struct, frozen=True):
    set_name: NonEmpty
    items: Texts


class UpdateSessionRequest(SessionRequest, frozen=True, kw_only=True):
    name: str | None = None
    current_intent: str | None = None
    env_hint: str | None = None
    selection: Selection | None = None
    context: dict[str, Texts | None] | None = None
    set_context: ContextSetFields | None = None
    union_context: ContextSetFields | None = None


class ResumeRequest(SessionRequest, frozen=True, kw_only=True):
    keeps_window: bool = False


class ResumeReply(Struct, frozen=True):
    session_id: Text[str]
    text: Said[str]
    context: Said[dict[str, list[str]]]
    missing_files: Said[list[str]]
    summary: Said[str]
    applet: AppletReply | None


class EndReply(Struct, frozen=True):
    session_id: Text[str]
    ended: Plain[str]


class SessionItemRequest(SessionRequest, frozen=True, kw_only=True):
    type: ItemType
    name: NonEmpty
    server_name: str = ""

    @property
    def key(self) -> ItemKey:
        """Return the item that the request names."""
        return item_key(self.type, self.name.strip(), self.server_name.strip())


class SessionItemReply(Struct, frozen=True):
    changed: bool
    text: Text[str]
    items: list[SessionItemEntry]


class SetContextRequest(SessionRequest, frozen=True, kw_only=True):
    set_name: NonEmpty
    items: Texts
    mode: SetMode = "replace"


class SetContextReply(Struct, frozen=True):
    text: Said[str]
    set_name: Said[str]
    items: Said[list[str]]
    added: Said[list[str]]
    removed: Said[list[str]]
    warnings: Said[list[str]]


class GetRelevantContextRequest(SessionRequest, frozen=True, kw_only=True):
    set_name: str | None = None


class RelevantContextReply(Struct, frozen=True):
    context: Said[dict[str, list[str]]]
    set_name: Said[str | UnsetType] = UNSET
    items: Said[list[str] | UnsetType] = UNSET
    warnings: Said[list[str] | UnsetType] = UNSET


class SessionMethods(EngineMethods):
    """The methods over one engine."""

    @method("CreateSession", policy="project", access="add")
    async def create(self, request: CreateSessionRequest) -> SessionReply:
        """Begin a session; it keeps the `agent_name`."""
        project = await self._engine.projects.at(request.cwd)
        session = await self._engine.begin_session(
            project,
            request.session_id,
            name=request.name,
            agent_name=request.agent_name,
            selection=request.selection,
        )
        return self._reply(session)

    @method("GetSession", policy="session", access="read")
    async def get(self, request: SessionRequest) -> SessionReply:
        """Return a session."""
        session = await self._engine.sessions.get(request.session_id)
        heard = (await self._engine.timeline.heard(session.id)).get(session.id, "")
        return self._reply(replace(session, last_observed=max(session.last_observed, heard)))

    @method("ListSessions", policy="list", access="read")
    async def list_sessions(self, request: ListSessionsRequest) -> SessionsReply:
        """List sessions, the most recently active first, without their content: `items` and `context_items`
        are numbers. `warnings` are about files that can't be read."""
        root = None if request.cwd is None else await self._engine.projects.root_of(request.cwd)
        found = await self._engine.sessions.list(root, await self._engine.timeline.heard())
        sessions = [reply_of(SessionSummaryReply, session) for session in found.sessions]
        return SessionsReply(sessions, list(found.warnings))

    @method("UpdateSession", policy="session", access="own")
    async def update(self, request: UpdateSessionRequest) -> SessionReply:
        """Change a session: all given fields or none. `context` replaces all sets."""
        given: tuple[tuple[ContextSetFields | None, SetMode], ...] = (
            (request.set_context, "replace"),
            (request.union_context, "merge"),
        )
        context = request.context
        change = SessionChange(
            name=request.name,
            current_intent=request.current_intent,
            env_hint=request.env_hint,
            selection=request.selection,
            context=None if context is None else {name: items or () for name, items in context.items()},
            sets=tuple((part.set_name, part.items, mode) for part, mode in given if part is not None),
        )
        session, outcomes = await self._engine.sessions.update(request.session_id, change)
        warnings = dict.fromkeys(warning for outcome in outcomes for warning in outcome.warnings)
        return self._reply(session, list(warnings))

    @method("ResumeSession", policy="session", access="own")
    async def resume(self, request: ResumeRequest) -> ResumeReply:
        """Resume a session; it gets the `always` items added in the meantime. With `keeps_window` the agent
        still has what it was sent before, so that `delta` goes on from there."""
        sessions, is_heard = self._engine.sessions, request.agent.is_named
        session, resume = await sessions.resume(request.session_id, is_heard=is_heard)
        if not request.keeps_window:
            self._engine.context_log.forget_window(session.id)
        return ResumeReply(
            session.id,
            resume.text,
            _sets(resume.context),
            list(resume.missing_files),
            resume.summary,
            _applet(resume.applet),
        )

    @method("EndSession", policy="session", access="own")
    async def end(self, request: SessionRequest) -> EndReply:
        """End a session; it is kept and can be resumed."""
        session = await self._engine.sessions.end(request.session_id)
        return EndReply(session.id, session.ended)

    @method("AddSessionItem", policy="session", access="own")
    async def add_item(self, request: SessionItemRequest) -> SessionItemReply:
        """Add an item to a session by hand."""
        if await self._hides(request):
            raise unknown_item(request.key)
        return _item_reply(*await self._engine.sessions.add_item(request.session_id, request.key))

    @method("RemoveSessionItem", policy="session", access="own")
    async def remove_item(self, request: SessionItemRequest) -> SessionItemReply:
        """Take an item out of a session by hand."""
        if await self._hides(request):
            session = await self._engine.sessions.get(request.session_id)
            return _item_reply(session, item_is_not_there(request.key))
        return _item_reply(*await self._engine.sessions.remove_item(request.session_id, request.key))

    def _reply(self, session: Session, warnings: list[str] | UnsetType = UNSET) -> SessionReply:
        """Return a session in the form of the wire; times are None if they never occurred."""
        return reply_of(
            SessionReply,
            session,
            items=_items(session),
            removed=[item_name(key) for key in session.removed],
            applet=_applet(self._engine.sessions.applet_of(session)),
            warnings=warnings,
        )

    async def _hides(self, request: SessionItemRequest) -> bool:
        """Whether an item is hidden from the agent, for whom it doesn't exist."""
        state, key = await self._engine.sessions.find(request.session_id), request.key
        if state.session is None:
            return False
        root = state.session.project_root
        policy = (await self._engine.permissions.view(root, request.agent, None, state)).policy
        if not policy.is_limited:
            return False
        is_named = policy.denies_item(key.type, key.name, key.server_name) or policy.denies(key.name)
        return is_named or key in await self._engine.permissions.denied_items(root, policy)

    @method("SetRelevantContext", policy="session", access="own")
    async def set_context(self, request: SetContextRequest) -> SetContextReply:
        """Set a context set of a session, or with `merge` add to it."""
        change = SessionChange(sets=((request.set_name, request.items, request.mode),))
        _, outcomes = await self._engine.sessions.update(request.session_id, change)
        return reply_of(SetContextReply, outcomes[0])

    @method("GetRelevantContext", policy="session", access="read")
    async def get_context(self, request: GetRelevantContextRequest) -> RelevantContextReply:
        """Return the context sets of a session; with a `set_name` that one alone, and its `items`."""
        session = await self._engine.sessions.get(request.session_id)
        name = request.set_name
        if name is None:
            return RelevantContextReply(_sets(session.context))
        items = list(session.context.get(name, ()))
        return RelevantContextReply({name: items}, name, items, list(name_warnings(name)))


def _applet(applet: Applet | None) -> AppletReply | None:
    return None if applet is None else reply_of(AppletReply, applet)


def _items(session: Session) -> list[SessionItemEntry]:
    return [reply_of(SessionItemEntry, item) for item in session.items]


def _item_reply(session: Session, outcome: ItemOutcome) -> SessionItemReply:
    return SessionItemReply(outcome.changed, outcome.text, _items(session))


def _sets(context: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(entries) for name, entries in context.items()}
