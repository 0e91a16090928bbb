"""Resolution of a name in a question to definitions, files, or a module outside of the project."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..index.records import Definition
from ..index.service import Reader
from ..languages.shared.language import language_of
from ..languages.shared.qualified_names import base_name, without_number
from ..project.service import Tree, by_stem, files_named
from .code_graph import MEANT_MAX, CodeGraph, GenerationCache, Meaning

FILES_MAX: Final = 50
"""Maximum number of files examined for a path, folder or module."""

SUBJECT_MAX: Final = 300
"""Maximum characters of a name."""


def meaning_of(
    written: str, graph: CodeGraph, *, files_first: bool = False, in_code: bool = False
) -> Meaning:
    """Return the meaning of a name, tried as a node id, path or line of a file, title of a section,
    as written, as part of a file's name, as an external name, in another case style, and as a misspelling.

    With `files_first` modules come before definitions. With `in_code` a name isn't that of a document or of
    data, unless it is a path."""
    subject = written.strip()[:SUBJECT_MAX].strip("`'\"\u201c\u201d\u2018\u2019 ,;!?()")
    nothing = Meaning(subject, base_name(_dotted(subject)))
    if not subject.strip("./#:~$@"):
        return nothing
    meaning = _as_node(subject, graph) or _as_path(subject, graph) or _as_place(subject, graph)
    meaning = meaning or _as_section(subject, graph)
    if meaning is None:
        ways = (_as_module, _as_name) if files_first else (_as_name, _as_module)
        name = _dotted(subject)
        found = [way(subject, name, graph) for way in ways]
        kept = [_in_code(each, graph) if each and in_code else each for each in found]
        meaning = next(filter(None, (*kept, _as_external(subject, name, graph))), None)
        if meaning is None and any(found):  # a similar name isn't what was written
            return replace(nothing, remarks=(f"no code is named `{subject}`, only documents or data",))
        meaning = meaning or _in_other_words(subject, name, graph)
    return meaning or replace(nothing, near=_near(nothing.name, graph)[0])


def _in_code(meaning: Meaning, graph: CodeGraph) -> Meaning | None:
    """Return a meaning without documents and data, None if nothing is left."""
    definitions = tuple(each for each in meaning.definitions if graph.is_code(each.path))
    files = tuple(path for path in meaning.files if graph.is_code(path))
    if not definitions and not files:
        return None
    total = meaning.total - len(meaning.definitions) + len(definitions)
    return replace(meaning, definitions=definitions, total=total, files=files)


def _as_node(subject: str, graph: CodeGraph) -> Meaning | None:
    """Resolve a node id such as `pkg/auth.py#Session.login`; Ruby's `Session#login` is not a node id."""
    path, mark, name = subject.partition("#")
    files = _files(path, graph) if mark and name and path else ()
    if not files:
        return None
    exact = [each for file in files for each in graph.links.definitions_at(file, name)]
    if not exact:
        dotted = _dotted(name)
        found = graph.reader.graph.definitions_named(dotted, MEANT_MAX)
        exact = [each for each in found if each.path in files]
    return _meant(subject, base_name(name), exact) if exact else None


def _as_section(subject: str, graph: CodeGraph) -> Meaning | None:
    """Resolve the title of a document's section, written `#Title` or `#Title/Subtitle`."""
    title = subject.removeprefix("#")
    if title == subject:
        return None
    for written in dict.fromkeys((title, title[:1].upper() + title[1:], title.title())):
        places = graph.reader.definitions_named(written, MEANT_MAX)
        found = [
            each
            for path, symbol in places
            if symbol.kind == "section"
            for each in graph.links.definitions_at(path, symbol.name)
            if each.symbol.name == symbol.name
        ]
        if found:
            return _meant(title, written.rpartition("/")[2], found)
    return None


def _as_path(subject: str, graph: CodeGraph) -> Meaning | None:
    """Resolve a path, a file's name or a folder; `auth.py` is a file before it is `py` of `auth`."""
    files = _files(subject, graph)
    if files:
        return Meaning(subject, subject, files=files[:FILES_MAX])
    folder = graph.tree.layout.folders.get(subject.strip("/")) if "/" in subject else None
    if folder is not None:
        inside = tuple(f"{subject.strip('/')}/{name}" for name in folder.files)
        return Meaning(subject, subject, files=inside[:FILES_MAX]) if inside else None
    return None


def _as_place(subject: str, graph: CodeGraph) -> Meaning | None:
    """Resolve a line of a file, such as `pkg/auth.py:12`, as the innermost definition around it."""
    place = PLACE.fullmatch(subject)
    found = []
    for path in _files(place["path"], graph) if place else ():
        around = [
            each
            for each in graph.links.definitions_at(path)
            if place and each.symbol.start_line <= int(place["line"]) <= each.symbol.end_line
        ]
        found += sorted(around, key=lambda each: each.symbol.end_line - each.symbol.start_line)[:1]
    return _meant(subject, base_name(found[0].symbol.name), found) if found else None


PLACE: Final = re.compile(r"(?P<path>\S+?\.\w+):(?P<line>\d{1,7})(?:[-:]\d{1,7})?")
"""A line of a file, with a column or a last line behind it."""


def _as_name(subject: str, name: str, graph: CodeGraph) -> Meaning | None:
    """Resolve a definition's name as written, or its last part with a file, folder or class before it."""
    queries = graph.reader.graph
    found = queries.definitions_named(name, MEANT_MAX)
    if found:
        total = len(found) if len(found) < MEANT_MAX else queries.count_named(name)
        whole = [each for each in found if without_number(each.symbol.name) == name]
        # `login` may mean `Session.login`; `Session.login` means a definition with that full name.
        if whole and "." in name and len(whole) < len(found):
            return _meant(subject, base_name(name), whole)
        return _meant(subject, base_name(name), found, total)
    for before, behind in _splits(name):
        folder = f"/{before.replace('.', '/')}/"
        found = [
            each
            for each in queries.definitions_named(behind, MEANT_MAX)
            if folder in f"/{each.path.rpartition('.')[0] or each.path}/"
        ]
        if found:
            return _meant(subject, base_name(name), found)
    return None


def _as_module(subject: str, name: str, graph: CodeGraph) -> Meaning | None:
    """Resolve a dotted module, or a path without its extension."""
    module = subject.lstrip("./") if "/" in subject else name.replace(".", "/")
    if not module:
        return None
    ending = f"/{module}"
    folders = graph.tree.layout.folders
    bearers = by_stem(graph.tree.layout).get(module.rpartition("/")[2], ())
    packages = [path for path in folders if f"/{path}".endswith(ending)]
    # A package comes first: besides `flask/__init__.py` there may be an example called `flask.py`.
    files = [
        f"{folder}/{each}"
        for folder in packages[:FILES_MAX]
        for each in folders[folder].files
        if _PACKAGE_FILE.match(each)
    ]
    files += [path for path in bearers if f"/{path.rpartition('.')[0]}".endswith(ending)]
    return Meaning(subject, subject, files=tuple(files[:FILES_MAX])) if files else None


def _as_external(subject: str, name: str, graph: CodeGraph) -> Meaning | None:
    """Resolve a name that is referenced but not defined in the project: `subprocess.run`, `println`."""
    before, _, last = name.rpartition(".")
    if before and graph.reader.graph.module_imports(before, 1):
        return Meaning(subject, last, module=before, external=True)
    if graph.reader.graph.module_imports(subject, 1):
        return Meaning(subject, last, module=subject, external=True)
    defined = before and graph.reader.graph.definitions_named(last, 1)
    if not defined and graph.links.named(last, states=("external", "name"), limit=1):
        return Meaning(subject, last, external=True)
    return None


def _in_other_words(subject: str, name: str, graph: CodeGraph) -> Meaning | None:
    """Resolve a name in another case style, without its qualifiers, or as the most similar name."""
    before, _, last = name.rpartition(".")
    for other in _variants(before, last):
        meaning = _as_name(subject, other, graph)
        if meaning is not None:
            return _guessed(meaning, subject, other)
    if last.lower() != last:  # file names have abbreviations in lower case
        meaning = _as_module(subject.lower(), name.lower(), graph)
        if meaning is not None:
            return _guessed(meaning, subject, name.lower())
    near, sure = _near(last, graph)
    if sure:
        taken = f"{before}.{near[0]}" if before else near[0]
        meaning = _as_name(subject, taken, graph) or _as_name(subject, near[0], graph)
        if meaning is not None:
            shown = taken if _as_name(subject, taken, graph) else near[0]
            also = f" (as near: {', '.join(near[1:])})" if near[1:] else ""
            remark = f"no `{subject}`; the nearest name is `{shown}`{also}"
            return replace(meaning, guess=True, near=near, remarks=(remark,))
    return None


def _variants(before: str, last: str) -> Iterator[str]:
    """Yield a name in other case styles, then with fewer and fewer qualifiers."""
    for other in styles(last):
        yield f"{before}.{other}" if before else other
    if before:
        for owner in styles(before.rpartition(".")[2]):
            yield f"{owner}.{last}"
        yield last
        yield from styles(last)


def _guessed(meaning: Meaning, written: str, taken: str) -> Meaning:
    return replace(meaning, guess=True, remarks=(f"no `{written}`; taken as `{taken}`",))


def _near(name: str, graph: CodeGraph) -> tuple[tuple[str, ...], bool]:
    found, sure = nearest(name, graph.tree, graph.reader)
    return tuple(found), sure


def _meant(subject: str, name: str, found: Sequence[Definition], total: int = 0) -> Meaning:
    return Meaning(subject, name, tuple(found), total or len(found))


def _files(written: str, graph: CodeGraph) -> tuple[str, ...]:
    """Return the files with a path, or with its end; a path without an extension must be complete."""
    if written in graph.tree.files:
        return (written,)
    written = written.removeprefix("./")
    if written in graph.tree.files:
        return (written,)
    # `Session.login` is not a file name, and searching all file names for it takes time.
    is_file = language_of(written) or ("/" in written and "." in written.rpartition("/")[2].strip("."))
    return tuple(files_named(written, graph.tree)[:FILES_MAX]) if is_file else ()


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Yield the parts before and after each dot, the longest end first."""
    parts = name.split(".")
    for at in range(1, len(parts)):
        yield ".".join(parts[:at]), ".".join(parts[at:])


def _dotted(subject: str) -> str:
    """Return a name with dots between its parts, without a language's punctuation around them."""
    name = _ARGUMENTS.sub("", subject)
    name = _SEPARATORS.sub(".", name).strip(".$@&*")
    first, _, rest = name.partition(".")
    return rest if rest and first in _OWN else name


_ARGUMENTS = re.compile(r"\([^)]*\)?|<[^<>]*>|\[[^\]]*\]")
_SEPARATORS = re.compile(r"::|->|\?\.|#|\\")
_OWN = frozenset({"self", "this", "cls", "crate", "super", "$this"})
_PACKAGE_FILE = re.compile(r"^(?:__init__\.pyi?|index\.[cm]?[jt]sx?|mod\.rs|lib\.rs|main\.rs|.*\.go)$")


NAMES_MAX: Final = 500_000
"""Maximum number of distinct names searched: with that many a misspelt name takes 150 ms. 20,000 take 2 ms
for a prefix or a misspelt name, and 15 ms for all kinds of matches."""

PART_MAX: Final = 200
"""Maximum characters of a partial name."""

SCATTERED_LEAST: Final = 3
"""Minimum letters of a partial name that may match scattered letters; nearly every name has any two letters
in order."""


class Name(NamedTuple):
    """The last part of definitions' names: as written, in lower case, and also without underscores."""

    written: str
    plain: str
    bare: str

    def starts(self) -> frozenset[int]:
        """Return the positions at which words begin: in `getHTTPServer_v2` at `g`, `H`, `S`, `v` and `2`."""
        return frozenset(match.start() for match in _WORD.finditer(self.written))


def fitting(part: str, tree: Tree, reader: Reader) -> Iterator[tuple[int, str]]:
    """Yield the definitions that match a partial name, best first, each with its rank, 0 the best.

    The ranks: 0, `part` equals the name; 1, it equals the name except for case; 2, the name begins with it;
    3, it consists of beginnings of the name's words in order (`goc` or `getcr` for `get_or_create`, `QS` for
    `QuerySet`); 4, the name contains it; 5, the name contains its letters in order. Within a rank the
    shortest name comes first. Worse ranks are only searched when the caller asks for more.
    """
    if not part or len(part) > PART_MAX:
        return
    names = _names.get(tree, reader)
    plain = _folded(part)
    yield from _ordered(_beginning(part, plain, names))
    in_order = re.compile("".join(f"[^{re.escape(char)}]*+{re.escape(char)}" for char in plain), re.DOTALL)
    left = [name for name in names if not name.plain.startswith(plain) and in_order.match(name.plain)]
    for fit, fits in _WAYS:
        found = [name for name in left if fits(plain, name)]
        yield from _ordered([(fit, name) for name in found])
        gone = set(found)
        left = [name for name in left if name not in gone]


def _beginning(part: str, plain: str, names: Sequence[Name]) -> list[tuple[int, Name]]:
    return [
        (0 if name.written == part else 1 if name.plain == plain else 2, name)
        for name in names
        if name.plain.startswith(plain)
    ]


def _by_words(plain: str, name: Name) -> bool:
    """Whether a partial name consists of beginnings of words: each letter begins a word, or follows the last
    letter."""
    starts = name.starts()
    at = {start for start in starts if name.plain[start] == plain[0]}
    for char in plain[1:]:
        if not at:
            return False
        first = min(at)
        at = {
            position
            for position in {*(last + 1 for last in at), *(start for start in starts if start > first)}
            if position < len(name.plain) and name.plain[position] == char
        }
    return bool(at)


def _within(plain: str, name: Name) -> bool:
    return plain in name.plain


def _scattered(plain: str, name: Name) -> bool:
    return len(plain) >= SCATTERED_LEAST  # the letters are known to be there in order


_WAYS: Final[tuple[tuple[int, Callable[[str, Name], bool]], ...]] = (
    (3, _by_words),
    (4, _within),
    (5, _scattered),
)

_WORD: Final = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])|\d+")


def _ordered(found: Sequence[tuple[int, Name]]) -> Iterator[tuple[int, str]]:
    for fit, name in sorted(found, key=lambda each: (each[0], len(each[1].written), each[1].written)):
        yield fit, name.written


def _folded(text: str) -> str:
    """Return a text in lower case at its original length: a few capitals have two lower-case letters."""
    small = text.lower()
    return small if len(small) == len(text) else text


def _read_names(reader: Reader) -> list[Name]:
    return [Name(written, _folded(written), _bare(written)) for written in reader.graph.base_names(NAMES_MAX)]


_names = GenerationCache(_read_names)


NEAREST_MAX: Final = 5
"""Maximum number of suggestions for an unknown name."""

SHORTEST: Final = 3
"""Minimum characters of a name to correct; a shorter name is similar to too many others."""

CANDIDATES_MAX: Final = 40
"""Maximum number of similar names that are ranked."""


def styles(name: str) -> tuple[str, ...]:
    """Return a name in the other case styles: `getUser` as `get_user`, `GetUser`, `GET_USER`, `getuser`."""
    parts = [part.lower() for part in _STYLED_WORD.findall(name)]
    if not parts:
        return ()
    capitals = [part.capitalize() for part in parts]
    private = name[: len(name) - len(name.lstrip("_"))]
    written = (
        "_".join(parts),
        parts[0] + "".join(capitals[1:]),
        "".join(capitals),
        "_".join(parts).upper(),
        "".join(parts),
        "-".join(parts),
    )
    found = dict.fromkeys((*(private + style for style in written), *written))
    return tuple(item for item in found if item != name)


def nearest(name: str, tree: Tree, reader: Reader) -> tuple[list[str], bool]:
    """Return the defined names most similar to an unknown name, best first, and whether the first is similar
    enough to replace it.

    Similar means a small edit distance (insertions, deletions, replacements, swaps): at most one edit for
    every five letters of the longer name, at most three; suggestions may have one edit more. Only names with
    the same first letter count, since that letter is hardly ever wrong, while most short words are similar to
    some other. Case and underscores are ignored.
    """
    plain = _bare(name)
    if len(plain) < SHORTEST:
        return [], False
    from rapidfuzz import process  # imported here: it takes 20 ms and only unknown names need it
    from rapidfuzz.distance import OSA

    names = _names.get(tree, reader)
    plains = [each.bare for each in names]
    most = _allowed(f"{plain}.") + 1
    found = process.extract(plain, plains, scorer=OSA.distance, score_cutoff=most, limit=CANDIDATES_MAX)
    ordered = sorted(
        (distance > _allowed(max(plain, each, key=len)) or each[:1] != plain[:1], distance, names[at].written)
        for each, distance, at in found
    )
    taken = bool(ordered) and not ordered[0][0]
    return [each for _, _, each in ordered[:NEAREST_MAX]], taken


_STYLED_WORD = re.compile(r"[^\W\d_]?[^\W\dA-Z_]+\d*|[A-Z]+(?![a-z])\d*|\d+")


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _allowed(plain: str) -> int:
    return min(len(plain) // 5, 3)
