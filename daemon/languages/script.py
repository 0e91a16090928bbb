"""JavaScript, TypeScript, and the languages that embed them: modules, exports, CommonJS."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..core.vocabulary import words
from .script_imports import ALIAS_NAMES, ScriptImports
from .shared.language import BoundName, DefinitionRules, Language
from .shared.link_rules import UNKNOWN_VALUE, LinkRules, NameLookup, Value, Values, What, external

if TYPE_CHECKING:
    from .shared.interface import FileInterface


# Values that make their binding a function or a class.
FUNCTION_VALUES = """[
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
  (parenthesized_expression (function_expression body: (_) @body))
  (parenthesized_expression (arrow_function body: (_) @body))
]"""

# Values whose assignment to an export is a definition; a name alone re-exports another definition.
_DATA_VALUES = """[
  (object) (array) (string) (template_string) (number) (regex) (true) (false)
  (call_expression) (new_expression) (binary_expression)
]"""

_SCRIPT = f"""
((function_declaration|generator_function_declaration|class_declaration name: (_) @name body: (_) @body) @def
  (#set! kind "function|function|class"))
((class_body (method_definition name: (_) @name body: (_) @body) @def) (#set! kind "method"))
((variable_declarator name: (identifier) @name value: {FUNCTION_VALUES}) @def (#set! kind "function"))
((variable_declarator name: (identifier) @name value: (class body: (_) @body)) @def (#set! kind "class"))
((program (lexical_declaration|variable_declaration (variable_declarator name: (identifier) @name) @def))
  (#set! kind "variable"))
((export_statement (lexical_declaration|variable_declaration (variable_declarator name: [
    (identifier) @name
    (object_pattern (shorthand_property_identifier_pattern) @name)
    (object_pattern (pair_pattern value: (identifier) @name))]) @def)) (#set! kind "variable"))
((export_statement value: {FUNCTION_VALUES}) @def (#set! kind "function") (#set! name "default"))
((export_statement value: (class body: (_) @body)) @def (#set! kind "class") (#set! name "default"))
((export_statement value: [(object) (array) (call_expression)]) @def
  (#set! kind "constant") (#set! name "default"))
((assignment_expression left: (member_expression) @target right: {FUNCTION_VALUES}) @def
  (#set! kind "function"))
((assignment_expression left: (member_expression) @target right: (class body: (_) @body)) @def
  (#set! kind "class"))
((program (expression_statement
    (assignment_expression left: (member_expression) @target right: {_DATA_VALUES}) @def))
  (#set! kind "constant"))
(decorator) @decorator
(import_statement source: (string) @module)
(export_statement source: (string) @module)
"""

JAVASCRIPT = f"""{_SCRIPT}
((class_body (field_definition property: (_) @name value: {FUNCTION_VALUES}) @def) (#set! kind "method"))
"""

TYPESCRIPT = f"""{_SCRIPT}
((class_body (public_field_definition name: (_) @name value: {FUNCTION_VALUES}) @def) (#set! kind "method"))
((class_body [(abstract_method_signature name: (_) @name) (method_signature name: (_) @name)] @def)
  (#set! kind "method"))
((interface_body (method_signature name: (_) @name) @def) (#set! kind "method"))
((function_signature name: (_) @name) @def (#set! kind "function"))
((abstract_class_declaration|interface_declaration|enum_declaration name: (_) @name body: (_) @body) @def
  (#set! kind "class|interface|enum"))
((type_alias_declaration name: (_) @name) @def (#set! kind "type"))
((internal_module|module name: (_) @name body: (_) @body) @def (#set! kind "namespace"))
((ambient_declaration (lexical_declaration|variable_declaration (variable_declarator
    name: (identifier) @name) @def)) (#set! kind "variable"))
(import_require_clause source: (string) @module)
"""

SCRIPT_CALLS = """
(call_expression function: [(identifier) (import)] @function arguments: (arguments . (string) @module))
"""

_SCRIPT_REFERENCES = """
(call_expression function: (_) @call)
(new_expression constructor: (_) @call)
(decorator [(identifier) (member_expression)] @decorate)
(decorator (call_expression function: (_) @decorate))
(arguments|return_statement|array|spread_element|binary_expression|ternary_expression|
  template_substitution [(identifier) (member_expression)] @use)
(variable_declarator|pair value: [(identifier) (member_expression)] @use)
(arrow_function body: [(identifier) (member_expression)] @use)
(shorthand_property_identifier) @use
(assignment_expression|assignment_pattern right: [(identifier) (member_expression)] @use)
(member_expression object: [(identifier) (this)] property: (_)) @use
"""

_JSX_REFERENCES = """
(jsx_opening_element|jsx_self_closing_element name: [(identifier) (member_expression)] @call)
(jsx_expression [(identifier) (member_expression)] @use)
"""

JAVASCRIPT_REFERENCES = f"""{_SCRIPT_REFERENCES}{_JSX_REFERENCES}
(class_heritage (_) @inherit)
"""

TYPESCRIPT_REFERENCES = f"""{_SCRIPT_REFERENCES}
(extends_clause value: (_) @inherit)
(implements_clause (_) @inherit)
(extends_type_clause type: (_) @inherit)
(type_annotation) @type
(type_arguments|constraint (_) @type)
(type_alias_declaration value: [(type_identifier) (generic_type) (union_type) (nested_type_identifier)] @type)
(as_expression (_) [(type_identifier) (generic_type) (nested_type_identifier)] @type)
"""

TSX_REFERENCES = f"{TYPESCRIPT_REFERENCES}{_JSX_REFERENCES}"

_FOLLOWED = "[(identifier) (member_expression) (call_expression) (new_expression)] @value"

# Expressions with alternatives; each is a possible value of the variable.
_CHOICES = f"""[
  (binary_expression . {_FOLLOWED} . ["||" "??" "&&"])
  (binary_expression ["||" "??" "&&"] . {_FOLLOWED} .)
  (ternary_expression consequence: {_FOLLOWED})
  (ternary_expression alternative: {_FOLLOWED})
  (parenthesized_expression (assignment_expression right: {_FOLLOWED}))
  (assignment_expression right: {_FOLLOWED})
]"""

_SCRIPT_FACTS = f"""
((import_statement (import_clause (identifier) @bound) source: (string) @module) (#set! imported "default"))
(import_statement (import_clause (named_imports (import_specifier name: (_) @imported !alias)))
    source: (string) @module)
(import_statement (import_clause (named_imports (import_specifier name: (_) @imported alias: (_) @bound)))
    source: (string) @module)
((import_statement (import_clause (namespace_import (identifier) @bound)) source: (string) @module)
  (#set! imported "*"))
((variable_declarator name: (identifier) @bound value: (call_expression function: (identifier) @when
    arguments: (arguments . (string) @module))) (#set! when "require") (#set! imported "*"))
((variable_declarator name: (identifier) @bound value: (member_expression
    object: (call_expression function: (identifier) @when arguments: (arguments . (string) @module))
    property: (_) @imported)) (#set! when "require"))
((variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @imported)
    value: (call_expression function: (identifier) @when arguments: (arguments . (string) @module)))
  (#set! when "require"))
((variable_declarator name: (object_pattern (pair_pattern key: (_) @imported value: (identifier) @bound))
    value: (call_expression function: (identifier) @when arguments: (arguments . (string) @module)))
  (#set! when "require"))
((variable_declarator name: (identifier) @bound value: (await_expression
    (call_expression function: (import) arguments: (arguments . (string) @module)))) (#set! imported "*"))
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @imported)
    value: (await_expression (call_expression function: (import)
      arguments: (arguments . (string) @module))))
((export_statement (export_clause (export_specifier name: (_) @imported !alias)) !source)
  (#set! fact "export"))
((export_statement (export_clause (export_specifier name: (_) @imported alias: (_) @exported)) !source)
  (#set! fact "export"))
((export_statement (export_clause (export_specifier name: (_) @imported !alias)) source: (string) @module)
  (#set! fact "export"))
((export_statement (export_clause (export_specifier name: (_) @imported alias: (_) @exported))
    source: (string) @module) (#set! fact "export"))
((export_statement (namespace_export (_) @exported) source: (string) @module)
  (#set! fact "export") (#set! imported "*"))
((export_statement "*" source: (string) @module)
  (#set! fact "export") (#set! imported "*") (#set! exported "*"))
((export_statement "default" value: [(identifier) (member_expression)] @imported)
  (#set! fact "export") (#set! exported "default"))
((export_statement "default" declaration: (_ name: (_) @imported))
  (#set! fact "export") (#set! exported "default"))
((assignment_expression left: (member_expression) @when right: [(identifier) (member_expression)] @imported)
  (#set! when "module.exports") (#set! fact "export") (#set! exported "module.exports"))
((assignment_expression left: (member_expression) @when
    right: (object (shorthand_property_identifier) @imported))
  (#set! when "module.exports") (#set! fact "export"))
((assignment_expression left: (member_expression) @when
    right: (object (pair
      key: (property_identifier) @exported value: [(identifier) (member_expression)] @imported)))
  (#set! when "module.exports") (#set! fact "export"))
((assignment_expression left: (member_expression) @when
    right: (call_expression function: (identifier) arguments: (arguments . (string) @module)))
  (#set! when "module.exports") (#set! fact "export") (#set! imported "*") (#set! exported "*"))
((assignment_expression left: (member_expression object: (_) @when property: (_) @exported)
    right: [(identifier) (member_expression)] @imported)
  (#set! when "exports module.exports") (#set! fact "export"))
(variable_declarator
    name: (object_pattern (shorthand_property_identifier_pattern) @variable @member) value: (_) @value)
(variable_declarator name: (object_pattern
    (pair_pattern key: (property_identifier) @member value: (identifier) @variable)) value: (_) @value)
(variable_declarator name: (object_pattern
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @variable @member))
    value: (_) @value)
(variable_declarator name: (identifier) @variable value: {_CHOICES})
(assignment_expression left: [(identifier) (member_expression object: (this))] @variable right: {_CHOICES})
(variable_declarator name: (array_pattern (identifier) @variable))
(assignment_expression left: [(identifier) (member_expression object: (this))] @variable right: (_) @value)
((for_in_statement left: (identifier) @variable right: (_) @value) (#set! element "yes"))
(return_statement [(call_expression) (new_expression) (identifier) (member_expression) (this)] @value)
(variable_declarator value: (arrow_function
    body: [(call_expression) (new_expression) (identifier) (member_expression)] @value))
(arrow_function parameter: (identifier) @variable)
(function_expression name: (identifier) @variable)
(shorthand_property_identifier_pattern) @variable
(pair_pattern value: (identifier) @variable)
(array_pattern (identifier) @variable)
(catch_clause parameter: (identifier) @variable)
((call_expression function: (member_expression
    object: [(identifier) (member_expression)] @last property: (property_identifier) @when))
    (#set! fact "call") (#set! when "call apply bind"))
"""

JAVASCRIPT_FACTS = f"""{_SCRIPT_FACTS}
(variable_declarator name: (identifier) @variable value: (_) @value)
(formal_parameters [
  (identifier) @variable
  (assignment_pattern left: (identifier) @variable)
  (rest_pattern (identifier) @variable)
  (object_pattern (shorthand_property_identifier_pattern) @variable)])
(field_definition property: (_) @variable value: (_) @value)
"""

TYPESCRIPT_FACTS = f"""{_SCRIPT_FACTS}
((import_require_clause (identifier) @bound source: (string) @module) (#set! imported "*"))
(variable_declarator name: (identifier) @variable !type value: (_) @value)
(variable_declarator name: (identifier) @variable type: (type_annotation) @type)
(variable_declarator name: (identifier) @variable value: (as_expression (_) . (_) @type))
(required_parameter|optional_parameter pattern: (identifier) @variable type: (type_annotation) @type)
(required_parameter|optional_parameter pattern: (identifier) @variable !type)
[(required_parameter pattern: (object_pattern (shorthand_property_identifier_pattern) @variable))
  (required_parameter pattern: (rest_pattern (identifier) @variable))]
((required_parameter (accessibility_modifier) pattern: (identifier) @variable type: (type_annotation) @type)
  (#set! prefix "this."))
(public_field_definition name: (_) @variable type: (type_annotation) @type)
(public_field_definition name: (_) @variable !type value: (_) @value)
(property_signature name: (_) @variable type: (type_annotation) @type)
(function_declaration|function_signature|method_definition|method_signature|abstract_method_signature
  return_type: (type_annotation) @type)
(variable_declarator value: (arrow_function return_type: (type_annotation) @type))
"""


class ScriptDefinitions(DefinitionRules):
    """The rules for definitions of JavaScript and TypeScript."""

    leading_words = True
    members_at_top = True

    def binding_kind(self, bound: BoundName) -> str:
        """Return the kind of a binding by the word before its name; an empty string for a `require`."""
        if bound.kind != "variable":
            return bound.kind
        if bound.written.partition(b"=")[2].lstrip().startswith(b"require("):
            return ""
        return "constant" if bound.before.rstrip().endswith(b"const") else "variable"


COMMON_JS = "module.exports"
"""The name of a CommonJS module as a whole, see definitions.py."""

_GLOBALS = words(
    """
    console Object Array String Number Boolean Symbol BigInt Math JSON Date RegExp Error TypeError
    RangeError SyntaxError ReferenceError EvalError URIError AggregateError Map Set WeakMap WeakSet
    WeakRef Promise Proxy Reflect Intl ArrayBuffer SharedArrayBuffer DataView Atomics Int8Array
    Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array
    Float64Array BigInt64Array BigUint64Array parseInt parseFloat isNaN isFinite encodeURIComponent
    decodeURIComponent encodeURI decodeURI escape unescape eval globalThis window document navigator
    location history self global process Buffer require module exports setTimeout clearTimeout
    setInterval clearInterval setImmediate clearImmediate queueMicrotask requestAnimationFrame
    cancelAnimationFrame structuredClone fetch URL URLSearchParams Headers Request Response FormData
    Blob File FileReader AbortController AbortSignal Event EventTarget CustomEvent TextEncoder
    TextDecoder crypto performance localStorage sessionStorage alert confirm prompt Function NaN
    Infinity HTMLElement Element Node MutationObserver IntersectionObserver ResizeObserver WebSocket
    Worker arguments Readonly Record Partial Pick Omit Exclude Extract ReturnType Parameters
    NonNullable Awaited Iterable Iterator AsyncIterable AsyncIterator Generator PromiseLike
    ArrayLike
    """
)
"""Globals of the language and its usual hosts (ECMAScript 2024, browsers, Node)."""

_TYPES = words(
    """
    string number boolean bigint symbol undefined null void
    """
)


class ScriptRules(LinkRules):
    """The link rules of JavaScript and TypeScript."""

    self_names = frozenset({"this"})
    class_names = frozenset()
    block_scoped = True
    super_names = frozenset({"super"})
    wildcards_are_files = False
    class_kinds = frozenset({"class", "interface", "enum", "type"})

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return the global of a name."""
        return external(name) if name in _GLOBALS or name in _TYPES else UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return the values of literals and of keywords such as `true`."""
        if root in {"undefined", "null", "true", "false"}:
            return external(root)
        return super().literal(root)

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a name of a module; a CommonJS module includes the members of `module.exports`."""
        found = evaluator.module(path, language, module)
        if not found.paths:
            return UNKNOWN_VALUE if found.internal else external(f"{module}.{name}")
        target = found.paths[0]
        if name == "*":
            whole = self._export(evaluator, target, COMMON_JS, depth)
            return (*whole, Value(What.MODULE, target))
        values = evaluator.module_member(target, name, depth)
        if not values and name == "default":  # as bundlers see a CommonJS module
            values = self._export(evaluator, target, COMMON_JS, depth) or (Value(What.MODULE, target),)
        return values

    def module_members(
        self, evaluator: NameLookup, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return a module's export of a name, re-exported or defined in it."""
        if values := self._export(evaluator, path, name, depth):
            return values
        if name in interface.names:
            return (Value(What.DEFINITION, path, name),)
        for export in evaluator.exports_in(path, interface).get("*", ()):
            values = self.imported(evaluator, path, interface.language, export.module, name, depth + 1)
            if values and values[0].what is What.DEFINITION:
                return values
        return UNKNOWN_VALUE

    def _export(self, evaluator: NameLookup, path: str, name: str, depth: int) -> Values:
        interface = evaluator.interface(path)
        if interface is None or evaluator.is_too_deep(depth):
            return UNKNOWN_VALUE
        for export in evaluator.exports_in(path, interface).get(name, ()):
            if export.module:
                return self.imported(
                    evaluator, path, interface.language, export.module, export.imported, depth + 1
                )
            return evaluator.follow(
                export.imported, path, lambda first: evaluator.top(path, first, depth + 1), depth + 1
            )
        if name == COMMON_JS and name in interface.names:
            return (Value(What.DEFINITION, path, name),)
        return UNKNOWN_VALUE


_row = partial(
    Language,
    family="script",
    definition_rules=ScriptDefinitions(),
    calls=SCRIPT_CALLS,
    call_words=(b"require", b"import("),
    same_in_folder=True,
    config_files=(*ALIAS_NAMES, "package.json"),
    links=ScriptRules(),
)
typed_row = partial(_row, imports=ScriptImports)

LANGUAGES = (
    _row(
        "javascript",
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs", ".es6"),
        ("Jakefile",),
        ("node", "nodejs", "bun"),
        grammar="tree_sitter_javascript:language",
        definitions=JAVASCRIPT,
        references=JAVASCRIPT_REFERENCES,
        facts=JAVASCRIPT_FACTS,
        imports=partial(ScriptImports, language="javascript"),
    ),
    typed_row(
        "typescript",
        "typescript",
        (".ts", ".mts", ".cts"),
        (),
        ("deno", "ts-node", "tsx"),
        grammar="tree_sitter_typescript:language_typescript",
        definitions=TYPESCRIPT,
        references=TYPESCRIPT_REFERENCES,
        facts=TYPESCRIPT_FACTS,
        stalling=(b"<",),
    ),
    typed_row(
        "tsx",
        "tsx",
        (".tsx",),
        grammar="tree_sitter_typescript:language_tsx",
        definitions=TYPESCRIPT,
        references=TSX_REFERENCES,
        facts=TYPESCRIPT_FACTS,
        stalling=(b"<",),
    ),
)
