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
(import_declaration) @tree
"""

_TYPE = "(user_type) @type"
_READ = "[(simple_identifier) @use (navigation_expression) @use]"

SWIFT_REFERENCES = f"""
(call_expression . [(simple_identifier) (navigation_expression)] @call)
(constructor_expression constructed_type: (user_type . (type_identifier) @call))
(class_declaration name: (type_identifier) (inheritance_specifier inherits_from: (user_type) @inherit))
(protocol_declaration (inheritance_specifier inherits_from: (user_type) @inherit))
(attribute (user_type) @decorate)
(parameter {_TYPE})
(type_annotation {_TYPE})
(function_declaration {_TYPE})
(protocol_function_declaration {_TYPE})
(enum_type_parameters {_TYPE})
(optional_type {_TYPE})
(array_type {_TYPE})
(dictionary_type {_TYPE})
(type_arguments {_TYPE})
(function_type {_TYPE})
(tuple_type_item {_TYPE})
(as_expression {_TYPE})
(check_expression {_TYPE})
(typealias_declaration {_TYPE})
(inheritance_constraint inherits_from: {_TYPE})
(value_argument value: {_READ})
(assignment result: {_READ})
(property_declaration value: {_READ})
(control_transfer_statement result: {_READ})
(for_statement collection: {_READ})
(switch_statement expr: {_READ})
(navigation_expression target: (simple_identifier) @use)
"""

_WRITTEN = "[(user_type) (optional_type) (array_type) (dictionary_type)] @type"

SWIFT_FACTS = f"""
((import_declaration) @tree (#set! fact "use"))
((class_declaration name: (user_type) @owner (inheritance_specifier inherits_from: (user_type) @last))
  (#set! fact "inherit"))
((parameter name: (simple_identifier) @variable {_WRITTEN}) (#set! fact "type"))
((property_declaration name: (pattern bound_identifier: (_) @variable) . (type_annotation {_WRITTEN}))
  (#set! fact "type"))
((property_declaration . (value_binding_pattern) . name: (pattern bound_identifier: (_) @variable) .
  value: (_) @value) (#set! fact "type"))
((pattern (pattern (simple_identifier) @variable)) (#set! fact "type"))
((if_statement (value_binding_pattern) . bound_identifier: (_) @variable) (#set! fact "type"))
((guard_statement (value_binding_pattern) . bound_identifier: (_) @variable) (#set! fact "type"))
((pattern (value_binding_pattern) . bound_identifier: (_) @variable) (#set! fact "type"))
((for_statement item: (pattern bound_identifier: (_) @variable)) (#set! fact "type"))
((lambda_parameter name: (simple_identifier) @variable) (#set! fact "type"))
((function_declaration "->" . {_WRITTEN}) (#set! fact "type") (#set! name "()"))
((protocol_function_declaration "->" . {_WRITTEN}) (#set! fact "type") (#set! name "()"))
"""
