"""Files of markup with a script: Vue, Svelte and Astro components, and HTML."""

from __future__ import annotations

from functools import partial

from .script import FUNCTION_VALUES, TYPESCRIPT, TYPESCRIPT_FACTS, TYPESCRIPT_REFERENCES, typed_row

# Vue's options: functions in `methods: { … }`, and those of the component itself such as `data()`.
_OPTIONS = f"""
((pair key: (property_identifier) @when
    value: (object (method_definition name: (_) @name body: (_) @body) @def))
  (#set! kind "method") (#set! when "methods computed watch filters actions getters mutations"))
((pair key: (property_identifier) @when
    value: (object (pair key: (_) @name value: {FUNCTION_VALUES}) @def))
  (#set! kind "method") (#set! when "methods computed watch filters actions getters mutations"))
((export_statement value: (object (method_definition name: (_) @name body: (_) @body) @def))
  (#set! kind "method"))
((export_statement value: (call_expression
    arguments: (arguments (object (method_definition name: (_) @name body: (_) @body) @def))))
  (#set! kind "method"))
"""

# Svelte's reactive declarations: `$: doubled = 2 * count`.
_REACTIVE = """
((program (labeled_statement label: (_) @when
    body: (expression_statement (assignment_expression left: (identifier) @name)) @def))
  (#set! kind "variable") (#set! when "$"))
"""

# The same queries for all, so that they are compiled once.
_row = partial(
    typed_row,
    grammar="tree_sitter_typescript:language_typescript",
    definitions=f"{TYPESCRIPT}{_OPTIONS}{_REACTIVE}",
    references=TYPESCRIPT_REFERENCES,
    facts=TYPESCRIPT_FACTS,
    stalling=(b"<",),
    markup="tags",
)

LANGUAGES = (
    _row("vue", "vue", (".vue",), component=True),
    _row("svelte", "svelte", (".svelte",), component=True),
    _row("astro", "astro", (".astro",), markup="frontmatter", component=True),
    _row("html", "html", (".html", ".htm", ".xhtml")),
)
