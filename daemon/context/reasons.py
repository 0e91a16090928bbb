"""Owns what a context that was given says itself of a path: what it shows of it, names, or left out of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from .reply import DROPPED_MAX
from .requests import ContextRequest
from .scopes import Scope
from .skeleton import drawn_files, printable

HEADING = "\n## Project Structure\n"

WORDS: Mapping[str, str] = {
    "focus": "it is in focus: {source}",
    "expansion": "it was put in focus later: {source}",
    "session_set": "it is {source}",
    "rule": "it holds a rule ({source})",
    "reference": "it holds a reference ({source})",
    "dependency": "it is {source}, which is in focus",
}
"""How the source of a slice reads, by its type; of the others it is a sentence already."""


class PathReasons(Struct, frozen=True):
    """What a context says of a path: the ids of its `slices`, whether the path is only `named`, why in words,
    and what would bring it in where something was left out. `is_settled` if that explains all."""

    slices: tuple[str, ...] = ()
    named: bool = False
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    is_settled: bool = False


def told_by_context(
    scope: Scope, request: ContextRequest, reply: Mapping[str, Any], path: str
) -> PathReasons:
    """Return what a context says of a file, or of what lies in a folder, by its path relative to the root."""
    shown = [one for one in reply["slices"] if _is_at(one.get("path", ""), path)]
    if shown:
        reasons = [_why_shown(one, path) for one in shown]
        reasons += [gap for gap in reply["gaps"] if _names(gap, path)]
        return PathReasons(tuple(one["id"] for one in shown), reasons=tuple(reasons), is_settled=True)
    advice: list[str] = []
    reasons = []
    for one in reply.get("dropped", ()):
        if any(_is_at(each, path) for each in _paths_in(one["id"])):
            reason, what_to_do = _why_dropped(one, request)
            reasons.append(reason)
            advice += what_to_do
    settled = bool(reasons)
    if settled and len(reply.get("dropped", ())) >= DROPPED_MAX:
        reasons.append(f"of what had no room only the {DROPPED_MAX} heaviest are known")
    reasons += [gap for gap in reply["gaps"] if not settled and _names(gap, path)]
    named = list(_why_named(scope, reply, path))
    return PathReasons((), bool(named), (*reasons, *named), tuple(advice), settled)


def taken_hits(reply: Mapping[str, Any]) -> int:
    """Return how many of the files that were found for the prompt are in a context."""
    found = (one for one in reply["slices"] if one["source"].startswith("found for the prompt"))
    return len({one["path"] for one in found})


def _why_shown(one: Mapping[str, Any], path: str) -> str:
    template, source = WORDS.get(one["type"], "it was {source}"), one["source"]
    if one["type"] == "dependency" and source.startswith(("imports ", "beside ")):
        template = "it {source}, which is in focus" if source.startswith("imports ") else "it lies {source}"
    elif source.startswith("`"):  # a definition that the prompt names
        template = "it defines {source}"
    if one.get("path") != path:
        template = f"of {one['path']}: {template}"
    return f"{template.format(source=source)}; {_amount(one)}"


def _amount(one: Mapping[str, Any]) -> str:
    """Return how much of it is shown, and with which weight."""
    tokens, before = one["tokens"], one["tokens_before"]
    lines = f"lines {one['start_line']} to {one['end_line']}, " if "start_line" in one else ""
    size = f"{tokens:,} of its {before:,} tokens" if one["compressed"] else f"{tokens:,} tokens"
    return f"{lines}{size}, weight {one['weight']:g}"


def _why_dropped(one: Mapping[str, Any], request: ContextRequest) -> tuple[str, tuple[str, ...]]:
    if one["reason"] == "duplicate":
        return "it is left out as another slice shows the same", ()
    room = request.context_tokens
    reason = (
        f"there was no room for it in {room:,} tokens: as a {one['type']} it has the weight"
        f" {one['weight']:g}, and other slices came first"
    )
    return reason, (f"ask with more than {request.max_tokens:,} max_tokens, or with less in focus",)


def _why_named(scope: Scope, reply: Mapping[str, Any], path: str) -> Iterator[str]:
    types = {one["type"] for one in reply["slices"]}
    hot = next((node for node in scope.hot if node.path == path), None)
    if hot is not None and "hot" in types:
        yield f"it is named among the files that are worked on ({hot.reason})"
    if "skeleton" in types and printable(path) in set(drawn_files(_map_in(reply))):
        yield "the map of the project names it"


def _map_in(reply: Mapping[str, Any]) -> str:
    """Return the map as it is drawn in a context, without its fence; "" where the text isn't kept."""
    text: str = reply.get("context", "")
    if text.startswith("{"):
        slices = json.loads(text)["slices"]
        text = next((one["text"] for one in slices if one["id"] == "skeleton"), "")
    else:
        _, _, text = text.rpartition(HEADING)
    _, _, fenced = text.partition("```")
    return fenced.partition("\n")[2].rpartition("\n```")[0]


def _paths_in(slice_id: str) -> tuple[str, str]:
    """Return the path that a slice's id names: `document:src/a.py#f`, or by a line `document:src/a.py:12`."""
    path = slice_id.partition(":")[2].partition("#")[0]
    return path, re.sub(r":\d+$", "", path)


def _is_at(path: str, wanted: str) -> bool:
    return bool(path) and (path == wanted or path.startswith(f"{wanted}/"))


def _names(text: str, path: str) -> bool:
    """Whether a sentence names a path, and no longer one of which it is a part."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/#-]|\.\w)", text) is not None
