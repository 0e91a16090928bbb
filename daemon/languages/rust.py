"""Rust: crates, module paths, impl blocks, the prelude."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.vocabulary import words
from .rust_imports import MANIFEST, RustImports, declared_module, used_names
from .shared.language import DefinitionRules, Language
from .shared.link_rules import UNKNOWN_VALUE, LinkRules, NameLookup, Value, Values, What, external
from .shared.source_text import lazy_pattern

if TYPE_CHECKING:
    from .shared.source_text import Span


RUST = """
((struct_item name: (_) @name body: (field_declaration_list) @body) @def (#set! kind "struct"))
((function_item|union_item|enum_item|trait_item|mod_item name: (_) @name body: (_) @body) @def
  (#set! kind "function|union|enum|trait|module"))
((impl_item type: (_) @name body: (_) @body) @def (#set! kind "scope"))
((struct_item|function_signature_item|type_item|associated_type|const_item|static_item name: (_) @name) @def
  (#set! kind "struct|function|type|type|constant|variable"))
((macro_definition name: (_) @name @head) @def (#set! kind "macro"))
(attribute_item) @decorator
(use_declaration argument: (_) @tree)
(extern_crate_declaration name: (_) @tree)
(mod_item name: (_) @declared !body)
(mod_item name: (_) @inline body: (_) @block)
"""

_TYPE = """[
  (type_identifier) @type (scoped_type_identifier) @type
  (generic_type type: [(type_identifier) (scoped_type_identifier)] @type)]"""
_BASE = """[
  (type_identifier) @inherit (scoped_type_identifier) @inherit
  (generic_type type: [(type_identifier) (scoped_type_identifier)] @inherit)]"""
_READ = """[(identifier) @use (scoped_identifier) @use]"""
_MEMBER = """[(identifier) @use (scoped_identifier) @use (field_expression) @use]"""

RUST_REFERENCES = f"""
(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @call)
(call_expression function: (generic_function function: (_) @call))
(struct_expression name: [(type_identifier) (scoped_type_identifier)] @call)
(struct_expression name: (generic_type_with_turbofish type: (_) @call))
(token_tree (identifier) @token . (token_tree))
(trait_item bounds: (trait_bounds {_BASE}))
(parameter|field_declaration|ordered_field_declaration_list|let_declaration|const_item|static_item|type_item|
  reference_type|pointer_type|type_cast_expression|qualified_type type: {_TYPE})
(function_item|function_signature_item|closure_expression return_type: {_TYPE})
(array_type element: {_TYPE})
(tuple_type|type_arguments {_TYPE})
(dynamic_type|abstract_type trait: {_TYPE})
(type_parameter|where_predicate|associated_type bounds: (trait_bounds {_TYPE}))
(qualified_type alias: {_TYPE})
(struct_pattern type: [(type_identifier) (scoped_type_identifier)] @use)
(tuple_struct_pattern type: (scoped_identifier) @use)
(match_pattern (scoped_identifier) @use)
(arguments|return_expression {_MEMBER})
(reference_expression|field_initializer|let_declaration|match_arm value: {_MEMBER})
(const_item|static_item|match_expression|field_expression value: {_READ})
(assignment_expression right: {_MEMBER})
(binary_expression|array_expression|tuple_expression|unary_expression|range_expression {_READ})
(index_expression . {_READ})
(block {_MEMBER} .)
"""

_MACROS = (
    "println print eprintln eprint format format_args write writeln vec matches concat stringify include_str "
    "include_bytes env option_env cfg line file column module_path compile_error "
    "assert assert_eq assert_ne debug_assert debug_assert_eq debug_assert_ne panic todo unimplemented "
    "unreachable"
)
_ATTRIBUTES = (
    "derive cfg cfg_attr allow warn deny forbid expect doc inline must_use deprecated test ignore "
    "should_panic bench repr non_exhaustive path macro_use macro_export no_mangle cold track_caller "
    "automatically_derived feature default serde error from source rustfmt target_feature link "
    "proc_macro proc_macro_derive"
)
_PATTERNS = """[
  (tuple_struct_pattern type: (_) (identifier) @variable)
  (field_pattern pattern: (identifier) @variable)
  (field_pattern name: (shorthand_field_identifier) @variable)
  (captured_pattern . (identifier) @variable)
]"""

# A pattern `Some(x)` or `Ok(x)` counts as its content, because these wrappers are also dropped from types.
RUST_FACTS = f"""
(use_declaration (visibility_modifier) @exported argument: (_) @tree)
(use_declaration . argument: (_) @tree)
((extern_crate_declaration name: (_) @module !alias) (#set! last "yes"))
(extern_crate_declaration name: (_) @module alias: (_) @bound)
(mod_item name: (_) @declared !body)
((impl_item trait: {_BASE.replace("@inherit", "@last")} type: (_) @owner) (#set! fact "inherit"))
((macro_invocation macro: (_) @last) (#set! fact "call") (#set! unless "{_MACROS}"))
((attribute_item (attribute . [(identifier) (scoped_identifier)] @last))
  (#set! fact "decorate") (#set! unless "{_ATTRIBUTES}"))
(parameter pattern: (identifier) @variable type: (_) @type)
{_PATTERNS}
(tuple_pattern|slice_pattern|reference_pattern|ref_pattern|mut_pattern|closure_parameters
  (identifier) @variable)
(function_item|function_signature_item return_type: (_) @type)
(struct_item body: (field_declaration_list (field_declaration name: (_) @variable type: (_) @type)))
(source_file (const_item|static_item name: (_) @variable type: (_) @type))
(block (const_item|static_item name: (_) @variable type: (_) @type))
(let_declaration pattern: (identifier) @variable type: (_) @type)
(let_declaration pattern: (identifier) @variable !type value: (_) @value)
(let_declaration pattern: (identifier) @variable !type !value)
([
  (let_declaration pattern: (tuple_struct_pattern type: (identifier) @when . (identifier) @variable .)
    value: (_) @value)
  (let_condition pattern: (tuple_struct_pattern type: (identifier) @when . (identifier) @variable .)
    value: (_) @value)
  (match_expression value: (_) @value body: (match_block (match_arm pattern: (match_pattern .
    (tuple_struct_pattern type: (identifier) @when . (identifier) @variable .)))))
] (#set! when "Some Ok"))
((for_expression pattern: (identifier) @variable value: (_) @value) (#set! element "yes"))
"""


class RustDefinitions(DefinitionRules):
    """The rules for definitions of Rust."""

    full_scopes = False


PATH_MAX = 120
"""Maximum bytes before a name that are searched for its path."""


_BEFORE = lazy_pattern(rb"[\w.:]*\Z")


_NO_CALL = lazy_pattern(rb"(?:\b(?:fn|mod|struct|enum|impl|let|for|if|while|match|in|return)\s+|[$#'@])\Z")


def called_in_tokens(source: bytes, name: Span) -> Span | None:
    """Return the range of the call at a name followed by a bracket, or None if it isn't a call.

    It begins with the path before the name (`self.x.len` of `len`); if the path contains another call or an
    element, it begins with a dot.
    """
    start, end = name
    if source[end : end + 1] not in {b"(", b"!"} or source[end : end + 2] == b"!=":
        return None
    match = _BEFORE.search(source, max(0, start - PATH_MAX), start)
    begun = match.start() if match is not None else start
    return None if _NO_CALL.search(source, max(0, begun - 10), begun) else (begun, end)


_PRELUDE = words(
    """
    Some None Ok Err Option Result Vec String Box ToString ToOwned Clone Copy Send Sync Sized Drop
    Fn FnMut FnOnce Iterator IntoIterator Extend DoubleEndedIterator ExactSizeIterator Default Eq
    Ord PartialEq PartialOrd AsRef AsMut Into From TryFrom TryInto FromIterator drop str bool char
    u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 std core alloc true false
    """
)
"""The prelude of the standard library (2021 and 2024), primitive types, and the crates of the language."""


class RustRules(LinkRules):
    """The link rules of Rust."""

    parts_max = 200
    self_names = frozenset({"self"})
    class_names = frozenset({"Self"})
    super_names = frozenset()
    wildcards_are_files = False
    class_kinds = frozenset({"struct", "enum", "union", "trait", "type"})
    opaque_types = frozenset({"T", "Any"})

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return the module at the beginning of a path, or a name of the prelude."""
        if name in _PRELUDE:
            return external(name)
        found = evaluator.module(path, "rust", name)
        return tuple(Value(What.MODULE, each) for each in found.paths)

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a module's meaning of a name: a definition, a re-export, or a submodule."""
        found = evaluator.module(path, language, module)
        if name == "*":
            if found.paths:
                return tuple(Value(What.MODULE, each) for each in found.paths)
            return UNKNOWN_VALUE if found.internal else external(module)
        for each in found.paths:
            if values := evaluator.module_member(each, name, depth):
                return values
        inside = evaluator.module(path, language, module, name)
        further = tuple(Value(What.MODULE, each) for each in inside.paths if each not in found.paths)
        if further or found.paths or found.internal:
            return (
                further
                or self._in_holder(evaluator, path, language, module, name, depth)
                or self._macro(evaluator, found.paths, name, depth)
            )
        return external(f"{module}::{name}")

    def adds_to(self, evaluator: NameLookup, path: str, name: str) -> bool:
        """Return whether a file extends a type of another file by an impl block."""
        interface = evaluator.interface(path)
        return interface is not None and name not in interface.names

    def _in_holder(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return the member of a type or a module in a path: `use crate::Kind::One`, or `shop::cart::Item` if
        `shop` only re-exports the modules of another crate."""
        outer, _, holder = module.rpartition("::")
        if not outer or depth > 8:
            return UNKNOWN_VALUE
        values = self.imported(evaluator, path, language, outer, holder, depth + 1)
        return tuple(
            found
            for value in values
            if value.what in {What.DEFINITION, What.MODULE}
            for found in evaluator.member(value, name, depth + 1)
        )

    def _macro(self, evaluator: NameLookup, paths: tuple[str, ...], name: str, depth: int) -> Values:
        """Return the macro that a crate exports at its root, whichever of its modules defines it.

        Only modules named after macros are searched, so that an unknown name doesn't read a whole crate.
        """
        for path in paths:
            interface = evaluator.interface(path)
            if interface is None or depth > 8:
                continue
            if interface.names.get(name) == "macro":
                return (Value(What.DEFINITION, path, name),)
            is_inside = "/macro" in path
            modules = (each for each in interface.bindings if each.module == "self" and each.scope < 0)
            for each in modules:
                if (is_inside or "macro" in each.imported) and evaluator.spend():
                    below = evaluator.module(path, "rust", "self", each.imported).paths
                    if values := self._macro(evaluator, below, name, depth + 1):
                        return values
        return UNKNOWN_VALUE


LANGUAGES = (
    Language(
        "rust",
        "rust",
        (".rs",),
        grammar="tree_sitter_rust:language",
        definitions=RUST,
        references=RUST_REFERENCES,
        facts=RUST_FACTS,
        definition_rules=RustDefinitions(),
        stalling=(b"[",),
        call_in_tokens=called_in_tokens,
        clause=used_names,
        lower_case_modules=True,
        declared_module=declared_module,
        package_name=str,
        imports=RustImports,
        config_files=(MANIFEST,),
        package_files=("/mod.rs", "/lib.rs", "/main.rs"),
        links=RustRules(),
    ),
)
