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
(preproc_include path: [(string_literal) (system_lib_string)] @module)
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

_USES = """
(argument_list (identifier) @use)
(initializer_list (identifier) @use)
(initializer_pair value: (identifier) @use)
(init_declarator value: (identifier) @use)
(assignment_expression right: (identifier) @use)
(return_statement (identifier) @use)
(case_statement value: (identifier) @use)
(argument_list (pointer_expression argument: (identifier) @use))
(initializer_list (pointer_expression argument: (identifier) @use))
"""

C_REFERENCES = f"""
(call_expression function: (_) @call)
(parameter_declaration type: (type_identifier) @type)
(declaration type: (type_identifier) @type)
(field_declaration type: (type_identifier) @type)
(function_definition type: (type_identifier) @type)
(type_definition type: (type_identifier) @type)
(type_descriptor type: (type_identifier) @type)
(struct_specifier name: (type_identifier) @type !body)
(union_specifier name: (type_identifier) @type !body)
(enum_specifier name: (type_identifier) @type !body)
{_USES}
"""

_SCOPED_TYPE = """[
  (type_identifier)
  (qualified_identifier name: (type_identifier))
  (qualified_identifier name: (qualified_identifier name: (type_identifier)))]"""

CPP_REFERENCES = f"""
(call_expression function: (_) @call)
(new_expression type: {_SCOPED_TYPE} @call)
(compound_literal_expression type: {_SCOPED_TYPE} @call)
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @inherit)
(parameter_declaration type: {_SCOPED_TYPE} @type)
(optional_parameter_declaration type: {_SCOPED_TYPE} @type)
(declaration type: {_SCOPED_TYPE} @type)
(field_declaration type: {_SCOPED_TYPE} @type)
(function_definition type: {_SCOPED_TYPE} @type)
(type_definition type: {_SCOPED_TYPE} @type)
(type_descriptor type: {_SCOPED_TYPE} @type)
(for_range_loop type: {_SCOPED_TYPE} @type)
(template_type name: (type_identifier) @type)
(struct_specifier name: (type_identifier) @type !body)
(enum_specifier name: (type_identifier) @type !body)
{_USES}
"""

_DECLARATOR = """[
  (identifier) @variable
  (pointer_declarator declarator: (identifier) @variable)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @variable))
  (array_declarator declarator: (identifier) @variable)
  (init_declarator declarator: (identifier) @variable)
  (init_declarator declarator: (pointer_declarator declarator: (identifier) @variable))
  (init_declarator declarator: (array_declarator declarator: (identifier) @variable))]"""

_INCLUDED = """
((preproc_include path: [(string_literal) (system_lib_string)] @module)
  (#set! fact "binding") (#set! imported "*") (#set! bound "*"))
"""

C_FACTS = f"""
{_INCLUDED}
((parameter_declaration type: [(type_identifier) (struct_specifier)] @type declarator: {_DECLARATOR})
  (#set! fact "type"))
((parameter_declaration type: [(primitive_type) (sized_type_specifier) (enum_specifier)]
    declarator: {_DECLARATOR}) (#set! fact "type"))
((declaration type: [(type_identifier) (struct_specifier !body)] @type declarator: {_DECLARATOR})
  (#set! fact "type"))
((declaration type: [(primitive_type) (sized_type_specifier) (enum_specifier)] declarator: {_DECLARATOR})
  (#set! fact "type"))
"""

_CPP_DECLARATOR = (
    _DECLARATOR.removesuffix("]")
    + """
  (reference_declarator (identifier) @variable)
  (init_declarator declarator: (reference_declarator (identifier) @variable))]"""
)

_CPP_TYPE = "[(type_identifier) (qualified_identifier) (template_type) (struct_specifier !body)]"

CPP_FACTS = f"""
{_INCLUDED}
((parameter_declaration type: {_CPP_TYPE} @type declarator: {_CPP_DECLARATOR}) (#set! fact "type"))
((optional_parameter_declaration type: {_CPP_TYPE} @type declarator: {_CPP_DECLARATOR}) (#set! fact "type"))
((parameter_declaration type: [(primitive_type) (sized_type_specifier) (placeholder_type_specifier)]
    declarator: {_CPP_DECLARATOR}) (#set! fact "type"))
((declaration type: {_CPP_TYPE} @type declarator: {_CPP_DECLARATOR}) (#set! fact "type"))
((declaration type: [(primitive_type) (sized_type_specifier)] declarator: {_CPP_DECLARATOR})
  (#set! fact "type"))
((declaration type: (placeholder_type_specifier) declarator: (init_declarator
    declarator: [
      (identifier) @variable
      (pointer_declarator declarator: (identifier) @variable)
      (reference_declarator (identifier) @variable)]
    value: [(call_expression) (new_expression) (field_expression) (identifier)] @value)) (#set! fact "type"))
((field_declaration type: {_CPP_TYPE} @type declarator: [
    (field_identifier) @variable
    (pointer_declarator declarator: (field_identifier) @variable)
    (reference_declarator (field_identifier) @variable)]) (#set! fact "type"))
((for_range_loop type: {_CPP_TYPE} @type declarator: [
    (identifier) @variable
    (pointer_declarator declarator: (identifier) @variable)
    (reference_declarator (identifier) @variable)]) (#set! fact "type"))
((for_range_loop type: (placeholder_type_specifier) declarator: [
    (identifier) @variable
    (pointer_declarator declarator: (identifier) @variable)
    (reference_declarator (identifier) @variable)]
    right: [(call_expression) (field_expression) (identifier)] @value)
  (#set! fact "type") (#set! element "yes"))
((translation_unit (namespace_definition name: (_) @package)) (#set! fact "package"))
((preproc_ifdef (namespace_definition name: (_) @package)) (#set! fact "package"))
"""
