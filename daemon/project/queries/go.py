"""Owns the queries of Go."""

from __future__ import annotations

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
