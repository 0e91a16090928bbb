"""C and C++: declarations, includes, and macros that the grammars can't parse."""

from __future__ import annotations

import re
from functools import partial

from ..core.relative_paths import is_relative, join_path
from .shared.language import BoundName, DefinitionRules, ImportLookup, Language, Specifier
from .shared.records import Import
from .shared.source_text import lazy_pattern

_TYPES = ("struct", "union", "enum")

# A query can't match a name at any depth of a declarator, so it captures the whole declarator, whose text
# is parsed for the name.
_NAMED = "\n".join(
    f"""
(({each}_specifier name: (_) @path body: (_) @body) @def (#set! kind "{each}"))
((type_definition type: ({each}_specifier !name body: (_) @body) declarator: (_) @declarator) @def
  (#set! kind "{each}"))
((type_definition type: ({each}_specifier name: (_) @tag body: (_)) declarator: (_) @declarator) @def
  (#set! kind "type"))
((type_definition type: ({each}_specifier !body) declarator: (_) @declarator) @def (#set! kind "forward"))
"""
    for each in _TYPES
)


def _plain(*types: str) -> str:
    """Return a pattern for the names in typedefs that define no type of their own."""
    return f"""
((type_definition type: [{" ".join(f"({each})" for each in types)}] declarator: (_) @declarator) @def
  (#set! kind "type"))
"""


_COMMON = f"""
((function_definition declarator: (_) @declarator body: (_) @body) @def (#set! kind "function"))
{_NAMED}
(type_definition type: [(struct_specifier) (union_specifier) (enum_specifier)] @of) @lead
((declaration declarator: (init_declarator declarator: (_) @declarator)) @def (#set! kind "variable"))
((declaration declarator: (_) @declarator) @def (#set! kind "prototype"))
((preproc_def name: (_) @name value: (_)) @def (#set! kind "macro"))
((preproc_function_def name: (_) @name parameters: (_) @head) @def (#set! kind "macro"))
(compound_statement) @local
(preproc_include path: [(string_literal) (system_lib_string)] @module)
"""

C = _COMMON + _plain("type_identifier", "primitive_type", "sized_type_specifier", "macro_type_specifier")

_CPP_PLAIN = _plain(
    "type_identifier",
    "primitive_type",
    "sized_type_specifier",
    "qualified_identifier",
    "template_type",
    "placeholder_type_specifier",
    "decltype",
)

# A GoogleTest case looks like a function called TEST; its name is taken from the macro's arguments.
CPP = f"""
((function_definition !type
    declarator: (function_declarator
      declarator: (identifier) @when
      parameters: (parameter_list
        . (parameter_declaration type: (_) @owner) . (parameter_declaration type: (_) @name) .))
    body: (_) @body) @def
  (#set! when "TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_P") (#set! kind "function") (#set! only "yes"))
((function_definition declarator: (_) @declarator (field_initializer_list) @body) @def
  (#set! kind "function"))
((function_definition declarator: (_) @declarator [(default_method_clause) (delete_method_clause)]) @def
  (#set! kind "prototype"))
{_COMMON}
{_CPP_PLAIN}
(friend_declaration) @local
((class_specifier name: (_) @path body: (_) @body) @def (#set! kind "class"))
((field_declaration (storage_class_specifier "static") declarator: (field_identifier) @name
    default_value: (_)) @def (#set! kind "constant"))
((field_declaration declarator: (_) @declarator) @def (#set! kind "field"))
((alias_declaration|concept_definition name: (_) @name) @def (#set! kind "type"))
(template_declaration [
  (function_definition) (declaration) (field_declaration) (alias_declaration) (concept_definition)
  (class_specifier) (struct_specifier) (union_specifier)
] @of) @lead
"""

_USES = """
(argument_list|initializer_list|return_statement (identifier) @use)
(initializer_pair|init_declarator|case_statement value: (identifier) @use)
(assignment_expression right: (identifier) @use)
(argument_list|initializer_list (pointer_expression argument: (identifier) @use))
"""

C_REFERENCES = f"""
(call_expression function: (_) @call)
(parameter_declaration|declaration|field_declaration|function_definition|type_definition|
  type_descriptor type: (type_identifier) @type)
(struct_specifier|union_specifier|enum_specifier name: (type_identifier) @type !body)
{_USES}
"""

_SCOPED_TYPE = """[
  (type_identifier)
  (qualified_identifier name: (type_identifier))
  (qualified_identifier name: (qualified_identifier name: (type_identifier)))]"""

CPP_REFERENCES = f"""
(call_expression function: (_) @call)
(new_expression|compound_literal_expression type: {_SCOPED_TYPE} @call)
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @inherit)
(parameter_declaration|optional_parameter_declaration|declaration|field_declaration|function_definition|
  type_definition|type_descriptor|for_range_loop type: {_SCOPED_TYPE} @type)
(template_type name: (type_identifier) @type)
(struct_specifier|enum_specifier name: (type_identifier) @type !body)
{_USES}
"""

_DECLARATOR = """[
  (identifier) @variable
  (pointer_declarator declarator: (identifier) @variable)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @variable))
  (array_declarator declarator: (identifier) @variable)
  (init_declarator declarator: (identifier) @variable)
  (init_declarator declarator: (pointer_declarator declarator: (identifier) @variable))
  (init_declarator declarator: (array_declarator declarator: (identifier) @variable))]"""

_INCLUDED = """
((preproc_include path: [(string_literal) (system_lib_string)] @module)
  (#set! imported "*") (#set! bound "*"))
"""

C_FACTS = f"""
{_INCLUDED}
(parameter_declaration type: [(type_identifier) (struct_specifier)] @type declarator: {_DECLARATOR})
(parameter_declaration type: [(primitive_type) (sized_type_specifier) (enum_specifier)]
    declarator: {_DECLARATOR})
(declaration type: [(type_identifier) (struct_specifier !body)] @type declarator: {_DECLARATOR})
(declaration type: [(primitive_type) (sized_type_specifier) (enum_specifier)] declarator: {_DECLARATOR})
"""

_CPP_DECLARATOR = (
    _DECLARATOR.removesuffix("]")
    + """
  (reference_declarator (identifier) @variable)
  (init_declarator declarator: (reference_declarator (identifier) @variable))]"""
)

_CPP_TYPE = "[(type_identifier) (qualified_identifier) (template_type) (struct_specifier !body)]"

_VARIABLE = """[
    (identifier) @variable
    (pointer_declarator declarator: (identifier) @variable)
    (reference_declarator (identifier) @variable)]"""

CPP_FACTS = f"""
{_INCLUDED}
(parameter_declaration|optional_parameter_declaration type: {_CPP_TYPE} @type declarator: {_CPP_DECLARATOR})
(parameter_declaration type: [(primitive_type) (sized_type_specifier) (placeholder_type_specifier)]
    declarator: {_CPP_DECLARATOR})
(declaration type: {_CPP_TYPE} @type declarator: {_CPP_DECLARATOR})
(declaration type: [(primitive_type) (sized_type_specifier)] declarator: {_CPP_DECLARATOR})
(declaration type: (placeholder_type_specifier) declarator: (init_declarator
    declarator: {_VARIABLE}
    value: [(call_expression) (new_expression) (field_expression) (identifier)] @value))
(field_declaration type: {_CPP_TYPE} @type
    declarator: {_VARIABLE.replace("(identifier)", "(field_identifier)")})
(for_range_loop type: {_CPP_TYPE} @type declarator: {_VARIABLE})
((for_range_loop type: (placeholder_type_specifier) declarator: {_VARIABLE}
    right: [(call_expression) (field_expression) (identifier)] @value) (#set! element "yes"))
(translation_unit|preproc_ifdef (namespace_definition name: (_) @package))
"""


class CDefinitions(DefinitionRules):
    """The rules for definitions of C and C++."""

    values_enclose = False

    def binding_kind(self, bound: BoundName) -> str:
        """Return the kind of a binding by the words before its declarator."""
        if not bound.is_declared:
            return bound.kind
        words = bound.written.split()
        if b"extern" in words:
            return "extern"
        return "constant" if b"const" in words or b"constexpr" in words else "variable"


def _specifier(_called: str, written: str, _lead: str) -> Specifier | None:
    if written.startswith("<"):
        return Specifier(written) if written.endswith(">") else None
    return Specifier(written[1:-1]) if written.startswith('"') else None


class CImports(ImportLookup):
    """C and C++: a file next to the including file, else the nearest file whose path has the same end.

    The folders searched for headers are arguments of the compiler, which no file reliably records, so a path
    is found by its end. A specifier in angle brackets (`<fmt/core.h>`) isn't looked for next to the file, and
    system headers aren't looked for at all.
    """

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an include means, or None."""
        module = imported.module
        path = self.path_in(module)
        if not path:
            return None
        if not module.startswith("<"):
            beside = join_path(importer.rpartition("/")[0], path)
            if beside in self._names:
                return beside
        elif path in _STANDARD or path.startswith(_SYSTEM):
            return None
        tail = _tail(path)
        return self._folders.nearest(tail, importer) if tail else None

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved include certainly means a file of this project."""
        module = imported.module
        path = self.path_in(module)
        # A file that isn't a header is often a build output.
        if module.startswith("<") or not is_relative(path) or not path.endswith(_HEADERS):
            return False
        beside = join_path(importer.rpartition("/")[0], path)
        # Generated headers are in folders of their own.
        return beside is not None and self._folders.exists(beside.rpartition("/")[0])

    def path_in(self, module: str) -> str:
        """Return the path of an include; an empty string if it is unusable, such as an absolute path."""
        path = module.strip("<>").strip().replace("\\", "/")
        return "" if path.startswith("/") or path.endswith(("/", "..")) else path


def _tail(path: str) -> str:
    """Return the part of a path after its leading relative folders."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    while parts and parts[0] == "..":
        del parts[0]
    return "/".join(parts) if ".." not in parts else ""


_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_SYSTEM = ("sys/", "arpa/", "netinet/")
_NAMES = """
    aio alloca assert complex cpio ctype dirent dlfcn endian err errno error execinfo fcntl features fenv
    float fmtmsg fnmatch ftw getopt glob grp iconv inttypes io iso646 langinfo libgen limits locale
    malloc math memory mntent monetary mqueue ndbm netdb nl_types paths poll pthread pwd regex sched
    search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint
    stdio stdlib stdnoreturn string strings stropts syslog tar termios tgmath threads time trace uchar
    ulimit unistd utime utmp utmpx values wait wchar wctype windows winsock winsock2 wordexp zlib
"""
_STANDARD = frozenset(f"{name}.h" for name in _NAMES.split())
"""Headers of compilers and systems, which are included in angle brackets."""


# The grammar parses `class EXPORT Name {` as a function called Name that returns a class EXPORT.
_EXPORTED = lazy_pattern(
    rb"\b(?:class|struct|union|enum(?:\s+class)?)\s+([A-Z][A-Z0-9_]{2,}(?:\([^()\n]*\))?)"
    rb"(?=\s+(?!final\b)[A-Za-z_][\w:]*\s{0,99}(?:<[^<>;{]{0,200}>\s{0,99})?(?:final\s{0,99})?(?:\{|:[^:]))"
)


# `EXPORT Status Open();` at the beginning of a line.
_EXPORTING = lazy_pattern(
    rb"^[ \t]*((?:[A-Z][A-Z0-9_]*_)?(?:API|EXPORT|EXTERN|DLL|PUBLIC))(?=[ \t]+[A-Za-z_])",
    re.MULTILINE,
)


# `int count_ GUARDED_BY(mutex_);`, `void Add() EXCLUSIVE_LOCKS_REQUIRED(mutex_) {`
_ANNOTATION = lazy_pattern(
    rb"(?<=[\w)\]>])\s+([A-Z_]*(?:GUARDED_BY|LOCKS?_REQUIRED|LOCKS_EXCLUDED|ACQUIRED_(?:AFTER|BEFORE)|REQUIRES"
    rb"|EXCLUDES|ACQUIRE|RELEASE|LOCK_FUNCTION|NO_THREAD_SAFETY_ANALYSIS)\b(?:\([^()\n]*\))?)"
    rb"(?=\s{0,99}(?:[;{=]|[A-Z]))"
)


_C_GAPS = ((_EXPORTED, b" "), (_EXPORTING, b" "), (_ANNOTATION, b" "))


def is_cpp(source: bytes) -> bool:
    """Return whether a header with a C name is C++."""
    return _CPP_SIGNS.search(source) is not None


_CPP_SIGNS = lazy_pattern(
    rb"^[ \t]*(?:(?:class|namespace)\b[^;()={]{0,200}\{|template[ \t]*<|using \w+ =|public:|private:)"
    rb"|^[ \t]*#[ \t]*include[ \t]*<\w+>|\bstd::",
    re.MULTILINE,
)


_SEARCHED = (
    ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tcc", ".def", ".c", ".cc", ".cpp", ".cxx",
)  # fmt: skip

_row = partial(
    Language,
    family="c",
    definition_rules=CDefinitions(),
    gaps=_C_GAPS,
    stalling=(b"[", b"=>"),
    specifier=_specifier,
    imports=CImports,
)

LANGUAGES = (
    _row(
        "c",
        "c",
        (".c", ".h"),
        grammar="tree_sitter_c:language",
        definitions=C,
        references=C_REFERENCES,
        facts=C_FACTS,
        other_language=lambda source: "cpp" if is_cpp(source) else "",
        found_by_ending=_SEARCHED,
    ),
    _row(
        "cpp",
        "cpp",
        (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".ipp", ".inl", ".ino"),
        grammar="tree_sitter_cpp:language",
        definitions=CPP,
        references=CPP_REFERENCES,
        facts=CPP_FACTS,
    ),
)
