"""PHP: classes by composer.json's autoloading, and included paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from msgspec import Struct, field

from ..core.relative_paths import ancestors, is_relative, join_path, nearness, within
from .shared.import_folders import MAX_PACKAGES, MAX_TARGETS, nearest_first
from .shared.language import ImportLookup, Language, Specifier, key_of, relative
from .shared.records import Import
from .shared.source_text import lazy_pattern

PHP = """
((class_declaration|interface_declaration|trait_declaration|enum_declaration|function_definition|
  method_declaration name: (_) @name body: (_)? @body) @def
  (#set! kind "class|interface|trait|enum|function|method"))
((const_declaration (const_element . (name) @name)) @def (#set! kind "constant"))
((function_call_expression function: (name) @when
    arguments: (arguments . (argument (string (string_content) @name)))) @def
  (#set! when "define") (#set! kind "constant"))
(attribute_list) @decorator
(namespace_use_declaration (namespace_use_clause) @module)
(namespace_use_declaration (namespace_name) @outer body: (namespace_use_group (namespace_use_clause) @module))
(require_expression|require_once_expression|include_expression|include_once_expression (_) @module)
"""

_NAME = "[(name) (qualified_name)]"

PHP_REFERENCES = f"""
(function_call_expression function: (qualified_name) @call)
(scoped_call_expression|scoped_property_access_expression scope: {_NAME} @use)
(object_creation_expression {_NAME} @call)
(base_clause|class_interface_clause|use_declaration {_NAME} @inherit)
(attribute {_NAME} @decorate)
(named_type {_NAME} @type)
(binary_expression operator: "instanceof" right: {_NAME} @type)
(class_constant_access_expression . {_NAME} @use)
(argument {_NAME} @use)
"""

_VALUE = """[
  (object_creation_expression) (member_call_expression) (nullsafe_member_call_expression)
  (scoped_call_expression) (function_call_expression) (member_access_expression) (variable_name)]"""

_TYPE = "[(named_type) (optional_type) (union_type)]"

# The language's builtins, which every file calls.
_OWN = """
array array_filter array_key_exists array_keys array_map array_merge array_pop array_push array_shift
array_slice array_values assert call_user_func class_exists compact count date define defined dirname
empty explode func_get_args get_class implode in_array is_array is_bool is_callable is_int is_null
is_numeric is_object is_string isset json_decode json_encode ltrim max md5 min preg_match preg_replace
print printf rtrim sprintf str_replace strlen strpos strtolower strtoupper strval substr time
trigger_error trim ucfirst unset usort var_dump"""

PHP_FACTS = f"""
((function_call_expression function: (name) @last) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
((member_call_expression object: (_) @first name: (name) @last) (#set! fact "call"))
((nullsafe_member_call_expression object: (_) @first name: (name) @last) (#set! fact "call"))
((scoped_call_expression scope: (_) @first name: (name) @last) (#set! fact "call"))
(namespace_definition name: (namespace_name) @package)
(namespace_use_declaration (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] !alias))
(namespace_use_declaration (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] alias: (name) @bound))
(namespace_use_declaration (namespace_name) @outer body: (namespace_use_group (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] !alias)))
(namespace_use_declaration (namespace_name) @outer body: (namespace_use_group (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] alias: (name) @bound)))
(property_declaration type: {_TYPE} @type (property_element name: (variable_name (name) @variable)))
((property_promotion_parameter type: {_TYPE} @type name: (variable_name (name) @variable))
  (#set! prefix "$this."))
(property_promotion_parameter|simple_parameter type: {_TYPE} @type name: (variable_name) @variable)
(simple_parameter|variadic_parameter name: (variable_name) @variable)
(assignment_expression left: (variable_name) @variable right: {_VALUE} @value)
(assignment_expression left: (member_access_expression object: (variable_name)) @variable
    right: {_VALUE} @value)
(assignment_expression left: (variable_name) @variable)
((foreach_statement . (_) @value . (variable_name) @variable) (#set! element "yes"))
((foreach_statement . (_) @value . (pair (_) (variable_name) @variable)) (#set! element "yes"))
(catch_clause type: (type_list . (named_type) @type .) name: (variable_name) @variable)
(method_declaration|function_definition return_type: {_TYPE} @type)
(return_statement [(object_creation_expression) (member_access_expression)] @value)
"""


def _specifier(_called: str, written: str, lead: str) -> Specifier | None:
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
        # A constant or a variable: its value isn't followed.
        return Specifier(path.lstrip("/"), required=False) if _PHP_FOLDER.fullmatch(folder) else None
    if not set("'\"").isdisjoint(folder):
        return None
    up = folder.count("dirname") - ("__FILE__" in folder)
    several = re.search(r",\s*([1-9])\s*\)", folder)
    up += int(several[1]) - 1 if several is not None else 0
    required = lead.rstrip("( \t\n").endswith(("require", "require_once"))
    return Specifier(
        relative("../" * up + path.lstrip("/")), required=required and _PHP_ASKED.search(lead) is None
    )


_PHP_NAME = lazy_pattern(
    r"(?:(?P<kind>function|const)\s+)?(?P<name>\\?[^\W\d]\w*(?:\\[^\W\d]\w*)*)(?:\s+as\s+\w+)?", re.IGNORECASE
)


_PHP_LITERAL = lazy_pattern(r"""['"]([^'"$\\\n]+)['"][)\s]*\Z""")


_PHP_FOLDER = lazy_pattern(r"\$?\w+(?:(?:->|::)\$?\w+(?:\(\))?)*")


_PHP_ASKED = lazy_pattern(r"file_exists|is_file|is_readable|stream_resolve")


MAX_PREFIXES = 1_000
"""Maximum prefixes of a composer.json."""


class PhpImports(ImportLookup):
    r"""PHP: names by composer.json's autoloading rules, and paths relative to the file.

    A specifier with an ending (`./lib/x.php`) is a path, any other a name: `App\Models\User`.
    """

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that a specifier means, or None."""
        module = imported.module
        if _is_path(module):
            return self._included(importer, module)
        parts = _parts(module)
        if not parts:
            return None
        for path in self._autoloaded(importer, parts):
            if path in self._names:
                return path
        return self._elsewhere(importer, parts)

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved specifier certainly means a file of this project."""
        module = imported.module
        if _is_path(module):
            path = join_path(importer.rpartition("/")[0], module) if is_relative(module) else None
            return path is not None and "vendor" not in path.split("/")
        return any(self._is_ours(folder, parts) for folder, parts in self._psr4(importer, _parts(module)))

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return the file of a name that begins with a prefix in a composer.json of this project."""
        parts = [] if _is_path(imported.module) else _parts(imported.module)
        prefixes = {"\\".join(parts[:count]) for count in range(1, len(parts))}
        is_ours = not prefixes.isdisjoint((*self._rules.psr4, *self._rules.psr0))
        found = (path for path in self._autoloaded("", parts) if path in self._names)
        return tuple(islice(found, 1)) if is_ours else ()

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which a specifier waits."""
        module = imported.module
        if _is_path(module):
            return [key_of(module)]
        parts = _parts(module)
        return [parts[-1], parts[-1].rpartition("_")[2]] if parts else []

    def _included(self, importer: str, module: str) -> str | None:
        """Return the file next to the importer or above it, else the nearest file whose path has the same
        end."""
        folder = importer.rpartition("/")[0]
        for start in (folder,) if is_relative(module) else ancestors(folder):
            path = join_path(start, module)
            if path in self._names:
                return path
        if is_relative(module) or module.startswith("/") or ".." in module.split("/"):
            return None
        return self._folders.nearest(module, importer)

    def _autoloaded(self, importer: str, parts: list[str]) -> Iterator[str]:
        """Yield the candidates of autoloading, the longest prefix first."""
        rules = self._rules
        for folder, rest in self._psr4(importer, parts):
            yield within(folder, "/".join(rest) + ".php")
        for length in range(len(parts), -1, -1) if rules.psr0 else ():
            prefix = "\\".join(parts[:length])
            for folder in nearest_first(rules.psr0.get(prefix, ()), importer):
                tail = [*parts[:-1], *parts[-1].split("_")]
                yield within(folder, "/".join(tail) + ".php")

    def _psr4(self, importer: str, parts: list[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield the folders of a name's prefixes, longest first, each with the rest of the name."""
        prefixes = self._rules.psr4
        for length in range(len(parts) - 1, -1, -1):
            for folder in nearest_first(prefixes.get("\\".join(parts[:length]), ()), importer):
                yield folder, parts[length:]

    def _is_ours(self, folder: str, rest: list[str]) -> bool:
        """Return whether a name can only be a class of this project, by the rest of the name after a prefix.

        A package's namespace often continues in other packages, and a name may be a namespace.
        """
        path = within(folder, "/".join(rest))
        return (
            len(rest) > 1
            and rest[-1][:1].isupper()
            and self._folders.exists(path.rpartition("/")[0])
            and not self._folders.exists(path)
        )

    def _elsewhere(self, importer: str, parts: list[str]) -> str | None:
        """Return a file named like the class: in a folder searched for classes, or by its namespace."""
        rules = self._rules
        if rules.classes:
            found = [
                path
                for path in self._folders.ending_with(f"{parts[-1]}.php")
                if any(not folder or path.startswith(f"{folder}/") for folder in rules.classes)
            ]
            if found:
                return min(found, key=lambda path: _likeness(path, parts, importer))
        if rules.psr4 or rules.psr0:
            return None
        for start in range(max(1, len(parts) - 1)):
            near = self._folders.nearest("/".join(parts[start:]) + ".php", importer)
            if near is not None:
                return near
        return None

    @cached_property
    def _rules(self) -> _Rules:
        rules = _Rules()
        for folder in sorted(self._folders.holding("composer.json"))[:MAX_PACKAGES]:
            content = self._config.json(within(folder, "composer.json"))
            for section in ("autoload", "autoload-dev"):
                rules.add(folder, content.get(section))
        return rules


class _Rules(Struct):
    """The rules of composer.json files: folders by prefix of a name, and folders searched for classes."""

    psr4: dict[str, list[str]] = field(default_factory=dict)
    psr0: dict[str, list[str]] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)

    def add(self, folder: str, section: object) -> None:
        """Add a section of a folder's composer.json, which may hold anything."""
        if not isinstance(section, dict):
            return
        for known, rule in ((self.psr4, "psr-4"), (self.psr0, "psr-0")):
            prefixes = section.get(rule)
            for prefix, targets in (
                list(prefixes.items())[:MAX_PREFIXES] if isinstance(prefixes, dict) else ()
            ):
                namesakes = known.setdefault(prefix.strip("\\"), [])
                namesakes.extend(_folders_in(folder, targets)[: MAX_TARGETS - len(namesakes)])
        self.classes.extend(_folders_in(folder, section.get("classmap"))[: MAX_TARGETS - len(self.classes)])


def _folders_in(folder: str, targets: object) -> list[str]:
    """Return the folders of a rule that lie inside of the root."""
    found = [targets] if isinstance(targets, str) else targets if isinstance(targets, list) else []
    paths = (join_path(folder, each) for each in found[:MAX_TARGETS] if isinstance(each, str))
    return [path for path in paths if path is not None]


def _likeness(path: str, parts: list[str], importer: str) -> tuple[int, tuple[int, int, str]]:
    """Return a sort key that puts the files first whose folders resemble the namespace most."""
    shared = 0
    for ours, theirs in zip(reversed(parts[:-1]), reversed(path.split("/")[:-1]), strict=False):
        if ours != theirs:
            break
        shared += 1
    return -shared, nearness(path, importer)


def _is_path(module: str) -> bool:
    return "\\" not in module and ("." in module or "/" in module)


def _parts(module: str) -> list[str]:
    """Return the parts of a qualified name, none if it is malformed."""
    parts = module.strip("\\").split("\\")
    return parts if len(parts) <= _PARTS_MAX and all(part.isidentifier() for part in parts) else []


_PARTS_MAX = 32


LANGUAGES = (
    Language(
        "php",
        "php",
        (".php", ".phtml", ".php5"),
        (),
        ("php",),
        grammar="tree_sitter_php:language_php",
        definitions=PHP,
        references=PHP_REFERENCES,
        facts=PHP_FACTS,
        specifier=_specifier,
        imports=PhpImports,
        config_files=("composer.json",),
        found_by_ending=(".php",),
    ),
)
