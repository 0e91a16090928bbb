"""Owns why nothing leads a context to a file: what keeps it out of the tree, or from focus and prompt.

It is asked of the project as it is now, and knows no context but its record.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..config.settings import ScanConfig
from ..core.storage import DatabaseError
from ..project.left_out import LeftOut, left_out
from ..project.scan_settings import ALWAYS_SKIPPED_FOLDERS, ScanSettings
from ..project.snapshot import ProjectSnapshot
from ..project.tree import FileRecord, Tree
from ..rules.items import Item
from .requests import ContextRequest

NEAR_MAX = 3
"""Maximum number of files of the same name that are suggested for one that doesn't exist."""

LEFT_OUT: Mapping[str, str] = {
    "ignored": "{part} is ignored by git{rule}",
    "excluded": "{part} is left out{rule}",
    "vendored": "{part} is a folder of what is fetched, generated or cached, by its name",
    "worktree": "{part} is another work tree of the same repository",
    "unreadable": "{part} can't be read: look at its permissions",
    "not_utf8_name": "the name of {part} isn't UTF-8",
    "symlink": "{part} is a symlink, which is never followed: what it leads to has a path of its own",
    "": "{part} isn't known yet: the tree is still being compared with the disk",
}
"""What keeps something out of the tree, in words; `missing` is told apart."""

SHOWN_BY_NAME = frozenset({"ignored", "excluded", "vendored"})
"""What is left out for these reasons is shown all the same where it is put in focus by its path."""

SKIPPED: Mapping[str, str] = {
    "binary": "it is binary: there is no text to show",
    "unreadable": "it can't be read: look at its permissions",
    "special": "it is no regular file",
    "symlink": "it is a symlink, which is never followed: what it leads to has a path of its own",
    "not_utf8_name": "its name isn't UTF-8",
    "quarantined": "it ended the indexer twice: it is left alone until it changes, or: foveal reindex --full",
}
"""Why a file of the tree has no content, in words; `too_large` is told with its size."""

MODES: Mapping[str, str] = {
    "always": "in each context without a session, and in those of sessions that have it",
    "manual": "where a person added it to the session or a request names it",
    "agent": "where a search finds it for the prompt",
    "glob": "where a file in focus matches {globs}",
}
"""When an item enters, by its mode."""


class Absence(Struct, frozen=True):
    """Why a file isn't led to, in sentences. With `by_focus` putting it in focus would show it."""

    reasons: tuple[str, ...] = ()
    by_focus: bool = False
    is_final: bool = False
    """Whether nothing else matters: it isn't in the tree, or has no text."""


def why_not_there(snapshot: ProjectSnapshot, path: str) -> Absence:
    """Return why a path can't be shown: it isn't in the tree, or has no text; none for a file that can.

    Blocks: it looks at the disk and asks git.
    """
    tree, policy = snapshot.tree, snapshot.policy
    hidden = policy.why_hidden(path)
    if hidden:
        return Absence((f"it is not shown: {hidden}",), is_final=True)
    record = tree.files.get(path)
    if record is not None:
        return _of_record(record, snapshot.config.scan.max_file_bytes)
    folder = tree.layout.folders.get(path)
    if folder is not None:
        return Absence((f"it is a folder with {folder.total:,} files, and none of them is in",), True, True)
    found = left_out(tree.root, path, _settings(snapshot.config.scan), snapshot.system)
    if found.reason == "missing":
        return Absence((_missing(tree, path, found),), is_final=True)
    rule = found.rule and (f" ({found.rule})" if found.reason == "ignored" else f" by {found.rule}")
    part = f"{found.part}/" if found.part != path and found.reason != "symlink" else found.part
    shown = found.reason in SHOWN_BY_NAME and os.path.isfile(os.path.join(tree.root, path))
    return Absence((LEFT_OUT[found.reason].format(part=part, rule=rule),), shown, is_final=True)


def why_not_related(
    snapshot: ProjectSnapshot, request: ContextRequest, reply: Mapping[str, Any], path: str
) -> Iterator[str]:
    """Yield how a file is connected with what was in focus, and why that wasn't enough. Blocks."""
    focus = _focus_in(reply)
    if not focus:
        yield "nothing is in focus, so that no import leads to it"
        return
    try:
        with snapshot.reader() as reader, reader.snapshot():
            importers = [(one, line) for one, line in reader.importers(path) if one in focus]
            imported = [
                (one.imported.line, one.target) for one in reader.imports(path) if one.target in focus
            ]
    except DatabaseError as error:
        yield f"which files import it isn't known: the index can't be read ({error})"
        return
    if importers:
        first, line = importers[0]
        yield f"{first}:{line}, which is in focus, imports it, but {_unshown(snapshot, reply, path)}"
    elif imported and not request.prompt.strip():
        yield f"it imports {imported[0][1]}, which is in focus; files that do are shown only for a prompt"
    elif imported:
        yield (
            f"it imports {imported[0][1]}, which is in focus; of the files that do, a context of"
            f" {request.context_tokens:,} tokens shows the nearest only"
        )
    else:
        yield "nothing that is in focus imports it, and it imports nothing that is in focus"


def why_no_item(items: Sequence[Item], root: str, path: str) -> Iterator[str]:
    """Yield when the rules and references of a file enter; such a file is shown in no other way."""
    full = os.path.join(root, path)
    for item in items:
        if item.type != "tool" and (item.source == full or full in item.parts):
            when = MODES[item.include].format(globs=", ".join(item.globs))
            yield f"it holds the {item.type} {item.name}, of the mode {item.include}: that is {when}"


def _of_record(record: FileRecord, most: int) -> Absence:
    if record.skipped == "too_large":
        size = f"it has {record.stamp.size:,} bytes, more than scan.max_file_bytes ({most:,})"
        return Absence((size,), is_final=True)
    if record.skipped:
        return Absence((SKIPPED.get(record.skipped, f"it is skipped: {record.skipped}"),), is_final=True)
    if not record.digest:
        return Absence(("it isn't indexed yet: what it defines and imports isn't known",), by_focus=True)
    return Absence(by_focus=True)


def _missing(tree: Tree, path: str, found: LeftOut) -> str:
    name = path.rpartition("/")[2]
    near = [one for one in tree.files if one.rpartition("/")[2].lower() == name.lower()]
    there = f"; there is {', '.join(near[:NEAR_MAX])}" if near else ""
    if found.part != path and not near:
        return f"it doesn't exist: there is no {found.part} in the project"
    return f"it doesn't exist in the project{there}"


def _unshown(snapshot: ProjectSnapshot, reply: Mapping[str, Any], path: str) -> str:
    """Return why a file that the focus imports wasn't shown, as far as that is known."""
    record = snapshot.tree.files.get(path)
    limits = [gap for gap in reply["gaps"] if "imported files are left out" in gap]
    if limits:
        return f"of such files some were left out: {limits[0]}"
    if record is not None and not record.symbols:
        return "it has no definitions whose signatures could be shown"
    return "it didn't when the context was built"


def _focus_in(reply: Mapping[str, Any]) -> Collection[str]:
    return {one["path"] for one in reply["slices"] if one["type"] in {"focus", "expansion"} and "path" in one}


def _settings(config: ScanConfig) -> ScanSettings:
    skipped = ALWAYS_SKIPPED_FOLDERS | frozenset(config.skip_folders_extra)
    return ScanSettings(max_file_bytes=config.max_file_bytes, exclude=config.exclude, skip_folders=skipped)
