"""Owns the queries of Scala."""

from __future__ import annotations

_VALUES = """[
  (val_definition pattern: (identifier) @name)
  (val_declaration name: (identifier) @name)
]"""
_VARIABLES = "(var_definition pattern: (identifier) @name)"

SCALA = f"""
((class_definition name: (_) @name body: (_) @body) @def (#set! kind "class"))
((class_definition name: (_) @name) @def (#set! kind "class"))
((trait_definition name: (_) @name body: (_) @body) @def (#set! kind "trait"))
((trait_definition name: (_) @name) @def (#set! kind "trait"))
((object_definition name: (_) @name body: (_) @body) @def (#set! kind "object"))
((object_definition name: (_) @name) @def (#set! kind "object"))
((package_object name: (_) @name body: (_) @body) @def (#set! kind "object"))
((enum_definition name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((extension_definition parameters: (parameters . (parameter type: (_) @path))) @def (#set! kind "scope"))
((function_definition name: (_) @name body: (_) @body) @def (#set! kind "function"))
((function_declaration name: (_) @name) @def (#set! kind "function"))
((type_definition name: (_) @name) @def (#set! kind "type"))
((given_definition name: (_) @name body: (_) @body) @def (#set! kind "object"))
((compilation_unit {_VALUES} @def) (#set! kind "constant"))
((compilation_unit {_VARIABLES} @def) (#set! kind "variable"))
((object_definition body: (template_body {_VALUES} @def)) (#set! kind "constant"))
((object_definition body: (template_body {_VARIABLES} @def)) (#set! kind "variable"))
((package_object body: (template_body {_VALUES} @def)) (#set! kind "constant"))
(annotation) @decorator
"""
