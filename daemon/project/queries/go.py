"""Owns the queries of Go."""

from __future__ import annotations

# The names of a constant carry no field: the grammar gives its `name` to the first one only.
GO = """
((function_declaration name: (identifier) @name body: (block) @body) @def (#set! kind "function"))
((function_declaration name: (identifier) @name) @def (#set! kind "function"))
((method_declaration receiver: (parameter_list) @receiver name: (field_identifier) @name
    body: (block) @body) @def (#set! kind "method"))
((method_declaration receiver: (parameter_list) @receiver name: (field_identifier) @name) @def
  (#set! kind "method"))
((type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @def
  (#set! kind "struct"))
((type_spec name: (type_identifier) @name type: (interface_type)) @def (#set! kind "interface"))
((type_spec name: (type_identifier) @name) @def (#set! kind "type"))
((type_spec type: (interface_type (method_elem name: (_) @name) @def)) (#set! kind "method"))
((type_alias name: (type_identifier) @name) @def (#set! kind "type"))
((source_file (const_declaration (const_spec (identifier) @name) @def)) (#set! kind "constant"))
((source_file (var_declaration (var_spec (identifier) @name) @def)) (#set! kind "variable"))
((source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @def)))
  (#set! kind "variable"))
(import_spec path: (_) @module)
"""

_TYPE = "[(type_identifier) @type (qualified_type) @type (generic_type type: (_) @type)]"
_READ = "[(identifier) (selector_expression)] @use"
_FIELDS = "type: (struct_type (field_declaration_list"

GO_REFERENCES = f"""
(call_expression function: [(identifier) (selector_expression)] @call)
(call_expression function: (index_expression operand: [(identifier) (selector_expression)] @call))
(call_expression function: (type_instantiation_expression type: (_) @call))
(composite_literal type: [
  (type_identifier) @call (qualified_type) @call (generic_type type: (_) @call)])
(type_spec {_FIELDS} (field_declaration !name type: [
  (type_identifier) @inherit (qualified_type) @inherit (generic_type type: (_) @inherit)]))))
(interface_type (type_elem . [
  (type_identifier) @inherit (qualified_type) @inherit (generic_type type: (_) @inherit)] .))
(parameter_declaration type: {_TYPE})
(variadic_parameter_declaration type: {_TYPE})
(field_declaration name: (_) type: {_TYPE})
(function_declaration result: {_TYPE})
(method_declaration result: {_TYPE})
(method_elem result: {_TYPE})
(func_literal result: {_TYPE})
(function_type result: {_TYPE})
(var_spec type: {_TYPE})
(const_spec type: {_TYPE})
(type_spec type: {_TYPE})
(type_alias type: {_TYPE})
(pointer_type {_TYPE})
(slice_type element: {_TYPE})
(array_type element: {_TYPE})
(map_type key: {_TYPE})
(map_type value: {_TYPE})
(channel_type value: {_TYPE})
(type_arguments (type_elem {_TYPE}))
(type_constraint {_TYPE})
(type_assertion_expression type: {_TYPE})
(type_conversion_expression type: {_TYPE})
(type_case type: {_TYPE})
(argument_list . {_TYPE})
(argument_list {_READ})
(expression_list {_READ})
(literal_value (literal_element {_READ}))
(keyed_element value: (literal_element {_READ}))
(binary_expression {_READ})
(unary_expression operand: {_READ})
(range_clause right: {_READ})
(index_expression operand: (selector_expression) @use)
(send_statement {_READ})
(expression_switch_statement value: {_READ})
(if_statement condition: {_READ})
"""

_LEFT = "left: (expression_list . (identifier) @variable)"
_ONE = "(parameter_declaration name: (identifier) @variable type: (_) @type)"
_PARAMETERS = f"""[
  (function_declaration parameters: (parameter_list {_ONE}))
  (function_declaration result: (parameter_list {_ONE}))
  (method_declaration receiver: (parameter_list {_ONE}))
  (method_declaration parameters: (parameter_list {_ONE}))
  (method_declaration result: (parameter_list {_ONE}))
  (func_literal parameters: (parameter_list {_ONE}))
]"""
_RESULTS = """[
  (function_declaration result: (parameter_list . (parameter_declaration type: (_) @type)))
  (function_declaration result: [(type_identifier) (qualified_type) (generic_type) (pointer_type)
    (slice_type) (map_type)] @type)
  (method_declaration result: (parameter_list . (parameter_declaration type: (_) @type)))
  (method_declaration result: [(type_identifier) (qualified_type) (generic_type) (pointer_type)
    (slice_type) (map_type)] @type)
  (method_elem result: (parameter_list . (parameter_declaration type: (_) @type)))
  (method_elem result: [(type_identifier) (qualified_type) (generic_type) (pointer_type)
    (slice_type) (map_type)] @type)
]"""

# What returns several values stands for the first of them. A type that is handed over is `new`'s or `make`'s.
GO_FACTS = f"""
((package_clause (package_identifier) @package) (#set! fact "package"))
((import_spec !name path: (_) @module) (#set! fact "binding") (#set! last "yes"))
((import_spec name: (package_identifier) @bound path: (_) @module) (#set! fact "binding"))
((import_spec name: (dot) path: (_) @module) (#set! fact "binding") (#set! bound "*"))
({_PARAMETERS} (#set! fact "type"))
({_RESULTS} (#set! fact "type") (#set! name "()"))
((type_spec {_FIELDS} (field_declaration name: (_) @variable type: (_) @type)))) (#set! fact "type"))
((variadic_parameter_declaration name: (identifier) @variable) (#set! fact "type"))
((var_spec name: (identifier) @variable type: (_) @type) (#set! fact "type"))
((var_spec . name: (identifier) @variable !type value: (expression_list . (_) @value))
  (#set! fact "type"))
((var_spec "," . name: (identifier) @variable !type) (#set! fact "type"))
((const_spec (identifier) @variable) (#set! fact "type"))
((short_var_declaration {_LEFT} right: (expression_list . (_) @value)) (#set! fact "type"))
((short_var_declaration {_LEFT} right: (expression_list . (call_expression arguments: (argument_list .
    [(type_identifier) (qualified_type) (generic_type) (slice_type) (map_type)] @type))))
  (#set! fact "type"))
((short_var_declaration {_LEFT} right: (expression_list . (composite_literal type: [
    (slice_type) (map_type) (array_type)] @type))) (#set! fact "type"))
((short_var_declaration left: (expression_list "," . (identifier) @variable)) (#set! fact "type"))
((range_clause left: (expression_list . (identifier) @variable)) (#set! fact "type"))
((range_clause left: (expression_list (_) . "," . (identifier) @variable) right: (_) @value)
  (#set! fact "type") (#set! element "yes"))
((type_switch_statement alias: (expression_list (identifier) @variable)) (#set! fact "type"))
((receive_statement left: (expression_list (identifier) @variable)) (#set! fact "type"))
"""
