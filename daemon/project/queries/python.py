"""Owns the queries of Python."""

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
