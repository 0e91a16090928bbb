"""Owns the queries of shell scripts."""

from __future__ import annotations

# Only names in capitals are kept of them: others are a script's passing state.
BASH = """
((function_definition name: (_) @name body: (_) @body) @def (#set! kind "function"))
((program (variable_assignment name: (variable_name) @name) @def)
  (#set! kind "constant"))
((program (declaration_command (variable_assignment name: (variable_name) @name)) @def)
  (#set! kind "constant"))
"""
