"""Owns the queries of PHP."""

from __future__ import annotations

PHP = """
((class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((interface_declaration name: (_) @name body: (_) @body) @def (#set! kind "interface"))
((trait_declaration name: (_) @name body: (_) @body) @def (#set! kind "trait"))
((enum_declaration name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((function_definition name: (_) @name body: (_) @body) @def (#set! kind "function"))
((method_declaration name: (_) @name body: (_) @body) @def (#set! kind "method"))
((method_declaration name: (_) @name) @def (#set! kind "method"))
((const_declaration (const_element . (name) @name)) @def (#set! kind "constant"))
((function_call_expression function: (name) @when
    arguments: (arguments . (argument (string (string_content) @name)))) @def
  (#set! when "define") (#set! kind "constant"))
(attribute_list) @decorator
(namespace_use_declaration (namespace_use_clause) @module)
(namespace_use_declaration (namespace_name) @outer body: (namespace_use_group (namespace_use_clause) @module))
(require_expression (_) @module)
(require_once_expression (_) @module)
(include_expression (_) @module)
(include_once_expression (_) @module)
"""

_NAME = "[(name) (qualified_name)]"

PHP_REFERENCES = f"""
(function_call_expression function: (qualified_name) @call)
(scoped_call_expression scope: {_NAME} @use)
(object_creation_expression {_NAME} @call)
(base_clause {_NAME} @inherit)
(class_interface_clause {_NAME} @inherit)
(use_declaration {_NAME} @inherit)
(attribute {_NAME} @decorate)
(named_type {_NAME} @type)
(binary_expression operator: "instanceof" right: {_NAME} @type)
(class_constant_access_expression . {_NAME} @use)
(scoped_property_access_expression scope: {_NAME} @use)
(argument {_NAME} @use)
"""

_VALUE = """[
  (object_creation_expression) (member_call_expression) (nullsafe_member_call_expression)
  (scoped_call_expression) (function_call_expression) (member_access_expression) (variable_name)]"""

_TYPE = "[(named_type) (optional_type) (union_type)]"

# What the language brings along and every file calls.
_OWN = """
array array_filter array_key_exists array_keys array_map array_merge array_pop array_push array_shift
array_slice array_values assert call_user_func class_exists compact count date define defined dirname
empty explode func_get_args get_class implode in_array is_array is_bool is_callable is_int is_null
is_numeric is_object is_string isset json_decode json_encode ltrim max md5 min preg_match preg_replace
print printf rtrim sprintf str_replace strlen strpos strtolower strtoupper strval substr time
trigger_error trim ucfirst unset usort var_dump"""

PHP_FACTS = f"""
((function_call_expression function: (name) @last) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
((member_call_expression object: (_) @first name: (name) @last) (#set! fact "call"))
((nullsafe_member_call_expression object: (_) @first name: (name) @last) (#set! fact "call"))
((scoped_call_expression scope: (_) @first name: (name) @last) (#set! fact "call"))
((namespace_definition name: (namespace_name) @package) (#set! fact "package"))
((namespace_use_declaration (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] !alias)) (#set! fact "binding"))
((namespace_use_declaration (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] alias: (name) @bound)) (#set! fact "binding"))
((namespace_use_declaration (namespace_name) @outer body: (namespace_use_group (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] !alias))) (#set! fact "binding"))
((namespace_use_declaration (namespace_name) @outer body: (namespace_use_group (namespace_use_clause [
    (name) @module @imported
    (qualified_name (name) @imported) @module] alias: (name) @bound))) (#set! fact "binding"))
((property_declaration type: {_TYPE} @type (property_element name: (variable_name (name) @variable)))
  (#set! fact "type"))
((property_promotion_parameter type: {_TYPE} @type name: (variable_name (name) @variable))
  (#set! fact "type") (#set! prefix "$this."))
((property_promotion_parameter type: {_TYPE} @type name: (variable_name) @variable) (#set! fact "type"))
((simple_parameter type: {_TYPE} @type name: (variable_name) @variable) (#set! fact "type"))
((simple_parameter name: (variable_name) @variable) (#set! fact "type"))
((variadic_parameter name: (variable_name) @variable) (#set! fact "type"))
((assignment_expression left: (variable_name) @variable right: {_VALUE} @value) (#set! fact "type"))
((assignment_expression left: (member_access_expression object: (variable_name)) @variable
    right: {_VALUE} @value) (#set! fact "type"))
((assignment_expression left: (variable_name) @variable) (#set! fact "type"))
((foreach_statement . (_) @value . (variable_name) @variable) (#set! fact "type") (#set! element "yes"))
((foreach_statement . (_) @value . (pair (_) (variable_name) @variable))
  (#set! fact "type") (#set! element "yes"))
((catch_clause type: (type_list . (named_type) @type .) name: (variable_name) @variable) (#set! fact "type"))
((method_declaration return_type: {_TYPE} @type) (#set! fact "type") (#set! name "()"))
((function_definition return_type: {_TYPE} @type) (#set! fact "type") (#set! name "()"))
((return_statement [(object_creation_expression) (member_access_expression)] @value)
  (#set! fact "type") (#set! name "()"))
"""
