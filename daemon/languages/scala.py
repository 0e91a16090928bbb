"""Scala: Java's packages and rules, with imports of several names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from .java import JavaImports, JavaRules
from .shared.clauses import NAME, PATH, plain_path, read_clause, split_use
from .shared.language import DefinitionRules, Language, UseItem
from .shared.source_text import lazy_pattern

_VALUES = """[
  (val_definition pattern: (identifier) @name)
  (val_declaration name: (identifier) @name)
]"""
_VARIABLES = "(var_definition pattern: (identifier) @name)"

SCALA = f"""
((class_definition|trait_definition|object_definition|package_object|enum_definition|function_definition|
  given_definition name: (_) @name body: (_)? @body) @def
  (#set! kind "class|trait|object|object|enum|function|object"))
((extension_definition parameters: (parameters . (parameter type: (_) @path))) @def (#set! kind "scope"))
((function_declaration|type_definition name: (_) @name) @def (#set! kind "function|type"))
((compilation_unit {_VALUES} @def) (#set! kind "constant"))
((compilation_unit {_VARIABLES} @def) (#set! kind "variable"))
((object_definition|package_object body: (template_body {_VALUES} @def)) (#set! kind "constant"))
((object_definition body: (template_body {_VARIABLES} @def)) (#set! kind "variable"))
(annotation) @decorator
(import_declaration) @tree
"""

_TYPE = "[(type_identifier) @type (stable_type_identifier) @type (generic_type type: (_) @type)]"
_READ = "[(identifier) @use (field_expression) @use]"

SCALA_REFERENCES = f"""
(call_expression function: [(identifier) (field_expression)] @call)
(call_expression function: (generic_function function: (_) @call))
(instance_expression {_TYPE.replace("@type", "@call")})
(infix_expression operator: (identifier) @call)
(postfix_expression (identifier) . (identifier) @call)
(extends_clause {_TYPE.replace("@type", "@inherit")})
(annotation name: (_) @decorate)
(class_parameter|parameter|val_definition|var_definition|val_declaration|type_definition|typed_pattern|
  upper_bound|context_bound type: {_TYPE})
(function_definition|function_declaration return_type: {_TYPE})
(type_arguments|ascription_expression|function_type|lazy_parameter_type {_TYPE})
(case_class_pattern type: (_) @use)
(arguments {_READ})
(assignment_expression|infix_expression right: {_READ})
(val_definition|var_definition|match_expression value: {_READ})
(function_definition body: {_READ})
(infix_expression left: {_READ})
(field_expression value: (identifier) @use)
(block {_READ} .)
"""

SCALA_FACTS = """
((package_clause name: (_) @package) (#set! joined "yes"))
(import_declaration) @tree
(class_parameter|parameter name: (_) @variable type: (_) @type)
(val_definition|var_definition pattern: (identifier) @variable type: (_) @type)
(val_definition|var_definition pattern: (identifier) @variable !type value: (_) @value)
(tuple_pattern (identifier) @variable)
(enumerator . (identifier) @variable)
(lambda_expression parameters: (identifier) @variable)
(binding name: (identifier) @variable)
(typed_pattern pattern: (identifier) @variable type: (_) @type)
(case_class_pattern|case_clause pattern: (identifier) @variable)
(function_definition|function_declaration return_type: (_) @type)
"""


class ScalaDefinitions(DefinitionRules):
    """The rules for definitions of Scala."""

    def head_end(self, source: bytes, start: int, end: int) -> int:
        """Return the end of the head, before the sign that starts the body."""
        return start + len(source[start:end].rstrip().removesuffix(b"="))


_SCALA = lazy_pattern(rf"\s*({PATH})\s*(?:\.\s*(?:(\*)|\{{([^{{}}]*)\}})|\s+as\s+({NAME}))?\s*(?:,|;|\Z)")


_SELECTOR = lazy_pattern(rf"\s*({NAME}|\*)\s*(?:(?:=>|as\b)\s*({NAME}))?\s*")


def _uses(text: str) -> Iterator[UseItem]:
    at = re.match(r"\s*import\b", text)
    position = at.end() if at is not None else len(text)
    while position < len(text):
        match = _SCALA.match(text, position)
        if match is None:
            return
        position = match.end()
        module = plain_path(match[1])
        if match[3] is not None:
            for selector in match[3].split(","):
                yield from _selected(module, selector)
        elif match[2] is not None:
            yield UseItem(module, "*", "*")
        elif module.endswith(("._", ".given")):
            yield UseItem(module.rpartition(".")[0], "*", "*")
        elif "." in module:
            yield split_use(module, match[4] or "")


def _selected(module: str, selector: str) -> Iterator[UseItem]:
    match = _SELECTOR.fullmatch(selector)
    if match is None:
        return
    name, alias = plain_path(match[1]), plain_path(match[2] or "")
    if name in {"_", "*", "given"}:
        yield UseItem(module, "*", "*")
    elif alias != "_":  # `D => _` leaves it out
        yield UseItem(module, name, alias or name)


_SOURCES = (".scala", ".java", ".kt")

LANGUAGES = (
    Language(
        "scala",
        "scala",
        (".scala", ".sc", ".sbt"),
        (),
        ("scala", "amm"),
        family="jvm",
        grammar="tree_sitter_scala:language",
        definitions=SCALA,
        references=SCALA_REFERENCES,
        facts=SCALA_FACTS,
        definition_rules=ScalaDefinitions(),
        stalling=(b"`",),
        clause=lambda text, _inside: read_clause(text, _uses),
        imports=partial(JavaImports, endings=_SOURCES),
        package_sources=_SOURCES,
        package_files=(".scala",),
        links=JavaRules(),
    ),
)
