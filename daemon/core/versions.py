"""The versions of stored files: a file of a newer version is no damage, and is left as it is.

Every file of the state folder that holds more than can be derived names the version of its content: a
database in SQLite's `user_version`, JSON in `version`, a line of a pool in `version` if it isn't 1.
"""

from __future__ import annotations

from .errors import StateError


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
