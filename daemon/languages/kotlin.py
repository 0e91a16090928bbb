"""Kotlin: Java's packages and rules, with extensions and folders that omit a prefix."""

from __future__ import annotations

from functools import partial

from .java import JavaImports, JavaRules, java_uses
from .shared.language import DefinitionRules, Language, read_clause
from .shared.source_text import lazy_pattern

# A value class isn't parsed as a class; a `val` may belong to a type although it is written outside of it.
_NAMED = "(variable_declaration . (identifier) @name)"
_TYPE = "[(user_type) (nullable_type) (parenthesized_type)] @owner"

KOTLIN = f"""
((class_declaration "interface" name: (_) @name (class_body) @body) @def (#set! kind "interface"))
((class_declaration "interface" name: (_) @name) @def (#set! kind "interface"))
((class_declaration name: (_) @name (enum_class_body) @body) @def (#set! kind "enum"))
((class_declaration name: (_) @name (class_body) @body) @def (#set! kind "class"))
((class_declaration name: (_) @name) @def (#set! kind "class"))
((object_declaration name: (_) @name (class_body) @body) @def (#set! kind "object"))
((object_declaration name: (_) @name) @def (#set! kind "object"))
((function_declaration {_TYPE} . "." . name: (_) @name (function_body) @body) @def (#set! kind "function"))
((function_declaration {_TYPE} . "." . name: (_) @name) @def (#set! kind "function"))
((function_declaration name: (_) @name (function_body) @body) @def (#set! kind "function"))
((function_declaration name: (_) @name) @def (#set! kind "function"))
((secondary_constructor (block) @body) @def (#set! kind "method") (#set! name "constructor"))
((secondary_constructor) @def (#set! kind "method") (#set! name "constructor"))
((type_alias type: (_) @name) @def (#set! kind "type"))
((property_declaration {_TYPE} . "." . {_NAMED} (getter) @body) @def (#set! kind "property"))
((property_declaration {_NAMED} (getter) @body) @def (#set! kind "property"))
((source_file (property_declaration "val" {_NAMED}) @def) (#set! kind "constant"))
((source_file (property_declaration "var" {_NAMED}) @def) (#set! kind "variable"))
((object_declaration (class_body (property_declaration "val" {_NAMED}) @def)) (#set! kind "constant"))
((companion_object (class_body (property_declaration "val" {_NAMED}) @def)) (#set! kind "constant"))
(annotation) @decorator
(import) @tree
"""

_TYPE_NAME = "(user_type) @type"
_READ = "[(identifier) @use (navigation_expression) @use]"

KOTLIN_REFERENCES = f"""
(call_expression . [(identifier) (navigation_expression)] @call)
(constructor_invocation (user_type) @call)
(callable_reference) @use
(delegation_specifier (user_type) @inherit)
(delegation_specifier (constructor_invocation (user_type) @inherit))
(delegation_specifier (explicit_delegation . (user_type) @inherit))
(annotation (user_type) @decorate)
(annotation (constructor_invocation (user_type) @decorate))
(parameter {_TYPE_NAME})
(parameter (nullable_type {_TYPE_NAME}))
(class_parameter {_TYPE_NAME})
(class_parameter (nullable_type {_TYPE_NAME}))
(variable_declaration {_TYPE_NAME})
(variable_declaration (nullable_type {_TYPE_NAME}))
(function_declaration {_TYPE_NAME})
(function_declaration (nullable_type {_TYPE_NAME}))
(function_type {_TYPE_NAME})
(type_projection {_TYPE_NAME})
(type_projection (nullable_type {_TYPE_NAME}))
(is_expression right: {_TYPE_NAME})
(as_expression {_TYPE_NAME})
(type_test {_TYPE_NAME})
(catch_block {_TYPE_NAME})
(type_alias {_TYPE_NAME})
(type_parameter {_TYPE_NAME})
(value_argument {_READ})
(property_declaration {_READ})
(return_expression {_READ})
(binary_expression {_READ})
(function_body {_READ})
(assignment right: {_READ})
(when_subject {_READ})
(if_expression condition: {_READ})
"""

# A declared name may be followed by its type.
_TYPE = "[(user_type) (nullable_type)] @type"

KOTLIN_FACTS = f"""
((package_header (qualified_identifier) @package) (#set! fact "package"))
((import) @tree (#set! fact "use"))
((parameter . (identifier) @variable {_TYPE}) (#set! fact "type"))
((class_parameter ["val" "var"] (identifier) @variable . {_TYPE}) (#set! fact "type"))
((property_declaration (variable_declaration . (identifier) @variable {_TYPE})) (#set! fact "type"))
((property_declaration (variable_declaration . (identifier) @variable .) .
  [(call_expression) (navigation_expression) (identifier)] @value) (#set! fact "type"))
((multi_variable_declaration (variable_declaration . (identifier) @variable)) (#set! fact "type"))
((for_statement (variable_declaration . (identifier) @variable)) (#set! fact "type"))
((lambda_parameters (variable_declaration . (identifier) @variable)) (#set! fact "type"))
((catch_block . (identifier) @variable {_TYPE}) (#set! fact "type"))
((function_declaration (function_value_parameters) . {_TYPE}) (#set! fact "type") (#set! name "()"))
"""


class KotlinDefinitions(DefinitionRules):
    """The rules for definitions of Kotlin."""

    keeps_inner_owners = False  # an extension private to a class


# The grammar misreads `in1.close()` as the operator `in` and a number, the code below an annotation with
# arguments as part of a call, and an `annotation class` as an expression.
_GAPS = (
    (lazy_pattern(rb"\b(in)(?=\d)"), b"x"),
    (lazy_pattern(rb"(?m)^[ \t]*@[\w.:]+(\([^()]*(?:\([^()]*\)[^()]*)*\))"), b" "),
    (lazy_pattern(rb"\b(annotation)(?=[ \t]+class\b)"), b" "),
)

_SOURCES = (".kt", ".kts", ".java", ".scala")

LANGUAGES = (
    Language(
        "kotlin",
        "kotlin",
        (".kt", ".kts"),
        (),
        ("kotlin",),
        family="jvm",
        grammar="tree_sitter_kotlin:language",
        definitions=KOTLIN,
        references=KOTLIN_REFERENCES,
        facts=KOTLIN_FACTS,
        definition_rules=KotlinDefinitions(),
        gaps=_GAPS,
        clause=lambda text, _inside: read_clause(text, java_uses),
        imports=partial(JavaImports, endings=_SOURCES),
        package_sources=_SOURCES,
        package_files=(".kt", ".kts"),
        links=JavaRules(),
    ),
)
