"""Parsing of written names: paths, declarators, receivers and assignment targets."""

from __future__ import annotations

import re

_ARGUMENTS = r"<(?:[^<>()]|<(?:[^<>()]|<[^<>()]*>)*>)*>"
_SEPARATOR = re.compile(r"::|[.:]")
_OPERATOR = re.compile(r"(?<![\w~])operator(?!\w)\s*(\(\s*\)|[^\s\w(][^\w(]*|[^(]*)")
_DECLARED = re.compile(rf"~?[\w$]+(?:\s*(?:{_ARGUMENTS})?\s*::\s*~?[\w$]+)*(?:{_ARGUMENTS})?")
_BEFORE_NAME = re.compile(r"(?:[\s*&^]|(?:const|volatile|restrict|__restrict)\b|\[\[[^\]]*\]\])*")


def split_path(path: str) -> tuple[str, str]:
    """Return the qualifier of a name, with dots, and the name itself: `("A.B", "c")` for `A<T>::B::c`,
    `A.B:c`.

    An operator keeps its word: `("A", "operator==")`, `("A", "operator bool")`.
    """
    name = ""
    operator = _OPERATOR.search(path)
    if operator is not None:
        word = " ".join(operator[1].split())
        name = f"operator{' ' if word[:1].isalpha() else ''}{word}"
        path = path[: operator.start()]
    parts = [part.strip() for part in _SEPARATOR.split(without_arguments(path))]
    parts = [part for part in parts if part]
    if not name:
        name = parts.pop() if parts else ""
    return ".".join(parts), name


def declared(declarator: str) -> tuple[str, bool]:
    """Return the name or path that a C declarator declares, and whether it is a function.

    `**names[]` declares a variable, `*Stack::top(void) const` a function, `(*hook)(int)` a pointer to a
    function. Returns an empty path if no name is declared.
    """
    start = _after(_BEFORE_NAME, declarator, 0)
    while declarator.startswith("(", start):
        start = _after(_BEFORE_NAME, declarator, start + 1)
    operator = _OPERATOR.search(declarator, start)
    if operator is not None and "(" not in declarator[start : operator.start()]:
        return declarator[start : operator.end()], True
    match = _DECLARED.match(declarator, start)
    if match is None:
        return "", False
    return match[0], declarator[match.end() :].lstrip().startswith("(")


def type_name(written: str) -> str:
    """Return the name of the type that definitions belong to: `Vec` for `&'a mut Vec<T>`, `A.B` for `A.B?`.

    A type without a name, such as a tuple or a slice, is returned as written, on one line.
    """
    bare = _QUALIFIERS.sub("", written).strip().strip("?!")
    owner, name = split_path(bare)
    if re.fullmatch(r"[\w$]+", name):
        return f"{owner}.{name}" if owner else name
    return " ".join(bare.split())


_QUALIFIERS = re.compile(
    r"^\s*(?:(?:&+|\*|'\w+|(?:mut|const|dyn|impl|any|some|crate|self|super)\b(?:::)?)\s*)+"
)


def without_arguments(path: str) -> str:
    """Return a path without type arguments: `A::b` for `A<T<U>>::b`."""
    before = ""
    while path != before:
        before, path = path, _INNERMOST.sub("", path)
    return path


_INNERMOST = re.compile(r"<[^<>]*>|\[[^\[\]]*\]$")


_TARGET = re.compile(r"(?:(?P<owner>[\w$]+)(?P<prototype>\.prototype)?\.)(?P<name>[\w$]+)")


def assigned(target: str) -> tuple[str, str]:
    """Return the name and the owner of an assignment to a member, or two empty strings.

    `exports.x` and `module.exports.x` define `x`; `Foo.prototype.bar` and `Foo.bar` define `bar` of `Foo`;
    `this.x` defines `x` of its enclosing definition; `module.exports` alone is the name `exports`.
    """
    match = _TARGET.fullmatch(target.removeprefix("module.exports.").removeprefix("exports."))
    if target.startswith(("module.exports.", "exports.")):
        name = target.rpartition("exports.")[2]
        return (name, "") if re.fullmatch(r"[\w$]+", name) else ("", "")
    if match is None:
        return "", ""
    owner, name = match["owner"], match["name"]
    if owner == "module":
        return ("exports", "") if name == "exports" else ("", "")
    return (name, "") if owner == "this" else (name, owner)


def base_name(name: str, kind: str = "") -> str:
    """Return the last part of a qualified name: `login` of `Session.login`, `inner` of `load~2.inner`.

    `kind` is the kind of the definition: the parts of a section are separated by slashes, `Refresh` of
    `Tokens/Refresh`.
    """
    name = without_number(name)
    if kind == "section":
        return name.rpartition("/")[2] or name
    return name.rpartition(".")[2] or name


def without_number(name: str) -> str:
    """Return a qualified name without the number that distinguishes duplicates: `login` for `login~2`."""
    return _NUMBER.sub("", name)


_NUMBER = re.compile(r"~\d+\Z")


def own_name(head: bytes) -> str:
    """Return the name that a function expression gives itself, from its head: `function createApp(`."""
    match = re.search(rb"function\s*\*?\s*([\w$]+)\s*\($", head[:400].partition(b"(")[0] + b"(")
    return match[1].decode("ascii", "ignore") if match else ""


def receiver_type(receiver: str) -> str:
    """Return the type of a Go receiver: `Stack` for `(s *Stack[T])`."""
    words = receiver.strip("()").partition("[")[0].replace("*", " ").split()
    return words[-1] if words else ""


def _after(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return the end of an optional pattern."""
    match = pattern.match(text, start)
    return match.end() if match is not None else start
