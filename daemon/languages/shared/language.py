"""The record of a language (how its files are recognised, parsed, imported and linked), and the table of all.

A language is one file in `daemon/languages/` with a tuple `LANGUAGES` of these records. The table imports the
files when it is first used, which keeps them out of the daemon's start. Nothing here compiles a query.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct

from .link_rules import LinkRules
from .records import Import

if TYPE_CHECKING:
    from .import_folders import ImportConfig, ImportFolders
    from .source_text import Span


class ImportLookup:
    """The imports of one language in one project.

    `names` are the paths of its files. `importer` is the path of the file that imports.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None."""
        return None

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return all files that an import may mean, sorted: at most one unless a language overrides this."""
        found = self.resolve(importer, imported)
        return () if found is None else (found,)

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved import certainly means a file of this project."""
        return False

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return the files that an import in another project means: only if it names a package that this
        project declares."""
        return ()

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys (`key_of`) of the files for which an import waits, perhaps with repetitions."""
        path = self.path_in(imported.module)
        return [key_of(path)] if path else []

    def path_in(self, module: str) -> str:
        """Return the path that a specifier means in languages whose specifiers are paths, else ""."""
        return ""

    def is_config(self, path: str) -> bool:
        """Return whether a file, of any name, affects the resolution of imports."""
        return False

    def clear(self) -> None:
        """Drop the contents of all configuration files: cached properties hold them."""
        for name, held in vars(type(self)).items():
            if isinstance(held, cached_property):
                self.__dict__.pop(name, None)


def key_of(base: str) -> str:
    """Return the key of a candidate or a file: its last component up to the first dot, "." for the root.

    The first dot, because `./x.service` may mean `x.service.ts` and `./x.js` may mean `x.ts`.
    """
    name = base.rstrip("/").rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name or "."


class UseItem(NamedTuple):
    """A name that an import introduces: `imported` of `module`, or `*` for the module itself, bound to
    `name`.

    `name` is `*` for all names of the module, and `_` for a trait without a name. A module in a file of
    another name is given by its path, relative to the importer's folder: `./other/x.rs`.
    """

    module: str
    imported: str
    name: str


class Specifier(NamedTuple):
    """The target of an import, as in `Import`."""

    module: str
    required: bool = True


class BoundName(NamedTuple):
    """A name bound to a value, as written.

    `kind` is the kind of the query's pattern, `before` the text before it on its line, `written` its first
    400 bytes, up to the name if a declarator determines it (`is_declared`).
    """

    kind: str
    name: str
    before: bytes
    written: bytes
    is_declared: bool


class DefinitionRules:
    """The rules for definitions of one language; the defaults suit most languages."""

    docstrings: bool = False
    """Whether a body begins with its documentation; otherwise a comment above is the documentation."""

    values_enclose: bool = True
    """Whether definitions inside a value, a macro or a namespace's body are its members."""

    leading_words: bool = False
    """Whether words before a definition belong to it: `export const` before `x = 1`."""

    full_scopes: bool = True
    """Whether a scope's name keeps its whole path."""

    members_at_top: bool = False
    """Whether an assignment to a member defines it only outside of functions."""

    owners_stand_alone: bool = False
    """Whether a definition that names its owner belongs to that owner only, wherever it is written."""

    keeps_inner_owners: bool = True
    """Whether a definition that names its owner keeps that owner inside of a class."""

    has_methods: bool = True
    """Whether a function in a class is a method."""

    def name_of(self, written: str) -> str:
        """Return the name in a written name; a definition without one is named by its head."""
        return written.strip("\"'`")

    def goes_on(self, before: bytes) -> bool:
        """Return whether a definition belongs to the one right before it, which has the same name: to its
        signature or its first clauses."""
        return False

    def binding_kind(self, bound: BoundName) -> str:
        """Return `constant`, `variable` or `extern` for a bound name; empty if it defines nothing."""
        return bound.kind

    def head_end(self, source: bytes, start: int, end: int) -> int:
        """Return the end of the head of a definition whose body begins at `end`."""
        return end

    def doc_text(self, source: bytes, start: int) -> str | None:
        """Return the documentation of a definition, None if a comment above is the documentation."""
        return None


class Language(Struct, frozen=True):
    """A language of files.

    `name` is lower case and is what records and filters use, `fence` its tag on a Markdown code fence.
    `extensions` are lower case with their dot and compared without regard to case; `file_names` are compared
    as written, and also match with a suffix (`Dockerfile.dev`). `interpreters` are the names a shebang line
    may call, without version digits. `comment` begins a line comment; with `//` also `/* */` is recognised.
    """

    name: str
    fence: str
    extensions: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    comment: str = "//"

    block_comment: tuple[str, str] | None = None
    """What begins and ends a comment of several lines above a definition, or its documentation there."""

    family: str = ""
    """The family of the language, whose files can refer to each other's definitions; empty for a language
    without a family."""

    # Parsing

    grammar: str = ""
    """`module:function` of a tree-sitter grammar, empty for a language without a grammar."""

    definitions: str = ""
    """The query for definitions and imports; `languages/__init__.py` describes its captures."""

    calls: str = ""
    """The query for imports written as calls; only sources with one of `call_words` run it, since it visits
    every call of a file."""

    call_words: tuple[bytes, ...] = ()

    references: str = ""
    """The query for references, by kind."""

    facts: str = ""
    """The query for facts about names (see reference_reader.py)."""

    definition_rules: DefinitionRules = DefinitionRules()

    heading: Callable[[str], tuple[int, str]] | None = None
    """For documents with sections: returns the level and the title of a written heading."""

    blocks: Callable[[str, str], Iterator[tuple[int, int, str]]] | None = None
    """For files without a grammar: yields the first line (from 0), the level (from 1) and the name of each
    block of a text in a language."""

    markup: Literal["", "tags", "frontmatter"] = ""
    """Where the code of a file is that consists of markup: in scripts, and perhaps in a frontmatter too."""

    component: bool = False
    """Whether a file defines a component, which is named after it."""

    other_language: Callable[[bytes], str] | None = None
    """Returns the actual language of a source, or an empty string; for C headers, whose names don't tell."""

    gaps: tuple[tuple[re.Pattern[bytes], bytes], ...] = ()
    """Code that compilers accept and the grammar doesn't: patterns whose first group is overwritten with a
    byte, or with a text of its length."""

    readable_parts: Callable[[bytes, Callable[[bytes], bool]], bytes] | None = None
    """Overwrites the parts that a grammar can't parse, whose error would swallow the following
    definitions."""

    stalling: tuple[bytes, ...] = ()
    """Signs, mostly opening brackets, that stall the grammar if thousands of them stay unclosed: 60 KB took a
    second or a gigabyte."""

    chain: Callable[[str], str] | None = None
    """Converts a written expression to a chain, for languages with a syntax of their own."""

    marked_names: bool = False
    """Whether names may end in `?` or `!`."""

    call_in_tokens: Callable[[bytes, Span], Span | None] | None = None
    """Returns the range of a call's target where the tree alone doesn't tell; None if it isn't a call."""

    # Imports as they are written

    import_calls: frozenset[bytes] = frozenset(
        {b"require", b"import", b"import_module", b"importlib.import_module"}
    )
    """The names of functions that import a file."""

    bare_modules: bool = False
    """Whether an import's module is written without quotes."""

    specifier: Callable[[str, str, str], Specifier | None] | None = None
    """Reads imports that are paths and expressions: from the called function if any, the argument or clause,
    and up to 400 bytes before the import; None if the target is only known at run time."""

    clause: Callable[[str, tuple[str, ...]], list[UseItem]] | None = None
    """Reads import clauses: from the text and the inline modules around it. A module is a package or
    namespace with dots, or a class if its members are imported."""

    imports_hold_in_file: bool = False
    """Whether an imported name is valid in the whole file, wherever the import stands."""

    lower_case_modules: bool = False
    """Whether imported names in lower case may be modules, and capitalized ones never are."""

    declared_module: Callable[[str, str, tuple[str, ...]], tuple[UseItem, bool]] | None = None
    """Reads the declaration of a module in another file: from its name, the text before and the inline
    modules around it; returns the names it introduces and whether the file must exist."""

    package_name: Callable[[str], str] | None = None
    """Returns the name that an import path binds if the import gives none."""

    # Imports as files

    imports: Callable[[Collection[str], ImportFolders, ImportConfig], ImportLookup] | None = None
    """Creates the lookup of imports; languages with the same function share it in a project."""

    same_in_folder: bool = False
    """Whether an import resolves alike in all files of a folder."""

    config_files: tuple[str, ...] = ()
    """Names of configuration files that affect the resolution of imports."""

    config_endings: tuple[str, ...] = ()
    """Endings of configuration files with arbitrary names."""

    found_by_ending: tuple[str, ...] = ()
    """Endings of files that imports find by the end of their path, because its start is configured
    elsewhere."""

    package_sources: tuple[str, ...] = ()
    """Endings of the files in a package's folder, the likeliest first."""

    package_files: tuple[str, ...] = ()
    """Endings of files that an import may name by their folder, such as a package's files."""

    # Linking

    links: LinkRules = LinkRules()


def quoted(written: str) -> str:
    """Return the content of a plain string, an empty string for anything else."""
    inner = written[1:-1]
    is_plain = len(written) > 2 and written[0] in "'\"" and written[-1] == written[0]
    return inner if is_plain and written[0] not in inner and "#{" not in inner else ""


def relative(path: str) -> str:
    """Return a path next to the importer in explicit relative form."""
    path = path.removeprefix("/")
    return path if path.startswith(("./", "../")) else f"./{path}"


class _Languages(Mapping[str, "Language"]):
    """The languages declared in the files of the parent folder, by name."""

    def __getitem__(self, name: str) -> Language:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _rows(self) -> dict[str, Language]:
        package = __name__.rpartition(".shared.")[0]
        folder = os.path.dirname(os.path.dirname(__file__))
        names = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py"))
        modules = [import_module(f"{package}.{name}") for name in names if name != "__init__"]
        rows: list[Language] = [row for module in modules for row in getattr(module, "LANGUAGES", ())]
        # A row with a grammar wins over one without: plain.py may still list the language.
        return {row.name: row for row in sorted(rows, key=lambda row: (row.name, row.grammar))}


LANGUAGES: Final[Mapping[str, Language]] = _Languages()
"""Every known language by its name."""


def language_of(path: str, head: bytes = b"") -> str:
    """Return the name of the language of a file, or "" if it is unknown.

    `path` may be relative or absolute; `head` is the beginning of its content. Only a shebang line in it is
    used, and only if the name doesn't tell, or says that the file is a notebook.
    """
    by_extension, by_file_name, by_interpreter = _names_by_sign()
    name = path.rpartition("/")[2]
    found = by_file_name.get(name)
    if found is None:
        stem, dot, extension = name.rpartition(".")
        # A leading dot alone makes a hidden file, not an extension.
        found = by_extension.get(f".{extension.lower()}") if dot and stem else None
        if found is None and dot:
            found = by_file_name.get(name.partition(".")[0])
    if found in (None, "notebook") and head.startswith(b"#!"):
        named = _interpreter(head)
        # Of a notebook the line names the kernel's language if that has no interpreter.
        found = by_interpreter.get(named, named if found and named in LANGUAGES else found)
    return found or ""


def fence_tag(language: str) -> str:
    """Return the tag for a Markdown code fence around a language's source; "" for an unknown language."""
    row = LANGUAGES.get(language)
    return row.fence if row is not None else ""


def file_tag(path: str, text: str) -> str:
    """Return the tag for a Markdown code fence around a file's text."""
    return fence_tag(language_of(path, text[:256].encode("utf-8", "replace")))


def family_of(language: str) -> str:
    """Return the family of a language; its files can refer to each other's definitions. Most are alone."""
    row = LANGUAGES.get(language)
    return (row.family if row is not None else "") or language


def link_rules_of(language: str) -> LinkRules:
    """Return a language's link rules; the defaults for an unknown language."""
    return (LANGUAGES.get(language) or LANGUAGES["text"]).links


def _interpreter(head: bytes) -> str:
    """Return the program of a shebang line, without folder and version: `python`, `bash`."""
    words = head[2:256].partition(b"\n")[0].decode("utf-8", "replace").split()
    names = [word.rpartition("/")[2] for word in words]
    if names and names[0] == "env":
        names = [name for name in names[1:] if not name.startswith("-") and "=" not in name]
    return names[0].rstrip("0123456789.") if names else ""


@cache
def _names_by_sign() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the names of languages by extension, by file name and by interpreter."""
    rows = LANGUAGES.values()
    return (
        {extension: row.name for row in rows for extension in row.extensions},
        {name: row.name for row in rows for name in row.file_names},
        {name: row.name for row in rows for name in row.interpreters},
    )
