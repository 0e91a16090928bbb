"""Owns the queries of PHP."""

from __future__ import annotations

PHP = """
((class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((interface_declaration name: (_) @name body: (_) @body) @def (#set! kind "interface"))
((trait_declaration name: (_) @name body: (_) @body) @def (#set! kind "trait"))
((enum_declaration name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((function_definition name: (_) @name body: (_) @body) @def (#set! kind "function"))
((method_declaration name: (_) @name body: (_) @body) @def (#set! kind "method"))
((method_declaration name: (_) @name) @def (#set! kind "method"))
((const_declaration (const_element . (name) @name)) @def (#set! kind "constant"))
((function_call_expression function: (name) @when
    arguments: (arguments . (argument (string (string_content) @name)))) @def
  (#set! when "define") (#set! kind "constant"))
(attribute_list) @decorator
"""
