"""Owns the queries of Lua."""

from __future__ import annotations

# A function's block is missing when it is empty, so that the head ends at its parameters.
_FUNCTION = "(function_definition parameters: (_) @head)"

# Of several names that are assigned at once only the first is told apart.
_ASSIGNED = f"expression_list . value: {_FUNCTION}"

LUA = f"""
((function_declaration name: (identifier) @name parameters: (_) @head) @def (#set! kind "function"))
((function_declaration name: (dot_index_expression) @path parameters: (_) @head) @def
  (#set! kind "function"))
((function_declaration name: (method_index_expression) @path parameters: (_) @head) @def
  (#set! kind "method"))
((assignment_statement
    (variable_list . name: [(identifier) (dot_index_expression)] @path)
    (expression_list . value: {_FUNCTION})) @def
  (#set! kind "function"))
(variable_declaration (assignment_statement) @of) @lead
((chunk (variable_declaration (assignment_statement
    (variable_list . name: (identifier)) (expression_list . value: (table_constructor
      (field name: (identifier) @name value: {_FUNCTION}) @def)))))
  (#set! kind "function"))
((chunk (assignment_statement
    (variable_list . name: (_)) (expression_list . value: (table_constructor
      (field name: (identifier) @name value: {_FUNCTION}) @def))))
  (#set! kind "function"))
((chunk (return_statement (expression_list . (table_constructor
      (field name: (identifier) @name value: {_FUNCTION}) @def))))
  (#set! kind "function"))
((chunk (variable_declaration (assignment_statement
    (variable_list name: (identifier) @name) (expression_list
      . value: [(table_constructor) (number) (string) (true) (false) (nil) (binary_expression)]))) @def)
  (#set! kind "variable"))
((chunk (assignment_statement
    (variable_list name: [(identifier) (dot_index_expression)] @path) (expression_list
      . value: [(table_constructor) (number) (string) (true) (false) (binary_expression)])) @def)
  (#set! kind "variable"))
"""
