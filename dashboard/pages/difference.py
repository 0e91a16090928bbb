"""The page that compares two turns of a project, by slice and by line."""

from __future__ import annotations

import asyncio
import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..formats import count
from ..view import Page, get
from .sessions import named_session
from .slices import SliceRow, slice_rows
from .turn import turns_around

FILES: Final = 10
"""Maximum files shown at once of those that came in, are gone and so on; the others are folded."""

TEXT_GONE: Final = "the text of one of them isn't kept any more"


class Difference(Page):
    """The page at `/turns/{context_id}/difference?with=OTHER_ID`: what changed from the other."""

    @get("/turns/{context_id}/difference")
    async def _serve(self, request: web.Request) -> web.Response:
        view, context_id = self._view, request.match_info["context_id"]
        new = await view.call("GetBuiltContext", context_id=context_id)
        turns = await turns_around(view, new)
        other = request.query.get("with", "") or _one_before(new, turns[0])
        values: dict[str, Any] = {"changes": [], "same": 0, "lines": None, "old": None}
        if other and other != context_id:
            old = await view.call("GetBuiltContext", context_id=other)
            if old["project"] != new["project"]:
                message = "with: that turn is of another project, whose files are others"
                raise RpcError(INVALID_PARAMS, message, {"field": "with"})
            changes, same, lines = await asyncio.to_thread(_compared, old, new)
            values = {"changes": changes, "same": same, "lines": lines, "old": old}
        return await view.page(
            request,
            "difference.html",
            title="What changed",
            project=await view.project_of(new["project"]),
            picked="/sessions",
            new=new,
            other=other,
            turns=turns,
            session=await named_session(view, new["session_id"]),
            kinds=by_kind(values["changes"]),
            files_max=FILES,
            **values,
        )


def _one_before(context: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> str:
    """Return the id of the turn before a context: that of its scope, else that of its session, else ""."""
    if "previous" in context:
        return str(context["previous"])
    ids = [one["context_id"] for one in turns]
    at = ids.index(context["context_id"]) + 1 if context["context_id"] in ids else len(ids)
    return ids[at] if at < len(ids) else ""


def _compared(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Any, int, LineChanges]:
    """Return how slices changed, how many did not, and what changed by line. Blocks for up to seconds."""
    changes, same = slice_changes(old, new)
    if "context" not in old or "context" not in new:
        return changes, same, LineChanges(problem=TEXT_GONE)
    return changes, same, line_changes(old["context"], new["context"])


Change = Literal["new", "gone", "grown", "shrunk", "rewritten"]

ORDER: Final[Mapping[Change, tuple[str, str]]] = {
    "new": ("came in", "came in"),
    "gone": ("is gone", "are gone"),
    "grown": ("shows more", "show more"),
    "shrunk": ("shows less", "show less"),
    "rewritten": ("says something else", "say something else"),
}
"""The kinds of changes in their order on the page, in words for one slice and for several."""

LINES_MAX: Final = 20_000
"""Maximum lines of a text that is compared by line, which takes a second or two."""

SHOWN_MAX: Final = 600
"""Maximum changed lines shown."""

WIDTH_MAX: Final = 400
"""Maximum characters of a line: minified code would fill the page."""

KINDS: Final[Mapping[str, str]] = {"+": "added", "-": "gone", "@": "where", " ": "same"}
"""What a line of a unified diff is, by its first character."""


@dataclass(frozen=True, slots=True)
class SliceChange:
    """How a slice changed. `row` is its later form, or the earlier one if it is gone; tokens are 0 where
    it is missing."""

    change: Change
    row: SliceRow
    tokens_before: int
    tokens: int

    @property
    def by(self) -> int:
        """The tokens that it has more, or less."""
        return self.tokens - self.tokens_before


@dataclass(frozen=True, slots=True)
class LineChanges:
    """What changed by line: each with its kind. `left_out` counts lines that found no room; `problem` says
    why nothing could be compared, else it is empty."""

    lines: tuple[tuple[str, str], ...] = ()
    added: int = 0
    gone: int = 0
    left_out: int = 0
    problem: str = ""


def slice_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[SliceChange], int]:
    """Return how slices changed from one context to another, and how many did not."""
    old = {row.id: row for row in slice_rows(before["slices"], before.get("context", ""))}
    new = {row.id: row for row in slice_rows(after["slices"], after.get("context", ""))}
    changes = [SliceChange("new", row, 0, row.tokens) for row in new.values() if row.id not in old]
    changes += [SliceChange("gone", row, row.tokens, 0) for row in old.values() if row.id not in new]
    for row in new.values():
        former = old.get(row.id)
        if former is None:
            continue
        change = _change(former, row, before, after)
        if change:
            changes.append(SliceChange(change, row, former.tokens, row.tokens))
    changes.sort(key=lambda change: (list(ORDER).index(change.change), -abs(change.by)))
    kept = sum(row.id in old for row in new.values())
    return changes, kept - sum(change.change not in ("new", "gone") for change in changes)


@dataclass(frozen=True, slots=True)
class KindOfChange:
    """The slices that changed alike, by file, or by what has none: that with the most tokens first."""

    change: Change
    slices: int
    files: tuple[tuple[SliceChange, ...], ...]

    @property
    def words(self) -> str:
        """The change in words."""
        return ORDER[self.change][self.slices > 1]

    @property
    def where(self) -> str:
        """In how many files, empty if they are of none."""
        files = sum(bool(some[0].row.path) for some in self.files)
        return f"in {count(files, 'file')}" if files else ""


def by_kind(changes: Sequence[SliceChange]) -> list[KindOfChange]:
    """Return changes by what they are."""
    kinds = []
    for change in ORDER:
        files: dict[str, list[SliceChange]] = {}
        for one in changes:
            if one.change == change:
                files.setdefault(one.row.path or one.row.id, []).append(one)
        if files:
            some = sorted(files.values(), key=lambda some: -sum(abs(one.by) for one in some))
            kinds.append(KindOfChange(change, sum(map(len, some)), tuple(map(tuple, some))))
    return kinds


def line_changes(before: str, after: str) -> LineChanges:
    """Return what changed between two texts. Takes up to seconds: never on the event loop."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > LINES_MAX:
        return LineChanges(problem=f"the texts have more than {LINES_MAX:,} lines; compare them as files")
    diff = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    lines = [(KINDS[line[0]], line[:WIDTH_MAX] if line[0] == "@" else line[1:WIDTH_MAX]) for line in diff]
    kinds = Counter(kind for kind, _ in lines)
    return LineChanges(
        tuple(lines[:SHOWN_MAX]), kinds["added"], kinds["gone"], max(len(lines) - SHOWN_MAX, 0)
    )


def _change(
    former: SliceRow, row: SliceRow, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Change | None:
    if row.tokens != former.tokens:
        return "grown" if row.tokens > former.tokens else "shrunk"
    texts = [
        context["context"][shown.span[0] : shown.span[1]].rstrip("\n")
        for shown, context in ((former, before), (row, after))
        if shown.span and context.get("context")
    ]
    return "rewritten" if len(texts) == 2 and texts[0] != texts[1] else None
