"""Owns the methods about requests that were answered: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec.structs import asdict

from ..app.engine import Engine
from ..core.errors import NotFound, TooLarge
from ..core.parameters import Parameters
from ..rules.item_draft import key_in
from ..rules.item_keys import ItemKey
from ..sessions.item_usage import Reported
from ..sessions.request_log import Recalled
from ..sessions.request_messages import conversation
from ..sessions.request_record import key_map, record_map
from ..sessions.request_table import RequestSummary

Method = Callable[[Parameters], Awaitable[dict[str, Any]]]

LIST_LIMIT = 1_000

ANSWER_CHARACTERS = 16 * 1024 * 1024
"""A message on the wire has as many bytes at most, and a character takes one or more."""


class RequestMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._requests = engine.requests
        self.methods: Mapping[str, Method] = {
            "ListRequests": self._list,
            "GetRequest": self._get,
            "ExportRequests": self._export,
            "ReportReply": self._report,
        }

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        session_id = parameters.text("session_id", empty=False)
        limit = parameters.integer("limit", 100, 0, LIST_LIMIT) or 0
        before = parameters.text("before", "")
        requests = await self._requests.list(session_id, limit, before)
        if not requests and not before and not await self._is_session(session_id):
            raise _no_session(session_id)
        return {"requests": [_summary_map(one) for one in requests]}

    async def _is_session(self, session_id: str) -> bool:
        met = await self._engine.sessions.find(session_id)
        return met.session is not None or bool(met.problem)

    async def _get(self, parameters: Parameters) -> dict[str, Any]:
        session_id = parameters.text("session_id", empty=False)
        request_id = parameters.text("request_id", empty=False)
        content = parameters.flag("content", True)
        request = await self._requests.get(session_id, request_id)
        if content and request.sent is not None and request.sent.characters > ANSWER_CHARACTERS:
            # Said before it is packed, which would take some 20 ms of everybody's time.
            raise TooLarge(
                f"what was sent with {request_id} takes {request.sent.characters:,} characters, "
                f"a message has at most {ANSWER_CHARACTERS:,} bytes; ask with content = false"
            )
        return request_map(request, content=content)

    async def _export(self, parameters: Parameters) -> dict[str, Any]:
        session_id, root = parameters.optional_text("session_id"), None
        since, before = parameters.text("since", ""), parameters.text("before", "")
        limit = parameters.integer("limit", 100, 1, LIST_LIMIT) or 1
        content = parameters.flag("content")
        if session_id is None:
            root = await self._engine.projects.root_of(parameters.text("cwd"))
        page = await self._requests.export(
            session_id=session_id,
            project_root=root,
            since=since,
            before=before,
            limit=limit,
            content=content,
        )
        if session_id is not None and not page.requests and not await self._is_session(session_id):
            raise _no_session(session_id)
        requests = [request_map(one, content=content) for one in page.requests]
        return {"requests": requests, **({"next": page.next} if page.next else {})}

    async def _report(self, parameters: Parameters) -> dict[str, Any]:
        session_id = parameters.text("session_id", empty=False)
        request_id = parameters.text("request_id", empty=False)
        reply = parameters.text("reply", "")
        used = [key_in(one.fields, "used.") for one in parameters.maps("used")]
        reported = await self._requests.report(session_id, request_id, reply, used)
        await self._learn(session_id, request_id, reply, reported)
        return {
            "referred": [key_map(key) for key in reported.referred],
            "unknown": [key_map(key) for key in reported.unknown],
        }

    async def _learn(self, session_id: str, request_id: str, reply: str, reported: Reported) -> None:
        """Let the items weigh more that a reply referred to, and the files that it names."""
        record = (await self._requests.get(session_id, request_id)).record
        project = self._engine.projects.get(record.project_root)
        if project is not None:
            paths = (one.path for one in record.slices if one.path and one.path in reply)
            project.feedback.used([*map(_slice_id, reported.referred), *dict.fromkeys(paths)])
            await self._engine.projects.save_feedback(project)


def request_map(request: Recalled, *, content: bool) -> dict[str, Any]:
    """Return a request as the wire has it; with `content` what was sent, as far as it is kept."""
    found = record_map(request.record)
    found = {"request_id": found.pop("id"), **found}
    found["project"] = found.pop("project_root")
    referred = request.referred
    found["referred"] = None if referred is None else [key_map(key) for key in referred]
    found["problem"] = request.problem
    sent = request.sent
    if content and sent is not None:
        found |= {"context": sent.context, "system_prompt": sent.system_prompt}
        found |= {"user_prompt": sent.user_prompt, **conversation(sent)}
    return found


def _slice_id(key: ItemKey) -> str:
    """Return the id of an item's slice, by which feedback knows it."""
    return f"{key.type}:{key.server_name}/{key.name}" if key.server_name else f"{key.type}:{key.name}"


def _no_session(session_id: str) -> NotFound:
    return NotFound(f"no session {session_id!r:.130} and no request of it; ListSessions names what there is")


def _summary_map(summary: RequestSummary) -> dict[str, Any]:
    found = asdict(summary)
    found = {"request_id": found.pop("id"), **found}
    found["project"] = found.pop("project_root")
    return found
