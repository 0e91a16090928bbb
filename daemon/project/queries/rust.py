"""Owns the queries of Rust."""

from __future__ import annotations

RUST = """
((function_item name: (_) @name body: (_) @body) @def (#set! kind "function"))
((function_signature_item name: (_) @name) @def (#set! kind "function"))
((struct_item name: (_) @name body: (field_declaration_list) @body) @def (#set! kind "struct"))
((struct_item name: (_) @name) @def (#set! kind "struct"))
((union_item name: (_) @name body: (_) @body) @def (#set! kind "union"))
((enum_item name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((trait_item name: (_) @name body: (_) @body) @def (#set! kind "trait"))
((mod_item name: (_) @name body: (_) @body) @def (#set! kind "module"))
((impl_item type: (_) @name body: (_) @body) @def (#set! kind "scope"))
((type_item name: (_) @name) @def (#set! kind "type"))
((associated_type name: (_) @name) @def (#set! kind "type"))
((const_item name: (_) @name) @def (#set! kind "constant"))
((static_item name: (_) @name) @def (#set! kind "variable"))
((macro_definition name: (_) @name @head) @def (#set! kind "macro"))
(attribute_item) @decorator
"""
