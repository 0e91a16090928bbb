"""C#: namespaces, projects, usings and partial classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ..core.relative_paths import ancestors, within
from .shared.clauses import NAME, PATH, plain_path, read_clause, split_use
from .shared.import_folders import MAX_PACKAGES, folders_by_name, is_test, nearest_first
from .shared.language import ImportLookup, Language, UseItem, key_of
from .shared.link_rules import LinkRules, NameLookup
from .shared.records import Import
from .shared.source_text import lazy_pattern

if TYPE_CHECKING:
    from .shared.interface import FileInterface


CSHARP = """
((class_declaration|struct_declaration|interface_declaration|enum_declaration|record_declaration|
  method_declaration|local_function_statement name: (_) @name body: (_)? @body) @def
  (#set! kind "class|struct|interface|enum|record|method|function"))
((delegate_declaration name: (_) @name) @def (#set! kind "type"))
((constructor_declaration name: (_) @name
    [(constructor_initializer) (block) (arrow_expression_clause)] @body) @def (#set! kind "method"))
((destructor_declaration "~" . name: (_) @head) @def (#set! kind "method") (#set! name "Finalize"))
((operator_declaration operator: _ @name body: (_) @body) @def (#set! kind "method"))
((conversion_operator_declaration body: (_) @body) @def (#set! kind "method") (#set! name "operator"))
((indexer_declaration [accessors: (_) value: (_)] @body) @def (#set! kind "property") (#set! name "this"))
((property_declaration|event_declaration name: (_) @name accessors: (_) @body) @def
  (#set! kind "property|event"))
((property_declaration name: (_) @name value: (_) @body) @def (#set! kind "property"))
((event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @def
  (#set! kind "event"))
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
(parameter|variable_declaration|property_declaration|indexer_declaration|event_declaration|
  delegate_declaration|local_function_statement|operator_declaration|foreach_statement|catch_declaration|
  declaration_pattern|recursive_pattern|declaration_expression|cast_expression|typeof_expression|
  type_parameter_constraint|nullable_type|array_type|tuple_element type: {_TYPE})
(method_declaration returns: {_TYPE})
(as_expression|is_expression right: {_TYPE})
(type_argument_list {_TYPE})
(argument|return_statement|arrow_expression_clause|binary_expression|conditional_expression|
  attribute_argument|constant_pattern|await_expression {_READ})
(assignment_expression|foreach_statement right: {_READ})
(variable_declarator {_READ} .)
(switch_statement value: {_READ})
(member_access_expression expression: (identifier) @use)
"""

CSHARP_FACTS = """
(namespace_declaration|file_scoped_namespace_declaration name: (_) @package)
(using_directive) @tree
(parameter type: (_) @type name: (_) @variable)
(parameter !type name: (_) @variable)
(implicit_parameter) @variable
(variable_declaration type: (_) @type (variable_declarator name: (_) @variable (_)? @value))
((foreach_statement type: (_) @type left: (identifier) @variable right: (_) @value) (#set! element "yes"))
(catch_declaration|declaration_pattern|declaration_expression type: (_) @type name: (_) @variable)
(method_declaration returns: (_) @type)
(local_function_statement type: (_) @type)
"""


_CSHARP = lazy_pattern(
    rf"\s*(?:global\s+)?using\s+(static\s+|unsafe\s+)?(?:({NAME})\s*=\s*)?(?:global\s*::\s*)?({PATH})(\s*<[^;]*>)?\s*;?\s*"
)


def _uses(text: str) -> Iterator[UseItem]:
    match = _CSHARP.fullmatch(text)
    if match is None:
        return
    if match[2]:
        yield split_use(match[3], match[2])
    else:
        yield UseItem(plain_path(match[3]), "*", "*")


GLOBAL_USINGS = "global::"
"""The module of the file whose `global using` directives count in all files of its project."""

_GLOBAL_FILES = ("GlobalUsings.cs", "Usings.cs")

FILES_MAX = 2_000
"""Maximum number of files of a namespace."""


SOURCES = (".cs",)
PROJECT = ".csproj"


class CsharpImports(ImportLookup):
    """C#: a namespace is a folder below a project of its name (`Shop.Web/Api` for `Shop.Web.Api`).

    This is a convention that the language doesn't enforce, so an unresolved namespace proves nothing.
    """

    def clear(self) -> None:
        """Drop the contents of all project files."""
        super().clear()
        self._folders.sources.forget()

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the file of a class; for a namespace the file named like it, else its first file; or
        None."""
        files = self.resolve_all(importer, imported)
        if imported.name:
            return files[0] if len(files) == 1 else None
        last = imported.module.rpartition(".")[2]
        named = [path for path in files if key_of(path) == last]
        return next(iter(named or files), None)

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return the file of a class, else all files of the namespace, sorted."""
        if imported.module == GLOBAL_USINGS:
            around = ancestors(importer.rpartition("/")[0])
            places = (within(folder, name) for folder in around for name in _GLOBAL_FILES)
            return tuple(path for path in places if path in self._names)[:1]
        outer, _, last = imported.module.rpartition(".")
        for namespace, name in ((imported.module, imported.name), (outer, last)):
            folders = self._ordered(importer, namespace)
            for folder in folders if name else ():
                path = within(folder, f"{name}.cs")
                if path in self._names:
                    return (path,)
        found = [
            path
            for folder in self._ordered(importer, imported.module)
            for path in self._folders.sources.files(folder, SOURCES)
        ]
        return tuple(sorted(found[:FILES_MAX]))

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return the files of a namespace that begins with a root namespace of this project."""
        parts = imported.module.split(".")
        roots = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
        return self.resolve_all("", imported) if not self._roots.keys().isdisjoint(roots) else ()

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits."""
        if imported.module == GLOBAL_USINGS:
            return [key_of(name) for name in _GLOBAL_FILES]
        parts = imported.module.split(".")
        dotted = key_of(imported.module)  # the key of a folder `Shop.Web` is the part before the first dot
        return [key for key in (imported.name, parts[-1], dotted, *parts[-2:-1]) if key]

    def _ordered(self, importer: str, namespace: str) -> list[str]:
        if not namespace:
            return []
        sources = self._folders.sources
        folders = sources.remembered(
            ("namespace", namespace), lambda: dict.fromkeys(self._namespace_folders(namespace))
        )
        chosen = [folder for folder in folders if is_test(importer) or not is_test(folder)] or [*folders]
        return nearest_first(chosen, importer)

    def _namespace_folders(self, namespace: str) -> Iterator[str]:
        """Yield the folders of a namespace: a project's folder followed by the rest of the name."""
        parts = namespace.split(".")
        for count in range(len(parts), 0, -1):
            for root in self._roots.get(".".join(parts[:count]), ()):
                folder = within(root, "/".join(parts[count:])).rstrip("/")
                if self._folders.sources.files(folder, SOURCES):
                    yield folder
        for count in range(len(parts), 0, -1):
            tail = "/".join([".".join(parts[:count]), *parts[count:]])
            found = self._folders.sources.ending_with(tail)
            if found:
                yield from found
                return
        if parts[0] in self._owners:
            for count in range(len(parts), 1, -1):
                for root in self._roots.get(".".join(parts[1:count]), ()):
                    folder = within(root, "/".join(parts[count:])).rstrip("/")
                    if self._folders.sources.files(folder, SOURCES):
                        yield folder

    @cached_property
    def _owners(self) -> frozenset[str]:
        """The first names of root namespaces: beside a project of the namespace `Shop.Web` there may be one
        called `Orders`, whose namespaces begin with `Shop.Orders`."""
        return frozenset(name.partition(".")[0] for name in self._roots if "." in name)

    @cached_property
    def _roots(self) -> dict[str, list[str]]:
        """The folders of the projects by their root namespace."""
        return folders_by_name(map(self._root, sorted(self._folders.sources.projects)[:MAX_PACKAGES]))

    def _root(self, path: str) -> tuple[str, str]:
        folder, _, name = path.rpartition("/")
        match = _ROOT.search(self._config.text(path))
        return match[1] if match is not None else name.removesuffix(PROJECT), folder


_ROOT = lazy_pattern(r"<RootNamespace>\s*([\w.]{1,200})\s*</RootNamespace>")


class CsharpRules(LinkRules):
    """The link rules of C#."""

    passes_imports_on = False
    parts_max = 400

    def wildcard_files(self, evaluator: NameLookup, path: str, interface: FileInterface) -> Iterator[str]:
        """Yield the files of the namespace and of its outer namespaces, then those of `using` directives, the
        project's global ones last."""
        namespace = interface.package
        while namespace:
            for each in evaluator.module(path, interface.language, namespace).paths:
                near = evaluator.interface(each)
                if near is not None and near.package == namespace:
                    yield each
            namespace = namespace.rpartition(".")[0]
        yield from super().wildcard_files(evaluator, path, interface)
        for each in evaluator.module(path, interface.language, GLOBAL_USINGS).paths:
            shared = evaluator.interface(each)
            if shared is not None and each != path:
                yield from super().wildcard_files(evaluator, each, shared)

    def adds_to(self, evaluator: NameLookup, path: str, name: str) -> bool:
        """Return whether a file defines a class of this name, as a part of a partial class."""
        interface = evaluator.interface(path)
        return interface is not None and name in interface.names


LANGUAGES = (
    Language(
        "csharp",
        "csharp",
        (".cs", ".csx"),
        grammar="tree_sitter_c_sharp:language",
        definitions=CSHARP,
        references=CSHARP_REFERENCES,
        facts=CSHARP_FACTS,
        stalling=(b"<", b"["),
        clause=lambda text, _inside: read_clause(text, _uses),
        imports=CsharpImports,
        config_endings=(PROJECT,),
        package_sources=SOURCES,
        package_files=(".cs",),
        links=CsharpRules(),
    ),
)
