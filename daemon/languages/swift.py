"""Swift: modules that are the targets of a Package.swift."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

from ..core.relative_paths import join_path, within
from .shared.clauses import PATH, plain_path, read_clause, split_use
from .shared.import_folders import MAX_PACKAGES, folders_by_name, nearest_first
from .shared.language import ImportLookup, Language, UseItem, key_of
from .shared.link_rules import LinkRules
from .shared.records import Import
from .shared.source_text import lazy_pattern

_BODY = "body: [(class_body) (enum_class_body)] @body"
_NAMED = "name: (pattern bound_identifier: (_) @name)"

# The grammar gives the field `name` also to returned and inherited types, so patterns for names are anchored.
SWIFT = f"""
((class_declaration declaration_kind: "class|actor|struct|enum" . name: (_) @name {_BODY}) @def
  (#set! kind "class|class|struct|enum"))
((class_declaration declaration_kind: "extension" . name: (_) @path {_BODY}) @def (#set! kind "scope"))
((protocol_declaration "protocol" . name: (_) @name body: (_) @body) @def (#set! kind "protocol"))
((function_declaration "func" . name: _ @name body: (_) @body) @def (#set! kind "function"))
((protocol_function_declaration "func" . name: _ @name) @def (#set! kind "function"))
((init_declaration|deinit_declaration body: (_)? @body) @def (#set! kind "method") (#set! name "init|deinit"))
((subscript_declaration (computed_property) @body) @def (#set! kind "method") (#set! name "subscript"))
((typealias_declaration "typealias" . name: (_) @name) @def (#set! kind "type"))
((associatedtype_declaration name: (_) @name) @def (#set! kind "type"))
((macro_declaration . (modifiers)? . "macro" . (simple_identifier) @name) @def (#set! kind "macro"))
((property_declaration {_NAMED} computed_value: (_) @body) @def (#set! kind "property"))
((protocol_property_declaration {_NAMED}) @def (#set! kind "property"))
((source_file (property_declaration (value_binding_pattern "let|var") {_NAMED}) @def)
  (#set! kind "constant|variable"))
((property_declaration (modifiers (property_modifier "static")) (value_binding_pattern "let") {_NAMED}) @def
  (#set! kind "constant"))
(attribute) @decorator
(import_declaration) @tree
"""

_TYPE = "(user_type) @type"
_READ = "[(simple_identifier) @use (navigation_expression) @use]"

SWIFT_REFERENCES = f"""
(call_expression . [(simple_identifier) (navigation_expression)] @call)
(constructor_expression constructed_type: (user_type . (type_identifier) @call))
(class_declaration name: (type_identifier) (inheritance_specifier inherits_from: (user_type) @inherit))
(protocol_declaration (inheritance_specifier inherits_from: (user_type) @inherit))
(attribute (user_type) @decorate)
(parameter|type_annotation|function_declaration|protocol_function_declaration|enum_type_parameters|
  optional_type|array_type|dictionary_type|type_arguments|function_type|tuple_type_item|as_expression|
  check_expression|typealias_declaration {_TYPE})
(inheritance_constraint inherits_from: {_TYPE})
(value_argument|property_declaration value: {_READ})
(assignment|control_transfer_statement result: {_READ})
(for_statement collection: {_READ})
(switch_statement expr: {_READ})
(navigation_expression target: (simple_identifier) @use)
"""

_WRITTEN = "[(user_type) (optional_type) (array_type) (dictionary_type)] @type"

SWIFT_FACTS = f"""
(import_declaration) @tree
((class_declaration name: (user_type) @owner (inheritance_specifier inherits_from: (user_type) @last))
  (#set! fact "inherit"))
(parameter name: (simple_identifier) @variable {_WRITTEN})
(property_declaration name: (pattern bound_identifier: (_) @variable) . (type_annotation {_WRITTEN}))
(property_declaration . (value_binding_pattern) . name: (pattern bound_identifier: (_) @variable) .
  value: (_) @value)
(pattern (pattern (simple_identifier) @variable))
(if_statement|guard_statement|pattern (value_binding_pattern) . bound_identifier: (_) @variable)
(for_statement item: (pattern bound_identifier: (_) @variable))
(lambda_parameter name: (simple_identifier) @variable)
(function_declaration|protocol_function_declaration "->" . {_WRITTEN})
"""


_SWIFT = lazy_pattern(
    rf"(?:[^;]*\s)??import\s+(?:(typealias|struct|class|enum|protocol|let|var|func|actor)\s+)?({PATH})\s*;?\s*"
)


def _uses(text: str) -> Iterator[UseItem]:
    match = _SWIFT.fullmatch(text)
    if match is None:
        return
    if match[1]:
        yield split_use(match[2])
    else:
        yield UseItem(plain_path(match[2]).partition(".")[0], "*", "*")


FILES_MAX = 2_000
"""Maximum number of files of a module."""

MANIFEST = "Package.swift"
SOURCES = (".swift",)


class SwiftImports(ImportLookup):
    """Swift: a module is a target of a Package.swift, with all files below its folder.

    Without a manifest a module is a folder with its name that has sources, as in Xcode projects.
    """

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the module's file named like the imported name or the module, else its first file, or
        None."""
        files = self.resolve_all(importer, imported)
        for name in (imported.name, imported.module):
            for path in files:
                if name and path.rpartition("/")[2] == f"{name}.swift":
                    return path
        return files[0] if files else None

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return a module's files, sorted."""
        folders = nearest_first(self._module_folders(imported.module), importer)
        return next((files for files in map(self._files, folders) if files), ())

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits: a module's files may be named anything."""
        found = self.resolve(importer, imported)
        return [
            imported.module,
            *([imported.name] if imported.name else []),
            *([key_of(found)] if found else []),
        ]

    def _files(self, folder: str) -> tuple[str, ...]:
        """Return the files below a folder, sorted."""
        sources = self._folders.sources
        below = sources.remembered(("module", folder), lambda: sources.below(folder))
        found = [path for each in below for path in sources.files(each, SOURCES)]
        return tuple(sorted(found[:FILES_MAX]))

    def _module_folders(self, module: str) -> Collection[str]:
        targets = self._targets
        if module in targets:
            return targets[module]
        return self._folders.sources.ending_with(module) if module and not targets else ()

    @cached_property
    def _targets(self) -> dict[str, list[str]]:
        """The folders of targets by their name."""
        manifests = sorted(self._folders.holding(MANIFEST))[:MAX_PACKAGES]
        return folders_by_name(target for folder in manifests for target in self._read(folder))

    def _read(self, folder: str) -> Iterator[tuple[str, str]]:
        """Yield the names of a manifest's targets, each with its possible folders."""
        text = self._config.text(within(folder, MANIFEST))
        starts = list(_TARGET.finditer(text))
        for place, match in enumerate(starts[:MAX_PACKAGES]):
            end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
            path = _PATH.search(text, match.end(), min(end, match.end() + _TARGET_MAX))
            candidates = [path[1]] if path is not None else [f"{parent}/{match[1]}" for parent in _PARENTS]
            for candidate in candidates:
                target = join_path(folder, candidate)
                if target is not None and self._folders.exists(target):
                    yield match[1], target
                    break


_TARGET = lazy_pattern(
    r"\.(?:target|testTarget|executableTarget|macro|plugin|systemLibrary)\s*\(\s*name\s*:\s*\"([\w-]{1,100})\""
)
_PATH = lazy_pattern(r"\bpath\s*:\s*\"([^\"\n]{1,300})\"")
_TARGET_MAX = 4_000
_PARENTS = ("Sources", "Source", "src", "srcs", "Tests", "Plugins")


class SwiftRules(LinkRules):
    """The link rules of Swift: imports aren't re-exported."""

    passes_imports_on = False


LANGUAGES = (
    Language(
        "swift",
        "swift",
        (".swift",),
        (),
        ("swift",),
        grammar="tree_sitter_swift:language",
        definitions=SWIFT,
        references=SWIFT_REFERENCES,
        facts=SWIFT_FACTS,
        stalling=(b"?",),
        clause=lambda text, _inside: read_clause(text, _uses),
        imports=SwiftImports,
        config_files=(MANIFEST,),
        package_sources=SOURCES,
        links=SwiftRules(),
    ),
)
