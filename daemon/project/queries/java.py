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
(import_declaration) @tree
"""

_TYPE = """[
  (type_identifier) @type (scoped_type_identifier) @type
  (generic_type . [(type_identifier) (scoped_type_identifier)] @type)]"""
_BASE = _TYPE.replace("@type", "@inherit")
_READ = "[(identifier) @use (field_access) @use]"

JAVA_REFERENCES = f"""
(object_creation_expression type: {_TYPE.replace("@type", "@call")})
(explicit_constructor_invocation constructor: (_) @call)
(method_reference . (_) @call "new")
(method_reference (_) . (identifier)) @use
(superclass {_BASE})
(super_interfaces (type_list {_BASE}))
(extends_interfaces (type_list {_BASE}))
(annotation name: (_) @decorate)
(marker_annotation name: (_) @decorate)
(formal_parameter type: {_TYPE})
(spread_parameter {_TYPE})
(field_declaration type: {_TYPE})
(constant_declaration type: {_TYPE})
(local_variable_declaration type: {_TYPE})
(method_declaration type: {_TYPE})
(enhanced_for_statement type: {_TYPE})
(resource type: {_TYPE})
(catch_type {_TYPE})
(throws {_TYPE})
(cast_expression type: {_TYPE})
(instanceof_expression right: {_TYPE})
(type_pattern {_TYPE})
(record_pattern (identifier) @use)
(type_arguments {_TYPE})
(wildcard {_TYPE})
(type_bound {_TYPE})
(array_type element: {_TYPE})
(array_creation_expression type: {_TYPE})
(class_literal {_TYPE})
(argument_list {_READ})
(variable_declarator value: {_READ})
(assignment_expression right: {_READ})
(return_statement {_READ})
(binary_expression {_READ})
(ternary_expression {_READ})
(element_value_pair value: {_READ})
(annotation_argument_list {_READ})
(array_initializer {_READ})
(field_access object: (identifier) @use)
(array_access array: {_READ})
(cast_expression value: {_READ})
(switch_label {_READ})
(enhanced_for_statement value: {_READ})
(lambda_expression body: {_READ})
"""

_LOCAL = """[
  (formal_parameter type: (_) @type name: (_) @variable)
  (resource type: (_) @type name: (_) @variable value: (_) @value)
  (instanceof_expression right: (_) @type name: (_) @variable)
  (type_pattern (_) @type (identifier) @variable)
  (catch_formal_parameter (catch_type . (_) @type .) name: (_) @variable)
  (field_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable))
  (constant_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable))
  (local_variable_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable !value))
  (local_variable_declaration type: (_) @type
    declarator: (variable_declarator name: (_) @variable value: (_) @value))
]"""
_UNKNOWN = """[
  (spread_parameter (variable_declarator name: (_) @variable))
  (lambda_expression parameters: (identifier) @variable)
  (lambda_expression parameters: (inferred_parameters (identifier) @variable))
  (catch_formal_parameter name: (_) @variable)
]"""

JAVA_FACTS = f"""
((package_declaration (_) @package) (#set! fact "package"))
((import_declaration) @tree (#set! fact "use"))
((method_invocation object: (_) @first name: (_) @last) (#set! fact "call"))
((method_invocation !object name: (_) @last) (#set! fact "call"))
({_LOCAL} (#set! fact "type"))
({_UNKNOWN} (#set! fact "type"))
((enhanced_for_statement type: (_) @type name: (_) @variable value: (_) @value)
  (#set! fact "type") (#set! element "yes"))
((method_declaration type: (_) @type) (#set! fact "type") (#set! name "()"))
((annotation_type_element_declaration type: (_) @type) (#set! fact "type") (#set! name "()"))
"""
