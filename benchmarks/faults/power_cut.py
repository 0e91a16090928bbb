"""The model of a disk that loses power: of what was done to it only what was forced to it is there.

What is written to a file is there for sure once the file was fsynced after it, and a name in a folder once
the folder was: as POSIX promises, and no more, though most file systems keep more. What was done since may be
there, in part, or not at all.
"""

from __future__ import annotations

import os
import random
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .recording import Call

Loss = Literal["all", "some"]
"""`all` that wasn't forced to the disk is lost, or `some` of it: writes torn and out of order, names not."""


@dataclass(slots=True)
class _Inode:
    """A file or folder with all that was ever done to it, each change by the place where it ended.

    Changes of a file are (place, offset, data), or (place, size, None) for a cut; of a folder (place, name,
    inode or None). `forced` are the calls that forced them to the disk, as (place where it ended, began).
    """

    is_folder: bool
    writes: list[tuple[int, int, bytes | None]] = field(default_factory=list)
    names: list[tuple[int, str, _Inode | None]] = field(default_factory=list)
    forced: list[tuple[int, int]] = field(default_factory=list)
    size: int = 0

    def forced_until(self, place: int) -> int:
        """Return up to which place changes are on the disk for sure, seen from a later place."""
        ended = bisect_right(self.forced, (place, place))
        return max((began for _, began in self.forced[:ended]), default=-1)


class Disk:
    """A folder as calls leave it, at any place among them. It is empty at the beginning, and durable."""

    def __init__(self, root: Path, calls: Iterable[Call]) -> None:
        self._root = os.path.normpath(root)
        self._top = _Inode(is_folder=True)
        self._known: dict[str, _Inode] = {self._root: self._top}
        self._offsets: dict[tuple[int, int], int | None] = {}
        for call in calls:
            self._take(call)

    def after_cut(self, place: int, loss: Loss, chance: random.Random, target: Path) -> None:
        """Write what a disk has that lost power right after a place into an empty folder."""
        self._write_folder(self._top, place, loss, chance, target)

    def _take(self, call: Call) -> None:
        match call.name:
            case "open" | "openat" | "creat":
                self._open(call)
            case "write" | "writev" | "pwrite64" | "pwritev":
                self._write(call)
            case "lseek":
                if (node := self._known.get(call.paths[0])) is not None:
                    key = (call.descriptor, id(node))
                    if self._offsets.get(key, 0) is not None:
                        self._offsets[key] = call.result
            case "ftruncate" | "truncate":
                if (node := self._known.get(call.paths[0])) is not None:
                    node.writes.append((call.ended, call.numbers[-1], None))
                    node.size = call.numbers[-1]
            case "fsync" | "fdatasync":
                if (node := self._known.get(call.paths[0])) is not None:
                    node.forced.append((call.ended, call.began))
            case "mkdir" | "mkdirat":
                self._name(call.ended, call.paths[-1], _Inode(is_folder=True))
            case "rename" | "renameat" | "renameat2":
                self._rename(call)
            case "unlink" | "unlinkat" | "rmdir":
                self._name(call.ended, call.paths[-1], None)
            case _:
                if any(path.startswith(self._root + os.sep) for path in call.paths):
                    raise ValueError(f"the model of the disk knows no {call.name}")

    def _open(self, call: Call) -> None:
        path = call.paths[-1]
        if "O_CREAT" in call.flags and path not in self._known:
            self._name(call.ended, path, _Inode(is_folder=False))
        node = self._known.get(path)
        if node is None:
            return
        self._offsets[call.result, id(node)] = None if "O_APPEND" in call.flags else 0
        if "O_TRUNC" in call.flags and node.size:
            node.writes.append((call.ended, 0, None))
            node.size = 0

    def _write(self, call: Call) -> None:
        node = self._known.get(call.paths[0]) if call.paths else None
        if node is None:
            return
        data = call.data[: call.result]
        key = (call.descriptor, id(node))
        if call.name.startswith("p"):
            offset = call.numbers[-1]
        elif self._offsets.get(key, 0) is None:
            offset = node.size
        else:
            offset = self._offsets.get(key, 0) or 0
            self._offsets[key] = offset + len(data)
        node.writes.append((call.ended, offset, data))
        node.size = max(node.size, offset + len(data))

    def _name(self, place: int, path: str, node: _Inode | None) -> None:
        """Let a name mean an inode from now on, or nothing."""
        folder = self._known.get(os.path.dirname(path))
        if folder is None:
            return
        folder.names.append((place, os.path.basename(path), node))
        if node is None:
            self._known.pop(path, None)
        else:
            self._known[path] = node

    def _rename(self, call: Call) -> None:
        old, new = call.paths
        node = self._known.get(old)
        if node is None:
            return
        below = {path: one for path, one in self._known.items() if path.startswith(old + os.sep)}
        self._name(call.ended, new, node)
        self._name(call.ended, old, None)
        for path, one in below.items():
            del self._known[path]
            self._known[new + path[len(old) :]] = one

    def _write_folder(
        self, node: _Inode, place: int, loss: Loss, chance: random.Random, target: Path
    ) -> None:
        sure = node.forced_until(place)
        done = [change for change in node.names if change[0] <= place]
        kept = [change for change in done if change[0] <= sure]
        if loss == "some":
            kept = done[: chance.randrange(len(kept), len(done) + 1)]
        names = {name: child for _, name, child in kept}
        target.mkdir(mode=0o700, exist_ok=True)
        for name, child in names.items():
            if child is None:
                continue
            if child.is_folder:
                self._write_folder(child, place, loss, chance, target / name)
            else:
                (target / name).write_bytes(_content(child, place, loss, chance))
                (target / name).chmod(0o600)


def _content(node: _Inode, place: int, loss: Loss, chance: random.Random) -> bytes:
    sure = node.forced_until(place)
    content = bytearray()
    for ended, offset, data in node.writes:
        if ended > place:
            break
        if ended > sure:
            if loss == "all" or chance.random() < 0.5:
                continue
            if data and chance.random() < 0.3:
                data = data[: chance.randrange(len(data))]  # noqa: PLW2901 - torn
        if data is None:
            del content[offset:]
            content.extend(bytes(offset - len(content)))
        else:
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
    return bytes(content)
