"""The content that each conversation already holds, so that it isn't sent again.

A conversation is the context window of one agent of a session. Its content is remembered while the daemon
runs and until a compaction; after that everything is sent again, which only costs tokens.
"""

from __future__ import annotations

import hashlib
import re
import sys
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from ..compression.compress import MARK
from . import render
from .selection import Form, Slice, SliceType

WINDOWS_MAX = 1_000
"""Maximum number of conversations."""

SLICES_MAX = 2_000
"""Maximum number of slices of one conversation; more than fit into a context window at 60 tokens each."""

HELD_MAX = 20_000
"""Maximum number of slices of all conversations, at about 250 bytes each."""

LINES_MAX, ALL_LINES_MAX = 200_000, 1_000_000
"""Maximum number of lines of one conversation and of all: 8 bytes for each line up to a file's last one."""

STANDING: frozenset[SliceType] = frozenset({"rule", "reference", "constraint", "agent_history"})
"""Types of slices that count as held once they were sent in any form."""

RESIDENT_ORDER = 1_000_000
"""Order of slices that are only named: they come after the shown slices of their section."""


class Held(Struct, frozen=True):
    """A slice as sent: digests of its text and of its whole content, and the text's characters and tokens."""

    digest: bytes
    whole: bytes
    characters: int
    tokens: int


class HeldLines(Struct, frozen=True, dict=True):
    """The sent lines of a file: hashes by line number, 0 for lines that weren't sent."""

    hashes: array[int]

    @cached_property
    def digest(self) -> bytes:
        """A digest of all hashes."""
        return hashlib.blake2b(self.hashes, digest_size=16).digest()


SentLines = tuple[str, int, "array[int]"]
"""Consecutive lines of a file: its path, the number of the first line, and the hashes of all."""


class ConversationContent(Struct, frozen=True, dict=True):
    """The content of one conversation: slices by id, lines by path. Immutable: each reply makes a new one."""

    slices: Mapping[str, Held] = field(default_factory=dict)
    lines: Mapping[str, HeldLines] = field(default_factory=dict)

    @cached_property
    def key(self) -> bytes:
        """A digest that is equal for equal content: a part of the key in the cache of contexts."""
        digest = hashlib.blake2b(digest_size=16)
        for identifier, held in sorted(self.slices.items()):
            digest.update(identifier.encode("utf-8", "surrogatepass") + b"\0" + held.digest)
        for path, lines in sorted(self.lines.items()):
            digest.update(path.encode("utf-8", "surrogatepass") + b"\0" + lines.digest)
        return digest.digest()

    @property
    def tokens(self) -> int:
        """The tokens of all held slices."""
        return sum(held.tokens for held in self.slices.values())


NOTHING_HELD = ConversationContent()


LinesOf = Callable[[str], Sequence[str]]
"""Returns the lines of a file by its path; none if it can't be read."""


class Unsent(Struct, frozen=True):
    """The chosen forms without held content, the ids of slices that are only named, and of all held slices.

    Held slices that are shorter than their naming line are sent again."""

    chosen: tuple[tuple[Slice, Form], ...]
    named: frozenset[str]
    held: frozenset[str]


def named_if_held(
    chosen: Sequence[tuple[Slice, Form]], resident: ConversationContent, lines_of: LinesOf
) -> Unsent:
    """Replace the forms that a conversation holds by a line that names them, one for each file.

    Partly held forms are sent without the held lines. This runs after the selection, which is the same
    whatever is held: repeating a request doesn't fill the context with less and less relevant content.
    """
    rests = [_rest(candidate, form, resident, lines_of) for candidate, form in chosen]
    by_name: dict[str, list[tuple[Slice, Form]]] = {}
    for pair, rest in zip(chosen, rests, strict=True):
        if rest is None:
            by_name.setdefault(_name(pair[0]), []).append(pair)
    lines: dict[str, str] = {}
    for name, pairs in by_name.items():
        line = _line(name, [pair for pair, _ in pairs])
        if len(line) < sum(len(form.text) for _, form in pairs):
            lines |= {pair.id: "" for pair, _ in pairs} | {pairs[0][0].id: line}
    kept = []
    for (candidate, form), rest in zip(chosen, rests, strict=True):
        if candidate.id in lines:
            order = (candidate.order[0], RESIDENT_ORDER, *candidate.order[1:])
            kept.append((replace(candidate, order=order, frame=None), Form(lines[candidate.id])))
        else:
            kept.append((candidate, form if rest is None else rest))
    held = frozenset(candidate.id for (candidate, _), rest in zip(chosen, rests, strict=True) if rest is None)
    return Unsent(tuple(kept), frozenset(lines), held)


def sent_lines(chosen: Iterable[tuple[Slice, Form]], lines_of: LinesOf) -> tuple[SentLines, ...]:
    """Return the lines of files in these forms."""
    return tuple(
        (sys.intern(candidate.path), first, hashes)
        for candidate, form in chosen
        if candidate.path and candidate.type not in STANDING
        for first, hashes in ShownLines(candidate, form, lines_of(candidate.path)).runs()
    )


def held_of(piece: Slice, form: Form, tokens: int) -> tuple[str, Held]:
    """Return the id and the record of a slice that is sent in this form."""
    held = Held(_digest(form.text), _whole(piece, form), len(form.text), tokens)
    return sys.intern(piece.id), held


def holds(resident: ConversationContent, piece: Slice, form: Form) -> bool:
    """Whether the conversation was sent a slice in this form."""
    held = resident.slices.get(piece.id)
    return held is not None and held.digest == _digest(form.text)


def holds_whole(resident: ConversationContent, piece: Slice) -> bool:
    """Whether the conversation was sent a slice in any form, and the slice's content hasn't changed since."""
    held = resident.slices.get(piece.id)
    return held is not None and held.whole == _digest(piece.grow(piece.full_characters).text)


class ContextWindows:
    """The content that the context windows of all sessions hold. On the event loop only."""

    def __init__(self) -> None:
        self._windows: OrderedDict[tuple[str, str], ConversationContent] = OrderedDict()
        self._held = 0
        self._lines = 0

    def of(self, session_id: str, agent_id: str) -> ConversationContent:
        """Return the content that an agent's window in a session holds; empty for an unknown agent."""
        return self._windows.get((session_id, agent_id), NOTHING_HELD)

    def sent(
        self,
        session_id: str,
        agent_id: str,
        slices: Iterable[tuple[str, Held]],
        lines: Iterable[SentLines] = (),
    ) -> ConversationContent:
        """Record the content sent to an agent; return all content that its window holds now."""
        before = self._pop((session_id, agent_id))
        known = dict(before.slices)
        for identifier, held in slices:
            known.pop(identifier, None)  # so that the latest are last
            known[identifier] = held
        while len(known) > SLICES_MAX:
            del known[next(iter(known))]
        resident = ConversationContent(known, _with_lines(before.lines, lines))
        self._windows[session_id, agent_id] = resident
        self._held += len(known)
        self._lines += _count(resident.lines)
        while len(self._windows) > WINDOWS_MAX or self._held > HELD_MAX or self._lines > ALL_LINES_MAX:
            self._pop(next(iter(self._windows)))
        return resident

    def forget(self, session_id: str, agent_id: str | None = None) -> None:
        """Forget the conversations of a session, or of one agent, after a compaction or a new start."""
        for window in [
            window for window in self._windows if window[0] == session_id and agent_id in {None, window[1]}
        ]:
            self._pop(window)

    def _pop(self, window: tuple[str, str]) -> ConversationContent:
        resident = self._windows.pop(window, NOTHING_HELD)
        self._held -= len(resident.slices)
        self._lines -= _count(resident.lines)
        return resident


def _whole(piece: Slice, form: Form) -> bytes:
    """Return the digest of a slice's whole content; for a file, which may be long, of the shown text."""
    if form.compressed and piece.type in STANDING:
        form = piece.grow(piece.full_characters)
    return _digest(form.text)


def _rest(piece: Slice, form: Form, resident: ConversationContent, lines_of: LinesOf) -> Form | None:
    """Return a form without held lines, None if everything is held."""
    if holds(resident, piece, form):
        return None
    lines = resident.lines.get(piece.path)
    if lines is None or piece.type in STANDING:
        return form
    return ShownLines(piece, form, lines_of(piece.path)).without(lines.hashes)


def _with_lines(before: Mapping[str, HeldLines], sent: Iterable[SentLines]) -> Mapping[str, HeldLines]:
    """Return the held lines with those sent now, the latest files last."""
    changed: dict[str, array[int]] = {}
    for path, first, hashes in sent:
        held = changed.get(path)
        if held is None:
            held = changed[path] = before[path].hashes[:] if path in before else array("q")
        if (end := first + len(hashes)) > len(held):
            held.extend([0] * (end - len(held)))
        held[first:end] = hashes
    if not changed:
        return before
    lines = {path: held for path, held in before.items() if path not in changed}
    lines |= {path: HeldLines(hashes) for path, hashes in changed.items()}
    count = _count(lines)
    for path in list(lines):
        if count <= LINES_MAX:
            break
        count -= len(lines.pop(path).hashes)
    return lines


def _count(lines: Mapping[str, HeldLines]) -> int:
    return sum(len(line.hashes) for line in lines.values())


def _name(piece: Slice) -> str:
    """Return the name of a slice in a naming line; definitions of one file share a line."""
    return (piece.path or piece.id.partition(":")[2] or piece.id) + (
        "\0" if piece.path and piece.lines else ""
    )


def _line(name: str, slices: Iterable[Slice]) -> str:
    """Return the line that names held slices with the same name."""
    ranges: list[tuple[int, int]] = []
    for first, last in sorted({piece.lines for piece in slices if piece.path and piece.lines}):
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], last))
        else:
            ranges.append((first, last))
    places = f", lines {', '.join(f'{first}-{last}' for first, last in ranges)}" if ranges else ""
    return f"- `{render.inline(name)}`{places}: unchanged, as sent before\n"


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


NOTES = ("\u2026", "\u22ee", MARK)
"""The first characters of rows that are notes about omitted lines."""

NOTE_SHARE = 2
"""Minimum ratio of the characters of omitted lines to those of the note that replaces them."""

_NUMBERED = re.compile(r" *(\d+)(?:  (.*))?")
_TELLING = re.compile(r"\w")


def line_hash(line: str) -> int:
    """Return a hash of a line, stable while the daemon runs, never 0."""
    return hash(line) or 1


class ShownLines:
    """Finds which lines of its file a slice shows in a form; `source` are all lines of the file.

    A row counts as a line if it equals the line with its number. Rows without numbers are compared in order
    with the lines from the first one of the slice. Other rows, such as headings, count as none.
    """

    def __init__(self, piece: Slice, form: Form, source: Sequence[str]) -> None:
        self._form = form
        self._source = source
        self._rows = form.text.split("\n")
        self._body = _body(self._rows, in_frame=piece.frame is not None)
        self._numbers = self._numbered() or self._in_place(piece.lines[0] if piece.lines else 1)

    def runs(self) -> Iterator[tuple[int, array[int]]]:
        """Yield each run of shown lines: the number of the first, and the hashes of all."""
        for rows in self._runs(sorted(self._numbers)):
            numbers = [self._numbers[row] for row in rows]
            yield numbers[0], array("q", (line_hash(self._source[number - 1]) for number in numbers))

    def without(self, held: Sequence[int]) -> Form | None:
        """Return the form without runs of held lines, None if it shows nothing else.

        `held` are the hashes of held lines, indexed by line number.
        """
        known = [row for row in sorted(self._numbers) if self._holds(held, self._numbers[row])]
        if not known:
            return self._form
        inside = frozenset(known)
        if not any(row not in inside and self._is_telling(row) for row in self._body):
            return None
        notes: dict[int, str] = {}
        gone: set[int] = set()
        for rows in self._runs(known):
            note = f"\u22ee {lines_named(self._numbers[rows[0]], self._numbers[rows[-1]])}: shown before"
            if sum(len(self._rows[row]) + 1 for row in rows) > NOTE_SHARE * len(note):
                notes[rows[0]] = note
                gone.update(rows)
        if not gone:
            return self._form
        kept = (
            notes.get(row, text) for row, text in enumerate(self._rows) if row in notes or row not in gone
        )
        return replace(self._form, text="\n".join(kept), compressed=True)

    def _holds(self, held: Sequence[int], number: int) -> bool:
        return number < len(held) and held[number] == line_hash(self._source[number - 1])

    def _is_telling(self, row: int) -> bool:
        text = self._rows[row].strip()
        numbered = _NUMBERED.fullmatch(text)
        shown = text if numbered is None or row not in self._numbers else numbered[2] or ""
        return not text.startswith(NOTES) and _TELLING.search(shown) is not None

    def _runs(self, rows: Sequence[int]) -> Iterator[list[int]]:
        """Yield runs of rows that are consecutive in the form and in the file."""
        run: list[int] = []
        for row in rows:
            if run and not (row == run[-1] + 1 and self._numbers[row] == self._numbers[run[-1]] + 1):
                yield run
                run = []
            run.append(row)
        if run:
            yield run

    def _numbered(self) -> Mapping[int, int]:
        """Return the line numbers of numbered rows."""
        found = {}
        for row in self._body:
            match = _NUMBERED.fullmatch(self._rows[row])
            number = int(match[1]) if match and len(match[1]) < 10 else 0
            if match and 0 < number <= len(self._source) and (match[2] or "") == self._source[number - 1]:
                found[row] = number
        return found

    def _in_place(self, first: int) -> Mapping[int, int]:
        """Return the line numbers of rows that equal the lines from `first` on."""
        found = {}
        for number, row in enumerate(self._body, first):
            if number > len(self._source) or self._rows[row].rstrip("\r") != self._source[number - 1]:
                break
            found[row] = number
        return found


def lines_named(first: int, last: int) -> str:
    """Return a range of lines in words."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _body(rows: Sequence[str], *, in_frame: bool) -> range:
    """Return the rows without the heading, the fences and the line that says where a part begins."""
    if in_frame:
        return range(1, len(rows) - 1)
    fences = [row for row, text in enumerate(rows) if text.startswith("```")]
    return range(fences[0] + 1, fences[-1]) if len(fences) > 1 else range(0)
