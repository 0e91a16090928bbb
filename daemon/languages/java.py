"""Java, and the parts shared with Kotlin and Scala: packages below source roots, static imports."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ..core.relative_paths import within
from ..core.vocabulary import words
from .shared.clauses import NAME, PATH, plain_path, read_clause, split_use
from .shared.import_folders import is_test, nearest_first
from .shared.language import ImportLookup, Language, UseItem, key_of
from .shared.link_rules import UNKNOWN_VALUE, LinkRules, NameLookup, Value, Values, What, external
from .shared.records import Import
from .shared.source_text import lazy_pattern

if TYPE_CHECKING:
    from .shared.import_folders import ImportConfig, ImportFolders


JAVA = """
((class_declaration|interface_declaration|annotation_type_declaration|enum_declaration|record_declaration
  name: (_) @name body: (_) @body) @def (#set! kind "class|interface|interface|enum|record"))
((constructor_declaration|compact_constructor_declaration|method_declaration|
  annotation_type_element_declaration name: (_) @name body: (_)? @body) @def (#set! kind "method"))
((field_declaration [(modifiers "static" "final") (modifiers "final" "static")]
    declarator: (variable_declarator name: (_) @name)) @def (#set! kind "constant"))
((constant_declaration declarator: (variable_declarator name: (_) @name)) @def (#set! kind "constant"))
[(annotation) (marker_annotation)] @decorator
(import_declaration) @tree
"""

_TYPE = """[
  (type_identifier) @type (scoped_type_identifier) @type
  (generic_type . [(type_identifier) (scoped_type_identifier)] @type)]"""
_BASE = _TYPE.replace("@type", "@inherit")
_READ = "[(identifier) @use (field_access) @use]"

JAVA_REFERENCES = f"""
(object_creation_expression type: {_TYPE.replace("@type", "@call")})
(explicit_constructor_invocation constructor: (_) @call)
(method_reference . (_) @call "new")
(method_reference (_) . (identifier)) @use
(superclass {_BASE})
(super_interfaces|extends_interfaces (type_list {_BASE}))
(annotation|marker_annotation name: (_) @decorate)
(formal_parameter|field_declaration|constant_declaration|local_variable_declaration|method_declaration|
  enhanced_for_statement|resource|cast_expression|array_creation_expression type: {_TYPE})
(spread_parameter|catch_type|throws|type_pattern|type_arguments|wildcard|type_bound|class_literal {_TYPE})
(instanceof_expression right: {_TYPE})
(record_pattern (identifier) @use)
(array_type element: {_TYPE})
(argument_list|return_statement|binary_expression|ternary_expression|annotation_argument_list|
  array_initializer|switch_label {_READ})
(variable_declarator|element_value_pair|cast_expression|enhanced_for_statement value: {_READ})
(assignment_expression right: {_READ})
(field_access object: (identifier) @use)
(array_access array: {_READ})
(lambda_expression body: {_READ})
"""

_LOCAL = """[
  (formal_parameter type: (_) @type name: (_) @variable)
  (resource type: (_) @type name: (_) @variable value: (_) @value)
  (instanceof_expression right: (_) @type name: (_) @variable)
  (type_pattern (_) @type (identifier) @variable)
  (catch_formal_parameter (catch_type . (_) @type .) name: (_) @variable)
  (local_variable_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable !value))
  (local_variable_declaration type: (_) @type
    declarator: (variable_declarator name: (_) @variable value: (_) @value))
]"""
_UNKNOWN = """[
  (spread_parameter (variable_declarator name: (_) @variable))
  (lambda_expression parameters: (identifier) @variable)
  (lambda_expression parameters: (inferred_parameters (identifier) @variable))
  (catch_formal_parameter name: (_) @variable)
]"""

JAVA_FACTS = f"""
(package_declaration (_) @package)
(import_declaration) @tree
((method_invocation object: (_) @first name: (_) @last) (#set! fact "call"))
((method_invocation !object name: (_) @last) (#set! fact "call"))
{_LOCAL}
(field_declaration|constant_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable))
{_UNKNOWN}
((enhanced_for_statement type: (_) @type name: (_) @variable value: (_) @value) (#set! element "yes"))
(method_declaration|annotation_type_element_declaration type: (_) @type)
"""


_JAVA = lazy_pattern(rf"\s*import\s+(?:static\s+)?({PATH})\s*(\.\s*\*)?(?:\s+as\s+({NAME}))?\s*;?\s*")


def java_uses(text: str) -> Iterator[UseItem]:
    """Yield the names that an import of Java or Kotlin introduces."""
    match = _JAVA.fullmatch(text)
    if match is None:
        return
    if match[2]:
        yield UseItem(plain_path(match[1]), "*", "*")
    elif "." in match[1]:
        yield split_use(match[1], match[3] or "")


NESTED_MAX = 3
"""Maximum nesting of classes in an import; in practice two at most."""

FILES_MAX = 2_000
"""Maximum number of files of a package."""

_SOURCE_ROOTS = frozenset({"java", "kotlin", "scala", "src", "main", "test", "source", "sources", "common"})
_LANGUAGE_PACKAGES = frozenset({"java", "javax", "jdk", "sun", "kotlin", "kotlinx", "scala"})


class JavaImports(ImportLookup):
    """Java, Kotlin and Scala: a package is a folder below one of several source roots.

    Kotlin folders may omit the common prefix of a root's packages; such folders are found for classes only.
    """

    def __init__(
        self,
        names: Collection[str],
        folders: ImportFolders,
        config: ImportConfig,
        *,
        endings: tuple[str, ...],
        shortens: bool = True,
    ) -> None:
        super().__init__(names, folders, config)
        self._endings = endings
        self._shortens = shortens

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the file of a class; for a package the file named like it, else its first file; or None."""
        found = self._class_file(importer, imported)
        if found is not None:
            return found
        if imported.name:
            return None  # a function, or a class in a file of another name, which file names don't reveal
        files = self._package_files(importer, imported.module)
        named = [path for path in files if key_of(path).lower() == imported.module.rpartition(".")[2].lower()]
        return next(iter(named or files), None)

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return the file of a class, else all files of its package, sorted."""
        found = self._class_file(importer, imported)
        return (
            (found,) if found is not None else tuple(sorted(self._package_files(importer, imported.module)))
        )

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return the files of a class or a package whose folder has the package's whole name."""
        package = imported.module.split(".")
        named = (".".join(package[:count]) for count in range(len(package), 1, -1))
        return self.resolve_all("", imported) if any(map(self._package_folders, named)) else ()

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits."""
        last = imported.module.rpartition(".")[2]
        keys = [imported.name] if imported.name else []
        if not imported.name or not imported.name[:1].isupper() or last[:1].isupper():
            keys.append(last)
        if last[:1].isupper():
            keys.append(imported.module.rpartition(".")[0].rpartition(".")[2])
        return [key for key in keys if key]

    def _class_file(self, importer: str, imported: Import) -> str | None:
        """Return the file of the class that an import names, or whose inner class or member it names."""
        parts = imported.module.split(".")
        names = [imported.name] if imported.name else []
        for count in range(len(parts), max(len(parts) - NESTED_MAX, 0), -1):
            name = (parts[count:] + names)[:1]
            if name:
                found = self._named(importer, ".".join(parts[:count]), name[0])
                if found is not None:
                    return found
        return None

    def _named(self, importer: str, package: str, name: str) -> str | None:
        for folder in nearest_first(self._package_folders(package) or self._shortened(package), importer):
            for ending in self._endings:
                path = within(folder, name) + ending
                if path in self._names:
                    return path
        return None

    def _package_files(self, importer: str, package: str) -> list[str]:
        """Return the files of a package, the nearest folder's first; test files only for tests."""
        found: list[str] = []
        for folder in nearest_first(self._package_folders(package), importer):
            if not is_test(folder) or is_test(importer):
                found += self._folders.sources.files(folder, self._endings)
        return found[:FILES_MAX]

    def _package_folders(self, package: str) -> tuple[str, ...]:
        """Return the folders of a package below all source roots."""
        tail = package.replace(".", "/")
        sources = self._folders.sources
        return sources.remembered(("package", tail), lambda: _below_roots(sources.ending_with(tail), tail))

    def _shortened(self, package: str) -> tuple[str, ...]:
        """Return the folders of a package that omit the package's first parts."""
        return self._folders.sources.remembered(("short", package), lambda: self._without_prefix(package))

    def _without_prefix(self, package: str) -> Iterator[str]:
        parts = package.split(".")
        if not self._shortens or parts[0] in _LANGUAGE_PACKAGES:
            return
        for start in range(1, len(parts)):
            tail = "/".join(parts[start:])
            for folder in self._folders.sources.ending_with(tail):
                root = folder[: -len(tail)].rstrip("/")
                is_root = root.rpartition("/")[2] in _SOURCE_ROOTS
                if is_root and not self._folders.exists(within(root, parts[0])):
                    yield folder


def _below_roots(folders: Collection[str], tail: str) -> Iterator[str]:
    """Yield the folders of a package below a source root; with several, only the shortest roots count.

    `src/main/java/util` isn't the package `java.util`.
    """
    is_language = tail.partition("/")[0] in _LANGUAGE_PACKAGES
    roots = {folder: folder[: -len(tail)].rstrip("/") for folder in folders}
    known = [folder for folder, root in roots.items() if not root or root.rpartition("/")[2] in _SOURCE_ROOTS]
    for folder in known or folders:
        if not (is_language and roots[folder].rpartition("/")[2] in {"main", "test", "src"}):
            yield folder


_LANGUAGE = words(
    """
    Object String StringBuilder StringBuffer CharSequence Character Boolean Byte Short Integer Long
    Float Double Number Math System Thread Runnable Iterable Comparable Cloneable AutoCloseable Enum
    Record Void Class ClassLoader Process ProcessBuilder Runtime ThreadLocal Throwable Exception
    RuntimeException Error IllegalArgumentException IllegalStateException NullPointerException
    IndexOutOfBoundsException ArrayIndexOutOfBoundsException StringIndexOutOfBoundsException
    UnsupportedOperationException ClassCastException ArithmeticException NumberFormatException
    InterruptedException CloneNotSupportedException ClassNotFoundException NoSuchFieldException
    NoSuchMethodException SecurityException AssertionError StackOverflowError OutOfMemoryError
    LinkageError Override Deprecated SuppressWarnings FunctionalInterface SafeVarargs boolean byte
    char short int long float double void var null true false
    """
)
"""The names of `java.lang`, visible in every file, and the words of the language."""


class JavaRules(LinkRules):
    """The link rules of Java, shared with Kotlin and Scala."""

    self_names = frozenset({"this"})
    class_names = frozenset()
    super_names = frozenset({"super"})
    implicit_members = True
    methods_apart = True
    wildcards_are_files = False
    opaque_types = frozenset({"Object", "Any", "AnyRef", "T", "E", "K", "V", "R", "var"})

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return the definition in another file of the package, or the builtin."""
        interface = evaluator.interface(path)
        if interface is None:
            return UNKNOWN_VALUE
        siblings = evaluator.siblings(path)
        if not evaluator.spend(len(siblings)):
            return UNKNOWN_VALUE
        for each in siblings:
            near = evaluator.interface(each) if each != path else None
            if near is not None and name in near.names and near.package == interface.package:
                return (Value(What.DEFINITION, each, name),)
        if name in _LANGUAGE:
            return external(name)
        if interface.package and name[:1].isupper():  # the package's other folder, with its tests
            return self._named(evaluator, path, interface.language, interface.package, name)
        return UNKNOWN_VALUE

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a class of a package, or a static member of a class."""
        if name == "*":
            return UNKNOWN_VALUE
        if values := self._named(evaluator, path, language, module, name):
            return values
        found = evaluator.module(path, language, module, name)
        return UNKNOWN_VALUE if found.paths or found.internal else external(f"{module}.{name}")

    def _named(self, evaluator: NameLookup, path: str, language: str, module: str, name: str) -> Values:
        holder = module.rpartition(".")[2]
        for each in evaluator.module(path, language, module, name).paths:
            if not evaluator.spend():
                break
            interface = evaluator.interface(each)
            if interface is None:
                continue
            if name in interface.names:
                return (Value(What.DEFINITION, each, name),)
            if holder in interface.names:
                return evaluator.class_member(each, holder, name, 0)
        return UNKNOWN_VALUE


_SOURCES = (".java", ".kt", ".scala")

LANGUAGES = (
    Language(
        "java",
        "java",
        (".java",),
        family="jvm",
        grammar="tree_sitter_java:language",
        definitions=JAVA,
        references=JAVA_REFERENCES,
        facts=JAVA_FACTS,
        stalling=(b"<", b"=>"),
        clause=lambda text, _inside: read_clause(text, java_uses),
        imports=partial(JavaImports, endings=_SOURCES, shortens=False),
        package_sources=_SOURCES,
        package_files=(".java",),
        links=JavaRules(),
    ),
)
