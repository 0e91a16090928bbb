"""Ruby: modules and classes, and requires along the load path."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..core.relative_paths import ancestors, is_relative, join_path, within
from .shared.language import ImportLookup, Language, Specifier, quoted, relative
from .shared.records import Import
from .shared.source_text import lazy_pattern

# A body begins at its first statement, after any comments, so heads need an end of their own.
_MADE = """(call receiver: (constant) @when arguments: (_) @head)"""

RUBY = f"""
((class name: (_) @path superclass: (_) @head) @def (#set! kind "class"))
((class|module name: (_) @path @head) @def (#set! kind "class|module"))
((method name: (_) @name parameters: (_) @head) @def (#set! kind "method"))
((method name: (_) @name @head) @def (#set! kind "method"))
((singleton_method object: (self) name: (_) @name parameters: (_) @head) @def (#set! kind "method"))
((singleton_method object: (self) name: (_) @name @head) @def (#set! kind "method"))
((singleton_method object: [(identifier) (constant)] @owner name: (_) @name parameters: (_) @head) @def
  (#set! kind "method"))
((singleton_method object: [(identifier) (constant)] @owner name: (_) @name @head) @def
  (#set! kind "method"))
((assignment left: [(constant) (scope_resolution)] @path right: {_MADE}) @def
  (#set! when "Class Struct Data Module") (#set! kind "class"))
((assignment left: [(constant) (scope_resolution)] @path) @def (#set! kind "constant"))
((call method: (identifier) @when arguments: (argument_list . [(method) (singleton_method)] @of)) @lead
  (#set! when "private protected public module_function private_class_method"))
"""

RUBY_CALLS = """
(call !receiver method: (identifier) @function
  arguments: (argument_list . [(string) (call) (binary)] @module .))
(call !receiver method: (identifier) @function
  arguments: (argument_list . (simple_symbol) . (string) @module))
"""

_CONSTANT = "[(constant) (scope_resolution)]"

# A name alone calls a method unless it is a variable.
RUBY_REFERENCES = f"""
(call receiver: {_CONSTANT} @use)
(superclass {_CONSTANT} @inherit)
(argument_list|array|exceptions|pattern|binary {_CONSTANT} @use)
(assignment right: {_CONSTANT} @use)
(pair value: {_CONSTANT} @use)
(call receiver: (identifier) @bare)
(body_statement|block_body|then|argument_list|binary|interpolation|if_modifier|unless_modifier|
  conditional (identifier) @bare)
(assignment|operator_assignment right: (identifier) @bare)
(pair value: (identifier) @bare)
(if|unless condition: (identifier) @bare)
"""

# Names of the language itself, used in every file.
_OWN = """
require require_relative autoload load include extend prepend private public protected module_function
attr_reader attr_writer attr_accessor private_constant private_class_method puts print raise lambda proc
loop binding catch throw block_given? freeze"""

RUBY_FACTS = f"""
((call receiver: (_) @first method: [(identifier) (constant)] @last) (#set! fact "call"))
((call !receiver method: (identifier) @last) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
((call !receiver method: (identifier) @when arguments: (argument_list {_CONSTANT} @last))
  (#set! when "include extend prepend") (#set! fact "inherit"))
(assignment left: [(identifier) (instance_variable)] @variable
    right: [(call) (constant) (scope_resolution)] @value)
(assignment|operator_assignment left: (identifier) @variable)
(operator_assignment left: (instance_variable) @variable right: (call) @value)
(left_assignment_list (identifier) @variable)
(method_parameters [
  (identifier) @variable
  (optional_parameter name: (identifier) @variable)
  (keyword_parameter name: (identifier) @variable)
  (splat_parameter name: (identifier) @variable)
  (hash_splat_parameter name: (identifier) @variable)
  (block_parameter name: (identifier) @variable)])
(block_parameters [
  (identifier) @variable
  (optional_parameter name: (identifier) @variable)
  (keyword_parameter name: (identifier) @variable)
  (splat_parameter name: (identifier) @variable)
  (destructured_parameter (identifier) @variable)])
(lambda_parameters|exception_variable (identifier) @variable)
(for pattern: (identifier) @variable)
"""


def _specifier(called: str, written: str, _lead: str) -> Specifier | None:
    module = quoted(written)
    if module:
        is_relative = called == "require_relative" and not module.startswith(("./", "../", "/"))
        return Specifier(f"./{module}" if is_relative else module, required=called == "require_relative")
    beside = _RUBY_BESIDE.fullmatch(written)
    if beside is None:
        return None
    path = "/".join(_STRINGS.findall(beside["joined"] or beside["expanded"] or beside["added"])).replace(
        "//", "/"
    )
    if beside["file"]:  # relative to the file, treated as a folder
        path = path.removeprefix("../") if path.startswith("../") else ""
    return Specifier(relative(path), required=False) if path else None


_RUBY_BESIDE = lazy_pattern(
    r"""File\.expand_path\(?\s*(?P<expanded>['"][^'"#]+['"])\s*,\s*(?:(?P<file>__FILE__)|__dir__|File\.dirname\(__FILE__\))\s*\)?
    |File\.join\(?\s*(?:__dir__|File\.dirname\(__FILE__\))\s*,(?P<joined>(?:\s*,?\s*['"][^'"#]+['"])+)\s*\)?
    |(?:__dir__|File\.dirname\(__FILE__\))\s*\+\s*(?P<added>['"][^'"#]+['"])""",
    re.VERBOSE,
)


_STRINGS = lazy_pattern(r"['\"]([^'\"]+)['\"]")


class RubyImports(ImportLookup):
    """Ruby: a path relative to the file, or to a folder on the load path, which may be any `lib`.

    A specifier that begins with `./` or `../` belongs to `require_relative`, or to a `require` run in the
    root.
    """

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that a require means, or None."""
        module = imported.module
        path = self.path_in(module)
        for base in self._bases(importer, module) if path else ():
            if base in self._names:
                return base
        if not path or is_relative(module):
            return None
        found = self._folders.nearest(f"lib/{path}", importer)
        return (
            found if found is not None or "/" not in path else self._folders.nearest(f"app/{path}", importer)
        )

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved require certainly means a file of this project."""
        module = imported.module
        if not is_relative(module) or module.endswith(_COMPILED):
            return False
        base = join_path(importer.rpartition("/")[0], module)
        # A native extension is built from sources in another language.
        return base is not None and not any(base + ending in self._names for ending in _SOURCES)

    def path_in(self, module: str) -> str:
        """Return a require's path with its ending, an empty string if it names no source file."""
        if not module or module.startswith(("/", "~")) or module.endswith((*_COMPILED, "/")):
            return ""
        return module if module.endswith((".rb", ".rake")) else f"{module}.rb"

    def _bases(self, importer: str, module: str) -> Iterator[str]:
        """Yield the paths that a require certainly means if they exist, best first."""
        path = self.path_in(module)
        folder = importer.rpartition("/")[0]
        if is_relative(module):
            for start in (folder, ""):
                base = join_path(start, path)
                if base is not None:
                    yield base
            return
        for ancestor in ancestors(folder):
            if ancestor.rpartition("/")[2] in _LOADED:
                yield within(ancestor, path)
            for each in _LOADED:
                yield within(within(ancestor, each), path)


_LOADED = ("lib", "spec", "test", "features")
"""Folders on the load path of a gem and of its tests."""

_COMPILED = (".so", ".bundle", ".dll")
_SOURCES = (".c", ".rs", ".y", ".ry", ".rl", ".so")


LANGUAGES = (
    Language(
        "ruby",
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru", ".podspec"),
        ("Gemfile", "Rakefile", "Podfile", "Vagrantfile", "Brewfile"),
        ("ruby", "jruby"),
        comment="#",
        grammar="tree_sitter_ruby:language",
        definitions=RUBY,
        calls=RUBY_CALLS,
        call_words=(b"require", b"autoload", b"load "),
        references=RUBY_REFERENCES,
        facts=RUBY_FACTS,
        marked_names=True,
        import_calls=frozenset({b"require", b"require_relative", b"autoload", b"load"}),
        specifier=_specifier,
        imports=RubyImports,
        found_by_ending=(".rb",),
    ),
)
