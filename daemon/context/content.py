"""Reads the files of a project for a context, with the stamp that shows whether they changed since."""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Mapping, Sequence
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from ..core.sized_cache import SizedCache
from ..core.system import Stamp, System, is_racy, stamp_of
from ..index.text_kind import classify_content
from ..privacy.policy import NO_POLICY, Policy

DIGEST_BYTES = 16


class Shown(Struct, frozen=True):
    """A file whose content a context shows, as it was when it was read. `path` is absolute.

    With `racy` the stamp alone doesn't prove that the content is the same (see `RACY_NS`). `digest` is that
    of the first `length` bytes, as many as were read.
    """

    path: str
    stamp: Stamp
    digest: bytes
    length: int
    racy: bool


class Content(Struct, frozen=True):
    """A file's text, decoded, and what proves it. `problem` says why there is no text: in words.

    Values in it that look like secrets are masked, line by line as they stood.
    """

    text: str
    shown: Shown | None
    problem: str = ""
    cut: bool = False
    """The file is larger than the limit; `text` is its beginning."""
    hidden: bool = False
    """Nothing of it may be shown, and `problem` says by which rule."""
    masked: bool = False
    """Something in it was masked, so that other texts made of it may hold the same secret."""

    @property
    def digest(self) -> bytes | None:
        """The file's digest where it identifies the text: neither masked nor cut, no unsaved buffer."""
        return None if self.shown is None or self.masked or self.cut else self.shown.digest


class ContentReader:
    """Reads files below one root, each once; from a thread, since it blocks.

    A file elsewhere is read by its absolute path, if it lies in one of the folders `outside`, which the user
    allowed. `overlays` are unsaved buffers of editors by relative path: they stand in for the file. What a
    policy hides is not read, whatever the name under which it is asked for.
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
        """Whether an editor's unsaved buffer stands in for the file."""
        return path in self._overlays

    def _load(self, path: str) -> Content:
        content = self._load_whole(path)
        if not content.text or not self._policy.mask_values:
            return content
        # Of an unsaved buffer the digest is that of the file below it.
        shown = None if path in self._overlays else content.shown
        key = None if shown is None else (shown.digest, self._max_bytes)
        if key in CLEAN:
            return content
        text = None if key is None else MASKED.get(key)
        if text is None:
            text = self._policy.mask(content.text)
            if key is not None and text == content.text:
                CLEAN.add(key)
            elif key is not None:
                MASKED.put(key, text, len(text))
        return content if text == content.text else replace(content, text=text, masked=True)

    def _load_whole(self, path: str) -> Content:
        if hidden := self._policy.why_hidden(path):
            return Content("", None, hidden, hidden=True)
        if path == ".git" or path.startswith(".git/"):
            return Content("", None, "it belongs to git, whose settings may hold passwords")
        full = os.path.join(self._root, path)
        # A checkout may have put a symlink out of the project in the place of a file that was scanned.
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
            return Content("", None, f"what it leads to as a symlink isn't shown: {hidden}", hidden=True)
        # Taken before the read: a write while it lasts may leave the time of the last one unchanged.
        now = self._system.time_ns()
        try:
            data, status = self._system.read(real, self._max_bytes + 1)
        except OSError as error:
            if path in self._overlays:
                return self._unsaved_content(path, None)
            return Content("", None, f"it can't be read ({error.strerror or error})")
        stamp = stamp_of(status)
        shown = Shown(full, stamp, digest_of(data), len(data), is_racy(stamp, now))
        if path in self._overlays:
            return self._unsaved_content(path, shown)
        if classify_content(data):
            return Content("", shown, "it is binary")
        cut = len(data) > self._max_bytes
        return Content(decode(data[: self._max_bytes], cut=cut), shown, cut=cut)

    def _problem_outside(self, real: str) -> str:
        """Return why a file outside of the project isn't read, or ""."""
        named = (os.path.expanduser(folder) for folder in self._outside)
        folders = (os.path.realpath(folder) for folder in named if os.path.isabs(folder))
        if not any(real.startswith(folder.rstrip("/") + "/") for folder in folders):
            return "it lies outside of the project, and in no folder of context.outside_folders"
        return "it belongs to git, whose settings may hold passwords" if "/.git/" in real else ""

    def _unsaved_content(self, path: str, shown: Shown | None) -> Content:
        text = self._overlays[path]
        return Content(text[: self._max_bytes], shown, cut=len(text) > self._max_bytes)


def digest_of(data: bytes) -> bytes:
    """Return the BLAKE2b-128 digest by which contents are compared."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def decode(data: bytes, *, cut: bool = False) -> str:
    """Decode a text file: UTF-8, UTF-16 and UTF-32 by their marks, else Latin-1, which never fails.

    With `cut` the data are the beginning of a file and may end within a character, which is left out.
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
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


CONTENTS_MAX = 20_000
"""Maximum number of digests kept, about 150 bytes each; with more all are forgotten."""

Key = tuple[bytes, int]
"""The digest of a file's content, and how many bytes of it are shown at most."""


class CleanContents:
    """Contents that were looked through and had nothing to mask. Thread-safe.

    To look a file of 100 KB through takes a millisecond or two, to know it again nothing; and it can't become
    wrong, since a content that changed has another digest.
    """

    def __init__(self, most: int = CONTENTS_MAX) -> None:
        self._most = most
        self._known: set[Key] = set()
        self._lock = Lock()

    def __contains__(self, key: Key | None) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def add(self, key: Key) -> None:
        """Remember a content as clean."""
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known.add(key)


MASKED_CHARACTERS = 4_000_000
"""Characters of masked texts that are kept. In a project with passwords in its tests they are read with every
other prompt, and masking them again took an eighth of its time."""

MASKED = SizedCache[Key, str](MASKED_CHARACTERS)
"""Texts of this process in which secrets are masked, by the contents that they are of."""

CLEAN = CleanContents()
"""Those of this process: what is in it follows from the contents alone, so that all projects may share it."""
