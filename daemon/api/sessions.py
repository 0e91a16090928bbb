"""The methods about sessions: conversations, with their items, context sets and recorded requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from ..app.engine import Engine
from ..core.errors import NotFound, TooLarge
from ..core.parameters import NonEmpty, Texts
from ..rules.items import ItemKey, ItemType, item_key
from ..sessions.context_sets import SetMode, SetOutcome, name_warnings
from ..sessions.item_usage import Reported
from ..sessions.request_log import Recalled
from ..sessions.request_record import conversation, record_map
from ..sessions.service import SessionChange
from ..sessions.session import ItemOutcome, Session, SessionSummary
from .method import (
    AgentRequest,
    Items,
    ProjectRequest,
    SessionOrProjectRequest,
    SessionRequest,
    method,
    required_cwd,
)

LIST_LIMIT = 1_000

ANSWER_CHARACTERS = 16 * 1024 * 1024
"""Maximum bytes of a message on the wire; a character takes one or more."""

Selection = str | dict[str, Any]
"""A preset's name, `off`, or a map of settings that say how items are chosen."""


class ItemName(Struct, frozen=True):
    type: str
    name: str
    server_name: str | UnsetType = UNSET


class SessionItem(Struct, frozen=True, kw_only=True):
    type: str
    name: str
    server_name: str | UnsetType = UNSET
    include: str


class CreateSessionRequest(ProjectRequest, frozen=True, kw_only=True):
    session_id: str = ""
    name: str = ""
    selection: Selection | None = None


class SessionReply(Struct, frozen=True, kw_only=True):
    session_id: str
    project: str
    name: str
    agent_name: str
    created: str
    last_observed: str | None
    last_idle: str | None
    ended: str | None
    current_intent: str
    env_hint: str
    context: dict[str, list[str]]
    items: list[SessionItem]
    removed: list[ItemName]
    selection: dict[str, object]
    revision: int
    warnings: list[str] | UnsetType = UNSET


class ListSessionsRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None


class SessionSummaryReply(Struct, frozen=True, kw_only=True):
    session_id: str
    project: str
    name: str
    agent_name: str
    created: str
    last_observed: str | None
    last_idle: str | None
    ended: str | None
    current_intent: str
    items: int
    context_items: int
    revision: int


class SessionsReply(Struct, frozen=True):
    sessions: list[SessionSummaryReply]
    warnings: list[str]


class ContextSet(Struct, frozen=True):
    set_name: NonEmpty
    items: Texts


class UpdateSessionRequest(SessionRequest, frozen=True, kw_only=True):
    name: str | None = None
    current_intent: str | None = None
    env_hint: str | None = None
    selection: Selection | None = None
    context: dict[str, Texts | None] | None = None
    set_context: ContextSet | None = None
    union_context: ContextSet | None = None


class ResumeReply(Struct, frozen=True):
    session_id: str
    text: str
    context: dict[str, list[str]]
    missing_files: list[str]


class EndReply(Struct, frozen=True):
    session_id: str
    ended: str


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
    text: str
    items: list[SessionItem]


class SetContextRequest(SessionRequest, frozen=True, kw_only=True):
    set_name: NonEmpty
    items: Texts
    mode: SetMode = "replace"


class SetContextReply(Struct, frozen=True):
    text: str
    set_name: str
    items: list[str]
    added: list[str]
    removed: list[str]
    warnings: list[str]


class GetRelevantContextRequest(SessionRequest, frozen=True, kw_only=True):
    set_name: str | None = None


class RelevantContextReply(Struct, frozen=True):
    context: dict[str, list[str]]
    set_name: str | UnsetType = UNSET
    items: list[str] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET


class ListRequestsRequest(SessionRequest, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=0, le=LIST_LIMIT)] = 100
    before: str = ""


class RequestSummaryReply(
    Struct, frozen=True, kw_only=True, rename={"id": "request_id", "project_root": "project"}
):
    """A recorded request as a list has it, with the attributes of `RequestSummary`."""

    id: str
    session_id: str
    project_root: str
    at: str
    message_hash: str
    tokens: int
    bytes: int
    elapsed_ms: float
    items: int
    considered: int
    degraded: int
    pruned: str
    referred: int | None


class RequestsReply(Struct, frozen=True):
    requests: list[RequestSummaryReply]


class GetRequestRequest(SessionRequest, frozen=True, kw_only=True):
    request_id: NonEmpty
    content: bool = True


class RequestReply(Struct, frozen=True, kw_only=True):
    """A request as it was recorded, and what was sent with it."""

    request_id: str
    session_id: str
    project: str
    at: str
    message_hash: str
    agent_name: str
    format: str
    items: list[dict[str, Any]]
    considered: list[dict[str, Any]]
    slices: list[dict[str, Any]]
    tokens: int
    bytes: int
    elapsed_ms: float
    steps_ms: dict[str, float]
    degraded: list[str]
    dropped: list[dict[str, Any]] | UnsetType = UNSET
    masked: int | UnsetType = UNSET
    referred: list[ItemName] | None
    problem: str
    context: str | UnsetType = UNSET
    system_prompt: str | UnsetType = UNSET
    user_prompt: str | UnsetType = UNSET
    messages: list[dict[str, str]] | UnsetType = UNSET
    tools: dict[str, list[dict[str, Any]]] | UnsetType = UNSET


class ExportRequest(SessionOrProjectRequest, frozen=True, kw_only=True):
    since: str = ""
    before: str = ""
    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT)] = 100
    content: bool = False


class ExportReply(Struct, frozen=True):
    requests: list[RequestReply]
    next: str | UnsetType = UNSET


class ReportReplyRequest(SessionRequest, frozen=True, kw_only=True):
    request_id: NonEmpty
    reply: str = ""
    used: Items = ()


class ReportedReply(Struct, frozen=True):
    referred: list[ItemName]
    unknown: list[ItemName]


class SessionMethods:
    """The methods over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sessions = engine.sessions
        self._requests = engine.requests

    @method("CreateSession", policy="project")
    async def create(self, request: CreateSessionRequest) -> SessionReply:
        """Begin a session; it keeps the `agent_name`."""
        project = await self._engine.projects.at(request.cwd)
        session = await self._sessions.create(
            project,
            request.session_id,
            name=request.name,
            agent_name=request.agent_name,
            selection=request.selection,
        )
        self._engine.item_search.warm(project.root, project.instructions.items.items)
        self._engine.context_log.forget_window(session.id)
        return session_reply(session)

    @method("GetSession", policy="session")
    async def get(self, request: SessionRequest) -> SessionReply:
        """Return a session."""
        return session_reply(await self._sessions.get(request.session_id))

    @method("ListSessions", policy="list")
    async def list_sessions(self, request: ListSessionsRequest) -> SessionsReply:
        """List sessions, the last heard of first, without their content: `items` and `context_items` count.
        `warnings` are about files that can't be read."""
        root = None if request.cwd is None else await self._engine.projects.root_of(request.cwd)
        sessions = await self._sessions.list(root)
        return SessionsReply(
            [_summary(session) for session in sessions], list(self._sessions.take_warnings())
        )

    @method("UpdateSession", policy="session")
    async def update(self, request: UpdateSessionRequest) -> SessionReply:
        """Change a session: all that is given or nothing. `context` replaces all sets."""
        given: tuple[tuple[ContextSet | None, SetMode], ...] = (
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
        session, outcomes = await self._sessions.update(request.session_id, change)
        warnings = dict.fromkeys(warning for outcome in outcomes for warning in outcome.warnings)
        return session_reply(session, list(warnings))

    @method("ResumeSession", policy="session")
    async def resume(self, request: SessionRequest) -> ResumeReply:
        """Go on with a session; it gets the `always` items that came meanwhile."""
        session, resume = await self._sessions.resume(request.session_id)
        self._engine.context_log.forget_window(session.id)
        return ResumeReply(session.id, resume.text, _sets(resume.context), list(resume.missing_files))

    @method("EndSession", policy="session")
    async def end(self, request: SessionRequest) -> EndReply:
        """End a session; it is kept and can be resumed."""
        session = await self._sessions.end(request.session_id)
        return EndReply(session.id, session.ended)

    @method("AddSessionItem", policy="session")
    async def add_item(self, request: SessionItemRequest) -> SessionItemReply:
        """Add an item to a session by hand."""
        return _item_reply(*await self._sessions.add_item(request.session_id, request.key))

    @method("RemoveSessionItem", policy="session")
    async def remove_item(self, request: SessionItemRequest) -> SessionItemReply:
        """Take an item out of a session by hand."""
        return _item_reply(*await self._sessions.remove_item(request.session_id, request.key))

    @method("SetRelevantContext", policy="session")
    async def set_context(self, request: SetContextRequest) -> SetContextReply:
        """Set a context set of a session, or with `merge` add to it."""
        change = SessionChange(sets=((request.set_name, request.items, request.mode),))
        _, outcomes = await self._sessions.update(request.session_id, change)
        return _set_reply(outcomes[0])

    @method("GetRelevantContext", policy="session")
    async def get_context(self, request: GetRelevantContextRequest) -> RelevantContextReply:
        """Return the context sets of a session; with a `set_name` that one alone, and its `items`."""
        session = await self._sessions.get(request.session_id)
        name = request.set_name
        if name is None:
            return RelevantContextReply(_sets(session.context))
        items = list(session.context.get(name, ()))
        return RelevantContextReply({name: items}, name, items, list(name_warnings(name)))

    # Recorded requests

    @method("ListRequests", policy="session")
    async def list_requests(self, request: ListRequestsRequest) -> RequestsReply:
        """List the requests of a session, the latest first, those behind `before`; `items`, `considered`,
        `degraded` and `referred` count."""
        session_id = request.session_id
        requests = await self._requests.list(session_id, request.limit, request.before)
        if not requests and not request.before and not await self._is_session(session_id):
            raise _no_session(session_id)
        return RequestsReply(convert(requests, list[RequestSummaryReply], from_attributes=True))

    @method("GetRequest", policy="session")
    async def get_request(self, request: GetRequestRequest) -> RequestReply:
        """Return a request as it was recorded, and with `content` what was sent; below."""
        found = await self._requests.get(request.session_id, request.request_id)
        if request.content and found.sent is not None and found.sent.characters > ANSWER_CHARACTERS:
            # Said before it is packed, which would take some 20 ms of everybody's time.
            raise TooLarge(
                f"what was sent with {request.request_id} takes {found.sent.characters:,} characters, "
                f"a message has at most {ANSWER_CHARACTERS:,} bytes; ask with content = false"
            )
        return _request_reply(found, content=request.content)

    @method("ExportRequests", policy="session or project")
    async def export(self, request: ExportRequest) -> ExportReply:
        """Return recorded requests of a session or a project, the first first, each as GetRequest gives
        it, also of sessions that were never made or are gone. `next` is there where more may follow: give
        it as `since`. `since` and `before` are times or days in ISO 8601. A page ends where it gets large;
        what was sent is left out, and `problem` says so, where it alone takes more than a million
        characters."""
        session_id, root = request.session_id, None
        if session_id is None:
            root = await self._engine.projects.root_of(required_cwd(request.cwd))
        page = await self._requests.export(
            session_id=session_id,
            project_root=root,
            since=request.since,
            before=request.before,
            limit=request.limit,
            content=request.content,
        )
        if session_id is not None and not page.requests and not await self._is_session(session_id):
            raise _no_session(session_id)
        found = [_request_reply(recalled, content=request.content) for recalled in page.requests]
        return ExportReply(found, page.next or UNSET)

    @method("ReportReply", policy="session")
    async def report(self, request: ReportReplyRequest) -> ReportedReply:
        """Report what came of a request: `referred` are its items that the reply referred to, `unknown`
        those of `used: [{type, name, server_name?}]` that were not in it."""
        used = [item.key("used.") for item in request.used]
        session_id, request_id = request.session_id, request.request_id
        reported = await self._requests.report(session_id, request_id, request.reply, used)
        await self._learn(request, reported)
        return ReportedReply(
            [_item_name(key) for key in reported.referred], [_item_name(key) for key in reported.unknown]
        )

    async def _learn(self, request: ReportReplyRequest, reported: Reported) -> None:
        """Let the items weigh more that a reply referred to, and the files that it names."""
        record = (await self._requests.get(request.session_id, request.request_id)).record
        project = self._engine.projects.get(record.project_root)
        if project is not None:
            paths = (part.path for part in record.slices if part.path and part.path in request.reply)
            project.feedback.used([*map(_slice_id, reported.referred), *dict.fromkeys(paths)])
            await self._engine.projects.save_feedback(project)

    async def _is_session(self, session_id: str) -> bool:
        state = await self._sessions.find(session_id)
        return state.session is not None or bool(state.problem)


def session_reply(session: Session, warnings: list[str] | UnsetType = UNSET) -> SessionReply:
    """Return a session as the wire has it; times are None for never."""
    return SessionReply(
        session_id=session.id,
        project=session.project_root,
        name=session.name,
        agent_name=session.agent_name,
        created=session.created,
        last_observed=session.last_observed or None,
        last_idle=session.last_idle or None,
        ended=session.ended or None,
        current_intent=session.current_intent,
        env_hint=session.env_hint,
        context=_sets(session.context),
        items=_items(session),
        removed=[_item_name(key) for key in session.removed],
        selection=dict(session.selection),
        revision=session.revision,
        warnings=warnings,
    )


def _summary(summary: SessionSummary) -> SessionSummaryReply:
    return SessionSummaryReply(
        session_id=summary.id,
        project=summary.project_root,
        name=summary.name,
        agent_name=summary.agent_name,
        created=summary.created,
        last_observed=summary.last_observed or None,
        last_idle=summary.last_idle or None,
        ended=summary.ended or None,
        current_intent=summary.current_intent,
        items=summary.items,
        context_items=summary.context_items,
        revision=summary.revision,
    )


def _item_name(key: ItemKey) -> ItemName:
    return ItemName(key.type, key.name, key.server_name or UNSET)


def _items(session: Session) -> list[SessionItem]:
    return [
        SessionItem(
            type=item.key.type,
            name=item.key.name,
            server_name=item.key.server_name or UNSET,
            include=item.include,
        )
        for item in session.items
    ]


def _item_reply(session: Session, outcome: ItemOutcome) -> SessionItemReply:
    return SessionItemReply(outcome.changed, outcome.text, _items(session))


def _set_reply(outcome: SetOutcome) -> SetContextReply:
    return SetContextReply(
        outcome.text,
        outcome.set_name,
        list(outcome.items),
        list(outcome.added),
        list(outcome.removed),
        list(outcome.warnings),
    )


def _sets(context: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(entries) for name, entries in context.items()}


def _request_reply(request: Recalled, *, content: bool) -> RequestReply:
    """Return a request as the wire has it; with `content` what was sent, as far as it is kept."""
    found = record_map(request.record)
    found["request_id"] = found.pop("id")
    found["project"] = found.pop("project_root")
    referred, sent = request.referred, request.sent
    found["referred"] = None if referred is None else [_item_name(key) for key in referred]
    found["problem"] = request.problem
    if content and sent is not None:
        found |= {"context": sent.context, "system_prompt": sent.system_prompt}
        found |= {"user_prompt": sent.user_prompt, **conversation(sent)}
    return convert(found, RequestReply)


def _slice_id(key: ItemKey) -> str:
    """Return the id of an item's slice, by which feedback knows it."""
    return f"{key.type}:{key.server_name}/{key.name}" if key.server_name else f"{key.type}:{key.name}"


def _no_session(session_id: str) -> NotFound:
    return NotFound(f"no session {session_id!r:.130} and no request of it; ListSessions names what there is")
