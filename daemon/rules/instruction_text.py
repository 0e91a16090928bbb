"""The text of an instruction file: its frontmatter, its prose without comments, and the files that it
imports.

YAML is imported for the first file that has frontmatter: it takes 10 ms, too long for the daemon's start.
Every scalar is read as text (the base loader, a subset of the safe one): `on` stays text, an impossible date
is no error, and a number of 60,000 digits isn't converted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from ..core.confined_folder import MAX_FILE_BYTES, ConfinedFolder, ConfinedReader, ReadFile, RefusedError
from ..core.globs import split_globs
from ..privacy.secret_files import is_secret_file

MAX_IMPORT_DEPTH = 4
"""Maximum depth of imports within imports: Claude Code's own limit."""
MAX_IMPORTS = 2000
"""Maximum number of imports looked up in all rules, found or not."""


class Importer(Struct):
    """Expands the imports of many instruction files; `home` is what `~` stands for.

    `warn` is called with the name of a file and a message.
    """

    reader: ConfinedReader
    home: str
    warn: Callable[[str, str], None]
    _looked_up: int = 0

    def expand(
        self, zone: ConfinedFolder, text: str, path: str, real: str
    ) -> tuple[list[ProseLine], frozenset[str]]:
        """Return the lines of an instruction file with its imports, each imported file once, and the real
        paths of all files that they come from.

        `path` is the file's path in the confined folder; its imports are relative to its folder. An import
        that is alone on its line is replaced by the content; an import within a sentence is followed by it.
        An import that doesn't exist, lies outside that folder, is cyclic or exceeds a limit stays as written.
        """
        expansion = _Expansion(self, zone, {real}, len(text))
        name, folder = zone.prefix + path, os.path.dirname(zone.absolute(path))
        lines = expansion.lines(prose_lines(text), name, folder, (real,))
        return lines, frozenset(expansion.inlined)

    def imported(self, zone: ConfinedFolder, path: str) -> tuple[str, ReadFile] | None:
        """Read a file to import, with its real path; `None` if it is no file. Raises `RefusedError`."""
        self._looked_up += 1
        if self._looked_up > MAX_IMPORTS:
            raise RefusedError(f"is one of more than {MAX_IMPORTS} in all rules: import less")
        located = self.reader.locate(zone, path, free=False)
        if located is None or located.is_folder:
            return None
        if is_secret_file(os.path.relpath(located.path, zone.real)):
            raise RefusedError("holds secrets by its name: it is shown to nobody")
        read = self.reader.read(located)
        return None if read is None else (located.path, read)


class _Expansion(Struct):
    """The expansion of one instruction file: the real paths of the files in it, and their size in
    characters."""

    importer: Importer
    zone: ConfinedFolder
    inlined: set[str]
    size: int

    def lines(
        self, lines: list[ProseLine], name: str, folder: str, chain: tuple[str, ...]
    ) -> list[ProseLine]:
        """Expand the lines of the file `name` in `folder`; `chain` are the real paths up to its own."""
        expanded: list[ProseLine] = []
        for line in lines:
            contents = [
                ProseLine(line.number, content)
                for target in line.imports
                if (content := self._content(target, name, folder, chain)) is not None
            ]
            if line.alone and contents:
                expanded += contents
            else:
                blank = ProseLine(line.number, "")
                expanded.append(line)
                expanded += [part for content in contents for part in (blank, content, blank)]
        return expanded

    def _content(self, target: str, name: str, folder: str, chain: tuple[str, ...]) -> str | None:
        """Return the text of an import, with its own imports; `None` if it stays as written."""
        try:
            imported = self.importer.imported(self.zone, _absolute(target, folder, self.importer.home))
            if imported is None:
                if target.endswith((".md", ".mdc")):
                    raise RefusedError("doesn't exist: mend the path")
                return None  # `@` of a person, a decorator or a package
            real, read = imported
            if real in chain:
                raise RefusedError("is cyclic, it leads back to itself: remove it")
            if real in self.inlined:
                return None
            if len(chain) > MAX_IMPORT_DEPTH:
                raise RefusedError(f"is nested more than {MAX_IMPORT_DEPTH} deep: import it further up")
            if self.size + len(read.text) > MAX_FILE_BYTES:
                raise RefusedError(f"would make the text exceed {MAX_FILE_BYTES} bytes: import less")
        except RefusedError as refused:
            self.importer.warn(name, f"the import @{target} {refused}")
            return None
        self.inlined.add(real)
        self.size += len(read.text)
        lines = prose_lines(read.text)
        expanded = self.lines(lines, self.zone.name_of(real), os.path.dirname(real), (*chain, real))
        return trimmed(expanded)[1]


def _absolute(target: str, folder: str, home: str) -> str:
    if target == "~" or target.startswith("~/"):
        return home + target[1:]
    return os.path.join(folder, target)


_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_COMMENT = re.compile(r" {0,3}<!--")
_BACKTICKS = re.compile(r"`+")
_IMPORT = re.compile(r"(?<!\S)@((?:[^\s\\`]|\\ )+)")
_PUNCTUATION = ".,;:!?)]}\"'*_>"
"""Punctuation that may follow a path in a sentence and hardly ever ends a file's name."""


class ProseLine(Struct, frozen=True):
    """A line of prose. `number` is its line in the text it came from, from 1.

    `imports` are the paths after an `@` that stands at the start of a word and not in code, with escaped
    spaces undone, and without a `#fragment` or the punctuation of the sentence. `alone` says that the line
    is nothing but one import. `code` says that it belongs to a fenced block.
    """

    number: int
    text: str
    imports: tuple[str, ...] = ()
    alone: bool = False
    code: bool = False


def prose_lines(text: str) -> list[ProseLine]:
    """Read a text's lines: block comments (`<!-- … -->` at the start of a line) left out, imports found.

    A comment that isn't closed is plain text. Code spans may cross lines within a paragraph.
    """
    lines: list[ProseLine] = []
    paragraph: list[ProseLine] = []
    for line in _uncommented(text):
        if line.code or not line.text.strip():
            lines += _with_imports(paragraph)
            lines.append(line)
            paragraph = []
        else:
            paragraph.append(line)
    return lines + list(_with_imports(paragraph))


def trimmed(lines: Iterable[ProseLine]) -> tuple[int, str]:
    """Join lines without the blank ones at both ends; also return the number of the first one, or 1."""
    kept = list(lines)
    while kept and not kept[-1].text.strip():
        kept.pop()
    start = next((index for index, line in enumerate(kept) if line.text.strip()), 0)
    return (kept[start].number if kept else 1), "\n".join(line.text for line in kept[start:])


def _uncommented(text: str) -> Iterator[ProseLine]:
    """Yield the lines outside block comments; those of fenced blocks, with their fences, marked as code."""
    texts = text.split("\n")
    last_end = max((number for number, line in enumerate(texts, 1) if "-->" in line), default=0)
    fence = ""
    commented = False
    for number, line in enumerate(texts, 1):
        if fence:
            yield ProseLine(number, line, code=True)
            if line.strip(" \t>").startswith(fence) and not line.strip(" \t>" + fence[0]):
                fence = ""
            continue
        start, commented = _after_comments(line, commented, closed_later=number < last_end)
        if commented or (start and not line[start:].strip()):
            continue
        if opening := _FENCE.match(line, start):
            fence = opening[1]
        yield ProseLine(number, line[start:], code=bool(fence))


def _after_comments(line: str, commented: bool, *, closed_later: bool) -> tuple[int, bool]:
    """Return where a line goes on after its comments, and whether it ends within one."""
    position = 0
    while True:
        search = position
        if not commented:
            opening = _COMMENT.match(line, position)
            if opening is None:
                return position, False
            search = opening.end()
        end = line.find("-->", search)
        if end == -1:
            return position, commented or closed_later
        position, commented = end + 3, False


def _with_imports(paragraph: list[ProseLine]) -> Iterator[ProseLine]:
    if not any("@" in line.text for line in paragraph):
        yield from paragraph
        return
    masked = _without_spans("".join(f"{line.text}\n" for line in paragraph))
    for line, visible in zip(paragraph, masked.split("\n")[:-1], strict=True):
        matches = list(_IMPORT.finditer(visible))
        imports = tuple(target for match in matches if (target := _target(match[1])))
        alone = len(matches) == 1 and matches[0][0] == line.text.strip()
        yield ProseLine(line.number, line.text, imports, alone)


def _target(word: str) -> str:
    return word.partition("#")[0].rstrip(_PUNCTUATION).replace("\\ ", " ")


def _without_spans(paragraph: str) -> str:
    """Replace what stands in code spans by backticks, one for each character except line ends.

    A span ends at the next run of as many backticks as began it; a run without such a partner is text.
    """
    runs = list(_BACKTICKS.finditer(paragraph))
    partners: dict[int, int] = {}
    following: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = len(runs[index][0])
        if length in following:
            partners[index] = following[length]
        following[length] = index
    parts: list[str] = []
    end = index = 0
    while index < len(runs):
        partner = partners.get(index)
        if partner is not None:
            start = runs[index].start()
            span_end = runs[partner].end()
            parts += (paragraph[end:start], re.sub(r"[^\n]", "`", paragraph[start:span_end]))
            end, index = span_end, partner
        index += 1
    return "".join([*parts, paragraph[end:]])


MAX_FRONTMATTER = 65_536
"""Maximum characters of frontmatter; that of real rules has less than one thousand."""
MAX_DEPTH = 16
"""Maximum depth of nested lists and maps in frontmatter."""
GLOB_KEYS = ("globs", "glob", "paths", "applyTo")
"""The keys under which Claude, Cursor, Copilot, Cline and Windsurf keep globs."""

_DELIMITER = re.compile(r"^---[ \t]*$", re.MULTILINE)
_GLOB_LINE = re.compile(rf"^((?:{'|'.join(GLOB_KEYS)})[ \t]*:[ \t]+)([*{{!].*)$", re.MULTILINE)
_STAR_ITEM = re.compile(r"^([ \t]*-[ \t]+)(\*.*)$", re.MULTILINE)
_VALUE_LINE = re.compile(r"^([A-Za-z][\w-]*[ \t]*:[ \t]+|[ \t]*-[ \t]+)([^\s|>#].*)$", re.MULTILINE)
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_YAML_COMMENT = re.compile(r"[ \t]#.*$")


class Frontmatter(Struct, frozen=True):
    """The frontmatter of a file and the body below it.

    `line` is the line of the file on which `body` begins, from 1. `present` is True for an empty frontmatter
    too. Unusable frontmatter gives no fields and is left out of the body; `problem` says what is wrong.
    """

    fields: Mapping[str, object]
    body: str
    line: int
    present: bool
    problem: str = ""

    def text(self, key: str) -> str:
        """Return a field as one line of text; empty where it is missing, a list or a map."""
        value = self.fields.get(key)
        return " ".join(value.split()) if isinstance(value, str) else ""

    def flag(self, key: str) -> bool:
        """Tell whether a field says yes, in any of YAML's ways to say so."""
        return self.text(key).casefold() in ("true", "yes", "on")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a field that is a list, or a text with commas; without quotes that were left inside."""
        value = self.fields.get(key)
        values = value if isinstance(value, list) else [value]
        parts = [part for value in values if isinstance(value, str) for part in split_globs(value)]
        bare = [part[1:-1].strip() if _QUOTED.fullmatch(part) else part for part in parts]
        return tuple(part for part in bare if part)


def split_frontmatter(text: str) -> Frontmatter:
    """Split a file's text, whose lines end in a line feed, into its frontmatter and its body.

    Besides YAML it reads common mistakes in rule files: globs without quotes, which YAML takes for an alias
    (`globs: *.ts,**/*.tsx`, also in lists), and a colon within a description. Anchors and aliases are
    refused, since a few of them can stand for gigabytes. Never raises.
    """
    opening = _DELIMITER.match(text)
    closing = opening and _DELIMITER.search(text, opening.end() + 1)
    if opening is None or closing is None:
        return Frontmatter(MappingProxyType({}), text, 1, present=False)
    head = text[opening.end() + 1 : closing.start()]
    body = text[closing.end() + 1 :]
    line = 3 + head.count("\n")
    try:
        fields = _load_leniently(head)
    except ValueError as error:
        return Frontmatter(MappingProxyType({}), body, line, present=False, problem=str(error))
    if fields is None:  # two horizontal rules (---) with prose between them
        return Frontmatter(MappingProxyType({}), text, 1, present=False)
    return Frontmatter(MappingProxyType(fields), body, line, present=True)


def _load_leniently(head: str) -> dict[str, object] | None:
    """Read a map; `None` for a plain text. Raises `ValueError` with one line for a person."""
    import yaml

    if len(head) > MAX_FRONTMATTER:
        raise ValueError(f"it has {len(head)} characters, at most {MAX_FRONTMATTER} are read")
    head = _STAR_ITEM.sub(_quote, _GLOB_LINE.sub(_quote, head))
    try:
        return _load(head)
    except yaml.YAMLError as error:
        try:
            return _load(_VALUE_LINE.sub(_quote, head))
        except yaml.YAMLError:
            raise ValueError(_one_line(error)) from None  # the first error is about the author's own text


def _load(head: str) -> dict[str, object] | None:
    """Read a map; `None` for a plain text. Raises `YAMLError`, or `ValueError` for what is refused."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    depth = 0
    for event in yaml.parse(head, Loader=loader):
        if getattr(event, "anchor", None) is not None:
            raise ValueError("it has an anchor or an alias (&, *), which aren't read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:  # before the loader recurses into it
                raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    value = yaml.load(head, Loader=loader)  # noqa: S506 - the base loader builds str, list and dict only
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        return None
    if not isinstance(value, dict):
        raise ValueError("it is a list, not a map of 'key: value' lines")
    return {str(key): field for key, field in value.items()}


def _quote(match: re.Match[str]) -> str:
    """Quote the value of a line, or each part of a `[list]`; leave what is quoted or was never closed."""
    value = _YAML_COMMENT.sub("", match[2]).strip()
    if _QUOTED.fullmatch(value):
        return match[0]
    if value[0] == "[":
        if not value.endswith("]"):
            return match[0]
        parts = [part if _QUOTED.fullmatch(part) else _quoted(part) for part in split_globs(value[1:-1])]
        return f"{match[1]}[{', '.join(parts)}]"
    if value[0] in "\"'" and not value.endswith(value[0]):
        return match[0]
    return match[1] + _quoted(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _one_line(error: Exception) -> str:
    import yaml

    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        # The head begins on the file's second line, and marks count from 0.
        return f"{error.problem} on line {error.problem_mark.line + 2}"
    return " ".join(str(error).split())
