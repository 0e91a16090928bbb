"""Owns the queries in tree-sitter's language, a language a constant; runs none.

Of a definition, `@def` is the node that is defined, `@name` what names it, `@target` what it is assigned to,
`@receiver` the type it belongs to, `@body` where its head ends, `@decorator` what stands before one. A
pattern's `kind` is the symbol's, its `name` stands in for one that isn't written; of two patterns that match
one definition the earlier one counts. Of an import, `@module` and `@imported` are the parts, `@function` is
what is called where it is written as a call, `@optional` a block whose failing imports its `@handler` may
catch. Of a document, `@heading` begins a section unless it stands in what is `@quoted`.
"""

from __future__ import annotations

PYTHON = """
((function_definition name: (identifier) @name body: (block) @body) @def (#set! kind "function"))
((class_definition name: (identifier) @name body: (block) @body) @def (#set! kind "class"))
((type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @def
  (#set! kind "type"))
((module (expression_statement (assignment left: [
  (identifier) @name (pattern_list (identifier) @name)])) @def) (#set! kind "variable"))
((module (if_statement (block (expression_statement (assignment left: (identifier) @name)) @def)))
  (#set! kind "variable"))
((module (if_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @def))))
  (#set! kind "variable"))
((module (try_statement (block (expression_statement (assignment left: (identifier) @name)) @def)))
  (#set! kind "variable"))
((module (try_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @def))))
  (#set! kind "variable"))
(decorator) @decorator
(import_statement name: [(dotted_name) @module (aliased_import name: (dotted_name) @module)])
(import_from_statement module_name: (_) @module (wildcard_import))
(import_from_statement module_name: (_) @module name: [
  (dotted_name) @imported (aliased_import name: (dotted_name) @imported)])
(try_statement body: (block) @optional (except_clause) @handler)
"""

PYTHON_CALLS = """
(call function: [(identifier) (attribute)] @function arguments: (argument_list . (string) @module))
"""

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

# The names of a constant carry no field: the grammar gives its `name` to the first one only.
GO = """
((function_declaration name: (identifier) @name body: (block) @body) @def (#set! kind "function"))
((function_declaration name: (identifier) @name) @def (#set! kind "function"))
((method_declaration receiver: (parameter_list) @receiver name: (field_identifier) @name
    body: (block) @body) @def (#set! kind "method"))
((method_declaration receiver: (parameter_list) @receiver name: (field_identifier) @name) @def
  (#set! kind "method"))
((type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @def
  (#set! kind "struct"))
((type_spec name: (type_identifier) @name type: (interface_type)) @def (#set! kind "interface"))
((type_spec name: (type_identifier) @name) @def (#set! kind "type"))
((type_alias name: (type_identifier) @name) @def (#set! kind "type"))
((source_file (const_declaration (const_spec (identifier) @name) @def)) (#set! kind "constant"))
((source_file (var_declaration (var_spec (identifier) @name) @def)) (#set! kind "variable"))
((source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @def)))
  (#set! kind "variable"))
(import_spec path: (_) @module)
"""

MARKDOWN = """
(atx_heading) @heading
(setext_heading) @heading
(block_quote) @quoted
(list) @quoted
"""
