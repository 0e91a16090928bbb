"""Owns the queries of C and C++."""

from __future__ import annotations

_TYPES = ("struct", "union", "enum")

# How deep a name lies in a declarator no query can say: all of it is captured, and its text tells the name.
_NAMED = "\n".join(
    f"""
(({each}_specifier name: (_) @path body: (_) @body) @def (#set! kind "{each}"))
((type_definition type: ({each}_specifier !name body: (_) @body) declarator: (_) @declarator) @def
  (#set! kind "{each}"))
((type_definition type: ({each}_specifier name: (_) @tag body: (_)) declarator: (_) @declarator) @def
  (#set! kind "type"))
((type_definition type: ({each}_specifier !body) declarator: (_) @declarator) @def (#set! kind "forward"))
"""
    for each in _TYPES
)


def _plain(*types: str) -> str:
    """Return a pattern for what a typedef names that defines no type of its own."""
    return f"""
((type_definition type: [{" ".join(f"({each})" for each in types)}] declarator: (_) @declarator) @def
  (#set! kind "type"))
"""


_COMMON = f"""
((function_definition declarator: (_) @declarator body: (_) @body) @def (#set! kind "function"))
{_NAMED}
(type_definition type: [(struct_specifier) (union_specifier) (enum_specifier)] @of) @lead
((declaration declarator: (init_declarator declarator: (_) @declarator)) @def (#set! kind "variable"))
((declaration declarator: (_) @declarator) @def (#set! kind "prototype"))
((preproc_def name: (_) @name value: (_)) @def (#set! kind "macro"))
((preproc_function_def name: (_) @name parameters: (_) @head) @def (#set! kind "macro"))
(compound_statement) @local
"""

C = _COMMON + _plain("type_identifier", "primitive_type", "sized_type_specifier", "macro_type_specifier")

_CPP_PLAIN = _plain(
    "type_identifier",
    "primitive_type",
    "sized_type_specifier",
    "qualified_identifier",
    "template_type",
    "placeholder_type_specifier",
    "decltype",
)

# A test of GoogleTest's is no function TEST: it is named by what it gives the macro.
CPP = f"""
((function_definition !type
    declarator: (function_declarator
      declarator: (identifier) @when
      parameters: (parameter_list
        . (parameter_declaration type: (_) @owner) . (parameter_declaration type: (_) @name) .))
    body: (_) @body) @def
  (#set! when "TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_P") (#set! kind "function") (#set! only "yes"))
((function_definition declarator: (_) @declarator (field_initializer_list) @body) @def
  (#set! kind "function"))
((function_definition declarator: (_) @declarator [(default_method_clause) (delete_method_clause)]) @def
  (#set! kind "prototype"))
{_COMMON}
{_CPP_PLAIN}
(friend_declaration) @local
((class_specifier name: (_) @path body: (_) @body) @def (#set! kind "class"))
((field_declaration (storage_class_specifier "static") declarator: (field_identifier) @name
    default_value: (_)) @def (#set! kind "constant"))
((field_declaration declarator: (_) @declarator) @def (#set! kind "field"))
((alias_declaration name: (_) @name) @def (#set! kind "type"))
((concept_definition name: (_) @name) @def (#set! kind "type"))
(template_declaration [
  (function_definition) (declaration) (field_declaration) (alias_declaration) (concept_definition)
  (class_specifier) (struct_specifier) (union_specifier)
] @of) @lead
"""
