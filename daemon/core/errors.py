"""The daemon's exceptions. The wire's code for each is chosen in `api/handlers.py`."""

from __future__ import annotations

from collections.abc import Mapping


class FovealError(Exception):
    """Base of every error the daemon raises on purpose; `str()` is fit for a person to read.

    The message says what was wrong and what to do about it; `advice` is the part of it that names methods to
    call. It comes last, and the command line shows commands in its place.
    """

    def __init__(self, message: str = "", advice: str = "") -> None:
        super().__init__(f"{message} {advice}" if advice else message)
        self.advice = advice


class InvalidRequest(FovealError):
    """The caller's fault: a parameter that can't be used. `field` names it."""

    def __init__(self, message: str, field: str | None = None, advice: str = "") -> None:
        super().__init__(message, advice)
        self.field = field


class NotFound(FovealError):
    """The caller named something that doesn't exist (any more)."""


class PermissionDenied(FovealError):
    """A policy of the user or of the project forbids it."""


class ProjectUnavailable(FovealError):
    """The project can't be served now: its root is gone or its foveal.toml can't be read."""


class TooLarge(FovealError):
    """The input exceeds a documented limit."""


class DeadlineExceeded(FovealError):
    """The deadline passed before there was any answer, even an incomplete one."""


class Busy(FovealError):
    """A queue is full; the caller may try again."""


class Unsupported(FovealError):
    """A request that this version can't serve. `data` says what it does serve."""

    def __init__(self, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.data = data


class ConfigError(FovealError):
    """A configuration file that can't be used. The message names file, key and the expected type."""


class StateError(FovealError):
    """The state folder can't be used: unsafe owner or mode, a newer version, or another daemon's."""


class ChildDied(FovealError):
    """A child process ended while a request was waiting for it."""
