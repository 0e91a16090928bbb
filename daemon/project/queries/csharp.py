"""Owns the queries of C#."""

from __future__ import annotations

CSHARP = """
((class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((class_declaration name: (_) @name) @def (#set! kind "class"))
((struct_declaration name: (_) @name body: (_) @body) @def (#set! kind "struct"))
((struct_declaration name: (_) @name) @def (#set! kind "struct"))
((interface_declaration name: (_) @name body: (_) @body) @def (#set! kind "interface"))
((enum_declaration name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((record_declaration name: (_) @name body: (_) @body) @def (#set! kind "record"))
((record_declaration name: (_) @name) @def (#set! kind "record"))
((delegate_declaration name: (_) @name) @def (#set! kind "type"))
((method_declaration name: (_) @name body: (_) @body) @def (#set! kind "method"))
((method_declaration name: (_) @name) @def (#set! kind "method"))
((constructor_declaration name: (_) @name
    [(constructor_initializer) (block) (arrow_expression_clause)] @body) @def (#set! kind "method"))
((destructor_declaration "~" . name: (_) @head) @def (#set! kind "method") (#set! name "Finalize"))
((operator_declaration operator: _ @name body: (_) @body) @def (#set! kind "method"))
((conversion_operator_declaration body: (_) @body) @def (#set! kind "method") (#set! name "operator"))
((indexer_declaration accessors: (_) @body) @def (#set! kind "property") (#set! name "this"))
((indexer_declaration value: (_) @body) @def (#set! kind "property") (#set! name "this"))
((property_declaration name: (_) @name accessors: (_) @body) @def (#set! kind "property"))
((property_declaration name: (_) @name value: (_) @body) @def (#set! kind "property"))
((event_declaration name: (_) @name accessors: (_) @body) @def (#set! kind "event"))
((event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @def
  (#set! kind "event"))
((local_function_statement name: (_) @name body: (_) @body) @def (#set! kind "function"))
((field_declaration (modifier "const") (variable_declaration (variable_declarator name: (_) @name))) @def
  (#set! kind "constant"))
((field_declaration (modifier "static") (modifier "readonly")
    (variable_declaration (variable_declarator name: (_) @name))) @def (#set! kind "constant"))
(attribute_list) @decorator
"""
