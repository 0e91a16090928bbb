"""The methods about the dashboard: its address and its logins; knows no page."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from ..app.dashboard import CODE_S, LOOPBACK, Admission, Dashboard
from ..config.editor_links import editor_template
from ..core.errors import InvalidRequest
from .method import MethodRequest, method


class OpenDashboardRequest(MethodRequest, frozen=True):
    login: bool = True


class OpenDashboardReply(Struct, frozen=True):
    address: str
    token: str
    remark: str
    url: str | UnsetType = UNSET
    code_expires_s: float | UnsetType = UNSET


class CheckDashboardRequest(MethodRequest, frozen=True):
    cookie: str | None = None
    code: str | None = None
    token: str | None = None


class CheckDashboardReply(Struct, frozen=True):
    allowed: bool
    editor: str
    port: int
    csrf: str | UnsetType = UNSET
    cookie: str | UnsetType = UNSET


class RevokeDashboardReply(Struct, frozen=True):
    revoked: int


class DashboardMethods:
    """The methods over one dashboard."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    @method("OpenDashboard", policy="open")
    async def open(self, request: OpenDashboardRequest) -> OpenDashboardReply:
        """Open the dashboard. With `login`, `url` is an address that signs in one browser, once. `token` is
        for programs and valid until the daemon ends; `remark` says why the port isn't the wanted one, or is
        empty."""
        address = f"http://{LOOPBACK}:{await self._dashboard.open()}/"
        access = self._dashboard.access
        return OpenDashboardReply(
            address,
            access.token,
            self._dashboard.remark,
            f"{address}login?code={access.new_code()}" if request.login else UNSET,
            CODE_S if request.login else UNSET,
        )

    @method("CheckDashboard", policy="open")
    async def check(self, request: CheckDashboardRequest) -> CheckDashboardReply:
        """Check one of `cookie`, `code` and `token`. `editor` is the address that opens a file, with
        `{path}` and `{line}` to fill in, or empty; `csrf` what changes of this session must carry; `cookie`
        what the browser is to keep from now on, for a code and about once a day
        ([dashboard](dashboard.md))."""
        access = self._dashboard.access
        match (request.cookie, request.code, request.token):
            case (str(cookie), None, None):
                admission = await access.admit(cookie)
                return self._checked(admission is not None, admission)
            case (None, str(code), None):
                admission = await access.redeem(code)
                return self._checked(admission is not None, admission)
            case (None, None, str(token)):
                return self._checked(access.is_token(token), None)
        given = "cookie" if request.cookie is not None or request.code is None else "code"
        raise InvalidRequest("give exactly one of cookie, code, token", given)

    @method("RevokeDashboard", policy="open")
    async def revoke(self, request: MethodRequest) -> RevokeDashboardReply:
        """End all sessions, codes and the token; `revoked` counts the sessions."""
        return RevokeDashboardReply(await self._dashboard.access.revoke())

    def _checked(self, allowed: bool, admission: Admission | None) -> CheckDashboardReply:
        return CheckDashboardReply(
            allowed=allowed,
            editor=editor_template(self._dashboard.config.editor),
            port=self._dashboard.port,
            csrf=admission.csrf if admission is not None else UNSET,
            cookie=(admission.cookie or UNSET) if admission is not None else UNSET,
        )
