"""The error codes of the wire and the clients' exceptions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

UNKNOWN_METHOD: Final = "unknown_method"
INVALID_PARAMS: Final = "invalid_params"
NOT_FOUND: Final = "not_found"
PERMISSION_DENIED: Final = "permission_denied"
PROJECT_UNAVAILABLE: Final = "project_unavailable"
TOO_LARGE: Final = "too_large"
TIMEOUT: Final = "timeout"
BUSY: Final = "busy"
UNSUPPORTED: Final = "unsupported"
INTERNAL: Final = "internal"
# A newer daemon may send other codes: clients keep them unchanged.


class DaemonUnavailable(Exception):
    """No daemon answers and none could be started. The message says why and what to run."""


class RpcError(Exception):
    """A request that failed: raised by handlers and, on the other side, by the clients' `call`.

    `code` is one of those above, `message` says what was wrong and what to do, `data` holds details for
    programs; for `invalid_params` its `field` names the parameter.
    """

    def __init__(self, code: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = None if data is None else dict(data)

    def __repr__(self) -> str:
        return f"RpcError({self.code!r}, {self.message!r}, {self.data!r})"

    def to_map(self) -> dict[str, Any]:
        """Return the wire's map `{code, message, data?}`."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error

    @classmethod
    def from_map(cls, error: Mapping[str, Any]) -> RpcError:
        """Read the wire's map. Never raises: missing or wrongly typed fields are filled in."""
        code, message, data = error.get("code"), error.get("message"), error.get("data")
        return cls(
            code if isinstance(code, str) else INTERNAL,
            message if isinstance(message, str) else f"the peer gave no message: {dict(error)!r}",
            data if isinstance(data, dict) else None,
        )
