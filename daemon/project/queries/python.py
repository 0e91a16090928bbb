"""Owns the queries of Python."""

from __future__ import annotations

PYTHON = """
((function_definition name: (identifier) @name body: (block) @body) @def (#set! kind "function"))
((class_definition name: (identifier) @name body: (block) @body) @def (#set! kind "class"))
((type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @def
  (#set! kind "type"))
((module (expression_statement (assignment left: [
  (identifier) @name (pattern_list (identifier) @name)])) @def) (#set! kind "variable"))
((module (if_statement (block (expression_statement (assignment left: (identifier) @name)) @def)))
  (#set! kind "variable"))
((module (if_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @def))))
  (#set! kind "variable"))
((module (try_statement (block (expression_statement (assignment left: (identifier) @name)) @def)))
  (#set! kind "variable"))
((module (try_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @def))))
  (#set! kind "variable"))
(decorator) @decorator
(import_statement name: [(dotted_name) @module (aliased_import name: (dotted_name) @module)])
(import_from_statement module_name: (_) @module (wildcard_import))
(import_from_statement module_name: (_) @module name: [
  (dotted_name) @imported (aliased_import name: (dotted_name) @imported)])
(try_statement body: (block) @optional (except_clause) @handler)
"""

PYTHON_CALLS = """
(call function: [(identifier) (attribute)] @function arguments: (argument_list . (string) @module))
"""

PYTHON_REFERENCES = """
(call function: [(identifier) (attribute) (call)] @call)
(class_definition superclasses: (argument_list [(identifier) (attribute)] @inherit))
(class_definition superclasses: (argument_list (subscript value: (_) @inherit)))
(decorator [(identifier) (attribute)] @decorate)
(decorator (call function: [(identifier) (attribute)] @decorate))
(type) @type
(argument_list [(identifier) (attribute)] @use)
(keyword_argument value: [(identifier) (attribute)] @use)
(assignment right: [(identifier) (attribute)] @use)
(return_statement [(identifier) (attribute)] @use)
(default_parameter value: [(identifier) (attribute)] @use)
(typed_default_parameter value: [(identifier) (attribute)] @use)
(list [(identifier) (attribute)] @use)
(tuple [(identifier) (attribute)] @use)
(expression_list [(identifier) (attribute)] @use)
(pair value: [(identifier) (attribute)] @use)
(raise_statement [(identifier) (attribute)] @use)
(except_clause value: [(identifier) (attribute)] @use)
(except_clause value: (as_pattern [(identifier) (attribute)] @use))
(comparison_operator [(identifier) (attribute)] @use)
(boolean_operator [(identifier) (attribute)] @use)
(conditional_expression [(identifier) (attribute)] @use)
(attribute object: (identifier) @use)
(subscript value: [(identifier) (attribute)] @use)
"""

# Values of which one is taken, each a thing that the variable may be.
_CHOICES = """[
  (boolean_operator left: [(identifier) (attribute) (call)] @value)
  (boolean_operator right: [(identifier) (attribute) (call)] @value)
  (conditional_expression . [(identifier) (attribute) (call)] @value)
  (conditional_expression [(identifier) (attribute) (call)] @value .)
]"""

PYTHON_FACTS = f"""
((import_statement name: (dotted_name) @module) (#set! fact "binding") (#set! root "yes"))
((import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @bound))
  (#set! fact "binding") (#set! imported "*"))
((import_from_statement module_name: (_) @module name: (dotted_name) @imported) (#set! fact "binding"))
((import_from_statement module_name: (_) @module
    name: (aliased_import name: (dotted_name) @imported alias: (identifier) @bound)) (#set! fact "binding"))
((import_from_statement module_name: (_) @module (wildcard_import))
  (#set! fact "binding") (#set! imported "*") (#set! bound "*"))
((parameters [
  (identifier) @variable
  (default_parameter name: (identifier) @variable value: (_) @value)
  (list_splat_pattern (identifier) @variable)
  (dictionary_splat_pattern (identifier) @variable)]) (#set! fact "type"))
((parameters [
  (typed_parameter . (identifier) @variable type: (type) @type)
  (typed_default_parameter name: (identifier) @variable type: (type) @type)]) (#set! fact "type"))
((function_definition return_type: (type) @type) (#set! fact "type") (#set! name "()"))
((return_statement [(call) (identifier) (attribute)] @value) (#set! fact "type") (#set! name "()"))
((assignment left: [(identifier) (attribute)] @variable type: (type) @type) (#set! fact "type"))
((assignment left: [(identifier) (attribute)] @variable right: (_) @value !type) (#set! fact "type"))
((assignment left: [(identifier) (attribute)] @variable right: {_CHOICES} !type) (#set! fact "type"))
((return_statement {_CHOICES}) (#set! fact "type") (#set! name "()"))
((assignment left: [(pattern_list (identifier) @variable) (tuple_pattern (identifier) @variable)])
  (#set! fact "type"))
((augmented_assignment left: (identifier) @variable) (#set! fact "type"))
((named_expression name: (identifier) @variable value: (_) @value) (#set! fact "type"))
([(for_statement left: (identifier) @variable right: (_) @value)
  (for_in_clause left: (identifier) @variable right: (_) @value)] (#set! fact "type") (#set! element "yes"))
([(for_statement left: (_ (identifier) @variable)) (for_in_clause left: (_ (identifier) @variable))]
  (#set! fact "type"))
((as_pattern (_) @value alias: (as_pattern_target (identifier) @variable)) (#set! fact "type"))
((pattern_list (list_splat_pattern (identifier) @variable)) (#set! fact "type"))
((case_pattern (dotted_name . (identifier) @variable .)) (#set! fact "type"))
((as_pattern_target (_ (identifier) @variable)) (#set! fact "type"))
((lambda_parameters (identifier) @variable) (#set! fact "type"))
((if_statement condition: (call function: (identifier) @when
    arguments: (argument_list . (identifier) @variable . [(identifier) (attribute)] @type .)))
  (#set! when "isinstance") (#set! fact "type"))
"""
