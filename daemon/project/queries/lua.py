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

LUA_CALLS = """
(function_call name: (identifier) @function arguments: (arguments . (string) @module))
(function_call name: (identifier) arguments: (arguments . (identifier) @function . (string) @module))
"""

LUA_REFERENCES = """
(function_call name: [(dot_index_expression) (method_index_expression)] @call)
(arguments [(identifier) (dot_index_expression)] @use)
(field value: [(identifier) (dot_index_expression)] @use)
(assignment_statement (expression_list value: [(identifier) (dot_index_expression)] @use))
(return_statement (expression_list [(identifier) (dot_index_expression)] @use))
"""

_REQUIRE = "(function_call name: (identifier) @when arguments: (arguments . (string) @module .))"

# What the language brings along.
_OWN = """
require assert collectgarbage dofile error getmetatable ipairs load loadfile loadstring next pairs pcall
print rawequal rawget rawlen rawset select setfenv setmetatable tonumber tostring type unpack xpcall"""

LUA_FACTS = f"""
((function_call name: (identifier) @last) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
((assignment_statement (variable_list . name: (identifier) @bound) (expression_list . value: {_REQUIRE}))
  (#set! when "require") (#set! fact "binding") (#set! imported "*"))
((assignment_statement (variable_list . name: (identifier) @bound) (expression_list . value:
    (dot_index_expression table: {_REQUIRE} field: (identifier) @imported)))
  (#set! when "require") (#set! fact "binding"))
((variable_declaration (assignment_statement
    (variable_list . name: (identifier) @variable) (expression_list . value: [
      (function_call) (identifier) (dot_index_expression)] @value))) (#set! fact "type"))
((variable_declaration (assignment_statement (variable_list name: (identifier) @variable)))
  (#set! fact "type"))
((variable_declaration (variable_list name: (identifier) @variable)) (#set! fact "type"))
((parameters name: (identifier) @variable) (#set! fact "type"))
((for_generic_clause (variable_list name: (identifier) @variable)) (#set! fact "type"))
((for_numeric_clause name: (identifier) @variable) (#set! fact "type"))
"""
