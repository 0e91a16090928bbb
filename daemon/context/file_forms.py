"""The ways to show a file in a context: whole, shortened, one definition, an outline, or a line naming it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate

from ..compression.records import MARK
from ..languages.shared.notebook import shown_text
from ..languages.shared.records import Symbol
from ..project.records import Content
from ..project.service import count_lines
from . import render
from .excerpt import FileSource, left_out_note, on_one_line, outline, shorten, shorten_definition
from .focus import FocusNode
from .selection import Form
from .skeleton import printable
from .twins import SIGNATURE_CHARACTERS, twin_line, without_twins

NAMES_MAX = 8
"""Maximum number of definitions listed on the line that names a file."""

NAMES_CHARACTERS = 200
"""Maximum characters of that list, which keeps the line to about 100 tokens."""

PASSED_ON_MAX = 12
"""Maximum number of imported files listed for a file without definitions of its own."""

EXCERPT_CHARACTERS_MIN = 80
"""Minimum characters for an excerpt; with less room a file is only named."""

COMMENTS = ("/", "*", "#", "--", ";", "%")
"""The first characters of comment lines in the supported languages."""

AROUND_CHARACTERS = 160
"""Number of characters reserved for the fences and the note around a shortened text."""


class FileForms:
    """The forms of a file in focus: whole if it fits, else its most relevant lines."""

    def __init__(
        self,
        node: FocusNode,
        source: FileSource,
        words: Iterable[str],
        wanted: Iterable[str],
        *,
        cut: bool,
        unsaved: bool,
    ) -> None:
        self._source = source
        self._words = tuple(words)
        self._wanted = frozenset(wanted)
        self._name = name_of(node.path)
        mark = ", unsaved" if unsaved else ""
        self._heading = f"{self._name} ({_lines(source.line_count)}{mark})"
        self._cut = cut
        self._whole = (
            render.code_block(self._heading, shown_text(source.path, source.text), source.tag)
            if source.text.strip()
            else None
        )
        self.full_characters = 0 if cut or self._whole is None else len(self._whole)
        if cut:
            self.full_characters = len(source.text)

    def __call__(self, characters: int) -> Form:
        """Return the longest form within a number of characters; the shortest one only names the file."""
        if self._whole is None:
            return Form(render.block(self._heading, "The file is empty.\n"))
        if not self._cut and len(self._whole) <= characters:
            return Form(self._whole)
        room = characters - len(self._heading) - len(self._name) - AROUND_CHARACTERS
        if room < EXCERPT_CHARACTERS_MIN:
            names = defines(self._source.symbols) or "Not shown for want of room."
            return Form(render.block(self._heading, f"{names}\n"), compressed=True)
        source, fewer, said = self._without_twins
        shown = shorten(source, self._words, self._wanted, room)
        note = left_out_note(shown.left_out_lines + fewer, f"expand {self._name} or a definition of it")
        note = f"{note}; {said}" if said else note
        if self._cut:
            note = f"The file is too large to be shown whole. {note}"
        return Form(render.code_block(self._heading, shown.text, self._source.tag, note), compressed=True)

    @cached_property
    def _without_twins(self) -> tuple[FileSource, int, str]:
        return without_twins(self._source, self._wanted)


class DefinitionForms:
    """The forms of a definition, or of lines outside of any definition; `first` and `last` are its lines.

    A whole definition is shown without line numbers, which would take an eighth of its tokens. With
    `in_frame` several parts of one file share a code block, each below a line that says where it begins, with
    a `remark` if there is one, and whether it is `uncertain` that it is needed. With a `twin` that is shown
    itself the definition is only named.
    """

    def __init__(
        self,
        source: FileSource,
        symbol: Symbol | None,
        first: int,
        last: int,
        words: Iterable[str] = (),
        *,
        in_frame: bool = False,
        remark: str = "",
        uncertain: bool = False,
        twin: Symbol | None = None,
    ) -> None:
        self._source = source
        self._symbol = symbol
        self._words = tuple(words)
        self._name = name_of(source.path, symbol.name if symbol is not None else "")
        self._heading = f"{self._name} (lines {first}-{last})"
        said = f", {remark}" if remark else ""
        mark = f"⋮ line {first}{_inside(symbol)}{said}{' (uncertain)' * uncertain}"
        self._mark = mark if in_frame else ""
        lines = source.part(first, min(last, source.line_count))
        if (
            symbol is not None and last < symbol.end_line
        ):  # comments above the next definition belong to that one
            while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith(COMMENTS)):
                lines.pop()
        self._last = first + len(lines) - 1
        self._text = shown_text(source.path, "\n".join(lines).rstrip())
        self._whole = self._form(self._text)
        if twin is not None and symbol is not None:
            self._whole = Form(f"{mark}: {twin_line(symbol, twin, MARK)}\n", compressed=True)
        self.full_characters = len(self._whole.text)

    def __call__(self, characters: int) -> Form:
        """Return the definition whole or its most relevant lines; the shortest form is its signature or first
        line."""
        if self.full_characters <= characters:
            return self._whole
        room = characters - len(self._heading) - len(self._name) - AROUND_CHARACTERS
        if self._symbol is None:
            text, _, _ = self._text[: max(room, 0)].rpartition("\n")
            text = text or self._text.partition("\n")[0]
            return self._form(text, self._text.count("\n") - text.count("\n"))
        if room >= EXCERPT_CHARACTERS_MIN:
            shown = shorten_definition(self._source, self._symbol, self._words, room, self._last)
            return self._form(shown.text, shown.left_out_lines)
        if self._mark:
            signature = on_one_line(self._symbol.signature).partition("\n")[0]
            return Form(f"{self._mark}: {signature[:SIGNATURE_CHARACTERS]} {MARK}\n", compressed=True)
        return self._form(outline([self._symbol], self._source.tag, docs=True), self._text.count("\n"))

    def _form(self, text: str, left_out: int | None = None) -> Form:
        """Return a form with this text; `left_out` is the number of omitted lines, None for the whole."""
        note = "" if not left_out else left_out_note(left_out, f"expand {self._name}")
        if not self._mark:
            block = render.code_block(self._heading, text, self._source.tag, note)
            return Form(block, compressed=left_out is not None)
        rows = (self._mark, text, note.replace("`", "")) if note else (self._mark, text)
        return Form("\n".join(rows) + "\n", compressed=left_out is not None)


class OutlineForms:
    """The forms of a related file: signatures with documentation, signatures alone, or only names.

    A file without definitions shows the files that it imports (`passed_on`), or else its size. `relation`
    says in words how the file is related to the focus.
    """

    def __init__(
        self,
        path: str,
        relation: str,
        content: Content,
        symbols: Sequence[Symbol],
        tag: str,
        passed_on: Iterable[str],
    ) -> None:
        self._heading = f"{name_of(path)} ({relation})"
        least = defines(symbols) or _passes_on(list(dict.fromkeys(passed_on))) or _size(content)
        self._forms = [Form(render.block(self._heading, f"{least}\n"), compressed=bool(symbols))]
        if symbols:
            for depth, docs in ((0, False), (1, False), (99, True)):
                text = outline(symbols, tag, docs=docs, depth=depth)
                self._forms.append(Form(render.code_block(self._heading, text, tag), compressed=depth < 99))
        self.full_characters = max(len(form.text) for form in self._forms)

    def __call__(self, characters: int) -> Form:
        """Return the longest form within a number of characters, or the shortest one if none fits."""
        fitting = [form for form in self._forms if len(form.text) <= characters]
        return fitting[-1] if fitting else self._forms[0]


def unshown_form(node: FocusNode, reason: str) -> Form:
    """Return the form of a node in focus that can't be shown, with the reason."""
    return Form(render.block(name_of(node.path, node.symbol), f"{reason}\n"))


def name_of(path: str, symbol: str = "") -> str:
    """Return a node's name as a code span: a path may hold line breaks and backticks."""
    return f"`{printable(path)}#{render.inline(symbol)}`" if symbol else f"`{printable(path)}`"


def defines(symbols: Sequence[Symbol], most: int = NAMES_MAX) -> str:
    """Name the first top-level definitions of a file in a sentence; "" if there are none."""
    outermost = [symbol.name for symbol in symbols if symbol.depth == 0]
    names = [f"`{render.inline(name)[:60]}`" for name in outermost[:most]]
    return f"Defines {_some(names, len(outermost))}." if names else ""


def _inside(symbol: Symbol | None) -> str:
    """Name the class that a definition lies in, since the line that opens it isn't shown."""
    parent = symbol.name.rpartition(".")[0] if symbol is not None else ""
    return f", in {parent}" if parent else ""


def _passes_on(paths: Sequence[str]) -> str:
    """Name the files imported by a file that only re-exports."""
    names = [name_of(path) for path in paths]
    return f"Defines nothing itself; it imports {_some(names[:PASSED_ON_MAX], len(names))}." if names else ""


def _size(content: Content) -> str:
    if content.problem:
        return f"Not shown: {content.problem}."
    return f"{'More than ' if content.cut else ''}{_lines(count_lines(content.text))}."


def _some(names: Sequence[str], total: int) -> str:
    """List names up to `NAMES_CHARACTERS`, at least one, and count the rest of `total`."""
    ends = accumulate(len(name) + 2 for name in names)
    count = max(sum(end <= NAMES_CHARACTERS for end in ends), 1)
    more = f" and {total - count:,} more" if total > count else ""
    return ", ".join(names[:count]) + more


def _lines(count: int) -> str:
    return f"{count:,} line{'s' * (count != 1)}"
