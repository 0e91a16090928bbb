"""Reads files for a context: decoded, with secrets masked, and with a stamp to detect later changes."""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..core.sized_cache import SizedCache
from ..core.system import Stamp, System, is_racy, stamp_of
from ..languages.shared.notebook import is_notebook, read_limit, source_of
from ..privacy.policy import NO_POLICY, Policy
from .text_kind import classify_content
from .tree import FileRecord

DIGEST_BYTES = 16


class Shown(Struct, frozen=True):
    """The state of a shown file when it was read. `path` is absolute.

    With `racy` the stamp alone doesn't prove that the content is unchanged (see `RACY_NS`). `digest` covers
    the first `length` bytes, as many as were read.
    """

    path: str
    stamp: Stamp
    digest: bytes
    length: int
    racy: bool


class Content(Struct, frozen=True):
    """A file's decoded text with its state on disk. `problem` says in words why there is no text.

    Values that look like secrets are masked; the lines stay the same otherwise.
    """

    text: str
    shown: Shown | None
    problem: str = ""
    cut: bool = False
    """Whether the file is larger than the limit, and `text` only its beginning."""
    hidden: bool = False
    """Whether the policy hides the file; `problem` names the rule."""
    masked: bool = False
    """Whether a secret was masked; other texts made from this file may hold the same secret."""


class ContentReader:
    """Reads files below one root, each once. Blocks: use it in a thread.

    A file outside of the root is read by its absolute path if it lies in one of the folders `outside`, which
    the user allowed. `overlays` are unsaved editor buffers by relative path; they replace the file. Files
    that the policy hides are not read, whatever path or symlink leads to them.
    """

    def __init__(
        self,
        root: str,
        system: System,
        max_bytes: int,
        overlays: Mapping[str, str],
        policy: Policy = NO_POLICY,
        outside: Sequence[str] = (),
    ) -> None:
        self._root = root
        self._system = system
        self._max_bytes = max_bytes
        self._overlays = overlays
        self._policy = policy
        self._outside = outside
        self._read: dict[str, Content] = {}

    def read(self, path: str) -> Content:
        """Return the content of a file by its relative path."""
        content = self._read.get(path)
        if content is None:
            content = self._read[path] = self._load(path)
        return content

    def unsaved(self, path: str) -> bool:
        """Whether an unsaved editor buffer replaces the file."""
        return path in self._overlays

    def _load(self, path: str) -> Content:
        content = self._load_whole(path)
        if not content.text or not self._policy.mask_values:
            return content
        # The digest for an unsaved buffer is that of the file on disk, so it is no key for the buffer.
        shown = None if path in self._overlays else content.shown
        key = None if shown is None else (shown.digest, read_limit(path, self._max_bytes))
        masked = None if key is None else MASKED.get(key)
        if masked is None:
            text = self._policy.mask(content.text)
            masked = "" if text == content.text else text
            if key is not None:
                MASKED.put(key, masked, len(masked) or CLEAN_SIZE)
        return replace(content, text=masked, masked=True) if masked else content

    def _load_whole(self, path: str) -> Content:
        if hidden := self._policy.why_hidden(path):
            return Content("", None, hidden, hidden=True)
        if path == ".git" or path.startswith(".git/"):
            return Content("", None, "it belongs to git, whose settings may hold passwords")
        full = os.path.join(self._root, path)
        # A checkout may have replaced a scanned file by a symlink that leads out of the project.
        try:
            real = os.path.realpath(full)
        except ValueError:
            return Content("", None, "its name holds a NUL")
        if os.path.isabs(path):
            if problem := self._problem_outside(real):
                return Content("", None, problem)
        elif real != self._root and not real.startswith(self._root.rstrip("/") + "/"):
            return Content("", None, "it leads out of the project through a symlink")
        if hidden := self._policy.why_hidden(real[len(self._root.rstrip("/")) + 1 :]):
            return Content("", None, f"it is a symlink to a file that isn't shown: {hidden}", hidden=True)
        # Taken before reading: a write during the read may leave the modification time unchanged.
        now = self._system.time_ns()
        try:
            data, status = self._system.read(real, read_limit(path, self._max_bytes) + 1)
        except OSError as error:
            if path in self._overlays:
                return self._unsaved_content(path, None)
            return Content("", None, f"it can't be read ({error.strerror or error})")
        stamp = stamp_of(status)
        shown = Shown(full, stamp, digest_of(data), len(data), is_racy(stamp, now))
        if path in self._overlays:
            return self._unsaved_content(path, shown)
        data = source_of(path, data)
        if classify_content(data):
            return Content("", shown, "it is binary")
        cut = len(data) > self._max_bytes
        return Content(decode(data[: self._max_bytes], cut=cut), shown, cut=cut)

    def _problem_outside(self, real: str) -> str:
        """Return why a file outside of the project may not be read, or ""."""
        named = (os.path.expanduser(folder) for folder in self._outside)
        folders = (os.path.realpath(folder) for folder in named if os.path.isabs(folder))
        if not any(real.startswith(folder.rstrip("/") + "/") for folder in folders):
            return "it lies outside of the project, and in no folder of context.outside_folders"
        return "it belongs to git, whose settings may hold passwords" if "/.git/" in real else ""

    def _unsaved_content(self, path: str, shown: Shown | None) -> Content:
        text = self._overlays[path]
        if is_notebook(path):
            text = decode(source_of(path, text.encode("utf-8", "replace")))
        return Content(text[: self._max_bytes], shown, cut=len(text) > self._max_bytes)


def digest_of(data: bytes) -> bytes:
    """Return the BLAKE2b-128 digest by which contents are compared."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def split_lines(text: str) -> list[str]:
    r"""Split a text at its line feeds, as the parser counts lines; the \r of a \r\n is no part of a line.

    Unlike `str.splitlines` it splits at nothing else, so that line numbers agree with compilers and editors.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def is_current(record: FileRecord | None, content: Content) -> bool:
    """Whether the index was built from the current content of a file on disk."""
    if record is None or content.shown is None:
        return False
    return bool(record.skipped) or record.digest == content.shown.digest


def count_lines(text: str) -> int:
    """Return the number of lines that `split_lines` would return."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def decode(data: bytes, *, cut: bool = False) -> str:
    """Decode a text file: UTF-8, UTF-16 or UTF-32 by byte order mark, else Latin-1, which never fails.

    With `cut` the data may end inside a character, which is then dropped.
    """
    for mark, encoding in _ENCODINGS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if cut and error.end == len(data) and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8-sig")
        return data.decode("latin-1")


_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


Key = tuple[bytes, int]
"""The digest of a file's content, and the maximum number of its bytes that are read, by which a notebook
differs from a copy with another name."""

MASKED_CHARACTERS = 6_000_000
"""Maximum characters of cached masked texts. Searching 100 KB for secrets takes 1 to 2 ms."""

CLEAN_SIZE = 200
"""Size of the cache entry of a file without secrets, in characters."""

MASKED = SizedCache[Key, str](MASKED_CHARACTERS)
"""Masked texts by their content, "" for a content without secrets; projects may share them."""
