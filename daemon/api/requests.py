"""The methods about recorded requests: the texts sent to an agent, and the items its reply referred to.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from ..core.errors import NotFound, TooLarge
from ..core.parameters import NonEmpty
from ..engine.service import EngineMethods
from ..sessions.records import ExportQuery, LoggedRequest
from ..sessions.service import conversation, record_map
from .context_replies import ConsideredItemReply, DroppedSliceReply, RecordedItem, SentFields, ShownSlice
from .marks import Count, Owner, Plain, Remark, Root, Said, Text
from .method import (
    ItemName,
    Items,
    SessionOrProjectRequest,
    SessionRequest,
    item_name,
    method,
    required_cwd,
)

LIST_LIMIT = 1_000

ANSWER_BYTES = 8 * 1024 * 1024
"""Maximum bytes of a recorded request in an answer: prompts are in it twice, and a message of the wire has
16 MiB."""


class ListRequestsRequest(SessionRequest, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=0, le=LIST_LIMIT)] = 100
    before: str = ""


class RequestSummaryReply(
    Struct, frozen=True, kw_only=True, rename={"id": "request_id", "project_root": "project"}
):
    """A recorded request in a list, with the attributes of `RequestSummary`."""

    id: Plain[str]
    session_id: Text[str]
    project_root: Root[str]
    at: Plain[str]
    message_hash: Said[str]
    tokens: Count[int]
    bytes: Count[int]
    elapsed_ms: Count[float]
    items: Count[int]
    considered: Count[int]
    degraded: Count[int]
    pruned: Plain[str]
    referred: Count[int | None]


class RequestsReply(Struct, frozen=True):
    requests: list[RequestSummaryReply]


class GetRequestRequest(SessionRequest, frozen=True, kw_only=True):
    request_id: NonEmpty
    content: bool = True


class RequestReply(SentFields, frozen=True, kw_only=True):
    """A recorded request and the texts sent with it."""

    request_id: Plain[str]
    session_id: Text[str]
    project: Root[str]
    at: Plain[str]
    message_hash: Said[str]
    agent_name: Owner[str]
    format: Plain[str]
    items: list[RecordedItem]
    considered: list[ConsideredItemReply]
    slices: list[ShownSlice]
    tokens: Count[int]
    bytes: Count[int]
    elapsed_ms: Count[float]
    steps_ms: Count[dict[str, float]]
    degraded: Said[list[str]]
    dropped: list[DroppedSliceReply] | UnsetType = UNSET
    masked: Count[int | UnsetType] = UNSET
    referred: list[ItemName] | None
    problem: Remark[str]


class ExportRequest(SessionOrProjectRequest, frozen=True, kw_only=True):
    since: str = ""
    before: str = ""
    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT)] = 100
    content: bool = False


class ExportReply(Struct, frozen=True):
    requests: list[RequestReply]
    next: Plain[str | UnsetType] = UNSET


class ReportReplyRequest(SessionRequest, frozen=True, kw_only=True):
    request_id: NonEmpty
    reply: str = ""
    used: Items = ()


class ReportedReply(Struct, frozen=True):
    referred: list[ItemName]
    unknown: list[ItemName]


class RequestMethods(EngineMethods):
    """The methods over one engine."""

    @method("ListRequests", policy="session", access="read")
    async def list_requests(self, request: ListRequestsRequest) -> RequestsReply:
        """List the requests of a session, the latest first. With `before`, the id of a request, only older
        requests are listed. `items`, `considered`, `degraded` and `referred` are numbers."""
        session_id = request.session_id
        requests = await self._engine.deliveries.requests(session_id, request.limit, request.before)
        if not requests and not request.before and not await self._is_session(session_id):
            raise _no_session(session_id)
        return RequestsReply(convert(requests, list[RequestSummaryReply], from_attributes=True))

    @method("GetRequest", policy="session", access="read")
    async def get_request(self, request: GetRequestRequest) -> RequestReply:
        """Return a recorded request, with `content` also the texts that were sent; below."""
        found = await self._engine.deliveries.request(request.session_id, request.request_id)
        if request.content and found.sent is not None and found.size > ANSWER_BYTES:
            # Refused before it is packed, which would block the event loop for some 20 ms.
            raise TooLarge(
                f"what was sent with {request.request_id} takes {found.size:,} bytes, "
                f"an answer has room for {ANSWER_BYTES:,}; ask with content = false"
            )
        return _request_reply(found, content=request.content)

    @method("ExportRequests", policy="session or project", access="read")
    async def export(self, request: ExportRequest) -> ExportReply:
        """Return recorded requests of a session or a project, the oldest first, each as GetRequest returns
        it, including requests of sessions that aren't stored. `next` is present if more may follow: pass it
        as `since`. `since` and `before` are times or days in ISO 8601. Large pages end early. If the texts of
        one request take more than a megabyte, they are left out, and `problem` says so."""
        session_id, root = request.session_id, None
        if session_id is None:
            root = await self._engine.projects.root_of(required_cwd(request.cwd))
        query = ExportQuery(
            session_id=session_id,
            project_root=root,
            since=request.since,
            before=request.before,
            limit=request.limit,
            content=request.content,
        )
        page = await self._engine.deliveries.export(query)
        if session_id is not None and not page.requests and not await self._is_session(session_id):
            raise _no_session(session_id)
        found = [_request_reply(logged, content=request.content) for logged in page.requests]
        return ExportReply(found, page.next or UNSET)

    @method("ReportReply", policy="session", access="own")
    async def report(self, request: ReportReplyRequest) -> ReportedReply:
        """Report the use of a request. `referred` are the request's items that the reply referred to;
        `unknown` are items in `used: [{type, name, server_name?}]` that were not in the request."""
        used = [item.key("used.") for item in request.used]
        session_id, request_id = request.session_id, request.request_id
        reported = await self._engine.deliveries.report(session_id, request_id, request.reply, used)
        record = (await self._engine.deliveries.request(session_id, request_id)).record
        paths = dict.fromkeys(part.path for part in record.slices if part.path and part.path in request.reply)
        self._engine.timeline.named(session_id, paths)
        return ReportedReply(
            [item_name(key) for key in reported.referred], [item_name(key) for key in reported.unknown]
        )

    async def _is_session(self, session_id: str) -> bool:
        state = await self._engine.sessions.find(session_id)
        return state.session is not None or bool(state.problem)


def _request_reply(request: LoggedRequest, *, content: bool) -> RequestReply:
    """Return a request in the form of the wire; with `content` also the texts that are still stored."""
    found = record_map(request.record)
    found["request_id"] = found.pop("id")
    found["project"] = found.pop("project_root")
    referred, sent = request.referred, request.sent
    found["referred"] = None if referred is None else [item_name(key) for key in referred]
    found["problem"] = request.problem
    if content and sent is not None:
        found |= {"context": sent.context, "system_prompt": sent.system_prompt}
        found |= {"user_prompt": sent.user_prompt, **conversation(sent)}
    return convert(found, RequestReply)


def _no_session(session_id: str) -> NotFound:
    return NotFound(
        f"no session {session_id!r:.130} and no request of it;", "ListSessions names what there is"
    )
