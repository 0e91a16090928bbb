"""Definitions of a source, read from query matches; their names aren't qualified yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from .language import BoundName, DefinitionRules
from .qualified_names import assigned, declared, own_name, receiver_type, split_path, type_name
from .source_text import SourceText, Span, is_inside, merged_spans

BINDINGS = frozenset({"constant", "variable"})
"""The kinds of symbols that bind a name to a value."""

Captures = dict[str, Span]
"""The captures of a match: the first range of each name."""

Match = tuple[int, Captures]
"""The index of the matching pattern and its captures."""


class PatternSettings(NamedTuple):
    """The settings of a query's pattern: the kind and default name of its matches, and when they hold."""

    kind: str
    name: str
    when: frozenset[str] = frozenset()
    only: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, str | None]) -> PatternSettings:
        """Return a pattern's settings; the pattern of an import has none."""
        words = settings.get("when") or ""
        return cls(
            settings.get("kind") or "",
            settings.get("name") or "",
            frozenset(words.split()),
            bool(settings.get("only")),
        )


class ParsedDefinition(Struct):
    """A definition as written, before its name is qualified. All offsets are in bytes.

    It spans `start` to `end`, with decorators; its head `head` to `head_end`. `owner` qualifies the name of a
    definition written outside of its owner.
    """

    start: int
    end: int
    head: int
    head_end: int
    name: str
    kind: str
    body: int
    owner: str = ""
    rank: int = 0
    tail: int = 0
    """Where the last of the parts begins in which the definition is written."""


class DefinitionReader:
    """Collects the definitions of one code file from its query matches."""

    def __init__(self, text: SourceText, rules: DefinitionRules, patterns: Sequence[PatternSettings]) -> None:
        self._text = text
        self._source = text.source
        self._rules = rules
        self._patterns = patterns
        self._found: dict[tuple[int, str], ParsedDefinition] = {}
        self._decorators: list[Span] = []
        self._locals: list[Span] = []
        self._leads: dict[int, int] = {}
        self._claims: dict[int, int] = {}
        self.names: set[int] = set()
        """The ends of the names of definitions, which some grammars take for calls."""

    def read(self, matches: Iterable[Match]) -> None:
        """Read the matches of the query for definitions; matches of imports are skipped."""
        for pattern, captures in matches:
            when = self._patterns[pattern].when
            if when and self._text.name(captures["when"]) not in when:
                continue
            if "def" in captures:
                self._add(pattern, captures)
            elif "decorator" in captures:
                self._decorators.append(captures["decorator"])
            elif "lead" in captures:
                self._leads[captures["of"][0]] = captures["lead"][0]
            elif "local" in captures:
                self._locals.append(captures["local"])

    def definitions(self) -> list[ParsedDefinition]:
        """Return the definitions in source order, outer ones before inner ones."""
        blocks = merged_spans(self._locals)
        found = [
            each
            for each in self._found.values()
            if not (each.kind in _LOCAL_KINDS and is_inside(blocks, each.start))
            and self._claims.get(each.start, each.rank) == each.rank
        ]
        for definition in found:
            lead = self._leads.get(definition.start)
            if lead is not None:
                definition.start = definition.head = lead
        return self._whole(sorted(found, key=lambda each: (each.start, -each.end)))

    def _whole(self, found: Iterable[ParsedDefinition]) -> list[ParsedDefinition]:
        """Join definitions that are written in several parts, one behind the other."""
        whole: list[ParsedDefinition] = []
        for each in found:
            last = whole[-1] if whole else each
            same = (each.name, each.kind, each.owner) == (last.name, last.kind, last.owner)
            if same and each.start >= last.end and self._rules.goes_on(self._source[last.tail : last.end]):
                last.tail, last.end = each.start, each.end
            else:
                each.tail = each.start
                whole.append(each)
        return whole

    def decorators(self) -> list[Span]:
        """Return the ranges of the decorators, in order."""
        return sorted(self._decorators)

    def _add(self, pattern: int, captures: Captures) -> None:
        start, end = captures["def"]
        kind, name, _, is_only = self._patterns[pattern]
        if is_only:
            self._claims[start] = pattern
        if "name" in captures:
            self.names.add(captures["name"][1])
        body = captures["body"][0] if "body" in captures else -1
        owner = ""
        if "target" in captures:
            name, owner = self._assigned(captures, kind, body)
        elif "declarator" in captures:
            name, owner, kind = self._declared(captures, kind)
        elif "path" in captures:
            name, owner = self._path(captures["path"], kind)
        elif not name:
            name = self._rules.name_of(self._text.name(captures.get("name", (start, max(body, start)))))
        if name in ("", "_") or ("tag" in captures and self._text.name(captures["tag"]) == name):
            return
        if kind == "scope":
            name = type_name(name)
            name = name if self._rules.full_scopes else name.rpartition(".")[2]
        if "receiver" in captures:
            owner = receiver_type(self._text.name(captures["receiver"]))
        if "owner" in captures:
            owner = type_name(self._text.name(captures["owner"]))
        if kind in BINDINGS:
            kind = self._binding(kind, name, captures)
        if not kind:
            return
        known = self._found.get((start, name))
        if known is None or pattern < known.rank:
            while end > start and self._source[end - 1] in b" \t\n":
                end -= 1  # some grammars let a body end where the next line begins
            head_end = captures["head"][1] if "head" in captures else body if body >= 0 else end
            if body >= end:  # a body beside the node of its head
                end = captures["body"][1]
            self._found[start, name] = ParsedDefinition(
                start, end, start, head_end, name, kind, body, owner, pattern
            )

    def _assigned(self, captures: Captures, kind: str, body: int) -> tuple[str, str]:
        """Return the name and the owner of an assignment to a member, both empty if it defines nothing."""
        start, end = captures["def"]
        name, owner = assigned(self._text.name(captures["target"]))
        if name == "exports":
            named = own_name(self._source[start:body]) if kind == "function" else ""
            name = named or "module.exports"
        value = self._source[start : min(end, start + 400)].partition(b"=")[2].lstrip()
        if kind == "constant" and value.startswith(b"require("):
            return "", ""  # the name is only another one of a module
        return name, owner

    def _path(self, span: Span, kind: str) -> tuple[str, str]:
        """Return the name and the owner in a path; the name of a scope keeps the whole path."""
        path = self._text.name(span)
        if kind == "scope":
            return path, ""
        owner, name = split_path(path)
        return name, owner

    def _declared(self, captures: Captures, kind: str) -> tuple[str, str, str]:
        """Return name, owner and kind of a C declarator; no name if it declares a mere field."""
        path, is_function = declared(self._text.name(captures["declarator"]))
        if kind == "field":
            kind = "prototype" if is_function else ""
        elif kind == "prototype" and not is_function:
            kind = "variable"
        owner, name = split_path(path)
        return (name, owner, kind) if kind and name not in _STATEMENTS else ("", "", "")

    def _binding(self, kind: str, name: str, captures: Captures) -> str:
        """Return whether a binding is a constant or a variable; an empty string if it only names an
        import."""
        start, end = captures["def"]
        declarator = captures.get("declarator")
        written = self._source[start : min(declarator[0] if declarator else end, start + 400)]
        before = self._source[max(self._text.line_start(start), start - 200) : start]
        return self._rules.binding_kind(BoundName(kind, name, before, written, declarator is not None))


# The grammar's reading of a statement after a macro without a semicolon.
_STATEMENTS = frozenset({"if", "for", "while", "switch", "return", "do", "else", "sizeof", "struct"})
_LOCAL_KINDS = frozenset({"constant", "variable", "extern", "prototype"})
