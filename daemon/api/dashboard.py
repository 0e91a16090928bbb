"""Owns the methods about the dashboard: who may open it and who is let in; knows no wire and no page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..app.dashboard import LOOPBACK, Dashboard
from ..app.dashboard_access import CODE_S, Admission
from ..config.editor_links import editor_template
from ..core.errors import InvalidRequest
from ..core.parameters import Parameters
from .method_parts import Method

WAYS_IN = ("cookie", "code", "token")


class DashboardMethods:
    """The methods by name over one dashboard."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard
        self.methods: Mapping[str, Method] = {
            "OpenDashboard": self._open,
            "CheckDashboard": self._check,
            "RevokeDashboard": self._revoke,
        }

    async def _open(self, parameters: Parameters) -> dict[str, Any]:
        login = parameters.flag("login", default=True)
        address = f"http://{LOOPBACK}:{await self._dashboard.open()}/"
        access = self._dashboard.access
        reply: dict[str, Any] = {"address": address, "token": access.token, "remark": self._dashboard.remark}
        if login:
            reply |= {"url": f"{address}login?code={access.new_code()}", "code_expires_s": CODE_S}
        return reply

    async def _check(self, parameters: Parameters) -> dict[str, Any]:
        given = [name for name in WAYS_IN if parameters.has(name)]
        if len(given) != 1:
            raise InvalidRequest(f"give exactly one of {', '.join(WAYS_IN)}", given[0] if given else "cookie")
        access, secret = self._dashboard.access, parameters.text(given[0])
        if given[0] == "token":
            return self._told(access.is_token(secret), None)
        admission = await (access.redeem(secret) if given[0] == "code" else access.admit(secret))
        return self._told(admission is not None, admission)

    async def _revoke(self, parameters: Parameters) -> dict[str, Any]:
        return {"revoked": await self._dashboard.access.revoke()}

    def _told(self, allowed: bool, admission: Admission | None) -> dict[str, Any]:
        editor = editor_template(self._dashboard.config.editor)
        reply = {"allowed": allowed, "editor": editor, "port": self._dashboard.port}
        if admission is not None:
            reply["csrf"] = admission.csrf
            if admission.cookie:
                reply["cookie"] = admission.cookie
        return reply
