"""Python: packages, modules and stubs, docstrings, builtins."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ..core.relative_paths import ancestors, nearness, within
from ..core.vocabulary import words
from .shared.import_folders import MAX_NAMESAKES, MAX_PACKAGES
from .shared.language import BoundName, DefinitionRules, ImportLookup, Language, key_of
from .shared.link_rules import UNKNOWN_VALUE, LinkRules, NameLookup, Value, Values, What, external
from .shared.records import LITERALS, Import
from .shared.source_text import lazy_pattern

if TYPE_CHECKING:
    from .shared.interface import FileInterface


PYTHON = """
((function_definition name: (identifier) @name body: (block) @body) @def (#set! kind "function"))
((class_definition name: (identifier) @name body: (block) @body) @def (#set! kind "class"))
((type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @def
  (#set! kind "type"))
((module (expression_statement (assignment left: [
  (identifier) @name (pattern_list (identifier) @name)])) @def) (#set! kind "variable"))
((module (if_statement|try_statement (block (expression_statement
    (assignment left: (identifier) @name)) @def))) (#set! kind "variable"))
((module (if_statement|try_statement (_ (block (expression_statement
    (assignment left: (identifier) @name)) @def)))) (#set! kind "variable"))
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
(argument_list|return_statement|list|tuple|expression_list|raise_statement|comparison_operator|
  boolean_operator|conditional_expression [(identifier) (attribute)] @use)
(keyword_argument|default_parameter|typed_default_parameter|pair|except_clause|
  subscript value: [(identifier) (attribute)] @use)
(assignment right: [(identifier) (attribute)] @use)
(except_clause value: (as_pattern [(identifier) (attribute)] @use))
(attribute object: (identifier) @use)
"""

# Expressions with alternatives; each is a possible value of the variable.
_CHOICES = """[
  (boolean_operator left: [(identifier) (attribute) (call)] @value)
  (boolean_operator right: [(identifier) (attribute) (call)] @value)
  (conditional_expression . [(identifier) (attribute) (call)] @value)
  (conditional_expression [(identifier) (attribute) (call)] @value .)
]"""

PYTHON_FACTS = f"""
((import_statement name: (dotted_name) @module) (#set! root "yes"))
((import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @bound))
  (#set! imported "*"))
(import_from_statement module_name: (_) @module name: (dotted_name) @imported)
(import_from_statement module_name: (_) @module
    name: (aliased_import name: (dotted_name) @imported alias: (identifier) @bound))
((import_from_statement module_name: (_) @module (wildcard_import)) (#set! imported "*") (#set! bound "*"))
(parameters [
  (identifier) @variable
  (default_parameter name: (identifier) @variable value: (_) @value)
  (list_splat_pattern (identifier) @variable)
  (dictionary_splat_pattern (identifier) @variable)])
(parameters [
  (typed_parameter . (identifier) @variable type: (type) @type)
  (typed_default_parameter name: (identifier) @variable type: (type) @type)])
(function_definition return_type: (type) @type)
(return_statement [(call) (identifier) (attribute)] @value)
(assignment left: [(identifier) (attribute)] @variable type: (type) @type)
(assignment left: [(identifier) (attribute)] @variable right: (_) @value !type)
(assignment left: [(identifier) (attribute)] @variable right: {_CHOICES} !type)
(return_statement {_CHOICES})
(assignment left: [(pattern_list (identifier) @variable) (tuple_pattern (identifier) @variable)])
(augmented_assignment left: (identifier) @variable)
(named_expression name: (identifier) @variable value: (_) @value)
([(for_statement left: (identifier) @variable right: (_) @value)
  (for_in_clause left: (identifier) @variable right: (_) @value)] (#set! element "yes"))
[(for_statement left: (_ (identifier) @variable)) (for_in_clause left: (_ (identifier) @variable))]
(as_pattern (_) @value alias: (as_pattern_target (identifier) @variable))
(pattern_list (list_splat_pattern (identifier) @variable))
(case_pattern (dotted_name . (identifier) @variable .))
(as_pattern_target (_ (identifier) @variable))
(lambda_parameters (identifier) @variable)
((if_statement condition: (call function: (identifier) @when
    arguments: (argument_list . (identifier) @variable . [(identifier) (attribute)] @type .)))
  (#set! when "isinstance"))
"""


class PythonDefinitions(DefinitionRules):
    """The rules for definitions of Python."""

    docstrings = True

    def binding_kind(self, bound: BoundName) -> str:
        """Return `constant` for a name in capitals."""
        return "constant" if bound.name.isupper() else "variable"

    def head_end(self, source: bytes, start: int, end: int) -> int:
        """Return the end of the head, before a comment after the colon or above the first statement."""
        if b"#" not in source[start:end]:
            return end
        match = _TAIL.search(source, max(start, end - 4000), end)
        return match.start(1) if match else end


_TAIL = lazy_pattern(rb":(\s*(?:#[^\n]*\n\s*)+)\Z")


MAX_ROOTS = 32
"""Maximum number of folders of a name; a more common name identifies none of them."""

NAMESPACE_DEPTH = 3
"""Maximum parts of a package found by its whole name; `google.cloud.storage` has three."""


class PythonImports(ImportLookup):
    """Python: packages, modules and stubs below the folders from which absolute imports can start."""

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None."""
        found = self._module(importer, imported.module)
        if not imported.name:
            return found[1] if found is not None else None
        if not imported.name.isidentifier():
            return None
        if found is None:
            # A namespace package has no file of its own: only its modules can be imported.
            for _, base in self._candidates(importer, imported.module):
                path = self._file(within(base, imported.name))
                if path is not None:
                    return path
            return None
        folder, _, name = found[1].rpartition("/")
        return self._file(within(folder, imported.name)) if name.startswith("__init__.") else None

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved import certainly means a file of this project."""
        first = imported.module.partition(".")[0]
        internal = False
        for root, base in self._candidates(importer, imported.module):
            # A namespace package has no file, and a compiled module only that of another language.
            if self._folders.exists(base) or any(base + ending in self._names for ending in _COMPILED):
                return False
            internal = internal or not first or self._is_package(f"{root}{first}")
        return internal

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return the file of a package that a distribution of this project holds; a module beside its
        manifest, such as `conftest`, is none."""
        first = imported.module.partition(".")[0]
        for root in self._roots if first and first not in _ASIDE else ():
            package = within(root, first)
            if self._folders.exists(package):
                found = self.resolve(within(root, "_.py"), imported)
                if found is not None and found.startswith(f"{package}/"):
                    return (found,)
        return ()

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        """The folders in which distributions have their packages, those of `src` layouts included."""
        manifests = (path.rpartition("/") for path in self._names if path.endswith(_MANIFESTS))
        folders = sorted({folder for folder, _, name in manifests if name in _MANIFESTS})[:MAX_PACKAGES]
        own = (folder for folder in folders if _ASIDE.isdisjoint(folder.split("/")))
        return tuple(within(folder, base) if base else folder for folder in own for base in _PACKAGE_BASES)

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits, which may repeat."""
        parts = [part for part in imported.module.split(".") if part]
        if imported.module.startswith("."):
            bases = [base for _, base in self._candidates(importer, imported.module)]
            keys = [key_of(base) for base in bases]
        else:
            keys = [parts[-1], parts[0]] if parts else []
        if imported.name:
            keys.insert(0, imported.name)
        found = self._module(importer, imported.module)
        if found is not None and found[0]:
            keys.append(found[0])
        if found is None or not importer.startswith(found[0].removesuffix("src/").removesuffix("lib/")):
            keys += parts[1:NAMESPACE_DEPTH]
        return keys

    def _module(self, importer: str, module: str) -> tuple[str, str] | None:
        """Return the root and the path of the nearest file that a module can mean."""
        for root, base in self._candidates(importer, module):
            path = self._file(base)
            if path is not None:
                return root, path
        return None

    def _file(self, base: str) -> str | None:
        names = self._names
        for ending in _ENDINGS if base else _ROOT_ENDINGS:
            path = base + ending
            if path in names:
                return path
        return None

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self._names or f"{folder}/__init__.pyi" in self._names

    def _candidates(self, importer: str, module: str) -> Iterator[tuple[str, str]]:
        """Yield root and candidate for each possible place of a module, nearest to the importer first.

        A root is a folder with its trailing slash, "" for the project's and for relative imports.
        """
        path = module.lstrip(".")
        level = len(module) - len(path)
        tail = path.replace(".", "/")
        if "//" in tail or tail.endswith("/"):
            return
        folder = importer.rpartition("/")[0]
        if level:
            for _ in range(level - 1):
                if not folder:
                    return
                folder = folder.rpartition("/")[0]
            yield "", within(folder, tail) if tail else folder
            return
        if not tail:
            return
        for ancestor in ancestors(folder):
            if ancestor and self._is_package(ancestor):
                continue
            root = f"{ancestor}/" if ancestor else ""
            yield root, root + tail
            yield f"{root}src/", f"{root}src/{tail}"
            yield f"{root}lib/", f"{root}lib/{tail}"
        parts = tail.split("/")
        for depth in range(1, min(len(parts), NAMESPACE_DEPTH) + 1):
            for root in self._far_roots(importer, parts[:depth]):
                yield root, root + tail

    def _far_roots(self, importer: str, package: list[str]) -> list[str]:
        """Return the roots elsewhere in the project that hold a package, nearest first.

        A package of several parts (`google.cloud.storage`) may lie in namespace packages, whose folders have
        no `__init__.py` and are spread over the distributions of a workspace.
        Empty for a name of many folders (`tests`, `migrations`), where any choice is a guess. Tests, examples
        and vendored code are skipped, because only files inside of them import them, and these find them in
        their own parent folders.
        """
        folders = self._folders.packages(package[-1])
        if len(package) > 1:
            if package[0] in _ASIDE or len(folders) > MAX_NAMESAKES:
                return []
            tail = f"/{'/'.join(package)}"
            folders = [folder for folder in folders if f"/{folder}".endswith(tail)]
        if not folders or len(folders) > MAX_ROOTS:
            return []
        parents = ["/".join(folder.split("/")[: -len(package)]) for folder in folders]
        tops = [
            parent
            for parent in parents
            if parent and not self._is_package(parent) and _ASIDE.isdisjoint(parent.split("/"))
        ]
        return [f"{top}/" for top in sorted(tops, key=lambda top: nearness(top, importer))]


_ASIDE = words("test tests testing fixtures testdata example examples docs vendor _vendor third_party")
# A package precedes a module of the same name, as in the interpreter; stubs and Cython files replace either.
_ENDINGS = ("/__init__.py", ".py", ".pyi", "/__init__.pyi", ".pyx")
_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg")
_PACKAGE_BASES = ("", "src", "lib", "python")
_COMPILED = (".c", ".cc", ".cpp", ".rs", ".so", ".pyd", ".f90")
_ROOT_ENDINGS = ("__init__.py", "__init__.pyi")


_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__path__", "reveal_type"}
_CONSTANTS = frozenset({"None", "True", "False", "NotImplemented", "Ellipsis"})


class PythonRules(LinkRules):
    """The link rules of Python."""

    self_names = frozenset({"self"})
    class_names = frozenset({"cls", "Self", "__class__"})
    super_names = frozenset({"super"})
    wildcards_are_files = False
    class_kinds = frozenset({"class"})
    opaque_types = frozenset({"Any", "object", "type", "T", "Callable"})

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return the builtin of a name."""
        return external(name) if name in _BUILTINS else UNKNOWN_VALUE

    def literal(self, root: str) -> Values:
        """Return the values of literals and of constants that can't be rebound."""
        return external(root) if root in LITERALS or root in _CONSTANTS else UNKNOWN_VALUE

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a name of a module: the top-level name in its file, else its submodule of that name."""
        found = evaluator.module(path, language, module)
        if name == "*":
            if found.paths:
                return tuple(Value(What.MODULE, each) for each in found.paths)
            return UNKNOWN_VALUE if found.internal else external(module)
        for each in found.paths:
            if each != path and (values := evaluator.module_member(each, name, depth)):
                return values
        inside = evaluator.module(path, language, module, name)
        if inside.paths:
            return tuple(Value(What.MODULE, each) for each in inside.paths)
        if found.paths or found.internal:
            return UNKNOWN_VALUE
        return external(f"{module}.{name}")

    def module_members(
        self, evaluator: NameLookup, path: str, interface: FileInterface, name: str, depth: int
    ) -> Values:
        """Return a module's top-level name, or a package's submodule."""
        values = evaluator.top(path, name, depth, builtins=False)
        if values or not path.endswith(("__init__.py", "__init__.pyi")):
            return values
        inside = evaluator.module(path, interface.language, f".{name}")
        return tuple(Value(What.MODULE, each) for each in inside.paths)


LANGUAGES = (
    Language(
        "python",
        "python",
        (".py", ".pyi", ".pyw"),
        ("SConstruct", "SConscript", "wscript"),
        ("python", "pypy", "uv"),
        comment="#",
        grammar="tree_sitter_python:language",
        definitions=PYTHON,
        calls=PYTHON_CALLS,
        call_words=(b"import_module(",),
        references=PYTHON_REFERENCES,
        facts=PYTHON_FACTS,
        definition_rules=PythonDefinitions(),
        stalling=(b"/*",),
        bare_modules=True,
        imports=PythonImports,
        same_in_folder=True,
        links=PythonRules(),
    ),
)
