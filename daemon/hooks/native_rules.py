"""The instruction files that a host reads itself: foveal never sends them a second time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from ...hooks.hosts.hook_format import parts_of
from ...hooks.hosts.host import NativeRules
from ...hooks.hosts.registry import host_named
from ..rules.records import Item


def native_rules(
    host: str, items: Iterable[Item], folder: str, read: Callable[[str], str | None], version: str = ""
) -> tuple[Item, ...]:
    """Return the rules that a host reads itself; one that only some versions read needs the `version`.

    `folder` is the agent's, relative to the root ("" for the root). `read` returns the text of a file at the
    root by its relative path, None if it doesn't exist. Files that a native file imports, and files with the
    same text as a native one, count as read.
    """
    found = host_named(host)
    if found is None or found.native_rules is None:
        return ()
    native = found.native_rules
    rules = [item for item in items if item.type == "rule"]
    texts = {_plain(text) for name in native.roots if (text := read(name)) is not None}
    own = [rule for rule in rules if _is_native(native, rule.name, folder)]
    reads_otherwise = native.otherwise and parts_of(version) >= native.otherwise_since
    if reads_otherwise and not texts and not any(rule.name in native.roots for rule in rules):
        own += [rule for rule in rules if native.otherwise and native.otherwise.search(rule.name)]
    parts = {part for rule in own for part in rule.parts}
    names = {rule.name for rule in own}
    return tuple(
        rule
        for rule in rules
        if rule.name in names or (rule.parts and parts.issuperset(rule.parts)) or _plain(rule.text) in texts
    )


def _is_native(native: NativeRules, name: str, folder: str) -> bool:
    above, _, base = name.rpartition("/")
    return bool(native.names.search(name)) or (base in native.above and f"{folder}/".startswith(f"{above}/"))


def _plain(text: str) -> str:
    """Return a text without comments and layout, for comparison of equivalent files."""
    return " ".join(re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL).split())


def folder_in(root: str, cwd: str) -> str:
    """Return a folder relative to a root, "" for the root and for a folder outside it."""
    relative = os.path.relpath(os.path.realpath(cwd), root)
    return "" if relative == "." or relative.startswith("..") else relative
