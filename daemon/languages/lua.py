"""Lua: functions of tables, and modules below the search folders."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.relative_paths import ancestors, within
from .shared.language import DefinitionRules, ImportLookup, Language, Specifier, quoted
from .shared.records import Import
from .shared.source_text import lazy_pattern

# An empty function has no block node, so its head ends at the parameters.
_FUNCTION = "(function_definition parameters: (_) @head)"

# Of several names in one assignment only the first is read.

LUA = f"""
((function_declaration name: (identifier) @name parameters: (_) @head) @def (#set! kind "function"))
((function_declaration name: (dot_index_expression) @path parameters: (_) @head) @def
  (#set! kind "function"))
((function_declaration name: (method_index_expression) @path parameters: (_) @head) @def
  (#set! kind "method"))
((assignment_statement
    (variable_list . name: [(identifier) (dot_index_expression)] @path)
    (expression_list . value: {_FUNCTION})) @def
  (#set! kind "function"))
(variable_declaration (assignment_statement) @of) @lead
((chunk (variable_declaration (assignment_statement
    (variable_list . name: (identifier)) (expression_list . value: (table_constructor
      (field name: (identifier) @name value: {_FUNCTION}) @def)))))
  (#set! kind "function"))
((chunk (assignment_statement
    (variable_list . name: (_)) (expression_list . value: (table_constructor
      (field name: (identifier) @name value: {_FUNCTION}) @def))))
  (#set! kind "function"))
((chunk (return_statement (expression_list . (table_constructor
      (field name: (identifier) @name value: {_FUNCTION}) @def))))
  (#set! kind "function"))
((chunk (variable_declaration (assignment_statement
    (variable_list name: (identifier) @name) (expression_list
      . value: [(table_constructor) (number) (string) (true) (false) (nil) (binary_expression)]))) @def)
  (#set! kind "variable"))
((chunk (assignment_statement
    (variable_list name: [(identifier) (dot_index_expression)] @path) (expression_list
      . value: [(table_constructor) (number) (string) (true) (false) (binary_expression)])) @def)
  (#set! kind "variable"))
"""

LUA_CALLS = """
(function_call name: (identifier) @function arguments: (arguments . (string) @module))
(function_call name: (identifier) arguments: (arguments . (identifier) @function . (string) @module))
"""

LUA_REFERENCES = """
(function_call name: [(dot_index_expression) (method_index_expression)] @call)
(arguments [(identifier) (dot_index_expression)] @use)
(field value: [(identifier) (dot_index_expression)] @use)
(assignment_statement (expression_list value: [(identifier) (dot_index_expression)] @use))
(return_statement (expression_list [(identifier) (dot_index_expression)] @use))
"""

_REQUIRE = "(function_call name: (identifier) @when arguments: (arguments . (string) @module .))"

# The language's builtins.
_OWN = """
require assert collectgarbage dofile error getmetatable ipairs load loadfile loadstring next pairs pcall
print rawequal rawget rawlen rawset select setfenv setmetatable tonumber tostring type unpack xpcall"""

LUA_FACTS = f"""
((function_call name: (identifier) @last) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
((assignment_statement (variable_list . name: (identifier) @bound) (expression_list . value: {_REQUIRE}))
  (#set! when "require") (#set! imported "*"))
((assignment_statement (variable_list . name: (identifier) @bound) (expression_list . value:
    (dot_index_expression table: {_REQUIRE} field: (identifier) @imported)))
  (#set! when "require"))
(variable_declaration (assignment_statement
    (variable_list . name: (identifier) @variable) (expression_list . value: [
      (function_call) (identifier) (dot_index_expression)] @value)))
(variable_declaration (assignment_statement (variable_list name: (identifier) @variable)))
(variable_declaration (variable_list name: (identifier) @variable))
(parameters name: (identifier) @variable)
(for_generic_clause (variable_list name: (identifier) @variable))
(for_numeric_clause name: (identifier) @variable)
"""


class LuaDefinitions(DefinitionRules):
    """The rules for definitions of Lua."""

    owners_stand_alone = True
    has_methods = False


def _specifier(_called: str, written: str, lead: str) -> Specifier | None:
    module = quoted(written) or (written[2:-2] if written.startswith("[[") else "")
    return Specifier(module, required=_LUA_TRIED.search(lead) is None) if module else None


_LUA_TRIED = lazy_pattern(r"pcall\s*\(\s*require\s*,\s*\Z")


class LuaImports(ImportLookup):
    """Lua: a module `a.b` is `a/b.lua` or `a/b/init.lua` below a search folder, which may be any folder."""

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that a require means, or None."""
        module = imported.module
        path = self.path_in(module)
        for base in _bases(importer, path) if path else ():
            for ending in _ENDINGS:
                if base + ending in self._names:
                    return base + ending
        return self._elsewhere(importer, path) if path else None

    def path_in(self, module: str) -> str:
        """Return a module as a path, an empty string if it can't be one."""
        path = module.replace(".", "/")
        return "" if "//" in path or path.startswith("/") or path.endswith("/") else path

    def _elsewhere(self, importer: str, path: str) -> str | None:
        """Return the nearest file below any folder; a single name must be in a usual search folder."""
        roots = ("",) if "/" in path else tuple(f"{root}/" for root in _ROOTS if root)
        for root in roots:
            for ending in _ENDINGS:
                found = self._folders.nearest(f"{root}{path}{ending}", importer)
                if found is not None:
                    return found
        return None


_ENDINGS = (".lua", "/init.lua")
_ROOTS = ("", "lua", "src", "lib")


def _bases(importer: str, path: str) -> Iterator[str]:
    for ancestor in ancestors(importer.rpartition("/")[0]):
        for root in _ROOTS:
            yield within(within(ancestor, root) if root else ancestor, path)


LANGUAGES = (
    Language(
        "lua",
        "lua",
        (".lua", ".rockspec"),
        (),
        ("lua", "luajit"),
        comment="--",
        block_comment=("--[[", "]]"),
        grammar="tree_sitter_lua:language",
        definitions=LUA,
        calls=LUA_CALLS,
        call_words=(b"require",),
        references=LUA_REFERENCES,
        facts=LUA_FACTS,
        definition_rules=LuaDefinitions(),
        import_calls=frozenset({b"require"}),
        specifier=_specifier,
        imports=LuaImports,
        found_by_ending=(".lua",),
    ),
)
