"""Import statements and references of a source: from query matches to imports, references and facts about
names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple, cast, get_args

from .chains import ELEMENT, EXPRESSION_MAX, INFERRED, chain_of, shortened, type_chains
from .definitions import BINDINGS, Captures, Match
from .language import Language, UseItem
from .qualified_names import type_name
from .records import (
    CHAIN_MAX,
    UNKNOWN,
    Binding,
    Export,
    Import,
    Owners,
    Reference,
    ReferenceKind,
    References,
    Symbol,
    TypeFact,
)
from .source_text import SourceText, Span, is_inside, merged_spans

REFERENCES_MAX = 50_000
"""Maximum number of references kept of a file, and of facts about its names. The largest file of Django 5.2
has 4,500; only generated files have more."""

SPAN_MAX = 4 * EXPRESSION_MAX
"""Maximum number of bytes decoded of an expression."""

KINDS: tuple[ReferenceKind, ...] = get_args(ReferenceKind)

Settings = Mapping[str, str | None]
"""The settings of a pattern in a query for facts.

The captures tell the fact: `@module` a binding, unless `fact` is `export`; `@package` a package, `@tree` an
import that is parsed from its text, `@declared` a Rust module; `@last` a reference of the kind `fact` with
several captures. Such a reference extends from `@first` to `@last`, belongs to the definition named by
`@owner`, and, without `@first`, is ignored if it is one of the words of `unless`. Any other pattern tells the
type or the value of `@variable`, or of the enclosing function's result if it has no variable.

`module`, `imported` and `bound` give values that the pattern doesn't capture. `element` says that the
value is iterated over, `root` that the import binds only the first part of its module, `last` only the last
part, `joined` that the package is inside the previous one. `prefix` is put before a variable's name.
`@member` is the member of `@value` to which a variable is bound. With `when` a match counts only if `@when`
is one of these words; tree-sitter's own predicates can crash when a query is freed."""


class ReferenceReader:
    """Collects the references of one code file; `symbols` are its definitions in source order, and `names`
    the ends of their names."""

    def __init__(
        self,
        text: SourceText,
        language: Language,
        symbols: Sequence[Symbol],
        names: AbstractSet[int] = frozenset(),
    ) -> None:
        self._names = names
        self._text = text
        self._language = language
        self._symbols = symbols
        self._owners = Owners(symbols)
        self._references: dict[_Place, int] = {}
        """The owner of each reference; -2 for the definition around it."""
        self._bindings: dict[Binding, None] = {}
        self._exports: dict[Export, None] = {}
        self._types: dict[TypeFact, None] = {}
        self._package = ""
        self._chains: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._written: dict[str, tuple[str, ...]] = {}
        self._bare: set[_Place] = set()
        self._holders = [self._holder(index) for index in range(len(symbols))]

    def read(self, spans: Mapping[str, Sequence[Span]]) -> None:
        """Read the ranges that the query of references captured, by kind.

        A `bare` name is a call unless it is a variable; a `token` is a name in the arguments of a Rust macro.
        """
        for kind in KINDS:
            self._read_kind(kind, spans.get(kind, ())[:REFERENCES_MAX])
        for start, end in spans.get("bare", ())[:REFERENCES_MAX]:
            self._bare.add((end, _CALL, self._text.name((start, end))))
            self._add("call", (start, end))
        if self._language.call_in_tokens is not None:
            for span in spans.get("token", ())[:REFERENCES_MAX]:
                called = self._language.call_in_tokens(self._text.source, span)
                if called is not None:
                    self._add("call", called)

    def read_facts(self, matches: Iterable[Match], settings: Sequence[Settings]) -> None:
        """Read the matches of the query of facts."""
        for pattern, captures in matches:
            chosen = settings[pattern]
            if (
                "when" in captures
                and self._text.name(captures["when"]) not in (chosen.get("when") or "").split()
            ):
                continue
            if "last" in captures:
                self._refer(captures, chosen)
            elif "package" in captures:
                package = chain_of(self._text.name(captures["package"]))
                outer = f"{self._package}." if self._package and chosen.get("joined") else ""
                self._package = f"{outer}{package}"[:CHAIN_MAX]
            elif "tree" in captures:
                self._use(captures)
            elif "declared" in captures:
                self._declare(captures)
            elif chosen.get("fact") == "export":
                self._export(captures, chosen)
            elif "module" in captures:
                self._bind(captures, chosen)
            else:
                self._know(captures, chosen)

    def found(self) -> References:
        """Return everything read, in source order."""
        defined = self._by_name()
        hidden = {
            (fact.name, fact.scope)
            for fact in self._types
            if fact.scope >= 0 and f"{self._symbols[fact.scope].name}.{fact.name}" not in defined
        }
        variables = {name for name, _ in hidden}
        claimed = {at for at, kind, _ in self._references if kind != _USE}
        kept: list[Reference] = []
        for place, owner in sorted(self._references.items()):
            at, kind, chain = place
            if at in self._names if kind == _CALL else kind == _USE and at in claimed:
                continue
            # A call counts at the line of its last name, because a fluent call spans many lines.
            line = self._text.line(at - 1 if kind == _CALL else at)
            scope = self._owners.around(line) if owner == _AROUND else owner
            may_be_variable = chain in variables and (kind == _USE or place in self._bare)
            if not (may_be_variable and self._is_variable(chain, scope, hidden)):
                kept.append(Reference(line, KINDS[kind], chain, scope))
        return References(
            tuple(kept[:REFERENCES_MAX]),
            tuple(self._bindings)[:REFERENCES_MAX],
            tuple(self._exports)[:REFERENCES_MAX],
            tuple(sorted(self._types, key=lambda fact: fact.line))[:REFERENCES_MAX],
            self._package,
        )

    def _read_kind(self, kind: ReferenceKind, spans: Sequence[Span]) -> None:
        """Read the references of a kind; equal short references, which are frequent, are parsed once."""
        source, references, order = self._text.source, self._references, _ORDER[kind]
        known: dict[bytes, tuple[str, ...]] = {}
        for start, end in spans:
            chains = None
            if end - start <= CHAIN_MAX:
                written = source[start:end]
                chains = known.get(written)
                if chains is None:
                    chains = known[written] = self._chains_at(kind, start, end)
            else:
                chains = self._chains_at(kind, start, end)
            for chain in chains:
                references.setdefault((end if order == _CALL else start, order, chain), _AROUND)

    def _add(self, kind: ReferenceKind, span: Span, owner: int = -2) -> None:
        start, end = span
        for chain in self._chains_at(kind, start, end):
            self._references.setdefault((end if kind == "call" else start, _ORDER[kind], chain), owner)

    def _chains_at(self, kind: ReferenceKind, start: int, end: int) -> tuple[str, ...]:
        """Return the chains of a reference: several for a union of types, none if it can't be followed."""
        # Only the end of an oversized expression is read, because nested ones would cost quadratic time.
        written = self._text.slice(max(start, end - CHAIN_MAX) if end - start > SPAN_MAX else start, end)
        if kind == "use" and written in _SELF:
            return ()  # most references in a class, with nothing to look up
        if kind == "type":
            # Containers belong to the language, so only the type of their elements is looked up.
            chains = tuple(
                chain.rpartition(ELEMENT)[2] for chain in self._types_of(written) if written not in INFERRED
            )
        else:
            chain = self._chain(written) if end - start <= SPAN_MAX else shortened(written)
            chains = (shortened(written) if kind == "call" and chain == UNKNOWN else chain,)
        return tuple(chain for chain in chains if chain and chain != UNKNOWN)

    def _refer(self, captures: Captures, settings: Settings) -> None:
        """Read a reference with several captures."""
        last = captures["last"]
        span = captures.get("first", last)[0], last[1]
        if "first" not in captures and self._text.name(span) in (settings.get("unless") or "").split():
            return
        owner = _AROUND
        if "owner" in captures:
            named = type_name(self._text.name(captures["owner"])).rpartition(".")[2]
            owner = self._symbol(named, self._owners.around(self._text.line(span[0])))
        self._add(cast("ReferenceKind", settings["fact"]), span, owner)

    def _symbol(self, name: str, around: int) -> int:
        """Return the index of the nearest definition of a name: inside a symbol, inside those that enclose
        it, or at the top. Return `around` if there is none."""
        places = self._by_name()
        scope = around
        while scope >= 0:
            inner = places.get(f"{self._symbols[scope].name}.{name}")
            if inner is not None:
                return inner
            scope = self._owners.outer(scope)
        return places.get(name, around)

    def _by_name(self) -> dict[str, int]:
        """Return the indexes of the symbols by their names."""
        if not self._places:
            self._places.update({each.name: index for index, each in enumerate(self._symbols)})
        return self._places

    def _use(self, captures: Captures) -> None:
        """Read the names that an import introduces, and with `@exported` re-exports."""
        span = captures["tree"]
        line = self._text.line(span[0])
        inside = self._inside(line)
        scope = -1 if self._language.imports_hold_in_file else self._function(line)
        clause = self._language.clause
        for use in clause(self._text.slice(*span), inside) if clause is not None else ():
            self._bring(use, scope)
            if "exported" in captures and use.name != "_":
                self._exports[Export(".".join((*inside, use.name)), use.module, use.imported)] = None

    def _declare(self, captures: Captures) -> None:
        """Read the declaration of a module in another file."""
        start, _ = captures["declared"]
        line = self._text.line(start)
        before = self._text.slice(max(0, start - ATTRIBUTES_MAX), start)
        declared = self._language.declared_module
        if declared is not None:
            use, _ = declared(self._text.name(captures["declared"]), before, self._inside(line))
            self._bring(use, self._function(line))

    def _bring(self, use: UseItem, scope: int) -> None:
        if use.name != "_":
            self._bindings[Binding(use.name, use.module, use.imported, scope)] = None

    def _inside(self, line: int) -> tuple[str, ...]:
        """Return the names of the inline modules that enclose a line."""
        scope = self._owners.around(line)
        while scope >= 0 and self._symbols[scope].kind != "module":
            scope = self._owners.outer(scope)
        return tuple(self._symbols[scope].name.split(".")) if scope >= 0 else ()

    def _chain(self, written: str) -> str:
        """Return the chain of an expression, cached: files repeat expressions, and long ones take time."""
        if self._language.chain is not None:
            return self._language.chain(written)
        if written not in self._chains:
            self._chains[written] = chain_of(written, marks=self._language.marked_names)
        return self._chains[written]

    def _types_of(self, written: str) -> tuple[str, ...]:
        """Return the chains of a written type, cached."""
        if written not in self._written:
            self._written[written] = type_chains(written)
        return self._written[written]

    def _bind(self, captures: Captures, settings: Settings) -> None:
        module = self._module(captures, settings)
        imported = self._said("imported", captures, settings) or "*"
        name = self._said("bound", captures, settings) or imported
        if settings.get("root"):
            module = name = module.partition(".")[0]
            imported = "*"
        if settings.get("last") and self._language.package_name is not None:
            name = self._language.package_name(module)
        if module and name:
            span = captures.get("module") or next(iter(captures.values()))
            scope = self._function(self._text.line(span[0]))
            self._bindings[Binding(name, module, imported, scope)] = None

    def _export(self, captures: Captures, settings: Settings) -> None:
        imported = self._said("imported", captures, settings)
        if "imported" in captures:
            imported = chain_of(imported)
        name = self._said("exported", captures, settings) or imported
        module = self._module(captures, settings)
        if name and (imported or module) and imported != UNKNOWN:
            self._exports[Export(name, module, imported)] = None

    def _know(self, captures: Captures, settings: Settings) -> None:
        """Record a fact about a variable. A variable with an unknown value still shadows others of its
        name."""
        span = captures.get("variable") or captures.get("type") or captures["value"]
        line = self._text.line(span[0])
        name = self._chain(self._text.name(span)) if "variable" in captures else "()"
        name = f"{settings.get('prefix') or ''}{name}"
        scope = self._owners.around(line) if name == "()" else self._function(line)
        if not name or name == UNKNOWN or len(name) > CHAIN_MAX:
            return
        chains: tuple[str, ...] = ("",)
        written = self._text.slice(*captures["type"]) if "type" in captures else ""
        is_typed = bool(written) and written not in INFERRED
        if is_typed:
            chains = self._types_of(written) or ("",)
        elif "value" in captures:
            value = self._chain(self._text.slice(*captures["value"]))
            if "member" in captures and value != UNKNOWN:
                value = f"{value}.{self._text.name(captures['member'])}"
            chains = ("",) if value == UNKNOWN else (f"{value}[]" if settings.get("element") else value,)
        for chain in chains:
            self._types[TypeFact(name, chain, is_typed and bool(chain), line, scope)] = None

    def _module(self, captures: Captures, settings: Settings) -> str:
        module = self._said("module", captures, settings)
        if "outer" in captures:
            module = f"{self._text.name(captures['outer'])}\\{module}"
        return module[1:-1] if module[:1] in {'"', "'", "`"} else "".join(module.split()).strip("\\")

    def _said(self, what: str, captures: Captures, settings: Settings) -> str:
        if what in captures:
            return self._text.name(captures[what])
        return settings.get(what) or ""

    def _is_variable(self, chain: str, scope: int, hidden: set[tuple[str, int]]) -> bool:
        """Return whether a chain is only a variable of an enclosing function."""
        while scope >= 0:
            if (chain, scope) in hidden:
                return True
            scope = self._owners.outer(scope)
        return False

    def _function(self, line: int) -> int:
        """Return the innermost symbol with a scope around a line; variables have none."""
        scope = self._owners.around(line)
        return self._holders[scope] if scope >= 0 else -1

    def _holder(self, scope: int) -> int:
        while scope >= 0 and self._symbols[scope].kind in BINDINGS:
            scope = self._owners.outer(scope)
        return scope


_SELF = frozenset({"self", "this", "$this"})

_ORDER = {kind: place for place, kind in enumerate(cast("tuple[str, ...]", KINDS))}
_CALL, _USE = _ORDER["call"], _ORDER["use"]

_Place = tuple[int, int, str]
"""The key of a reference: an offset (the start of the reference, but the end of a call's target), the index
of its kind in `KINDS`, and its chain."""

_AROUND: Final = -2
"""The owner of a reference that belongs to the definition around it."""


IMPORTS_MAX = 10_000
"""Maximum number of imports kept of a file where specifiers are paths and expressions; git's files have 129
at most."""


LEAD = 400
"""Maximum number of bytes before an import that are searched for a check that its file exists."""

WRITTEN_MAX = 400
"""Maximum number of bytes read of a specifier."""

ATTRIBUTES_MAX = 300
"""Maximum number of bytes before a module's name that are read for its attributes."""

INLINE_MAX = 32
"""Maximum nesting of inline modules."""


class ImportReader:
    """Collects the imports of one code file from its query matches."""

    def __init__(self, text: SourceText, language: Language) -> None:
        self._text = text
        self._source = text.source
        self._language = language
        self._found: dict[tuple[int, str, str], Import] = {}
        self._statements: set[int] = set()
        self._optional: list[Span] = []

    def read(self, matches: Iterable[Match]) -> None:
        """Read the matches of the query for definitions, some of which are imports."""
        imports = []
        modules: dict[int, tuple[int, bool]] = {}
        blocks: list[UseBlock] = []
        for _, captures in matches:
            if "module" in captures:
                imports.append(captures)
            elif "handler" in captures:
                self._add_handler(captures)
            elif "tree" in captures or "declared" in captures:
                span = captures.get("tree") or captures["declared"]
                modules[span[0]] = (span[1], "tree" in captures)
            elif "block" in captures:
                blocks.append(UseBlock(*captures["block"], self._text.name(captures["inline"])))
        for start, inside in inside_of(modules, blocks):
            self._add_module(start, *modules[start], inside)
        self._optional = merged_spans(self._optional)
        for captures in imports:
            self._add(captures)

    def read_calls(self, matches: Iterable[Match]) -> None:
        """Read the matches of the query for imports written as calls."""
        names = self._language.import_calls
        for _, captures in matches:
            start, end = captures["function"]
            if self._source[start:end] in names:
                self._add(captures)

    def imports(self) -> list[Import]:
        """Return the imports in source order."""
        return [imported for _, imported in sorted(self._found.items())]

    def _add_handler(self, captures: Captures) -> None:
        """Record a block that handles failing imports."""
        start, end = captures["handler"]
        clause = self._source[start : min(end, start + 200)].partition(b":")[0]
        if re.search(rb"ImportError|ModuleNotFoundError|\bException\b|^except\s*$", clause):
            self._optional.append(captures["optional"])

    def _add(self, captures: Captures) -> None:
        if self._language.specifier is not None:
            self._add_written(captures)
            return
        start = captures["module"][0]
        module = self._text.name(captures["module"])
        is_bare = self._language.bare_modules
        if not is_bare or "function" in captures:
            module = module[1:-1] if module[:1] in {'"', "'", "`"} else ""
        elif not module.isidentifier():
            module = "".join(module.replace("\\", " ").split())
        # No real file has an escape or a line end in its specifier.
        if not module or len(module) > 1000 or "\\" in module or "\n" in module:
            return
        is_dynamic = is_bare and "function" in captures
        if is_dynamic and module.startswith("."):
            return  # relative to a package that is another argument
        required = not is_dynamic and not is_inside(self._optional, start)
        if start not in self._statements:
            self._statements.add(start)
            self._found[start, module, ""] = Import(module, "", self._text.line(start), required)
        if "imported" in captures:
            imported = captures["imported"]
            name = self._text.name(imported)
            line = self._text.line(imported[0])
            self._found[imported[0], module, name] = Import(module, name, line, required=False)

    def _add_written(self, captures: Captures) -> None:
        """Record an import whose specifier is a path or an expression."""
        start, end = captures["module"]
        called = self._text.name(captures["function"]) if "function" in captures else ""
        written = self._text.slice(start, end) if end - start <= WRITTEN_MAX else ""
        if "outer" in captures:
            written = f"{self._text.name(captures['outer'])}\\{written}"
        read = self._language.specifier
        lead = self._text.slice(max(0, start - LEAD), start)
        found = read(called, written.strip(), lead) if read is not None else None
        is_named = found is not None and found.module and "\n" not in found.module
        if found is not None and is_named and len(self._found) < IMPORTS_MAX:
            self._found[start, found.module, ""] = Import(
                found.module, "", self._text.line(start), found.required
            )

    def _add_module(self, start: int, end: int, is_used: bool, inside: tuple[str, ...]) -> None:
        """Record the names of an import, or a declared module."""
        written, line = self._text.slice(start, end), self._text.line(start)
        language = self._language
        if not is_used:
            if language.declared_module is not None:
                before = self._text.slice(max(0, start - ATTRIBUTES_MAX), start)
                use, required = language.declared_module(written, before, inside)
                name = use.imported if use.imported != "*" else ""
                self._found[start, use.module, name] = Import(use.module, name, line, required)
            return
        is_lower = language.lower_case_modules
        for use in language.clause(written, inside) if language.clause is not None else ():
            if is_lower or use.imported == "*":
                self._found.setdefault((start, use.module, ""), Import(use.module, "", line))
            if use.imported[0].islower() if is_lower else use.imported != "*":
                self._found[start, use.module, use.imported] = Import(
                    use.module, use.imported, line, required=False
                )


class UseBlock(NamedTuple):
    """The body of an inline module, in bytes."""

    start: int
    end: int
    name: str


def inside_of(offsets: Iterable[int], blocks: Iterable[UseBlock]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield offsets in order, each with the names of the inline modules around it, outermost first."""
    waiting = sorted(blocks, reverse=True)
    around: list[UseBlock] = []
    for offset in sorted(offsets):
        while waiting and waiting[-1].start <= offset:
            around.append(waiting.pop())
            while len(around) > 1 and around[-2].end < around[-1].end:
                del around[-2]
        while around and around[-1].end <= offset:
            around.pop()
        yield offset, tuple(block.name for block in around[-INLINE_MAX:])
