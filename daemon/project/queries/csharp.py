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
(using_directive) @tree
"""

_TYPE = "[(identifier) @type (qualified_name) @type (generic_name . (identifier) @type)]"
_READ = "[(identifier) @use (member_access_expression) @use]"

CSHARP_REFERENCES = f"""
(invocation_expression function: [
  (identifier) @call (member_access_expression) @call (conditional_access_expression) @call
  (generic_name . (identifier) @call)])
(object_creation_expression type: {_TYPE.replace("@type", "@call")})
(base_list {_TYPE.replace("@type", "@inherit")})
(base_list (primary_constructor_base_type type: {_TYPE.replace("@type", "@inherit")}))
(attribute name: (_) @decorate)
(parameter type: {_TYPE})
(variable_declaration type: {_TYPE})
(property_declaration type: {_TYPE})
(indexer_declaration type: {_TYPE})
(event_declaration type: {_TYPE})
(method_declaration returns: {_TYPE})
(delegate_declaration type: {_TYPE})
(local_function_statement type: {_TYPE})
(operator_declaration type: {_TYPE})
(foreach_statement type: {_TYPE})
(catch_declaration type: {_TYPE})
(declaration_pattern type: {_TYPE})
(recursive_pattern type: {_TYPE})
(declaration_expression type: {_TYPE})
(cast_expression type: {_TYPE})
(as_expression right: {_TYPE})
(is_expression right: {_TYPE})
(typeof_expression type: {_TYPE})
(type_argument_list {_TYPE})
(type_parameter_constraint type: {_TYPE})
(nullable_type type: {_TYPE})
(array_type type: {_TYPE})
(tuple_element type: {_TYPE})
(argument {_READ})
(assignment_expression right: {_READ})
(variable_declarator {_READ} .)
(return_statement {_READ})
(arrow_expression_clause {_READ})
(binary_expression {_READ})
(conditional_expression {_READ})
(attribute_argument {_READ})
(switch_statement value: {_READ})
(constant_pattern {_READ})
(foreach_statement right: {_READ})
(await_expression {_READ})
(member_access_expression expression: (identifier) @use)
"""

CSHARP_FACTS = """
((namespace_declaration name: (_) @package) (#set! fact "package"))
((file_scoped_namespace_declaration name: (_) @package) (#set! fact "package"))
((using_directive) @tree (#set! fact "use"))
((parameter type: (_) @type name: (_) @variable) (#set! fact "type"))
((parameter !type name: (_) @variable) (#set! fact "type"))
((implicit_parameter) @variable (#set! fact "type"))
((variable_declaration type: (_) @type (variable_declarator name: (_) @variable (_)? @value))
  (#set! fact "type"))
((foreach_statement type: (_) @type left: (identifier) @variable right: (_) @value)
  (#set! fact "type") (#set! element "yes"))
((catch_declaration type: (_) @type name: (_) @variable) (#set! fact "type"))
((declaration_pattern type: (_) @type name: (_) @variable) (#set! fact "type"))
((declaration_expression type: (_) @type name: (_) @variable) (#set! fact "type"))
((method_declaration returns: (_) @type) (#set! fact "type") (#set! name "()"))
((local_function_statement type: (_) @type) (#set! fact "type") (#set! name "()"))
"""
