"""Further languages, by tables of node kinds in tail.toml: definitions, signatures, and calls by name.

A row of a table is the kind of a definition and the node that is one, in the language of queries. `kind:a,b`
holds only if the text of `@when` is one of these words, `kind=name` gives the name, and `kind!` hides other
definitions that begin there. The whole node is the definition unless another is marked `@def`; the other
captures are described in `languages/__init__.py`. Nothing is resolved: a reference says only the name of what
it calls.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec.structs import replace

from . import c, python
from .shared.language import BoundName, DefinitionRules, Language
from .shared.records import CHAIN_MAX, UNKNOWN
from .shared.source_text import lazy_pattern


class _Clojure(DefinitionRules):
    def doc_text(self, source: bytes, start: int) -> str | None:
        match = _CLOJURE_DOC.match(source, start, start + _DOC_MAX)
        return match[1].decode("utf-8", "ignore") if match is not None else None


_DOC_MAX = 8_000
_CLOJURE_DOC = lazy_pattern(rb"\(def\S*\s+(?:\^\S+\s+)*[^\s\"()\[\]]+\s+\"((?:[^\"\\]|\\.)*)\"")


class _Dart(DefinitionRules):
    leading_words = True


class _Erlang(DefinitionRules):
    def goes_on(self, before: bytes) -> bool:
        return before.endswith(b";") or before.startswith(b"-spec")


class _GraphQl(DefinitionRules):
    def doc_text(self, source: bytes, start: int) -> str | None:
        match = _DESCRIPTION.match(source, start, start + _DOC_MAX)
        return match[2].decode("utf-8", "ignore") if match is not None else None


_DESCRIPTION = lazy_pattern(rb"(\"\"\"|\")(.*?)\1", re.DOTALL)


class _Haskell(DefinitionRules):
    def goes_on(self, before: bytes) -> bool:
        return True


class _Hcl(DefinitionRules):
    def name_of(self, written: str) -> str:
        return ".".join(written.replace('"', " ").split())


class _PowerShell(DefinitionRules):
    def name_of(self, written: str) -> str:
        return written.rpartition(":")[2]


class _Sql(DefinitionRules):
    def name_of(self, written: str) -> str:
        return _QUOTES.sub("", written)


_QUOTES = lazy_pattern(r"[\"`\[\]]")


class _Zig(DefinitionRules):
    def binding_kind(self, bound: BoundName) -> str:
        if b"@import(" in bound.written:
            return ""
        return "variable" if b"var" in bound.written.partition(bound.name.encode())[0].split() else bound.kind


_RULES = {
    "clojure": _Clojure(),
    "dart": _Dart(),
    "erlang": _Erlang(),
    "graphql": _GraphQl(),
    "haskell": _Haskell(),
    "hcl": _Hcl(),
    "powershell": _PowerShell(),
    "sql": _Sql(),
    "zig": _Zig(),
}

_MORE = {
    "graphql": "(description) @decorator",
    "objective-c": c.C,
    "ocaml": "(value_definition . (let_binding) @of) @lead\n(type_definition . (type_binding) @of) @lead",
}
"""Patterns that are no rows of a table."""


def _query(table: str) -> str:
    """Return the query of a table of definitions; a row goes on in lines that begin with a space."""
    patterns = []
    for row in table.strip().replace("\n ", " ").split("\n"):
        head, _, node = row.partition(" ")
        head, _, name = head.partition("=")
        kind, _, words = head.partition(":")
        settings = f'(#set! kind "{kind.rstrip("!")}")'
        settings += ' (#set! only "yes")' if kind.endswith("!") else ""
        settings += f' (#set! name "{name}")' if name else ""
        settings += f' (#set! when "{words.replace(",", " ")}")' if words else ""
        patterns.append(f"(({node}) {'' if '@def' in node else '@def'} {settings})")
    return "\n".join(patterns)


def _by_name(written: str) -> str:
    """Return the chain of a name whose meaning isn't looked up."""
    name = written.strip("\"'`.")
    return f"{UNKNOWN}.{name}" if len(name) < CHAIN_MAX - 2 and _NAME.match(name) else UNKNOWN


_NAME = lazy_pattern(r"[^\s()\[\]{}\"'`;,]+\Z")


def _readable(source: bytes, is_readable: Callable[[bytes], bool]) -> bytes:
    """Return a source without the bodies that its grammar can't parse, which would hide what follows them.

    A body ends at its line's last bracket, or before the bracket that is indented like its line.
    """
    kept = bytearray(source)
    done = 0
    for head in islice(_FUNCTION.finditer(source), HEADS_MAX):
        end = (
            head.start(2) if head[2] else source.find(b"\n%b}" % head[1], head.end(), head.end() + _BODY_MAX)
        )
        if head.start() < done or end < 0:
            continue
        done = end
        body = source[head.end() : end]
        if not is_readable(body) and not is_readable(source[head.start() : source.index(b"}", end) + 1]):
            kept[head.end() : end] = _NO_NEWLINE.sub(b" ", body)
    return bytes(kept)


_NO_NEWLINE = lazy_pattern(rb"[^\n]")
_BODY_MAX = 20_000
"""Maximum bytes of a body; without it, thousands of heads without an end would take minutes."""

HEADS_MAX = 5_000
"""Maximum heads whose bodies are tried; 200,000 heads without an end took three seconds."""

_FUNCTION = lazy_pattern(
    rb"^([ \t]*+)(?:[^\n{)]*+\)[^\n{]*+|(?:sub|function|filter)\s[^\n{]*+|)\{"
    rb"(?:[ \t]*+$|(?=[^\n]{0,400}(\})[ \t]{0,9}$))",
    re.MULTILINE | re.IGNORECASE,
)


def _languages(tables: Mapping[str, dict[str, Any]]) -> Iterator[Language]:
    """Yield the languages of tail.toml, and the relatives of languages that have files of their own."""
    for name, row in tables.items():
        for part in ("definitions", "references", "facts"):
            for term, meaning in row.get("terms", {}).items():
                row[part] = row.get(part, "").replace(f"${term}", " ".join(meaning.split()))
        yield Language(
            name,
            row.get("fence", name),
            tuple(row["extensions"]),
            tuple(row.get("file_names", ())),
            tuple(row.get("interpreters", ())),
            row.get("comment", "//"),
            block_comment=tuple(row["block_comment"]) if "block_comment" in row else None,
            grammar=f"semble_grammars:{row.get('grammar', name)}",
            definitions=f"{_query(row['definitions'])}\n{_MORE.get(name, '')}",
            references=row.get("references", ""),
            facts=row.get("facts", ""),
            definition_rules=_RULES.get(name, DefinitionRules()),
            gaps=tuple((lazy_pattern(gap.encode()), filler.encode()) for gap, filler in row.get("gaps", ())),
            readable_parts=_readable if "readable_bodies" in row else None,
            chain=_by_name,
        )
    cpp = next(language for language in c.LANGUAGES if language.name == "cpp")
    yield replace(cpp, name="cuda", fence="cuda", extensions=(".cu", ".cuh"), gaps=(*cpp.gaps, *_CUDA_GAPS))
    yield Language(
        "bazel",
        "starlark",
        (".bzl", ".bazel", ".star"),
        ("BUILD", "WORKSPACE"),
        comment="#",
        grammar=python.LANGUAGES[0].grammar,
        definitions=f"{python.PYTHON}\n{_TARGET}",
        references=python.PYTHON_REFERENCES,
        definition_rules=python.LANGUAGES[0].definition_rules,
        chain=_by_name,
    )


_TARGET = """((module (expression_statement (call arguments: (argument_list
  (keyword_argument name: (identifier) @when value: (string) @name)))) @def)
  (#set! when "name") (#set! kind "target"))"""

# Marks of CUDA's compiler, and the configuration of a kernel's call, which C++ doesn't know. A mark before a
# definition becomes `static`, so that it stays in its head.
_CUDA_GAPS = (
    (lazy_pattern(rb"\b(__(?:global|device|shared)__)(?=\s)"), b"static    "),
    (lazy_pattern(rb"\b(__constant__)(?=\s)"), b"static      "),
    (lazy_pattern(rb"\b(__host__)(?=\s)"), b"static  "),
    (lazy_pattern(rb"\b(__(?:managed|grid_constant|(?:force|no)inline|restrict)__)\b"), b" "),
    (lazy_pattern(rb"(\b__launch_bounds__\s*\([^()\n]*\))"), b" "),
    (lazy_pattern(rb"(<<<[^;{}]{0,300}?>>>)(?=\s*\()"), b" "),
)

with open(os.path.join(os.path.dirname(__file__), "tail.toml"), "rb") as _file:
    LANGUAGES = tuple(_languages(tomllib.load(_file)))
