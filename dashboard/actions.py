"""Owns what a page may change: the daemon's methods that it may call, by name; knows no method's meaning."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from ..hooks.http import read_params, to_json
from ..ipc.errors import UNKNOWN_METHOD, RpcError
from ..ipc.link import DaemonLink

METHODS: Final = frozenset(
    {
        "AddSessionItem",
        "CloseProject",
        "ContractFocus",
        "DeleteExperience",
        "DeleteItem",
        "EndSession",
        "ExpandFocus",
        "GetContext",
        "OpenProject",
        "PruneExperiences",
        "PutItem",
        "ReindexProject",
        "ReleaseScope",
        "RemoveSessionItem",
        "RestoreExperience",
        "ResumeSession",
        "SetEmbedding",
        "SetRelevantContext",
        "SetToolMode",
        "UpdateExperience",
        "UpdateSession",
    }
)
"""Reading is done by pages. What lets a project run or show more (Trust, ApproveToolServers) and Shutdown are
left to the command line on purpose: a click is too little for them."""


class Actions:
    """The address `POST /actions/{Method}`, with the method's parameters as a JSON object."""

    def __init__(self, link: DaemonLink) -> None:
        self._link = link

    def add_to(self, application: web.Application) -> None:
        """Serve the address."""
        application.router.add_post("/actions/{method}", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        if method not in METHODS:
            raise RpcError(UNKNOWN_METHOD, f"pages can't call {method!r:.80}; use the socket or foveal")
        return web.Response(
            body=to_json(await self._link.call(method, await read_params(request))),
            content_type="application/json",
        )
