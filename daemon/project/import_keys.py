"""Owns the keys under which imports wait for files that would change what they mean."""

from __future__ import annotations


def keys_of_path(path: str) -> tuple[str, ...]:
    """Return the keys of a file: imports waiting under one of them may mean it (see `retry_keys`)."""
    folder, _, name = path.rpartition("/")
    if name.endswith(".go"):
        return (key_of(folder),)
    stem = key_of(name)
    if stem == "__init__":
        # A folder that becomes a package is no longer one from which absolute imports start.
        return (key_of(folder), stem, f"{folder}/")
    return (stem, key_of(folder)) if stem == "index" else (stem,)


def key_of(base: str) -> str:
    """Return the key of a candidate or a file: its last component up to the first dot, "." for the root.

    The first dot, because `./x.service` may mean `x.service.ts` and `./x.js` may mean `x.ts`.
    """
    name = base.rstrip("/").rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name or "."
