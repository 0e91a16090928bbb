"""Owns what grammars can't read though compilers can: writes over it, so that no offset and no line moves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

# `class EXPORT Name {`: to the grammar that is a function called Name that returns a class EXPORT.
_EXPORTED = re.compile(
    rb"\b(?:class|struct|union|enum(?:\s+class)?)\s+([A-Z][A-Z0-9_]{2,}(?:\([^()\n]*\))?)"
    rb"(?=\s+(?!final\b)[A-Za-z_][\w:]*\s{0,99}(?:<[^<>;{]{0,200}>\s{0,99})?(?:final\s{0,99})?(?:\{|:[^:]))"
)
# `EXPORT Status Open();` at the beginning of a line.
_EXPORTING = re.compile(
    rb"^[ \t]*((?:[A-Z][A-Z0-9_]*_)?(?:API|EXPORT|EXTERN|DLL|PUBLIC))(?=[ \t]+[A-Za-z_])",
    re.MULTILINE,
)
# `int count_ GUARDED_BY(mutex_);`, `void Add() EXCLUSIVE_LOCKS_REQUIRED(mutex_) {`
_ANNOTATION = re.compile(
    rb"(?<=[\w)\]>])\s+([A-Z_]*(?:GUARDED_BY|LOCKS?_REQUIRED|LOCKS_EXCLUDED|ACQUIRED_(?:AFTER|BEFORE)|REQUIRES"
    rb"|EXCLUDES|ACQUIRE|RELEASE|LOCK_FUNCTION|NO_THREAD_SAFETY_ANALYSIS)\b(?:\([^()\n]*\))?)"
    rb"(?=\s{0,99}(?:[;{=]|[A-Z]))"
)
# A shell function whose body begins on the next line.
_SHELL_FUNCTION = re.compile(
    rb"(?:function[ \t]+[^\s(){}]+[ \t]*(?:\([ \t]*\))?|[^\s(){}#=]+[ \t]*\([ \t]*\))[ \t]*\{"
    rb"(?=[ \t]*(?:#[^\n]*)?\n)"
)
_NO_NEWLINE = re.compile(rb"[^\n]")
_C_GAPS = ((_EXPORTED, b" "), (_EXPORTING, b" "), (_ANNOTATION, b" "))
_GAPS = {
    "c": _C_GAPS,
    "cpp": _C_GAPS,
    # `[[ $a == @(b|c)* ]]` is an error to the end of the file, which parentheses alone aren't.
    "bash": ((re.compile(rb"(?<=[\s\w*|=])([@!?+*]\([^()\n\"'`$]*\))"), b"x"),),
    # `in1.close()` is read as the operator `in` and a number, what stands below an annotation with arguments
    # as what these are called with, an `annotation class` as an expression.
    "kotlin": (
        (re.compile(rb"\b(in)(?=\d)"), b"x"),
        (re.compile(rb"^[ \t]*@[\w.:]+(\([^()]*(?:\([^()]*\)[^()]*)*\))", re.MULTILINE), b" "),
        (re.compile(rb"\b(annotation)(?=[ \t]+class\b)"), b" "),
    ),
}


def readable(source: bytes, language: str) -> bytes:
    """Return a source in which what the language's grammar can't read is written over.

    Its length and its lines stay, so that ranges of the result are ranges of the source, from which names
    and heads must be quoted.
    """
    for pattern, filler in _GAPS.get(language, ()):
        source = pattern.sub(partial(_over, filler), source)
    return source


def readable_parts(source: bytes, is_readable: Callable[[bytes], bool]) -> bytes:
    """Return a shell script in which nothing hides its functions from bash's grammar.

    Of what another shell alone understands, an error swallows the functions behind it. So each function, and
    what stands between two of them, must be readable alone, or is written over: a function's body, or all
    that is no function. Functions count that begin at the beginning of a line and end with a `}` there.
    """
    kept = bytearray(source)
    for start, end in _shell_parts(source):
        part = source[start:end]
        if is_readable(part):
            continue
        head = _SHELL_FUNCTION.match(part)
        if head is None:
            kept[start:end] = _NO_NEWLINE.sub(b" ", part)
        else:
            body = start + head.end()
            close = max(source.rfind(b"\n}", body, end) + 1, body)
            kept[body:end] = _NO_NEWLINE.sub(b" ", source[body:end])
            if (blank := kept.find(b" ", body, close)) >= 0:
                kept[blank] = ord(":")  # a body needs a statement
            kept[close : close + 1] = source[close : close + 1]
    return bytes(kept)


def _shell_parts(source: bytes) -> Iterator[tuple[int, int]]:
    """Return where a script's functions begin and end, and where what stands between them does."""
    begun = at = 0
    inside = False
    for line in source.splitlines(keepends=True):
        if _SHELL_FUNCTION.match(line):
            if at > begun:
                yield begun, at
            begun, inside = at, True
        at += len(line)
        if inside and line.startswith(b"}"):
            yield begun, at
            begun, inside = at, False
    if at > begun:
        yield begun, at


def is_cpp(source: bytes) -> bool:
    """Return whether a source under a name of C's, a header, is C++."""
    return _CPP.search(source) is not None


def is_tangled(source: bytes, language: str) -> bool:
    """Return whether a source would cost its parser minutes or gigabytes: none that anybody wrote does.

    A parser puts off what it can't decide until the source ends, and what it put off costs the square of its
    count: 24,000 generics that nobody closed (`a<a<a<…`) took Java's 6 s, 50,000 more than 2 GB, between two
    looks at the clock. `MAX_OPEN` of them take 0.2 s.
    """
    opening = _STALLING.get(language, ())
    if not opening:
        return False
    for piece in _STATEMENT_END.split(source):
        if len(piece) > MAX_OPEN and any(_open(piece, each) > MAX_OPEN for each in opening):
            return True
    return False


MAX_OPEN = 2_000
"""Brackets that one statement may leave open, or signs of another language that it may hold. Data in a
statement of its own may be long, but closes them."""

_STATEMENT_END = re.compile(rb"[;{}]")
# By language what stalls its grammar: 60 KB of it took a second or a gigabyte.
_STALLING = {
    "c": (b"[", b"=>"),
    "cpp": (b"[", b"=>"),
    "csharp": (b"<", b"["),
    "go": (b"[",),
    "java": (b"<", b"=>"),
    "python": (b"/*",),
    "rust": (b"[",),
    "scala": (b"`",),
    "swift": (b"?",),
    "tsx": (b"<",),
    "typescript": (b"<",),
}

_CPP = re.compile(
    rb"^[ \t]*(?:(?:class|namespace)\b[^;()={]{0,200}\{|template[ \t]*<|using \w+ =|public:|private:)"
    rb"|^[ \t]*#[ \t]*include[ \t]*<\w+>|\bstd::",
    re.MULTILINE,
)


def _open(piece: bytes, sign: bytes) -> int:
    """Return how many of a bracket stay open, shifts aside; of another sign, how many there are."""
    if sign == b"<":
        return piece.count(b"<") - 2 * piece.count(b"<<") - piece.count(b">")
    return piece.count(sign) - (piece.count(b"]") if sign == b"[" else 0)


def _over(filler: bytes, match: re.Match[bytes]) -> bytes:
    """Return what matched with its first group written over."""
    whole, start = match[0], match.start()
    first, last = match.start(1) - start, match.end(1) - start
    return whole[:first] + _NOT_LINE_END.sub(filler, whole[first:last]) + whole[last:]


_NOT_LINE_END = re.compile(rb"[^\n]")
