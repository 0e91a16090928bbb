"""Jupyter notebooks as one source in the language of their kernel: the cells without outputs and pictures.

Each line of a cell stands at the line of the file on which Jupyter, VS Code and Colab write it, a string a
line; all other lines are blank. So a place in the source is a place in the file. A notebook that is written
otherwise, such as on one line, is numbered by the lines of its cells. A damaged one stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from .records import ParsedFile, Symbol
from .source_text import MAX_NAME, MAX_SIGNATURE
from .symbols import UniqueNames

NOTEBOOK = "notebook"
"""The language of a notebook by its name alone; its first line tells that of its kernel."""

OUTPUT_SHARE = 16
"""How many times larger than another file a notebook may be, since most of it are outputs, which are left
out. Of fastai's, Karpathy's and OpenVINO's notebooks the largest have 0.3 to 11 MB."""


DATA_LINE = 500
"""Characters of a line from which on pictures written into it are left out."""


def is_notebook(path: str) -> bool:
    """Return whether a file is a notebook by its name."""
    return path[-6:].lower() == ".ipynb"


def read_limit(path: str, max_bytes: int) -> int:
    """Return how many bytes of a file are read if its text may have `max_bytes`."""
    return max_bytes * OUTPUT_SHARE if is_notebook(path) else max_bytes


def source_of(path: str, data: bytes) -> bytes:
    """Return a file's content as it is indexed and shown: its bytes, or a notebook's cells as UTF-8."""
    if not is_notebook(path):
        return data
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data
    language = notebook.metadata.language_info.name or notebook.metadata.kernelspec.language or "python"
    language = language.lower().rstrip("0123456789.")  # as in "c++17"
    mark = "//" if language in _SLASHES else "#"
    cells = [(number, cell, cell.lines) for number, cell in enumerate(notebook.cells, 1)]
    rows = _at_their_lines(data.split(b"\n"), cells, language, mark) or [
        row for cell in cells for row in ("", *_shown(*cell, language, mark))
    ]
    first = f"#!{_INTERPRETERS.get(language, language.split(' ')[0])}"
    rows = [first, *rows[1:]] if rows and not rows[0] else [first, *rows]
    return "\n".join(rows).encode("utf-8", "replace")


def without_gaps(source: str) -> tuple[str, list[int]]:
    """Return a source with one blank line for each run of them, and the numbers in the source of its lines
    and of the source's last line."""
    rows = source.split("\n")
    kept = [at for at, row in enumerate(rows) if row or (at and rows[at - 1])]
    return "\n".join(rows[at] for at in kept), [*(at + 1 for at in kept), len(rows)]


def shown_text(path: str, text: str) -> str:
    """Return a part of a file as it is shown: without a notebook's gaps and the line of its language."""
    if not is_notebook(path):
        return text
    shown = without_gaps(text)[0]
    return shown.partition("\n")[2].lstrip("\n") if shown.startswith("#!") else shown


def with_sections(parsed: ParsedFile, source: str) -> ParsedFile:
    """Return what was parsed of a source with the headings of its Markdown cells as sections."""
    names = UniqueNames()
    code = [(names.unique(symbol.name), symbol, at) for at, symbol in enumerate(parsed.symbols)]
    found = [*code, *((names.unique(each.name), each, -1) for each in _sections(source))]
    found.sort(key=lambda each: (each[1].start_line, -each[1].end_line))
    places = {-1: -1} | {at: place for place, (_, _, at) in enumerate(found) if at >= 0}
    known = parsed.references
    references = replace(
        known,
        references=tuple(each._replace(scope=places[each.scope]) for each in known.references),
        bindings=tuple(each._replace(scope=places[each.scope]) for each in known.bindings),
        types=tuple(each._replace(scope=places[each.scope]) for each in known.types),
    )
    symbols = tuple(replace(symbol, name=name) for name, symbol, _ in found)
    return replace(parsed, symbols=symbols, references=references)


def in_file(parsed: ParsedFile, lines: Sequence[int]) -> ParsedFile:
    """Return what was parsed of a source without gaps, at these lines of the notebook."""
    known = parsed.references
    references = replace(
        known,
        references=tuple(each._replace(line=lines[each.line - 1]) for each in known.references),
        types=tuple(each._replace(line=lines[each.line - 1]) for each in known.types),
    )
    symbols = tuple(
        replace(each, start_line=lines[each.start_line - 1], end_line=lines[each.end_line - 1])
        for each in parsed.symbols
    )
    imports = tuple(replace(each, line=lines[each.line - 1]) for each in parsed.imports)
    return replace(parsed, symbols=symbols, imports=imports, lines=lines[-1], references=references)


class _Cell(Struct):
    cell_type: str = ""
    source: str | list[str] = ""

    @property
    def lines(self) -> list[str]:
        """The lines of its text."""
        text = self.source if isinstance(self.source, str) else "".join(self.source)
        return text.rstrip().replace("\r\n", "\n").split("\n") if text.strip() else []


class _Kernel(Struct):
    name: str = ""
    language: str = ""


class _Metadata(Struct):
    language_info: _Kernel = field(default_factory=_Kernel)
    kernelspec: _Kernel = field(default_factory=_Kernel)


class _Notebook(Struct):
    cells: list[_Cell]
    metadata: _Metadata = field(default_factory=_Metadata)


_NumberedCell = tuple[int, _Cell, list[str]]

_INTERPRETERS = {"r": "Rscript", "javascript": "node", "typescript": "deno", "c++": "cpp", "c#": "csharp"}
_SLASHES = frozenset({"javascript", "typescript", "scala", "kotlin", "c++", "c#", "java", "rust", "go"})


def _shown(number: int, cell: _Cell, lines: Sequence[str], language: str, mark: str) -> list[str]:
    """Return a cell as lines of source: its number, then its code, or its text in comments."""
    if not lines:
        return []
    lines = [_DATA.sub(r"\1…", line) if len(line) > DATA_LINE else line for line in lines]
    if cell.cell_type != "code":
        return [f"{mark} %% cell {number} [{cell.cell_type}]", *(f"{mark} {line}".rstrip() for line in lines)]
    return [f"{mark} %% cell {number}", *(_without_magic(lines) if language == "python" else lines)]


def _without_magic(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of an IPython cell with its commands in comments; another language's cell whole."""
    named = _CELL_MAGIC.match(lines[0])
    is_foreign = named is not None and named[1] not in _PYTHON_MAGICS
    is_command, before = False, ""
    for line in lines:
        is_command = _MAGIC.match(line) is not None or (is_command and before.endswith("\\"))
        before = line
        yield f"# {line}".rstrip() if is_foreign or is_command else line


_DATA = re.compile(r"(data:[\w/+.-]{1,99};base64,)[A-Za-z0-9+/=]+")
_CELL_MAGIC = re.compile(r"%%(\w+)")
_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun", "debug", "memit", "mprun", "lprun"})
_MAGIC = re.compile(r"\s*(?:%%?[A-Za-z]|!|\?|[A-Za-z_][\w.]*\?{1,2}\s*$)")


def _at_their_lines(
    written: Sequence[bytes], cells: Sequence[_NumberedCell], language: str, mark: str
) -> list[str]:
    """Return the cells' lines at the lines of the file, none if the file isn't written a string a line."""
    rows = [""] * len(written)
    places = (at for at, line in enumerate(written) if line.strip().startswith(b'"source":'))
    for cell in cells:
        if shown := _shown(*cell, language, mark):
            at = next((start for at in places if (start := _start(written, at, cell[2])) >= 0), -1)
            if at < 0:
                return []
            rows[at : at + len(shown)] = shown
    return rows


def _start(written: Sequence[bytes], at: int, lines: Sequence[str]) -> int:
    """Return the line of the file above the first of a cell's lines, or -1 if the source that is written
    there is another. A source of one line may stand behind its key."""
    is_list = written[at].rstrip().endswith(b"[")
    if (at + len(lines) >= len(written)) if is_list else (len(lines) != 1):
        return -1
    for number, line in enumerate(lines, at + 1):
        # Row by row: no key of a source is a string alone, so that all comparisons take linear time together.
        row = written[number] if is_list else written[at].partition(b":")[2]
        try:
            text = msgspec.json.decode(row.strip().removesuffix(b","), type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return -1
        if text.rstrip() != line.rstrip():
            return -1
    return at if is_list else at - 1


def _sections(source: str) -> Iterator[Symbol]:
    """Yield the headings of Markdown cells as sections, each up to the next one or the end of its cell."""
    rows = source.split("\n")
    heads = [(at, match) for at, row in enumerate(rows, 1) if (match := _CELL.match(row))]
    for (at, head), (following, _) in zip(heads, [*heads[1:], (len(rows) + 1, None)], strict=False):
        if head[2] != "markdown":
            continue
        found = [
            (line, match)
            for line in range(at + 1, following)
            if (match := _HEADING.match(rows[line - 1][:400]))
        ]
        last = next(line for line in range(following - 1, 0, -1) if rows[line - 1].strip())
        ends = [*(line - 1 for line, _ in found[1:]), last]
        for (line, match), end in zip(found, ends, strict=False):
            title = match[2].strip(" #*`_")[:MAX_NAME]
            if title:
                yield Symbol(title, "section", line, end, match[0][len(head[1]) + 1 :][:MAX_SIGNATURE], "", 0)


_CELL = re.compile(r"(#|//) %% cell \d+(?: \[(\w+)\])?$")
_HEADING = re.compile(r"(?:#|//) (#{1,6})\s+(\S.*)")
