"""A recording of what a program does to files: strace's output as calls, in their order."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .promise import NotHere

CALLS = (
    "openat", "open", "creat", "write", "pwrite64", "writev", "pwritev", "ftruncate", "truncate", "rename",
    "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "link", "linkat", "symlink",
    "symlinkat", "fsync", "fdatasync", "lseek", "copy_file_range", "sendfile",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A call that succeeded. `began` and `ended` are places in the recording, `at` seconds since the epoch.

    `paths` are all paths that it names, those of descriptors first as far as they stand first, `data` what
    was written, `numbers` its plain arguments, `result` what it returned.
    """

    name: str
    began: int
    ended: int
    at: float
    paths: tuple[str, ...]
    data: bytes
    descriptor: int
    numbers: tuple[int, ...]
    flags: str
    result: int


def strace_command(program: Sequence[str], output: Path, calls: Sequence[str] = CALLS) -> list[str]:
    """Return the command that runs a program and its children and records their calls. Raises `NotHere`."""
    found = shutil.which("strace")
    if found is None:
        raise NotHere("strace isn't installed; on Debian: apt-get install strace")
    return [
        found, "-f", "-y", "-ttt", "-xx", "--seccomp-bpf", "-s", "16000000", "-e", f"trace={','.join(calls)}",
        "-o", str(output), *program,
    ]  # fmt: skip


def calls_in(output: Path) -> Iterator[Call]:
    """Yield the calls of a recording that succeeded, in the order in which they ended."""
    waiting: dict[str, tuple[int, str]] = {}
    with output.open("rb") as lines:
        for place, raw in enumerate(lines):
            pid, at, text = raw.decode("ascii").rstrip("\n").split(None, 2)
            if text.endswith("<unfinished ...>"):
                waiting[pid] = place, text.removesuffix("<unfinished ...>")
                continue
            began = place
            if resumed := _RESUMED.match(text):
                began, head = waiting.pop(pid)
                text = head + text[resumed.end() :]
            call = _call(text, began, place, float(at))
            if call is not None:
                yield call


_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
_WHOLE = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+|\?)")
_PART = re.compile(r'(AT_FDCWD|\d+)?<((?:\\x[0-9a-f]{2}|[^>])*)>|"((?:\\x[0-9a-f]{2})*)"|([\w|]+)')


def _call(text: str, began: int, ended: int, at: float) -> Call | None:
    whole = _WHOLE.match(text)
    if whole is None or whole[3] in {"?", "-1"}:
        return None
    name = whole[1]
    writes = name in {"write", "pwrite64", "writev", "pwritev"}
    paths: list[str] = []
    numbers: list[int] = []
    data, descriptor, flags, base = b"", -1, "", ""
    for number, named, quoted, plain in _PART.findall(whole[2]):
        if plain:
            if plain.isdigit():
                numbers.append(int(plain))
            else:
                flags += f"|{plain}"
        elif named or number:
            path = os.fsdecode(_bytes(named))
            if number == "AT_FDCWD" or name.endswith("at") or name in {"openat", "renameat2"}:
                base = path
            else:
                descriptor = int(number)
                paths.append(path)
        elif writes:
            data += _bytes(quoted)
        else:
            path = os.fsdecode(_bytes(quoted))
            paths.append(os.path.normpath(os.path.join(base, path)) if path else path)
    return Call(name, began, ended, at, tuple(paths), data, descriptor, tuple(numbers), flags, int(whole[3]))


def _bytes(quoted: str) -> bytes:
    return bytes.fromhex(quoted.replace("\\x", ""))
