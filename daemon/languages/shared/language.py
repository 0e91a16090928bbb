"""The record of a language: how its files are recognised, parsed, imported and linked. It compiles nothing.

A language is one file in `daemon/languages/` with a tuple `LANGUAGES` of these records; `table.py` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from .link_rules import LinkRules
from .records import Import

if TYPE_CHECKING:
    from .import_config import ImportConfig
    from .import_folders import ImportFolders


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
        """Return all files that an import may mean, sorted: at most one unless a language says otherwise."""
        found = self.resolve(importer, imported)
        return () if found is None else (found,)

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import that didn't resolve certainly meant a file of this project."""
        return False

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys (`key_of`) of the files for which an import waits; they may repeat."""
        return []

    def is_config(self, path: str) -> bool:
        """Return whether a file of any name turned out to decide what imports mean."""
        return False

    def clear(self) -> None:
        """Forget everything that was read from configuration files."""


def key_of(base: str) -> str:
    """Return the key of a candidate or a file: its last component up to the first dot, "." for the root.

    The first dot, because `./x.service` may mean `x.service.ts` and `./x.js` may mean `x.ts`.
    """
    name = base.rstrip("/").rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name or "."


if TYPE_CHECKING:
    import re

    from .import_config import ImportConfig
    from .import_folders import ImportFolders
    from .source_text import Span


class UseItem(NamedTuple):
    """A name that an import brings in: `imported` of `module`, `*` for the module itself; here it is `name`.

    `name` is `*` when all names of the module come in, and `_` for a trait without a name. A module that is
    a file of any other name is its path, relative to the importer's folder: `./other/x.rs`.
    """

    module: str
    imported: str
    name: str


class Specifier(NamedTuple):
    """What an import names, as in `Import`."""

    module: str
    required: bool = True


class BoundName(NamedTuple):
    """A name that is bound to a value, as it stands in the source.

    `kind` is that of the query's pattern, `before` what stands before it on its line, `written` its first 400
    bytes, up to the name where a declarator tells it (`is_declared`).
    """

    kind: str
    name: str
    before: bytes
    written: bytes
    is_declared: bool


class DefinitionRules:
    """How definitions read in one language; the defaults are those that most have in common."""

    docstrings: bool = False
    """Whether a body begins with its documentation; else a comment above says it."""

    values_enclose: bool = True
    """Whether what stands in a value, in a macro or in a namespace's body lies in it."""

    leading_words: bool = False
    """Whether words before a definition belong to it: `export const` before `x = 1`."""

    full_scopes: bool = True
    """Whether a scope's name keeps the path that leads to it."""

    members_at_top: bool = False
    """Whether an assignment to a member defines it only outside of functions."""

    owners_stand_alone: bool = False
    """Whether what names its owner belongs to that alone, wherever it stands."""

    keeps_inner_owners: bool = True
    """Whether what names its owner keeps it inside of a class."""

    has_methods: bool = True
    """Whether a function of a class is a method."""

    def binding_kind(self, bound: BoundName) -> str:
        """Return `constant`, `variable` or `extern` for a name that is bound; empty if it defines nothing."""
        return bound.kind

    def head_end(self, source: bytes, start: int, end: int) -> int:
        """Return where the head ends of a definition with a body, which begins at `end`."""
        return end

    def doc_text(self, source: bytes, start: int) -> str | None:
        """Return the documentation of a definition, None where a comment above says it."""
        return None


class Language(Struct, frozen=True):
    """A language that files can be in.

    `name` is lower case and is what records and filters use, `fence` its tag on a Markdown code fence.
    `extensions` are lower case with their dot and compared without regard to case; `file_names` are
    compared as written, and also match with a suffix (`Dockerfile.dev`). `interpreters` are the names a
    shebang line may call, without version digits. `comment` begins a comment of one line; `//` brings
    `/* */` along.
    """

    name: str
    fence: str
    extensions: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    comment: str = "//"

    family: str = ""
    """Files of languages of one family see each other's definitions; empty for a language alone."""

    # Parsing

    grammar: str = ""
    """`module:function` of a tree-sitter grammar, empty as long as none is wired."""

    definitions: str = ""
    """The query for definitions and imports; what it captures is described in `languages/__init__.py`."""

    calls: str = ""
    """The query for imports written as calls; only sources with one of `call_words` run it, since it visits
    every call of a file."""

    call_words: tuple[bytes, ...] = ()

    references: str = ""
    """The query for what a file refers to, by kind."""

    facts: str = ""
    """The query for what is evident of names (see reference_reader.py)."""

    definition_rules: DefinitionRules = DefinitionRules()

    heading: Callable[[str], tuple[int, str]] | None = None
    """For documents, which have sections: the level and the title of a heading as it is written."""

    other_language: Callable[[bytes], str] | None = None
    """The language that a source turns out to be in, or an empty string: a header's name doesn't tell."""

    gaps: tuple[tuple[re.Pattern[bytes], bytes], ...] = ()
    """What compilers can read and the grammar can't: patterns whose first group is filled with a byte."""

    readable_parts: Callable[[bytes, Callable[[bytes], bool]], bytes] | None = None
    """Writes over the parts that a grammar can't read, where an error would swallow what stands behind it."""

    stalling: tuple[bytes, ...] = ()
    """Signs that stall the grammar where thousands of them stay open: 60 KB took a second or a gigabyte."""

    chain: Callable[[str], str] | None = None
    """Makes a chain of a written expression where the language has a form of its own."""

    marked_names: bool = False
    """Whether names may end in `?` or `!`."""

    call_in_tokens: Callable[[bytes, Span], Span | None] | None = None
    """The range of what a name calls where the tree alone doesn't tell; None if that is no call."""

    # Imports as they are written

    import_calls: frozenset[bytes] = frozenset(
        {b"require", b"import", b"import_module", b"importlib.import_module"}
    )
    """What is called to import."""

    bare_modules: bool = False
    """Whether an import's module stands without quotes."""

    specifier: Callable[[str, str, str], Specifier | None] | None = None
    """Reads imports that are paths and expressions: of what is called if anything, the argument or clause,
    and up to 400 bytes before the import; None if what it names is only known when it runs."""

    clause: Callable[[str, tuple[str, ...]], list[UseItem]] | None = None
    """Reads import clauses: of the text and the inline modules around it. A module is a package or namespace
    with dots, or a class if its members come in."""

    imports_hold_in_file: bool = False
    """Whether a name that is imported holds in the whole file, wherever the import stands."""

    lower_case_modules: bool = False
    """Whether each imported name in lower case may be a module, and one with a capital none."""

    declared_module: Callable[[str, str, tuple[str, ...]], tuple[UseItem, bool]] | None = None
    """Reads the declaration of a module that is a file: of its name, the text before and the inline modules
    around it; returns what it brings in and whether the file must be there."""

    package_name: Callable[[str], str] | None = None
    """The name that an import path binds where it says none."""

    # Imports as files

    imports: Callable[[Collection[str], ImportFolders, ImportConfig], ImportLookup] | None = None
    """Makes what finds the files of imports; languages with the same function share it in a project."""

    same_in_folder: bool = False
    """Whether imports mean the same in all files of a folder."""

    config_files: tuple[str, ...] = ()
    """Names of configuration files that decide what imports mean."""

    config_endings: tuple[str, ...] = ()
    """Endings of such files whose names may be any."""

    found_by_ending: tuple[str, ...] = ()
    """Endings of files that are found by the end of their path, since where it begins is set elsewhere."""

    package_sources: tuple[str, ...] = ()
    """Endings of what the folder of a package holds, the likeliest first."""

    package_files: tuple[str, ...] = ()
    """Endings of paths of which an import may mean the folder as well."""

    # Linking

    links: LinkRules = LinkRules()
