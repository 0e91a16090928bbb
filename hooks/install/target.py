"""Owns one file that is to be changed, and what it becomes: with us, or as it was without us."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from .errors import InstallError, UnreadableText

BOM = "\ufeff"


class TargetPart(Protocol):
    """What we put into a file: our hooks, our MCP server, a block, or all of it."""

    def register(self, text: str) -> str:
        """Return a text with it, "" standing for no file. Raises `InstallError`."""

    def strip(self, text: str) -> str:
        """Return a text without it. Raises `InstallError`."""

    def holds(self, text: str) -> bool:
        """Whether it is in a text. Raises `InstallError`."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file of a host. `folders` around it go with it where they are empty, `within` bounds its links.

    `is_made` means that it is ours as a whole and no copy of it is worth keeping.
    """

    path: str
    parts: Sequence[TargetPart]
    folders: int
    within: str | None = None
    encoding: str = "utf-8"
    executable: bool = False
    is_made: bool = False

    def registered(self, data: bytes | None) -> bytes:
        """Return the file with us. Raises `InstallError` that names the file."""
        bom, text = self._decode(data)
        with self._named():
            for part in self.parts:
                text = part.register(text)
        return self._encode(bom, text)

    def stripped(self, data: bytes | None) -> bytes | None:
        """Return the file without us, None for none. Raises `InstallError` that names the file.

        A file of which so much is left as of one that was made for us is no file any more.
        """
        if data is None or not self.holds(data):
            return data
        left = self._stripped(data)
        return None if left == self._stripped(self.registered(None)) else left

    def restored(self, data: bytes, kept: bytes) -> bool:
        """Whether a copy is what a file was before us: the same but for our part, which the copy lacks.

        With us put in and taken out again the copy must come to what the file comes to without us.
        """
        try:
            return not self.holds(kept) and self._stripped(self.registered(kept)) == self._stripped(data)
        except InstallError:  # what can't be read can't be that
            return False

    def is_older(self, data: bytes, kept: bytes) -> bool:
        """Whether a copy is the same file with an older registration of ours."""
        try:
            return self.holds(kept) and self._stripped(kept) == self._stripped(data)
        except InstallError:  # as above
            return False

    def holds(self, data: bytes | None) -> bool:
        """Whether any part of us is in a file. Raises `InstallError` that names the file."""
        if data is None:
            return False
        _, text = self._decode(data)
        with self._named():
            return any(part.holds(text) for part in self.parts)

    def _stripped(self, data: bytes) -> bytes:
        bom, text = self._decode(data)
        with self._named():
            for part in self.parts:
                text = part.strip(text)
        return self._encode(bom, text)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Put the file's path in front of what is wrong with it."""
        try:
            yield
        except UnreadableText as error:
            raise InstallError(f"{self.path}, {error}", error.hint) from error
        except InstallError as error:
            raise InstallError(f"{self.path}: {error}", error.hint) from error

    def _decode(self, data: bytes | None) -> tuple[str, str]:
        """Return BOM and text. Raises `InstallError` for bytes that are no text."""
        try:
            text = (data or b"").decode(self.encoding)
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise InstallError(
                f"{self.path}, line {line}: it isn't UTF-8", "save it as UTF-8 first"
            ) from error
        bom = BOM if text.startswith(BOM) else ""
        return bom, text.removeprefix(bom)

    def _encode(self, bom: str, text: str) -> bytes:
        return f"{bom}{text}".encode(self.encoding)
