"""Owns the keys under which imports wait for files that would change what they mean."""

from __future__ import annotations

SOURCE_ENDINGS = (".java", ".kt", ".kts", ".scala", ".cs")
"""Endings of files of which an import may mean the whole folder."""

_HOLDERS = frozenset({"mod.rs", "lib.rs", "main.rs"})


def keys_of_path(path: str) -> tuple[str, ...]:
    """Return the keys of a file: imports waiting under one of them may mean it (see `retry_keys`)."""
    folder, _, name = path.rpartition("/")
    if name.endswith(".go"):
        return (key_of(folder),)
    stem = key_of(name)
    if name.endswith(".swift"):
        return (stem, *map(key_of, folder.split("/")))  # a module is all that lies below its folder
    if name.endswith(SOURCE_ENDINGS) or name in _HOLDERS:
        return (stem, key_of(folder))
    if stem == "__init__":
        # A folder that becomes a package is no longer one from which absolute imports start.
        return (key_of(folder), stem, f"{folder}/")
    return (stem, key_of(folder)) if stem == "index" or name == "init.lua" else (stem,)


def key_of(base: str) -> str:
    """Return the key of a candidate or a file: its last component up to the first dot, "." for the root.

    The first dot, because `./x.service` may mean `x.service.ts` and `./x.js` may mean `x.ts`.
    """
    name = base.rstrip("/").rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name or "."
