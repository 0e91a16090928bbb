"""Owns the includes of C and C++: which file of the project one means."""

from __future__ import annotations

from collections.abc import Collection

from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import is_relative, join_path


class CImports:
    """C and C++: a file beside the one that includes it, or else the nearest whose path ends like it.

    Where headers are searched is said to the compiler and nowhere that could be relied upon, so that a path
    is looked for by its end. A specifier in angle brackets (`<fmt/core.h>`) isn't looked for beside the file,
    and a header of the system's isn't looked for at all.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders) -> None:
        self._names = names
        self._folders = folders

    def resolve(self, importer: str, module: str) -> str | None:
        """Return the path of the file that an include means, or None."""
        path = _path(module)
        if not path:
            return None
        if not module.startswith("<"):
            beside = join_path(importer.rpartition("/")[0], path)
            if beside in self._names:
                return beside
        elif path in _STANDARD or path.startswith(_SYSTEM):
            return None
        tail = _tail(path)
        return self._folders.nearest(tail, importer) if tail else None

    def is_internal(self, importer: str, module: str) -> bool:
        """Return whether an include that didn't resolve certainly meant a file of this project."""
        path = _path(module)
        # What is no header is often written by a build.
        if module.startswith("<") or not is_relative(path) or not path.endswith(_HEADERS):
            return False
        beside = join_path(importer.rpartition("/")[0], path)
        # Headers that a build writes lie in folders of their own.
        return beside is not None and self._folders.exists(beside.rpartition("/")[0])

    def keys(self, importer: str, module: str) -> list[str]:
        """Return the keys under which an include waits."""
        path = _path(module)
        return [key_of(path)] if path else []


def _path(module: str) -> str:
    """Return the path that an include names; an empty string for none, such as one that is absolute."""
    path = module.strip("<>").strip().replace("\\", "/")
    return "" if path.startswith("/") or path.endswith(("/", "..")) else path


def _tail(path: str) -> str:
    """Return what a path ends with whatever it is relative to."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    while parts and parts[0] == "..":
        del parts[0]
    return "/".join(parts) if ".." not in parts else ""


_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_SYSTEM = ("sys/", "arpa/", "netinet/")
_NAMES = """
    aio alloca assert complex cpio ctype dirent dlfcn endian err errno error execinfo fcntl features fenv
    float fmtmsg fnmatch ftw getopt glob grp iconv inttypes io iso646 langinfo libgen limits locale
    malloc math memory mntent monetary mqueue ndbm netdb nl_types paths poll pthread pwd regex sched
    search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint
    stdio stdlib stdnoreturn string strings stropts syslog tar termios tgmath threads time trace uchar
    ulimit unistd utime utmp utmpx values wait wchar wctype windows winsock winsock2 wordexp zlib
"""
_STANDARD = frozenset(f"{name}.h" for name in _NAMES.split())
"""Headers that compilers and systems bring along: in angle brackets they mean those."""
