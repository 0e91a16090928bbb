"""Owns the methods about requests that were answered: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from .engine import Engine
from .errors import NotFound
from .item.item_draft import key_in
from .ledger.messages import conversation
from .ledger.recalled import Recalled
from .ledger.request_record import key_map, record_map
from .ledger.request_table import RequestSummary
from .parameters import Parameters

Method = Callable[[Parameters], Awaitable[dict[str, Any]]]

LIST_LIMIT = 1_000


class RequestMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._requests = engine.requests
        self.methods: Mapping[str, Method] = {
            "ListRequests": self._list,
            "GetRequest": self._get,
            "ReportReply": self._report,
        }

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        session_id = parameters.text("session_id", empty=False)
        limit = parameters.integer("limit", 100, 0, LIST_LIMIT) or 0
        before = parameters.text("before", "")
        requests = await self._requests.list(session_id, limit, before)
        if not requests and not before and await self._engine.sessions.find(session_id) is None:
            raise NotFound(
                f"no session {session_id!r:.130} and no request of it; ListSessions names what there is"
            )
        return {"requests": [_summary_map(one) for one in requests]}

    async def _get(self, parameters: Parameters) -> dict[str, Any]:
        session_id = parameters.text("session_id", empty=False)
        request_id = parameters.text("request_id", empty=False)
        content = parameters.flag("content", True)
        return request_map(await self._requests.get(session_id, request_id), content=content)

    async def _report(self, parameters: Parameters) -> dict[str, Any]:
        session_id = parameters.text("session_id", empty=False)
        request_id = parameters.text("request_id", empty=False)
        reply = parameters.text("reply", "")
        used = [key_in(one.fields, "used.") for one in parameters.maps("used")]
        reported = await self._requests.report(session_id, request_id, reply, used)
        return {
            "referred": [key_map(key) for key in reported.referred],
            "unknown": [key_map(key) for key in reported.unknown],
        }


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


def _summary_map(summary: RequestSummary) -> dict[str, Any]:
    found = asdict(summary)
    found = {"request_id": found.pop("id"), **found}
    found["project"] = found.pop("project_root")
    return found
