"""Shell scripts: functions, sourced files, and syntax that the grammar can't parse."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..core.relative_paths import ancestors, is_relative, join_path
from .shared.language import BoundName, DefinitionRules, ImportLookup, Language, Specifier, key_of, relative
from .shared.records import CHAIN_MAX, UNKNOWN, Import
from .shared.source_text import lazy_pattern

# Only names in capitals are kept: others are a script's temporary state.
BASH = """
((function_definition name: (_) @name body: (_) @body) @def (#set! kind "function"))
((program (variable_assignment name: (variable_name) @name) @def)
  (#set! kind "constant"))
((program (declaration_command (variable_assignment name: (variable_name) @name)) @def)
  (#set! kind "constant"))
"""

BASH_CALLS = """
(command name: (command_name (word) @function) . argument: (_) @module)
"""

# Shell builtins, and commands that every script calls.
_OWN = """
} . : @test alias awk basename bind break builtin caller cat cd chmod command compgen complete compopt
continue cp curl cut date dirname echo enable env eval exec exit expr false find getopts git grep hash
head jobs kill let ln ls mapfile mkdir mktemp mv popd printf ps pushd pwd read readarray return rm rmdir
sed set shift shopt sleep sort source sudo tail tar tee test touch tr trap true type ulimit umask unalias
uname uniq wait wc which xargs"""

BASH_FACTS = f"""
((command name: (command_name (word) @last)) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
"""


class BashDefinitions(DefinitionRules):
    """The rules for definitions of Bash."""

    def binding_kind(self, bound: BoundName) -> str:
        """Return `constant` for a name in capitals."""
        return "constant" if bound.name.isupper() else ""


def _specifier(called: str, written: str, lead: str) -> Specifier | None:
    beside = _BASH_BESIDE.fullmatch(written)
    asked = _BASH_ASKED.search(lead) is not None
    if beside is not None:
        return Specifier(relative(beside["path"]), required=not asked)
    path = written.replace('"', "").replace("'", "")
    if called == "load":
        return Specifier(relative(path), required=False) if _BASH_PLAIN.fullmatch(path) else None
    if _BASH_VARIABLE.fullmatch(path) or _BASH_PLAIN.fullmatch(path):
        return Specifier(path, required=False)
    return None


_BASH_PLAIN = lazy_pattern(r"[\w./+@%-]+")


_BASH_VARIABLE = lazy_pattern(r"\$(?:\w+|\{\w+(?:[:%#/][^{}$]*)?\})/[\w./+@%-]+")


_BASH_BESIDE = lazy_pattern(
    r"""["']?(?:\$\([^`]*(?:dirname|BASH_SOURCE|\$0)[^`]*\)|\$\{(?:BASH_SOURCE(?:\[0\])?|0)%/\*\})["']?/(?P<path>[\w./+@%-]+)["']?"""
)


_BASH_ASKED = lazy_pattern(r"(?:\[|test)\s+!?\s*-[defrsx]\s[^\n]*\n?[^\n]*\Z")


class BashImports(ImportLookup):
    """Shell: a path relative to the script (`./lib.sh`) or to a folder in a variable (`$DIR/lib.sh`).

    The variable isn't evaluated: the script's own folder is tried, then those above it, then any other.
    """

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the sourced file, or None."""
        module = imported.module
        for base in _bases(importer, module):
            for ending in _ENDINGS:
                if base + ending in self._names:
                    return base + ending
        tail = _tail(module)
        if not tail.endswith(_SHELLS) or not ("/" in tail or module.startswith("$")):
            return None
        return self._folders.nearest(tail, importer)

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved path certainly means a file of this project."""
        module = imported.module
        # A file without an ending is often a build output.
        return (
            is_relative(module)
            and module.endswith(_SHELLS)
            and join_path(importer.rpartition("/")[0], module) is not None
        )

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which a sourced path waits."""
        module = imported.module
        tail = _tail(module)
        return [key_of(tail)] if tail else []


_ENDINGS = ("", ".bash", ".sh")
"""Endings that a sourced path may omit; scripts of the test framework Bats do."""

_SHELLS = (".sh", ".bash", ".zsh")
_VARIABLE = lazy_pattern(r"\$[^/]*/")


def _bases(importer: str, module: str) -> Iterator[str]:
    """Yield the candidate paths, the script's own folder first."""
    path = _VARIABLE.sub("", module, count=1) if module.startswith("$") else module
    if not _tail(module):
        return
    for ancestor in ancestors(importer.rpartition("/")[0]):
        base = join_path(ancestor, path)
        if base:
            yield base
        if is_relative(module):
            break
    if is_relative(module):
        base = join_path("", path)
        if base:
            yield base


def _tail(module: str) -> str:
    """Return the end of a sourced file's path, an empty string if it is unknown."""
    path = _VARIABLE.sub("", module, count=1) if module.startswith("$") else module
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
    if not parts or path.startswith(("/", "~")) or path.endswith("/") or "$" in path:
        return ""
    return "/".join(parts)


# A shell function whose body begins on the next line.
_SHELL_FUNCTION = lazy_pattern(
    rb"(?:function[ \t]+[^\s(){}]+[ \t]*(?:\([ \t]*\))?|[^\s(){}#=]+[ \t]*\([ \t]*\))[ \t]*\{"
    rb"(?=[ \t]*(?:#[^\n]*)?\n)"
)


_NO_NEWLINE = lazy_pattern(rb"[^\n]")


def readable_parts(source: bytes, is_readable: Callable[[bytes], bool]) -> bytes:
    """Return a shell script without the parts that would hide its functions from bash's grammar.

    The grammar fails on syntax of other shells, and the error swallows the functions after it. So each
    function, and each part between two functions, must be parseable alone, or is overwritten: a function's
    body, or the whole part. Functions count if they begin at the start of a line and end with a `}` at the
    start of a line.
    """
    kept = bytearray(source)
    for start, end in _shell_parts(source):
        part = source[start:end]
        if is_readable(part):
            continue
        head = _SHELL_FUNCTION.match(part)
        if head is None:
            kept[start:end] = _NO_NEWLINE.sub(b" ", part)
        else:
            body = start + head.end()
            close = max(source.rfind(b"\n}", body, end) + 1, body)
            kept[body:end] = _NO_NEWLINE.sub(b" ", source[body:end])
            if (blank := kept.find(b" ", body, close)) >= 0:
                kept[blank] = ord(":")  # a body needs a statement
            kept[close : close + 1] = source[close : close + 1]
    return bytes(kept)


def _shell_parts(source: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a script's functions and of the parts between them."""
    begun = at = 0
    inside = False
    for line in source.splitlines(keepends=True):
        if _SHELL_FUNCTION.match(line):
            if at > begun:
                yield begun, at
            begun, inside = at, True
        at += len(line)
        if inside and line.startswith(b"}"):
            yield begun, at
            begun, inside = at, False
    if at > begun:
        yield begun, at


LANGUAGES = (
    Language(
        "bash",
        "bash",
        (".sh", ".bash", ".zsh", ".ksh", ".bats"),
        (".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", "PKGBUILD"),
        ("sh", "bash", "zsh", "dash", "ksh", "ash"),
        comment="#",
        grammar="tree_sitter_bash:language",
        definitions=BASH,
        calls=BASH_CALLS,
        call_words=(b"source ", b". ", b"load "),
        facts=BASH_FACTS,
        definition_rules=BashDefinitions(),
        # The grammar can't parse `[[ $a == @(b|c)* ]]`, and its error extends to the end of the file.
        gaps=((lazy_pattern(rb"(?<=[\s\w*|=])([@!?+*]\([^()\n\"'`$]*\))"), b"x"),),
        readable_parts=readable_parts,
        # A command's name may contain any character.
        chain=lambda written: written if len(written) <= CHAIN_MAX else UNKNOWN,
        import_calls=frozenset({b"source", b".", b"load"}),
        specifier=_specifier,
        imports=BashImports,
        found_by_ending=(".sh", ".bash", ".zsh"),
    ),
)
