"""The daemon's exceptions. The wire's code for each is chosen in `api/handlers.py`.

Every file of the state folder that holds more than can be derived names the version of its content: a
database in SQLite's `user_version`, JSON in `version`, a line of a pool in `version` if it isn't 1. A file of
a newer version is no damage, and is left as it is.
"""

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


class OutsideProject(InvalidRequest):
    """A path of the caller's that leads out of the project; the message names nothing else."""


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


class NewerVersion(StateError):
    """A file was made by a newer version of this program: it is left as it is, and isn't replaced."""


def refuse_newer(path: str, found: object, known: int) -> None:
    """Raise `NewerVersion` if the version that a file names is newer than the one this program knows."""
    if type(found) is int and found > known:
        raise NewerVersion(f"{path} {made_by_newer(found, known)}")


def made_by_newer(found: int, known: int) -> str:
    """Return what a person is told about a newer file, to follow its name."""
    return (
        f"was made by a newer foveal (version {found}, this one knows {known}) and is left as it is: "
        "update foveal, or move the file away to start without it"
    )
