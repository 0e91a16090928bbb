"""Kotlin: Java's packages and rules, with extensions and folders that omit a prefix."""

from __future__ import annotations

from functools import partial

from .java import JavaImports, JavaRules, java_uses
from .shared.clauses import read_clause
from .shared.language import DefinitionRules, Language
from .shared.source_text import lazy_pattern

# A value class isn't parsed as a class; a `val` may belong to a type although it is written outside of it.
_NAMED = "(variable_declaration . (identifier) @name)"
_TYPE = "[(user_type) (nullable_type) (parenthesized_type)] @owner"

KOTLIN = f"""
((class_declaration "interface" name: (_) @name (class_body)? @body) @def (#set! kind "interface"))
((class_declaration name: (_) @name (enum_class_body) @body) @def (#set! kind "enum"))
((class_declaration|object_declaration name: (_) @name (class_body)? @body) @def
  (#set! kind "class|object"))
((function_declaration {_TYPE} . "." . name: (_) @name (function_body)? @body) @def (#set! kind "function"))
((function_declaration name: (_) @name (function_body)? @body) @def (#set! kind "function"))
((secondary_constructor (block)? @body) @def (#set! kind "method") (#set! name "constructor"))
((type_alias type: (_) @name) @def (#set! kind "type"))
((property_declaration {_TYPE} . "." . {_NAMED} (getter) @body) @def (#set! kind "property"))
((property_declaration {_NAMED} (getter) @body) @def (#set! kind "property"))
((source_file (property_declaration "val|var" {_NAMED}) @def) (#set! kind "constant|variable"))
((object_declaration|companion_object (class_body (property_declaration "val" {_NAMED}) @def))
  (#set! kind "constant"))
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
(parameter|class_parameter|variable_declaration|function_declaration|function_type|type_projection|
  as_expression|type_test|catch_block|type_alias|type_parameter {_TYPE_NAME})
(parameter|class_parameter|variable_declaration|function_declaration|
  type_projection (nullable_type {_TYPE_NAME}))
(is_expression right: {_TYPE_NAME})
(value_argument|property_declaration|return_expression|binary_expression|function_body|when_subject {_READ})
(assignment right: {_READ})
(if_expression condition: {_READ})
"""

# A declared name may be followed by its type.
_TYPE = "[(user_type) (nullable_type)] @type"

KOTLIN_FACTS = f"""
(package_header (qualified_identifier) @package)
(import) @tree
(parameter . (identifier) @variable {_TYPE})
(class_parameter ["val" "var"] (identifier) @variable . {_TYPE})
(property_declaration (variable_declaration . (identifier) @variable {_TYPE}))
(property_declaration (variable_declaration . (identifier) @variable .) .
  [(call_expression) (navigation_expression) (identifier)] @value)
(multi_variable_declaration|for_statement|lambda_parameters (variable_declaration . (identifier) @variable))
(catch_block . (identifier) @variable {_TYPE})
(function_declaration (function_value_parameters) . {_TYPE})
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
