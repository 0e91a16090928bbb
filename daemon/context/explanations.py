"""Why a file is in a context, or why it is missing: the answer to ExplainPath."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from ..access.service import Permissions
from ..config.settings import ScanConfig
from ..core.errors import InvalidRequest
from ..core.storage import DatabaseError
from ..core.work import Work
from ..project.records import ALWAYS_SKIPPED_FOLDERS, FileRecord, LeftOut, ScanSettings
from ..project.service import Tree, left_out, relative_path, split_node_id
from ..rules.records import Item
from ..search.records import SearchQuery
from ..search.service import SearchService
from ..sessions.records import Scope
from ..workspace.records import ProjectSnapshot
from ..workspace.service import Project, deadline_of
from .delivered import PastContext
from .reply import DROPPED_MAX, scarcer_limit
from .requests import ContextRequest
from .scopes import ScopeTable

RANKS_MAX = 100
"""Number of search hits among which the file is looked up; contexts use about a tenth of them."""

SEARCH_MS = 5_000
"""Maximum wait for the search in ms."""


class ExplainService:
    """Explains logged contexts. On the event loop only; blocking steps run in builder threads.

    Everything is looked up under the policy of the context, so that the explanation tells no more than its
    agent may know.
    """

    def __init__(
        self, scopes: ScopeTable, searching: SearchService, permissions: Permissions, work: Work
    ) -> None:
        self._scopes = scopes
        self._searching = searching
        self._permissions = permissions
        self._work = work

    async def explain(self, project: Project, past: PastContext, asked: str) -> dict[str, Any]:
        """Return whether a context shows or names a file, with its slices, reasons and advice.

        `asked` is a path or a node id. `degraded` in the reply lists what could not be looked up. Raises
        `InvalidRequest` for a path outside of the project.
        """
        snapshot = project.snapshot(past.policy)
        path = _path_of(snapshot, asked)
        reply = past.reply
        if missing := await self._work.in_builder(partial(_missing_definition, snapshot, asked)):
            return _answer(snapshot, PathReasons(), (missing,), (), ())
        path_reasons = await self._work.in_builder(
            partial(reasons_in_context, past.scope, past.request, reply, path)
        )
        if snapshot.policy.denies(path):
            path_reasons = PathReasons((), is_settled=True)  # what is worked on isn't told of a hidden file
        if path_reasons.slices:
            return _answer(snapshot, path_reasons, (), (), ())
        absence = await self._work.in_builder(partial(why_not_there, snapshot, path))
        reasons, degraded = list(absence.reasons), list[str]()
        if not absence.is_final and not path_reasons.is_settled:
            reasons += await self._why_not_found(project, past, snapshot, reply, path, degraded)
        advice = self._advice(past, absence, path)
        return _answer(snapshot, path_reasons, reasons, advice, degraded)

    async def _why_not_found(
        self,
        project: Project,
        past: PastContext,
        snapshot: ProjectSnapshot,
        reply: Mapping[str, Any],
        path: str,
        degraded: list[str],
    ) -> list[str]:
        """Return why neither focus nor prompt added a file of the tree, the most certain reason first."""
        reasons = []
        if self._is_in_focus_now(past, path):
            reasons.append("it was put in focus after this context was built: ask for the context again")
        items = await self._permissions.items(project, past.policy)
        holds = list(why_no_item(items.items, project.root, path))
        if holds:
            return [*reasons, *holds]
        if reply["partial"]:
            reasons.append(
                "the context was partial: its deadline passed, or the project wasn't fully indexed"
            )
        related = await self._work.in_builder(partial(why_not_related, snapshot, reply, path))
        return [*reasons, related, await self._rank(project, past, path, degraded)]

    async def _rank(self, project: Project, past: PastContext, path: str, degraded: list[str]) -> str:
        """Return the rank of a file in a search for the prompt now, in words."""
        prompt = past.request.prompt
        if not prompt.strip():
            return "the request had no prompt, so that nothing was searched for it"
        if not project.config.context.hits_max:
            return "nothing is searched for prompts: context.hits_max is 0"
        ask = SearchQuery(prompt, RANKS_MAX, definitions=True)
        result = await self._searching.search(project, ask, deadline_of(project, SEARCH_MS), past.policy)
        degraded += result.degraded
        rank = next((place for place, hit in enumerate(result.hits, 1) if hit.path == path), 0)
        if not rank:
            return f"the search for the prompt doesn't find it among the first {RANKS_MAX}"
        hit = result.hits[rank - 1]
        reasons = f" for {', '.join(hit.reasons)}" if hit.reasons else ""
        return f"the search for the prompt has it at place {rank} (score {hit.score:.2f}){reasons}"

    def _is_in_focus_now(self, past: PastContext, path: str) -> bool:
        scope = self._scopes.get(past.scope.id) if past.scope.id in self._scopes else past.scope
        new = {*scope.focus_paths, *scope.expanded} - {*past.scope.focus_paths, *past.scope.expanded}
        return path in {node.partition("#")[0] for node in new}

    def _advice(self, past: PastContext, absence: Absence, path: str) -> tuple[str, ...]:
        """Return commands that would bring the file into the context."""
        if not absence.by_focus or self._is_in_focus_now(past, path):
            return ()
        quoted = shlex.quote(path)
        if past.scope.id in self._scopes:
            focus = f"put it in focus: foveal expand {past.scope.id} {quoted}"
        else:
            focus = f"put it in focus: foveal context --focus {quoted}"
        if absence.is_final:
            return (focus,)
        # Where time was short, nothing is wrong with what was asked.
        again = ["ask again: what wasn't ready in time may be by now"] if past.reply["partial"] else []
        return *again, focus, f"or name it in the prompt: {path}"


def _answer(
    snapshot: ProjectSnapshot,
    path_reasons: PathReasons,
    reasons: list[str] | tuple[str, ...],
    advice: tuple[str, ...],
    degraded: list[str] | tuple[str, ...],
) -> dict[str, Any]:
    """Return the reply without sentences that name something hidden from the agent."""
    policy, root = snapshot.policy, snapshot.tree.root
    return {
        "shown": bool(path_reasons.slices),
        "named": path_reasons.named,
        "slices": list(path_reasons.slices),
        "reasons": list(policy.sentences(dict.fromkeys([*path_reasons.reasons, *reasons]), root)),
        "advice": list(policy.sentences(dict.fromkeys([*path_reasons.advice, *advice]), root)),
        "degraded": list(policy.sentences(dict.fromkeys([*snapshot.degraded, *degraded]), root)),
    }


def _missing_definition(snapshot: ProjectSnapshot, asked: str) -> str:
    """Return that the file of a node id has no such definition, or "" if it has, or if that isn't known."""
    path = _path_of(snapshot, asked)
    name = asked.partition(f"{path}#")[2]  # a heading may hold a # too
    if not name or path not in snapshot.tree.files or snapshot.policy.hides(path):
        return ""
    try:
        with snapshot.reader() as reader, reader.snapshot():
            symbols = reader.symbols(path)
    except DatabaseError:
        return ""
    return "" if any(each.name == name for each in symbols) else f"{path} has no definition named {name}"


def _path_of(snapshot: ProjectSnapshot, asked: str) -> str:
    """Return the requested path relative to the root, without following symlinks in it.

    Raises `InvalidRequest` for a path outside of the project."""
    root = snapshot.tree.root
    path, _ = split_node_id(snapshot.tree.files, asked)
    if os.path.isabs(path) and not f"{path}/".startswith(f"{root.rstrip('/')}/"):
        return relative_path(root, path)  # the root by another name, such as a symlink
    relative = os.path.relpath(os.path.join(root, path), root)
    if relative == "." or relative == ".." or relative.startswith("../") or "\0" in path:
        raise InvalidRequest(f"path must name a file of {root}, not {asked!r:.200}", "path")
    return relative


NEAR_MAX = 3
"""Maximum number of files of the same name that are suggested for one that doesn't exist."""

LEFT_OUT: Mapping[str, str] = {
    "ignored": "{part} is ignored by git{rule}",
    "excluded": "{part} is left out{rule}",
    "vendored": "{part} is by its name a folder of fetched, generated or cached files",
    "worktree": "{part} is another work tree of the same repository",
    "unreadable": "{part} can't be read: look at its permissions",
    "not_utf8_name": "the name of {part} isn't UTF-8",
    "symlink": "{part} is a symlink, which is never followed: what it leads to has a path of its own",
    "": "{part} isn't known yet: the project is still being scanned",
}
"""Why a path is not in the tree, in words; `missing` is handled separately."""

SHOWN_BY_NAME = frozenset({"ignored", "excluded", "vendored"})
"""Reasons that don't apply to a file that is put in focus by its path."""

SKIPPED: Mapping[str, str] = {
    "binary": "it is binary: there is no text to show",
    "unreadable": "it can't be read: look at its permissions",
    "special": "it is no regular file",
    "symlink": "it is a symlink, which is never followed: what it leads to has a path of its own",
    "not_utf8_name": "its name isn't UTF-8",
    "quarantined": "it ended the indexer twice: it is skipped until it changes. Retry: foveal reindex --full",
}
"""Why a file of the tree has no content, in words; `too_large` is reported with its size."""


NOTHING_NEW = (
    "nothing was sent for this prompt, since nothing was new: what an earlier context of the conversation"
    " showed isn't sent again; to see those: foveal contexts"
)
"""Why an empty context says little about a file."""


class Absence(Struct, frozen=True):
    """Why a file can't be found, in sentences. With `by_focus`, putting it in focus would show it."""

    reasons: tuple[str, ...] = ()
    by_focus: bool = False
    is_final: bool = False
    """Whether no other reason matters: the file isn't in the tree, or has no text."""


def why_not_there(snapshot: ProjectSnapshot, path: str) -> Absence:
    """Return why a path isn't in the tree or has no text; no reason for a file that can be shown.

    Blocks: it reads the disk and runs git.
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
    exclusion = left_out(tree.root, path, _settings(snapshot.config.scan), snapshot.system)
    if exclusion.reason == "missing":
        return Absence((_missing(tree, path, exclusion),), is_final=True)
    rule = exclusion.rule and (
        f" ({exclusion.rule})" if exclusion.reason == "ignored" else f" by {exclusion.rule}"
    )
    part = (
        f"{exclusion.part}/" if exclusion.part != path and exclusion.reason != "symlink" else exclusion.part
    )
    shown = exclusion.reason in SHOWN_BY_NAME and os.path.isfile(os.path.join(tree.root, path))
    return Absence((LEFT_OUT[exclusion.reason].format(part=part, rule=rule),), shown, is_final=True)


def why_not_related(snapshot: ProjectSnapshot, reply: Mapping[str, Any], path: str) -> str:
    """Return how a file is related to the focus, and why it still wasn't shown. Blocks."""
    focus = {
        item["path"] for item in reply["slices"] if item["type"] in {"focus", "expansion"} and "path" in item
    }
    if not focus:
        return "nothing is in focus, so that no import leads to it"
    try:
        with snapshot.reader() as reader, reader.snapshot():
            importers = [(importer, line) for importer, line in reader.importers(path) if importer in focus]
    except DatabaseError as error:
        return f"which files import it isn't known: the index can't be read ({error})"
    if not importers:
        return "nothing that is in focus imports it"
    limits = [gap for gap in reply["gaps"] if "imported files are left out" in gap]
    unshown = limits[0] if limits else "it has no definitions to show, or didn't when the context was built"
    return f"{importers[0][0]}:{importers[0][1]}, which is in focus, imports it, but {unshown}"


def why_no_item(items: Sequence[Item], root: str, path: str) -> Iterator[str]:
    """Yield sentences on the rules and references in a file, which is shown in no other way."""
    full = os.path.join(root, path)
    for item in items:
        if item.type != "tool" and (item.source == full or full in item.parts):
            matches = f", for files that match {', '.join(item.globs)}" if item.globs else ""
            yield f"it holds the {item.type} {item.name}, included by its mode {item.include}{matches}"


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
    near = [file for file in tree.files if file.rpartition("/")[2].lower() == name.lower()]
    there = f"; there is {', '.join(near[:NEAR_MAX])}" if near else ""
    if found.part != path and not near:
        return f"it doesn't exist: there is no {found.part} in the project"
    return f"it doesn't exist in the project{there}"


def _settings(config: ScanConfig) -> ScanSettings:
    skipped = ALWAYS_SKIPPED_FOLDERS | frozenset(config.skip_folders_extra)
    return ScanSettings(max_file_bytes=config.max_file_bytes, exclude=config.exclude, skip_folders=skipped)


class PathReasons(Struct, frozen=True):
    """What a context's record says about a path.

    It has the ids of the path's `slices`, whether it is only `named`, the reasons, and advice if something
    was left out. With `is_settled` no further reason has to be looked for."""

    slices: tuple[str, ...] = ()
    named: bool = False
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    is_settled: bool = False


def reasons_in_context(
    scope: Scope, request: ContextRequest, reply: Mapping[str, Any], path: str
) -> PathReasons:
    """Return what a context's record says about a file or folder, by its path relative to the root, or about
    a rule or reference without a file of its own, by its name."""
    shown = [item for item in reply["slices"] if _is_at(item.get("path", ""), path) or _is_item(item, path)]
    if shown:
        reasons = [_why_shown(entry, path) for entry in shown]
        reasons += [gap for gap in reply["gaps"] if _names(gap, path)]
        return PathReasons(tuple(entry["id"] for entry in shown), reasons=tuple(reasons), is_settled=True)
    advice: list[str] = []
    reasons = []
    for item in reply.get("dropped", ()):
        if any(_is_at(each, path) for each in _paths_in(item["id"])):
            reason, what_to_do = _why_dropped(item, request, reply)
            reasons.append(reason)
            advice += what_to_do
    settled = bool(reasons)
    if settled and len(reply.get("dropped", ())) >= DROPPED_MAX:
        reasons.append(f"of the slices without room only the {DROPPED_MAX} with the most weight are recorded")
    reasons += [gap for gap in reply["gaps"] if not settled and _names(gap, path)]
    if request.news and not reply["slices"]:
        reasons.insert(0, NOTHING_NEW)
    reasons += [near["reason"] for near in reply.get("near", ()) if _is_at(near.get("path", ""), path)]
    named = list(_why_named(scope, reply, path))
    return PathReasons((), bool(named), (*reasons, *named), tuple(advice), settled)


def _why_shown(entry: Mapping[str, Any], path: str) -> str:
    """Return the type and the source of a slice, with its lines, tokens and weight, in words."""
    tokens, before = entry["tokens"], entry["tokens_before"]
    of = f"of {entry['path']}: " if entry.get("path") not in {None, "", path} else ""
    lines = f"lines {entry['start_line']} to {entry['end_line']}, " if "start_line" in entry else ""
    size = f"{tokens:,} of its {before:,} tokens" if entry["compressed"] else f"{tokens:,} tokens"
    return f"{of}it is shown as {entry['type']}: {entry['source']}; {lines}{size}, weight {entry['weight']:g}"


def _why_dropped(
    entry: Mapping[str, Any], request: ContextRequest, reply: Mapping[str, Any]
) -> tuple[str, tuple[str, ...]]:
    if entry["reason"] == "duplicate":
        return "it is left out because another slice shows the same", ()
    room, most, limit = f"{request.context_tokens:,} tokens", request.max_tokens, "max_tokens"
    if scarcer_limit(request, reply["tokens"], reply["bytes"]) == "max_bytes":
        room, most, limit = f"{request.max_bytes:,} bytes", request.max_bytes, "max_bytes"
    reason = (
        f"there was no room for it in {room}: as a {entry['type']} it has the weight"
        f" {entry['weight']:g}, and other slices came first"
    )
    return reason, (f"ask with more than {most:,} {limit}, or with less in focus",)


def _why_named(scope: Scope, reply: Mapping[str, Any], path: str) -> Iterator[str]:
    types = {item["type"] for item in reply["slices"]}
    hot = next((node for node in scope.hot if node.path == path), None)
    if hot is not None and "hot" in types:
        yield f"it is named among the files that are worked on ({hot.reason})"


def _paths_in(slice_id: str) -> tuple[str, str]:
    """Return the path in a slice's id, such as `document:src/a.py#f` or `document:src/a.py:12`."""
    path = slice_id.partition(":")[2].partition("#")[0]
    return path, re.sub(r":\d+$", "", path)


def _is_at(path: str, wanted: str) -> bool:
    return bool(path) and (path == wanted or path.startswith(f"{wanted}/"))


def _is_item(entry: Mapping[str, Any], name: str) -> bool:
    """Whether a slice is the rule or reference of this name, which has no file of its own."""
    return not entry.get("path") and entry["id"] in {f"rule:{name}", f"reference:{name}"}


def _names(text: str, path: str) -> bool:
    """Whether a sentence names a path, and not only a longer path that contains it."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/#-]|\.\w)", text) is not None
