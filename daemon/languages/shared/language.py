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
        """Return all files that an import may mean, sorted: at most one unless a language overrides this."""
        found = self.resolve(importer, imported)
        return () if found is None else (found,)

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved import certainly means a file of this project."""
        return False

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys (`key_of`) of the files for which an import waits, perhaps with repetitions."""
        return []

    def is_config(self, path: str) -> bool:
        """Return whether a file, of any name, affects the resolution of imports."""
        return False

    def clear(self) -> None:
        """Drop the contents of all configuration files."""


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

    family: str = ""
    """Files of languages in a family can refer to each other's definitions; empty for a language alone."""

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

    other_language: Callable[[bytes], str] | None = None
    """Returns the actual language of a source, or an empty string: the name of a header doesn't tell."""

    gaps: tuple[tuple[re.Pattern[bytes], bytes], ...] = ()
    """Code that compilers accept and the grammar doesn't: patterns whose first group is overwritten with a
    byte."""

    readable_parts: Callable[[bytes, Callable[[bytes], bool]], bytes] | None = None
    """Overwrites the parts that a grammar can't parse, whose error would swallow the following
    definitions."""

    stalling: tuple[bytes, ...] = ()
    """Signs that stall the grammar if thousands of them stay open: 60 KB took a second or a gigabyte."""

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
    """Functions that import a file."""

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
    """Endings of files found by the end of their path, since its start is configured elsewhere."""

    package_sources: tuple[str, ...] = ()
    """Endings of the files in a package's folder, the likeliest first."""

    package_files: tuple[str, ...] = ()
    """Endings of paths whose folder an import may mean as well."""

    # Linking

    links: LinkRules = LinkRules()
