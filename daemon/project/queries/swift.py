"""Owns the queries of Swift."""

from __future__ import annotations

_BODY = "body: [(class_body) (enum_class_body)] @body"
_NAMED = "name: (pattern bound_identifier: (_) @name)"

# A type's own name and what it returns or inherits carry the same field, so that names are anchored.
SWIFT = f"""
((class_declaration declaration_kind: "class" . name: (_) @name {_BODY}) @def (#set! kind "class"))
((class_declaration declaration_kind: "actor" . name: (_) @name {_BODY}) @def (#set! kind "class"))
((class_declaration declaration_kind: "struct" . name: (_) @name {_BODY}) @def (#set! kind "struct"))
((class_declaration declaration_kind: "enum" . name: (_) @name {_BODY}) @def (#set! kind "enum"))
((class_declaration declaration_kind: "extension" . name: (_) @path {_BODY}) @def (#set! kind "scope"))
((protocol_declaration "protocol" . name: (_) @name body: (_) @body) @def (#set! kind "protocol"))
((function_declaration "func" . name: _ @name body: (_) @body) @def (#set! kind "function"))
((protocol_function_declaration "func" . name: _ @name) @def (#set! kind "function"))
((init_declaration body: (_) @body) @def (#set! kind "method") (#set! name "init"))
((init_declaration) @def (#set! kind "method") (#set! name "init"))
((deinit_declaration body: (_) @body) @def (#set! kind "method") (#set! name "deinit"))
((subscript_declaration (computed_property) @body) @def (#set! kind "method") (#set! name "subscript"))
((typealias_declaration "typealias" . name: (_) @name) @def (#set! kind "type"))
((associatedtype_declaration name: (_) @name) @def (#set! kind "type"))
((macro_declaration . (modifiers)? . "macro" . (simple_identifier) @name) @def (#set! kind "macro"))
((property_declaration {_NAMED} computed_value: (_) @body) @def (#set! kind "property"))
((protocol_property_declaration {_NAMED}) @def (#set! kind "property"))
((source_file (property_declaration (value_binding_pattern "let") {_NAMED}) @def) (#set! kind "constant"))
((source_file (property_declaration (value_binding_pattern "var") {_NAMED}) @def) (#set! kind "variable"))
((property_declaration (modifiers (property_modifier "static")) (value_binding_pattern "let") {_NAMED}) @def
  (#set! kind "constant"))
(attribute) @decorator
"""
