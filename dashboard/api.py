"""Addresses that answer scripts and programs: sessions as JSON, file names to complete, and changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from ..hooks.http import read_params, to_json
from ..ipc.aclient import DaemonLink
from ..ipc.errors import INVALID_PARAMS, UNKNOWN_METHOD, RpcError
from .view import Page, get

FIELDS: Final[Mapping[str, str]] = {
    "name": "name",
    "currentIntent": "current_intent",
    "envHint": "env_hint",
    "selection": "selection",
    "context": "context",
    "setContext": "set_context",
    "unionContext": "union_context",
}
"""The fields of a PATCH, with their names as parameters of UpdateSession; both names work."""

SET_FIELDS: Final[Mapping[str, str]] = {"setName": "set_name", "items": "items"}


class Api:
    """The addresses `/api/sessions` and `/api/sessions/{id}`, for a bearer or a signed-in page, and
    `POST /actions/{Method}`, with the method's parameters as a JSON object."""

    def __init__(self, link: DaemonLink) -> None:
        self._link = link

    def add_to(self, application: web.Application) -> None:
        """Serve the addresses."""
        application.router.add_get("/api/sessions", self._list)
        application.router.add_get("/api/sessions/{session_id}", self._get)
        application.router.add_patch("/api/sessions/{session_id}", self._change)
        application.router.add_post("/actions/{method}", self._act)

    async def _list(self, request: web.Request) -> web.Response:
        cwd = request.query.get("cwd")
        return _reply(await self._link.call("ListSessions", {} if cwd is None else {"cwd": cwd}))

    async def _get(self, request: web.Request) -> web.Response:
        session_id = request.match_info["session_id"]
        return _reply(await self._link.call("GetSession", {"session_id": session_id}))

    async def _change(self, request: web.Request) -> web.Response:
        changes = update_of(await read_params(request))
        session_id = request.match_info["session_id"]
        return _reply(await self._link.call("UpdateSession", {"session_id": session_id, **changes}))

    async def _act(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        if method not in METHODS:
            raise RpcError(UNKNOWN_METHOD, f"pages can't call {method!r:.80}; use the socket or foveal")
        return _reply(await self._link.call(method, await read_params(request)))


def update_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of UpdateSession for the body of a PATCH. Raises `RpcError` for an unknown
    field, so that a misspelt change doesn't seem done, and for null, which the wire takes as not given."""
    changes = _renamed(body, FIELDS, "")
    if not changes:
        raise RpcError(INVALID_PARAMS, f"nothing to change: give one of {', '.join(FIELDS)}")
    for name in ("set_context", "union_context"):
        if isinstance(changes.get(name), dict):
            changes[name] = _renamed(changes[name], SET_FIELDS, f"{name}.")
    return changes


def _renamed(given: Mapping[str, Any], names: Mapping[str, str], prefix: str) -> dict[str, Any]:
    for name, value in given.items():
        if names.get(name, name) not in names.values() or value is None:
            message = f"{prefix + name!r:.80} is null or no field; there are {', '.join(names)}"
            raise RpcError(INVALID_PARAMS, message, {"field": prefix + name})
    return {names.get(name, name): value for name, value in given.items()}


def _reply(value: Any) -> web.Response:
    # The final line break is for people: a shell's prompt follows on a line of its own.
    return web.Response(body=to_json(value) + b"\n", content_type="application/json")


METHODS: Final = frozenset(
    {
        "AddSessionItem",
        "CloseProject",
        "ContractFocus",
        "DeleteExperience",
        "DeleteItem",
        "EndSession",
        "ExcludePath",
        "ExpandFocus",
        "ForgetProject",
        "GetContext",
        "GraftExperience",
        "OpenProject",
        "PruneExperiences",
        "PutItem",
        "ReindexProject",
        "ReleaseScope",
        "RemoveSessionItem",
        "RestoreExperience",
        "ResumeSession",
        "RevokeTrust",
        "SetEmbedding",
        "SetRelevantContext",
        "SetToolMode",
        "UpdateExperience",
        "UpdateSession",
    }
)
"""The methods that pages may call to change something. Trust, ApproveToolServers and Shutdown are missing
on purpose: a click is too little for them."""


NAMES: Final = 20
"""Maximum number of names offered: more than a list shows at once."""


class FileNames(Page):
    """The address `/files`."""

    @get("/files")
    async def _serve(self, request: web.Request) -> web.Response:
        typed = request.query.get("q", "").strip()
        found: dict[str, Any] = {"files": []}
        if typed:
            root = (await self._view.project(request)).root  # of an open project: a GET opens none
            found = await self._view.call("FindFiles", cwd=root, query=typed, limit=NAMES)
        return web.json_response({"files": found["files"]})
