"""Owns specifiers that are paths and expressions: what an import names, from its text; sees no tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

CALLS: Mapping[str, frozenset[bytes]] = {
    "bash": frozenset({b"source", b".", b"load"}),
    "lua": frozenset({b"require"}),
    "ruby": frozenset({b"require", b"require_relative", b"autoload", b"load"}),
}
"""By language what is called to import, of the languages whose specifiers are read here."""

LEAD = 400
"""Bytes before an import that may hold the question whether its file is there."""

WRITTEN_MAX = 400
"""Bytes of a specifier that are looked at."""


class Specifier(NamedTuple):
    """What an import names, as in `Import`."""

    module: str
    required: bool = True


def specifier_of(language: str, called: str, written: str, lead: str) -> Specifier | None:
    """Return what an import names, None if that is only known when it runs.

    `called` is what is called to import, if anything, `written` its argument or the import's clause, `lead`
    what stands before the import, up to `LEAD` bytes. Raises nothing.
    """
    return _READERS[language](called, written.strip(), lead)


def _c(_called: str, written: str, _lead: str) -> Specifier | None:
    if written.startswith("<"):
        return Specifier(written) if written.endswith(">") else None
    return Specifier(written[1:-1]) if written.startswith('"') else None


def _ruby(called: str, written: str, _lead: str) -> Specifier | None:
    module = _quoted(written)
    if module:
        is_relative = called == "require_relative" and not module.startswith(("./", "../", "/"))
        return Specifier(f"./{module}" if is_relative else module, required=called == "require_relative")
    beside = _RUBY_BESIDE.fullmatch(written)
    if beside is None:
        return None
    path = "/".join(_STRINGS.findall(beside["joined"] or beside["expanded"] or beside["added"])).replace(
        "//", "/"
    )
    if beside["file"]:  # relative to the file as if that were a folder
        path = path.removeprefix("../") if path.startswith("../") else ""
    return Specifier(_relative(path), required=False) if path else None


_RUBY_BESIDE = re.compile(
    r"""File\.expand_path\(?\s*(?P<expanded>['"][^'"#]+['"])\s*,\s*(?:(?P<file>__FILE__)|__dir__|File\.dirname\(__FILE__\))\s*\)?
    |File\.join\(?\s*(?:__dir__|File\.dirname\(__FILE__\))\s*,(?P<joined>(?:\s*,?\s*['"][^'"#]+['"])+)\s*\)?
    |(?:__dir__|File\.dirname\(__FILE__\))\s*\+\s*(?P<added>['"][^'"#]+['"])""",
    re.VERBOSE,
)
_STRINGS = re.compile(r"['\"]([^'\"]+)['\"]")


def _php(_called: str, written: str, lead: str) -> Specifier | None:
    clause = _PHP_NAME.fullmatch(written)
    if clause is not None:
        return Specifier(clause["name"].strip("\\"), required=clause["kind"] is None)
    literal = _PHP_LITERAL.search(written)
    if literal is None or "." not in literal[1]:
        return None
    path, folder = literal[1], written[: literal.start()].strip("( \t\n")
    if not folder:
        return Specifier(path, required=False)
    folder = folder.removesuffix(".").rstrip()
    if "__DIR__" not in folder and "__FILE__" not in folder:
        # A constant or a variable: which folder it holds isn't followed.
        return Specifier(path.lstrip("/"), required=False) if _PHP_FOLDER.fullmatch(folder) else None
    if not set("'\"").isdisjoint(folder):
        return None
    up = folder.count("dirname") - ("__FILE__" in folder)
    several = re.search(r",\s*([1-9])\s*\)", folder)
    up += int(several[1]) - 1 if several is not None else 0
    required = lead.rstrip("( \t\n").endswith(("require", "require_once"))
    return Specifier(
        _relative("../" * up + path.lstrip("/")), required=required and _PHP_ASKED.search(lead) is None
    )


_PHP_NAME = re.compile(
    r"(?:(?P<kind>function|const)\s+)?(?P<name>\\?[^\W\d]\w*(?:\\[^\W\d]\w*)*)(?:\s+as\s+\w+)?", re.IGNORECASE
)
_PHP_LITERAL = re.compile(r"""['"]([^'"$\\\n]+)['"][)\s]*\Z""")
_PHP_FOLDER = re.compile(r"\$?\w+(?:(?:->|::)\$?\w+(?:\(\))?)*")
_PHP_ASKED = re.compile(r"file_exists|is_file|is_readable|stream_resolve")


def _lua(_called: str, written: str, lead: str) -> Specifier | None:
    module = _quoted(written) or (written[2:-2] if written.startswith("[[") else "")
    return Specifier(module, required=_LUA_TRIED.search(lead) is None) if module else None


_LUA_TRIED = re.compile(r"pcall\s*\(\s*require\s*,\s*\Z")


def _bash(called: str, written: str, lead: str) -> Specifier | None:
    beside = _BASH_BESIDE.fullmatch(written)
    asked = _BASH_ASKED.search(lead) is not None
    if beside is not None:
        return Specifier(_relative(beside["path"]), required=not asked)
    path = written.replace('"', "").replace("'", "")
    if called == "load":
        return Specifier(_relative(path), required=False) if _BASH_PLAIN.fullmatch(path) else None
    if _BASH_VARIABLE.fullmatch(path) or _BASH_PLAIN.fullmatch(path):
        return Specifier(path, required=False)
    return None


_BASH_PLAIN = re.compile(r"[\w./+@%-]+")
_BASH_VARIABLE = re.compile(r"\$(?:\w+|\{\w+(?:[:%#/][^{}$]*)?\})/[\w./+@%-]+")
_BASH_BESIDE = re.compile(
    r"""["']?(?:\$\([^`]*(?:dirname|BASH_SOURCE|\$0)[^`]*\)|\$\{(?:BASH_SOURCE(?:\[0\])?|0)%/\*\})["']?/(?P<path>[\w./+@%-]+)["']?"""
)
_BASH_ASKED = re.compile(r"(?:\[|test)\s+!?\s*-[defrsx]\s[^\n]*\n?[^\n]*\Z")


def _quoted(written: str) -> str:
    """Return what a plain string holds, an empty string for what is none."""
    inner = written[1:-1]
    is_plain = len(written) > 2 and written[0] in "'\"" and written[-1] == written[0]
    return inner if is_plain and written[0] not in inner and "#{" not in inner else ""


def _relative(path: str) -> str:
    """Return a path beside the importer as one that says so."""
    path = path.removeprefix("/")
    return path if path.startswith(("./", "../")) else f"./{path}"


_READERS: Mapping[str, Callable[[str, str, str], Specifier | None]] = {
    "bash": _bash,
    "c": _c,
    "cpp": _c,
    "lua": _lua,
    "php": _php,
    "ruby": _ruby,
}

WRITTEN_LANGUAGES = frozenset(_READERS)
"""The languages whose specifiers are read here."""
