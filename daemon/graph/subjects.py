"""Resolution of a name in a question to definitions, files, or a module outside of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from ..index.link_table import Definition
from ..languages.shared.language import language_of
from ..languages.shared.qualified_names import base_name, without_number
from ..project.named_files import by_stem, files_named
from .code_graph import CodeGraph
from .meaning import MEANT_MAX, Meaning
from .names import nearest, styles

FILES_MAX: Final = 50
"""Maximum number of files examined for a path, folder or module."""

SUBJECT_MAX: Final = 300
"""Maximum characters of a name."""


def meaning_of(written: str, graph: CodeGraph, *, files_first: bool = False) -> Meaning:
    """Return the meaning of a name, tried as a node id or path, as written, as part of a file's name, as an
    external name, in another case style, and as a misspelling. With `files_first` modules come before
    definitions."""
    subject = _cleaned(written)
    nothing = Meaning(subject, base_name(_dotted(subject)))
    if not subject.strip("./#:~$@"):
        return nothing
    meaning = _as_node(subject, graph) or _as_path(subject, graph)
    if meaning is None:
        ways = (_as_module, _as_name) if files_first else (_as_name, _as_module)
        name = _dotted(subject)
        found = (way(subject, name, graph) for way in (*ways, _as_external, _in_other_words))
        meaning = next((item for item in found if item is not None), None)
    return meaning or replace(nothing, near=_near(nothing.name, graph)[0])


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
            return replace(_guessed(meaning, subject, shown, near[1:]), near=near)
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


def _guessed(meaning: Meaning, written: str, taken: str, others: Sequence[str] = ()) -> Meaning:
    also = f" (as near: {', '.join(others)})" if others else ""
    return replace(meaning, guess=True, remarks=(f"no `{written}`; taken as `{taken}`{also}",))


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


def _cleaned(written: str) -> str:
    return written.strip()[:SUBJECT_MAX].strip("`'\"\u201c\u201d\u2018\u2019 ,;!?()")


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
