"""The oracle for Python: the definitions that pyright's engine (basedpyright) goes to from call sites.

The definition behind every call site says who calls what in both directions, and follows renaming imports,
which the same server's search for references doesn't. Declarations are asked for, which are the same places
in sources: looking for the source behind a stub of the standard library takes most of the time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from .language_server import LanguageServer
from .python_sites import PythonFile
from .sites import Site, Target, Verdict

FOLLOWED_MAX = 3
"""Variables that are followed from one to the next (`render = Engine.render`)."""

_ANALYSIS = {
    "typeCheckingMode": "off",
    "diagnosticMode": "openFilesOnly",
    "useLibraryCodeForTypes": True,
    "autoSearchPaths": True,
    "extraPaths": ["src", "lib"],
}


class _Place(NamedTuple):
    """A place that the server names; the path is empty outside of the project."""

    path: str
    line: int
    name: str


def ask_pyright(
    files: Mapping[str, PythonFile], sites: Collection[Site], python: Path
) -> dict[Site, Verdict]:
    """Return what pyright says of call sites; `python` is the interpreter of the environment it is in.

    It works on a copy of the sources, since a project's own configuration may leave some of them out. Nothing
    that the project depends on is installed, so that what comes from others is unknown to it.
    """

    def settings(section: str) -> object:
        match section:
            case "python":
                return {"pythonPath": str(python)}
            case "basedpyright" | "pyright":
                return {"analysis": _ANALYSIS}
            case "basedpyright.analysis" | "python.analysis":
                return _ANALYSIS
            case _:
                return {}

    command = [str(python.parent / "basedpyright-langserver"), "--stdio"]
    verdicts: dict[Site, Verdict] = {}
    with (
        tempfile.TemporaryDirectory() as temporary,
        LanguageServer(command, root := _copied(files, Path(temporary)), settings) as server,
    ):
        oracle = _Pyright(server, root, files)
        oracle.open(next(iter(files)))
        for path, inside in groupby(sorted(sites), key=lambda site: site.path):
            verdicts.update(oracle.file(path, list(inside)))
    return verdicts


def _copied(files: Mapping[str, PythonFile], folder: Path) -> Path:
    """Write the sources below a folder, without stubs that stand beside what they describe: the definitions
    are wanted, not their declarations."""
    root = folder.resolve() / "project"
    for path, file in files.items():
        if path.endswith(".pyi") and path.removesuffix("i") in files:
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(file.text, encoding="utf-8", newline="")
    return root


class _Pyright:
    def __init__(self, server: LanguageServer, root: Path, files: Mapping[str, PythonFile]) -> None:
        self._server = server
        self._root = root
        self._files = files
        self._lines: dict[str, list[str]] = {}

    def open(self, path: str) -> None:
        """Have the server load the project, which it does once a file is open."""
        uri = (self._root / path).as_uri()
        text = self._files[path].text
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self._server.notify("textDocument/didOpen", {"textDocument": document})
        self._server.call("textDocument/documentSymbol", {"textDocument": {"uri": uri}})

    def file(self, path: str, sites: Sequence[Site]) -> Iterable[tuple[Site, Verdict]]:
        """Return what is said of sites of one file."""
        places = self._go("declaration", [(path, site.line, site.column) for site in sites])
        places = [
            [one for one in found if _is_of(one, site)] for site, found in zip(sites, places, strict=True)
        ]
        variables = [
            number for number, found in enumerate(places) if _inner(found) and not self._defined(found)
        ]
        types = self._go(
            "typeDefinition", [(path, sites[each].line, sites[each].column) for each in variables]
        )
        type_of = dict(zip(variables, types, strict=True))
        return [
            (site, self._verdict(site, places[number], type_of.get(number, [])))
            for number, site in enumerate(sites)
        ]

    def _verdict(self, site: Site, places: Sequence[_Place], types: Sequence[_Place]) -> Verdict:
        if not places:
            return Verdict("unknown")
        defined = self._defined(places)
        if defined:
            return Verdict("project", defined)
        if not _inner(places):
            return Verdict("external")
        variables = tuple(target for place in places if (target := self._target(place)) is not None)
        followed = [*types, *(end for place in places for end in self._follow(place, FOLLOWED_MAX))]
        also = self._defined(followed)
        if site.form == "name: cls" and not also:
            return Verdict(
                "unknown"
            )  # the class itself, of which the server only says that it is a parameter
        return Verdict("variable", variables, also)

    def _follow(self, place: _Place, depth: int) -> list[_Place]:
        """Return where a variable leads that is bound to a name."""
        file = self._files.get(place.path)
        value = file.values.get((place.line, place.name)) if file else None
        if value is None or depth == 0:
            return []
        (found,) = self._go("declaration", [(place.path, *value)])
        return [*found, *(end for each in found if each != place for end in self._follow(each, depth - 1))]

    def _defined(self, places: Sequence[_Place]) -> tuple[Target, ...]:
        """Return the functions and classes of the project among places, each once."""
        found = {}
        for place in places:
            target = self._target(place)
            if target is not None and target.kind != "variable":
                found[target.key] = target
        return tuple(found.values())

    def _target(self, place: _Place) -> Target | None:
        file = self._files.get(place.path)
        return file.definitions.get((place.line, place.name)) if file else None

    def _go(self, what: str, positions: Sequence[tuple[str, int, int]]) -> list[list[_Place]]:
        params = [
            {
                "textDocument": {"uri": (self._root / path).as_uri()},
                "position": {"line": line - 1, "character": column},
            }
            for path, line, column in positions
        ]
        answers = self._server.call_all(f"textDocument/{what}", params)
        return [[self._place(each) for each in answer or ()] for answer in answers]

    def _place(self, location: Any) -> _Place:
        full = unquote(urlsplit(location["uri"]).path)
        start, end = location["range"]["start"], location["range"]["end"]
        lines = self._text(full)
        line = lines[start["line"]] if start["line"] < len(lines) else ""
        units = line.encode("utf-16-le")[2 * start["character"] : 2 * end["character"]]
        is_inside = full.startswith(f"{self._root}{os.sep}")
        path = Path(full).relative_to(self._root).as_posix() if is_inside else ""
        return _Place(path, start["line"] + 1, units.decode("utf-16-le"))

    def _text(self, full: str) -> list[str]:
        if full not in self._lines:
            text = Path(full).read_bytes().decode("utf-8-sig", "replace")
            self._lines[full] = text.split("\n")
        return self._lines[full]


def _is_of(place: _Place, site: Site) -> bool:
    """Whether a place is one of the name that was asked about; of an unknown name inside of the arguments of
    a call the server says where the function is that the arguments are for."""
    return place.name == site.name or (site.form == "name: imported name" and place.name not in _METHODS)


_METHODS = frozenset({"__init__", "__new__", "__call__"})


def _inner(places: Sequence[_Place]) -> bool:
    return any(place.path for place in places)
