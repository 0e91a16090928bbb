"""Owns the queries of Kotlin."""

from __future__ import annotations

# A value class is none; a `val` may belong to a type that it doesn't lie in.
_NAMED = "(variable_declaration . (identifier) @name)"
_TYPE = "[(user_type) (nullable_type) (parenthesized_type)] @owner"

KOTLIN = f"""
((class_declaration "interface" name: (_) @name (class_body) @body) @def (#set! kind "interface"))
((class_declaration "interface" name: (_) @name) @def (#set! kind "interface"))
((class_declaration name: (_) @name (enum_class_body) @body) @def (#set! kind "enum"))
((class_declaration name: (_) @name (class_body) @body) @def (#set! kind "class"))
((class_declaration name: (_) @name) @def (#set! kind "class"))
((object_declaration name: (_) @name (class_body) @body) @def (#set! kind "object"))
((object_declaration name: (_) @name) @def (#set! kind "object"))
((function_declaration {_TYPE} . "." . name: (_) @name (function_body) @body) @def (#set! kind "function"))
((function_declaration {_TYPE} . "." . name: (_) @name) @def (#set! kind "function"))
((function_declaration name: (_) @name (function_body) @body) @def (#set! kind "function"))
((function_declaration name: (_) @name) @def (#set! kind "function"))
((secondary_constructor (block) @body) @def (#set! kind "method") (#set! name "constructor"))
((secondary_constructor) @def (#set! kind "method") (#set! name "constructor"))
((type_alias type: (_) @name) @def (#set! kind "type"))
((property_declaration {_TYPE} . "." . {_NAMED} (getter) @body) @def (#set! kind "property"))
((property_declaration {_NAMED} (getter) @body) @def (#set! kind "property"))
((source_file (property_declaration "val" {_NAMED}) @def) (#set! kind "constant"))
((source_file (property_declaration "var" {_NAMED}) @def) (#set! kind "variable"))
((object_declaration (class_body (property_declaration "val" {_NAMED}) @def)) (#set! kind "constant"))
((companion_object (class_body (property_declaration "val" {_NAMED}) @def)) (#set! kind "constant"))
(annotation) @decorator
"""
