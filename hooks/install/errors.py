"""Errors of the installer, raised before anything is written."""

from __future__ import annotations


class InstallError(Exception):
    """A file can't be changed as asked. `str()` is fit for a person, `hint` says what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UnreadableText(InstallError):
    """A settings file that its host can't read; `line` and `column` count from 1, in characters."""

    def __init__(self, what: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {what}", "mend the file first, nothing was changed")
        self.line = line
        self.column = column


def unreadable_at(text: str, position: int, what: str) -> UnreadableText:
    """Return the error for a position in a text."""
    before = text[:position]
    line = before.count("\n") + 1
    return UnreadableText(what, line, position - (before.rfind("\n") + 1) + 1)
