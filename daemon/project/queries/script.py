"""Owns the queries of JavaScript and TypeScript."""

from __future__ import annotations

# What a name can be bound to that makes the binding a function or a class of its own.
_FUNCTION_VALUES = """[
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
  (parenthesized_expression (function_expression body: (_) @body))
  (parenthesized_expression (arrow_function body: (_) @body))
]"""

# Values that define something by being assigned to an export; a mere name re-exports what stands elsewhere.
_DATA_VALUES = """[
  (object) (array) (string) (template_string) (number) (regex) (true) (false)
  (call_expression) (new_expression) (binary_expression)
]"""

_SCRIPT = f"""
((function_declaration name: (_) @name body: (_) @body) @def (#set! kind "function"))
((generator_function_declaration name: (_) @name body: (_) @body) @def (#set! kind "function"))
((class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((class_body (method_definition name: (_) @name body: (_) @body) @def) (#set! kind "method"))
((variable_declarator name: (identifier) @name value: {_FUNCTION_VALUES}) @def (#set! kind "function"))
((variable_declarator name: (identifier) @name value: (class body: (_) @body)) @def (#set! kind "class"))
((program [(lexical_declaration (variable_declarator name: (identifier) @name) @def)
           (variable_declaration (variable_declarator name: (identifier) @name) @def)])
  (#set! kind "variable"))
((export_statement [
    (lexical_declaration (variable_declarator name: [
      (identifier) @name
      (object_pattern (shorthand_property_identifier_pattern) @name)
      (object_pattern (pair_pattern value: (identifier) @name))]) @def)
    (variable_declaration (variable_declarator name: (identifier) @name) @def)])
  (#set! kind "variable"))
((export_statement value: {_FUNCTION_VALUES}) @def (#set! kind "function") (#set! name "default"))
((export_statement value: (class body: (_) @body)) @def (#set! kind "class") (#set! name "default"))
((export_statement value: [(object) (array) (call_expression)]) @def
  (#set! kind "constant") (#set! name "default"))
((assignment_expression left: (member_expression) @target right: {_FUNCTION_VALUES}) @def
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
((class_body (field_definition property: (_) @name value: {_FUNCTION_VALUES}) @def) (#set! kind "method"))
"""

TYPESCRIPT = f"""{_SCRIPT}
((class_body (public_field_definition name: (_) @name value: {_FUNCTION_VALUES}) @def) (#set! kind "method"))
((class_body [(abstract_method_signature name: (_) @name) (method_signature name: (_) @name)] @def)
  (#set! kind "method"))
((function_signature name: (_) @name) @def (#set! kind "function"))
((abstract_class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((interface_declaration name: (_) @name body: (_) @body) @def (#set! kind "interface"))
((enum_declaration name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((type_alias_declaration name: (_) @name) @def (#set! kind "type"))
((internal_module name: (_) @name body: (_) @body) @def (#set! kind "namespace"))
((module name: (_) @name body: (_) @body) @def (#set! kind "namespace"))
((ambient_declaration [(lexical_declaration (variable_declarator name: (identifier) @name) @def)
                       (variable_declaration (variable_declarator name: (identifier) @name) @def)])
  (#set! kind "variable"))
(import_require_clause source: (string) @module)
"""

SCRIPT_CALLS = """
(call_expression function: [(identifier) (import)] @function arguments: (arguments . (string) @module))
"""
