"""Elixir: modules and their functions, aliases and imports, and the conventional files of modules.

A module's name is a single name with dots, `Shop.Cart`: in chains `JOINT` replaces the dots, so that
`Shop.Cart.total` is the chain `Shop·Cart.total`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..core.relative_paths import nearness
from ..core.vocabulary import words
from .shared.language import BoundName, DefinitionRules, ImportLookup, Language, UseItem, key_of
from .shared.link_rules import UNKNOWN_VALUE, LinkRules, NameLookup, Value, Values, What, external
from .shared.records import CHAIN_MAX, JOINT, UNKNOWN, Import
from .shared.source_text import MAX_NAME, lazy_pattern

if TYPE_CHECKING:
    from .shared.source_text import Span


# The grammar parses a definition as a call of `def` whose argument is the defined head, itself a call.
_FUNCTIONS = "def defp defdelegate defguard defguardp defn defnp"
_MACROS = "defmacro defmacrop"
_HEADS = (
    "(call target: (identifier) @name) @head",
    "(identifier) @name @head",
    '(binary_operator left: (call target: (identifier) @name) operator: "when") @head',
    '(binary_operator left: (identifier) @name operator: "when") @head',
)

DEFINITIONS = """
((call target: (identifier) @when (arguments . (alias) @name) (do_block) @body) @def
  (#set! when "defmodule") (#set! kind "module"))
((call target: (identifier) @when (arguments . (alias) @name) (do_block) @body) @def
  (#set! when "defprotocol") (#set! kind "protocol"))
((call target: (identifier) @when
    (arguments . (alias) @name (keywords (pair value: (alias) @owner))) (do_block) @body) @def
  (#set! when "defimpl") (#set! kind "module"))
((call target: (identifier) @when (arguments . (alias) @name .) (do_block) @body) @def
  (#set! when "defimpl") (#set! kind "module"))
((call target: (identifier) @when (arguments . (string (quoted_content) @name)) (do_block) @body) @def
  (#set! when "test") (#set! kind "function"))
((unary_operator operand: (call target: (identifier) @name (arguments))) @def (#set! kind "constant"))
((unary_operator operand: (call target: (identifier) @when (arguments
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)])))) @def
  (#set! when "type typep opaque") (#set! kind "type"))
((unary_operator operand: (call target: (identifier) @when (arguments
    (binary_operator left: (call target: (identifier) @name))))) @def
  (#set! when "callback macrocallback") (#set! kind "prototype"))
(call target: (identifier) (arguments . [(alias) (dot)])) @tree
""" + "".join(
    f"((call target: (identifier) @when (arguments . {head})) @def\n"
    f'  (#set! when "{defined}") (#set! kind "{kind}"))\n'
    for defined, kind in ((_FUNCTIONS, "function"), (_MACROS, "macro"))
    for head in _HEADS
)

REFERENCES = """
(call target: (identifier) @token)
(call target: (dot left: (alias) right: (identifier)) @token)
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @use operator: "/"))
(struct (alias) @use)
"""

FACTS = """
((call target: (identifier) @when (arguments . [(alias) (dot)])) @tree (#set! when "alias import require"))
((call target: (identifier) @when (arguments . (alias) @last)) (#set! fact "inherit")
  (#set! when "use defimpl"))
((unary_operator operand: (call target: (identifier) @when (arguments . (alias) @last)))
  (#set! fact "inherit") (#set! when "behaviour"))
((call target: (dot left: (identifier) @when right: (identifier)) @last) (#set! fact "call")
  (#set! when "__MODULE__"))
"""

_ATTRIBUTES = words(
    """
    after_compile before_compile behaviour callback compile deprecated derive dialyzer doc enforce_keys
    external_resource fallback_to_any file impl macrocallback moduledoc moduletag describetag nifs
    on_definition on_load opaque optional_callbacks since spec tag type typedoc typep vsn
    """
)
"""Module attributes for the compiler, tests or readers, which hold no value."""

_SPECIAL = words(
    """
    alias and case cond def defdelegate defexception defguard defguardp defimpl defmacro defmacrop
    defmodule defoverridable defp defprotocol defstruct describe fn for if import in not or quote raise
    receive require reraise rescue setup setup_all super test throw try unless unquote unquote_splicing
    use when with
    """
)
"""Constructs that look like calls but call nothing of a project."""

_KERNEL = words(
    """
    abs apply assert assert_raise assert_receive assert_received binary_part binary_slice binding bit_size
    byte_size ceil dbg destructure div elem exit flunk floor function_exported? get_and_update_in get_in hd
    inspect is_atom is_binary is_bitstring is_boolean is_exception is_float is_function is_integer is_list
    is_map is_map_key is_nil is_number is_pid is_port is_reference is_struct is_tuple length
    macro_exported? make_ref map_size match? max min node on_exit pop_in put_elem put_in refute
    refute_receive refute_received rem round self send sigil_c sigil_r sigil_s sigil_w spawn spawn_link
    spawn_monitor struct struct! tap then tl to_charlist to_string to_timeout trunc tuple_size update_in
    """
)
"""The functions and macros of Kernel (Elixir 1.18), and ExUnit's assertions."""


class ElixirDefinitions(DefinitionRules):
    """The rules for definitions of Elixir."""

    keeps_inner_owners = False  # a protocol's implementation inside a module belongs to the module

    def binding_kind(self, bound: BoundName) -> str:
        """Return an empty string for an attribute that holds no value."""
        return "" if bound.name in _ATTRIBUTES else bound.kind

    def doc_text(self, source: bytes, start: int) -> str | None:
        """Return the text of `@moduledoc` inside of a module, else of `@doc` above."""
        inside = _MODULE_DOC.match(source, start, start + _DOC_MAX)
        if inside is not None:
            return _quoted(source, inside)
        floor = max(0, start - _DOC_MAX)
        above = source.rfind(b"@doc", floor, start)
        above = max(above, source.rfind(b"@typedoc", floor, start))
        match = _DOC.match(source, above, start) if above >= 0 else None
        if match is None:
            return None
        text = _quoted(source, match)
        behind = source[match.end() + len(text.encode()) : start]
        return text if _OTHER.search(behind) is None else None


_DOC_MAX = 8_000
_MODULE_DOC = lazy_pattern(rb"def(?:module|protocol|impl)\s[^\n]*?\bdo\s+@moduledoc\s+(?:~[sS])?(\"\"\"|\")")
_DOC = lazy_pattern(rb"@(?:type)?doc\s+(?:~[sS])?(\"\"\"|\")")
_OTHER = lazy_pattern(rb"^[ \t]*(?:def\w*|end|describe|test|@(?:type|typep|opaque|callback))\b", re.MULTILINE)


def _quoted(source: bytes, opening: re.Match[bytes]) -> str:
    """Return the text from a quote to its closing quote."""
    end = source.find(opening[1], opening.end(), opening.end() + _DOC_MAX)
    end = end if end >= 0 else opening.end() + _DOC_MAX
    return source[opening.end() : end].decode("utf-8", "ignore")


def _call(source: bytes, name: Span) -> Span | None:
    """Return the range of a call's target, None for the head of a definition and for words of the
    language."""
    start, end = name
    if source[start:end].decode("utf-8", "ignore") in _SPECIAL:
        return None
    line = source.rfind(b"\n", 0, start) + 1
    return None if _NO_CALL.search(source[max(line, start - 400) : start]) else name


_NO_CALL = lazy_pattern(rb"(?:\bdef\w*[ \t(]+|@)\Z|\A\s*@(?:spec|type|typep|opaque|callback|macrocallback)\b")


def _chain(written: str) -> str:
    """Return the chain of a name, a module, or a module's function."""
    match = _NAMED.fullmatch(written)
    if match is None or len(written) > CHAIN_MAX:
        return UNKNOWN
    module = re.sub(r"\s*\.\s*", JOINT, match["module"] or "")
    return ".".join(part for part in (module, match["name"]) if part)


_NAMED = lazy_pattern(
    r"(?P<module>[A-Z]\w*(?:\s*\.\s*[A-Z]\w*)*|__MODULE__)?(?:(?:(?<=\w)\s*\.\s*|\A)(?P<name>[a-z_]\w*[?!]?))?"
)


def _uses(clause: str, _inside: tuple[str, ...]) -> list[UseItem]:
    """Return the names that `alias`, `import`, `require` and `use` introduce; for `use` only the file."""
    match = _CLAUSE.match(clause)
    if match is None:
        return []
    word, module = match[1], re.sub(r"\s+", "", match[2])
    names = [part.strip() for part in (match[3] or "").split(",")]
    modules = [f"{module}.{name}" for name in names if name] if match[3] is not None else [module]
    renamed = _AS.search(clause, match.end())
    found = []
    for each in modules:
        name = {"alias": each.rpartition(".")[2], "import": "*"}.get(word, "_")
        if word in ("alias", "require") and renamed is not None:
            name = renamed[1]
        if len(each) <= MAX_NAME:
            found.append(UseItem(each, "*", name))
    return found


_MODULE = r"[A-Z]\w*(?:\s*\.\s*[A-Z]\w*)*"
_CLAUSE = lazy_pattern(rf"(alias|import|require|use)[\s(]+({_MODULE})(?:\s*\.\s*\{{([^{{}}]*)\}})?(?![\w.])")
_AS = lazy_pattern(r"\bas:\s*([A-Z]\w*)")


_NESTED_MIN = 3
"""Minimum parts of a name that may be a module inside of another module's file."""


class ElixirImports(ImportLookup):
    """Elixir: `Shop.Cart` is by convention `shop/cart.ex` below a `lib`, or in the file of `Shop`.

    Extra folders may group files of a kind (`shop_web/controllers/cart_controller.ex`).
    """

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the file of a module, or of the module around it; None if it is unknown."""
        parts = [underscored(part) for part in imported.module.split(".")]
        found = self._file(parts, importer)
        if found is not None or len(parts) < _NESTED_MIN:
            return found
        outer = self._file(parts[:-1], importer)
        # If a module has a folder of its own, its inner modules are there and not in its file.
        return outer if outer is not None and not self._folders.exists(outer.rpartition(".")[0]) else None

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which a module waits: its own file's, and that of the enclosing module."""
        return [key_of(underscored(part)) for part in imported.module.split(".")[-2:]]

    def _file(self, parts: list[str], importer: str) -> str | None:
        path = "/".join(parts)
        # A name of one part may be a common word, which many files have as their name.
        roots = ("lib/", "") if len(parts) > 1 else ("lib/", "support/", "test/")
        for tail in (f"{root}{path}{ending}" for ending in (".ex", ".exs") for root in roots):
            found = self._folders.nearest(tail, importer)
            if found is not None:
                return found
        if len(parts) < 2:
            return None
        named = [
            path for ending in (".ex", ".exs") for path in self._folders.ending_with(f"{parts[-1]}{ending}")
        ]
        below = [path for path in named if _is_in_order(parts[:-1], path.split("/")[:-1])]
        # Mix compiles test/support for tests; its files are named by the last part alone.
        below = below or [path for path in named if "support" in path.split("/")[:-1]]
        return min(below, key=lambda path: nearness(path, importer), default=None)


def underscored(name: str) -> str:
    """Return the file name for a module: `http_client` for `HTTPClient`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _is_in_order(parts: list[str], folders: list[str]) -> bool:
    """Return whether folders contain all parts in order, perhaps with others between."""
    waiting: Iterator[str] = iter(folders)
    return all(part in waiting for part in parts)


class ElixirRules(LinkRules):
    """Elixir: a module's functions are its members, wherever the module's name comes from."""

    self_names = frozenset()
    class_names = frozenset({"__MODULE__"})
    super_names = frozenset()
    implicit_members = True
    wildcards_are_files = False
    passes_imports_on = False
    class_kinds = frozenset({"module", "protocol"})

    def ambient(self, evaluator: NameLookup, path: str, name: str) -> Values:
        """Return the module of a full name, also of one that begins with an alias, or Kernel's definition."""
        if not name[:1].isupper():
            return external(name) if name in _KERNEL else UNKNOWN_VALUE
        first, _, rest = name.partition(JOINT)
        outer = evaluator.top(path, first) if rest else UNKNOWN_VALUE
        for value in outer:
            if value.what is What.DEFINITION:
                module = f"{value.name}.{rest.replace(JOINT, '.')}"
                return self.imported(evaluator, path, "elixir", module, "*", 1)
        return self.imported(evaluator, path, "elixir", name.replace(JOINT, "."), "*", 1)

    def imported(
        self, evaluator: NameLookup, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a module by its full name, or its definition of a name."""
        found = evaluator.module(path, language, module)
        wanted = module if name == "*" else f"{module}.{name}"
        for each in found.paths:
            interface = evaluator.interface(each)
            if interface is not None and wanted in interface.names:
                return (Value(What.DEFINITION, each, wanted),)
        # A name that begins like a module of the project may be in a file of any name.
        near = found.paths or evaluator.module(path, language, module.partition(".")[0]).paths
        return UNKNOWN_VALUE if near else external(wanted)


LANGUAGES = (
    Language(
        "elixir",
        "elixir",
        (".ex", ".exs"),
        ("mix.lock",),
        ("elixir",),
        comment="#",
        grammar="tree_sitter_elixir:language",
        definitions=DEFINITIONS,
        references=REFERENCES,
        facts=FACTS,
        definition_rules=ElixirDefinitions(),
        chain=_chain,
        call_in_tokens=_call,
        clause=_uses,
        imports_hold_in_file=True,
        imports=ElixirImports,
        found_by_ending=(".ex", ".exs"),
        links=ElixirRules(),
    ),
)
