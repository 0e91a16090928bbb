"""Owns the queries of Java."""

from __future__ import annotations

JAVA = """
((class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((interface_declaration name: (_) @name body: (_) @body) @def (#set! kind "interface"))
((annotation_type_declaration name: (_) @name body: (_) @body) @def (#set! kind "interface"))
((enum_declaration name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((record_declaration name: (_) @name body: (_) @body) @def (#set! kind "record"))
((constructor_declaration name: (_) @name body: (_) @body) @def (#set! kind "method"))
((compact_constructor_declaration name: (_) @name body: (_) @body) @def (#set! kind "method"))
((method_declaration name: (_) @name body: (_) @body) @def (#set! kind "method"))
((method_declaration name: (_) @name) @def (#set! kind "method"))
((annotation_type_element_declaration name: (_) @name) @def (#set! kind "method"))
((field_declaration [(modifiers "static" "final") (modifiers "final" "static")]
    declarator: (variable_declarator name: (_) @name)) @def (#set! kind "constant"))
((constant_declaration declarator: (variable_declarator name: (_) @name)) @def (#set! kind "constant"))
[(annotation) (marker_annotation)] @decorator
"""
