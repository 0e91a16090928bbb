"""Go: packages of several files, modules of go.mod, methods in any file of a package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ..core.relative_paths import join_path, within
from ..core.vocabulary import words
from .shared.import_folders import MAX_PACKAGES, folders_by_name, nearest_first
from .shared.language import DefinitionRules, ImportLookup, Language, key_of
from .shared.link_rules import UNKNOWN_VALUE, LinkRules, NameLookup, Value, Values, What, external
from .shared.records import Import
from .shared.source_text import lazy_pattern

if TYPE_CHECKING:
    from .shared.interface import FileInterface


# The pattern uses no field for the names of a constant, because the grammar labels only the first as `name`.
GO = """
((function_declaration name: (identifier) @name body: (block)? @body) @def (#set! kind "function"))
((method_declaration receiver: (parameter_list) @receiver name: (field_identifier) @name
    body: (block)? @body) @def (#set! kind "method"))
((type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @def
  (#set! kind "struct"))
((type_spec name: (type_identifier) @name type: (interface_type)) @def (#set! kind "interface"))
((type_spec|type_alias name: (type_identifier) @name) @def (#set! kind "type"))
((type_spec type: (interface_type (method_elem name: (_) @name) @def)) (#set! kind "method"))
((source_file (const_declaration (const_spec (identifier) @name) @def)) (#set! kind "constant"))
((source_file (var_declaration (var_spec (identifier) @name) @def)) (#set! kind "variable"))
((source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @def)))
  (#set! kind "variable"))
(import_spec path: (_) @module)
"""

_TYPE = "[(type_identifier) @type (qualified_type) @type (generic_type type: (_) @type)]"
_READ = "[(identifier) (selector_expression)] @use"
_FIELDS = "type: (struct_type (field_declaration_list"

GO_REFERENCES = f"""
(call_expression function: [(identifier) (selector_expression)] @call)
(call_expression function: (index_expression operand: [(identifier) (selector_expression)] @call))
(call_expression function: (type_instantiation_expression type: (_) @call))
(composite_literal type: [
  (type_identifier) @call (qualified_type) @call (generic_type type: (_) @call)])
(type_spec {_FIELDS} (field_declaration !name type: [
  (type_identifier) @inherit (qualified_type) @inherit (generic_type type: (_) @inherit)]))))
(interface_type (type_elem . [
  (type_identifier) @inherit (qualified_type) @inherit (generic_type type: (_) @inherit)] .))
(parameter_declaration|variadic_parameter_declaration|var_spec|const_spec|type_spec|type_alias|
  type_assertion_expression|type_conversion_expression|type_case type: {_TYPE})
(field_declaration name: (_) type: {_TYPE})
(function_declaration|method_declaration|method_elem|func_literal|function_type result: {_TYPE})
(pointer_type|type_constraint {_TYPE})
(slice_type|array_type element: {_TYPE})
(map_type key: {_TYPE})
(map_type|channel_type value: {_TYPE})
(type_arguments (type_elem {_TYPE}))
(argument_list . {_TYPE})
(argument_list|expression_list|binary_expression|send_statement {_READ})
(literal_value (literal_element {_READ}))
(keyed_element value: (literal_element {_READ}))
(unary_expression operand: {_READ})
(range_clause right: {_READ})
(index_expression operand: (selector_expression) @use)
(expression_switch_statement value: {_READ})
(if_statement condition: {_READ})
"""

_LEFT = "left: (expression_list . (identifier) @variable)"
_ONE = "(parameter_declaration name: (identifier) @variable type: (_) @type)"

# A call that returns several values counts as its first value. A type is an argument of `new` or `make` only.
GO_FACTS = f"""
(package_clause (package_identifier) @package)
((import_spec !name path: (_) @module) (#set! last "yes"))
(import_spec name: (package_identifier) @bound path: (_) @module)
((import_spec name: (dot) path: (_) @module) (#set! bound "*"))
(function_declaration|method_declaration|func_literal parameters: (parameter_list {_ONE}))
(function_declaration|method_declaration result: (parameter_list {_ONE}))
(method_declaration receiver: (parameter_list {_ONE}))
(function_declaration|method_declaration|method_elem
  result: (parameter_list . (parameter_declaration type: (_) @type)))
(function_declaration|method_declaration|method_elem result: [
  (type_identifier) (qualified_type) (generic_type) (pointer_type) (slice_type) (map_type)] @type)
((type_spec {_FIELDS} (field_declaration name: (_) @variable type: (_) @type)))))
(variadic_parameter_declaration name: (identifier) @variable)
(var_spec name: (identifier) @variable type: (_) @type)
(var_spec . name: (identifier) @variable !type value: (expression_list . (_) @value))
(var_spec "," . name: (identifier) @variable !type)
(const_spec (identifier) @variable)
(short_var_declaration {_LEFT} right: (expression_list . (_) @value))
(short_var_declaration {_LEFT} right: (expression_list . (call_expression arguments: (argument_list .
    [(type_identifier) (qualified_type) (generic_type) (slice_type) (map_type)] @type))))
(short_var_declaration {_LEFT} right: (expression_list . (composite_literal type: [
    (slice_type) (map_type) (array_type)] @type)))
(short_var_declaration left: (expression_list "," . (identifier) @variable))
(range_clause left: (expression_list . (identifier) @variable))
((range_clause left: (expression_list (_) . "," . (identifier) @variable) right: (_) @value)
  (#set! element "yes"))
(type_switch_statement alias: (expression_list (identifier) @variable))
(receive_statement left: (expression_list (identifier) @variable))
"""


class GoDefinitions(DefinitionRules):
    """The rules for definitions of Go."""

    leading_words = True
    owners_stand_alone = True


def package_name(path: str) -> str:
    """Return the default package name of an import path: `yaml` for `x/go-yaml/v2`."""
    parts = path.rstrip("/").split("/")
    if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
        parts.pop()
    name = re.sub(r"\.v\d+\Z", "", parts[-1])
    return re.sub(r"\W", "_", name.removeprefix("go-").removesuffix("-go").removesuffix(".go"))


class GoImports(ImportLookup):
    """Go: an import path below a module's path is a folder of that module."""

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return a package's file named like it, else its first file that isn't a test, or None."""
        path = imported.module
        files = self.resolve_all(importer, imported)
        if not files:
            return None
        folder = files[0].rpartition("/")[0]
        named = within(folder, f"{package_name(path)}.go")
        return named if named in files else files[0]

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return a package's files except tests, sorted."""
        for folder in self._candidates(importer, imported.module):
            files = self._folders.sources.files(folder, (".go",))
            files = [path for path in files if not path.endswith("_test.go")]
            if files:
                return tuple(files)
        return ()

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved path certainly means a package of this project."""
        return any(True for _ in self._candidates(importer, imported.module))

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return a package's files; its path begins with that of a module of this project."""
        return self.resolve_all("", imported)

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits."""
        return [key_of(folder) for folder in self._candidates(importer, imported.module)]

    def _candidates(self, importer: str, path: str) -> Iterator[str]:
        """Yield the folders that an import path can mean, the longest module path first."""
        prefix = path
        while prefix and self._modules:
            for module in nearest_first(self._modules.get(prefix, ()), importer):
                folder = join_path(module, path[len(prefix) + 1 :])
                if folder is not None:
                    yield folder
            prefix = prefix.rpartition("/")[0]

    @cached_property
    def _modules(self) -> dict[str, list[str]]:
        """The folders of modules by their path."""
        folders = sorted(self._folders.holding("go.mod"))[:MAX_PACKAGES]
        texts = ((folder, self._config.text(within(folder, "go.mod"))) for folder in folders)
        found = ((folder, _GO_MODULE.search(text)) for folder, text in texts)
        return folders_by_name((match[1].strip('"`'), folder) for folder, match in found if match)


_GO_MODULE = lazy_pattern(r"^[ \t]*module[ \t]+(?:\([ \t]*\n[ \t]*)?(\S+)", re.MULTILINE)


_BUILTINS = words(
    """
    append cap clear close complex copy delete imag len make max min new panic print println real
    recover bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune
    string uint uint8 uint16 uint32 uint64 uintptr any comparable true false nil iota
    """
)
"""The predeclared identifiers of the language's specification (Go 1.24)."""


class GoRules(LinkRules):
    """The link rules of Go."""

    self_names = frozenset()
    class_names = frozenset()
    super_names = frozenset()
    wildcards_are_files = False
    class_kinds = frozenset({"struct", "interface", "type"})
    opaque_types = frozenset({"any", "error", "interface{}"})

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return the definition in another file of the package, or the builtin."""
        if values := self._in_package(evaluator, path, name):
            return values
        return external(name) if name in _BUILTINS else UNKNOWN_VALUE

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return the package of an import path, or its definition of a name."""
        found = evaluator.module(path, language, module)
        if not found.paths:
            return UNKNOWN_VALUE if found.internal else external(f"{module}.{name}")
        if name == "*":
            return (Value(What.MODULE, found.paths[0]),)
        return self._in_package(evaluator, found.paths[0], name)

    def module_members(
        self, evaluator: NameLookup, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return a package's definition of a name, in any of its files."""
        return self._in_package(evaluator, path, name)

    def parts(self, evaluator: NameLookup, path: str, name: str) -> tuple[str, ...]:
        """Return the files of the package: each may have methods of a type."""
        return (path, *(each for each in evaluator.siblings(path) if each != path))

    def _in_package(self, evaluator: NameLookup, path: str, name: str) -> Values:
        tests = path.endswith("_test.go")
        parts = self.parts(evaluator, path, name)
        if not evaluator.spend(len(parts)):
            return UNKNOWN_VALUE
        for each in parts:
            if each.endswith("_test.go") and not tests:
                continue
            interface = evaluator.interface(each)
            if interface is not None and name in interface.names:
                return (Value(What.DEFINITION, each, name),)
        return UNKNOWN_VALUE


LANGUAGES = (
    Language(
        "go",
        "go",
        (".go",),
        grammar="tree_sitter_go:language",
        definitions=GO,
        references=GO_REFERENCES,
        facts=GO_FACTS,
        definition_rules=GoDefinitions(),
        stalling=(b"[",),
        package_name=package_name,
        imports=GoImports,
        same_in_folder=True,
        config_files=("go.mod",),
        package_sources=(".go",),
        links=GoRules(),
    ),
)
