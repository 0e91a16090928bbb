"""Chains: expressions and written types reduced to the names that can be followed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .records import CHAIN_MAX, JOINT, LITERALS, UNKNOWN

EXPRESSION_MAX = 4_000
"""Maximum characters of an expression that is parsed; for a longer expression only the last name is kept.
Each call of a fluent chain repeats the text before it, so the total would grow with the square of the
length."""


_IDENTIFIER = re.compile(r"[@#]?[^\W\d][\w$]*|[$@#][\w$@]+|\$")


_MARKED = re.compile(r".*\w[?!]\Z", re.DOTALL).match


_PREFIX = re.compile(
    r"(?:(?:await|new(?!\()|yield|async|typeof|mut|dyn|ref|const|move|try)\b\s*|[*&]+\s*|\.\.\.|\\(?=\w)|::(?=\w))+"
)


_JOINT = re.compile(r"\s*(?:\?\.|!\.|!!\.|&\.|\?->|->|::|\.|:(?=\w))\s*|\\(?=\w)")


_STRING = re.compile(r"[rRbBfFuU]{0,2}(\"\"\"|'''|\"|')|(`)")


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


_LAST_NAME = re.compile(r"[^\W\d][\w$]*\Z")


_TYPE_ARGUMENTS = re.compile(r"<[\w\s,.:<>\[\]&'?*|$]*>")


_BRACKET = re.compile(r"[\"'`()\[\]{}]")


_CLOSING = {"(": ")", "[": "]", "{": "}"}


_NOT_NAMED = LITERALS | {UNKNOWN}


_OPERAND = re.compile(r"[ \t\n]*(?=[\w\"'$@])")


_ARGUMENTS = r"(?:<[\w\s,.:<>&']*>)?"


_QUALIFIED = re.compile(rf"<\s*([\w:]+){_ARGUMENTS}\s+as\s+[^<>()]{{1,100}}{_ARGUMENTS}>")


_STATEMENT_WORDS = (
    "if else for while loop do try switch match when unsafe func function fn class struct enum object "
    "interface case return throw goto select begin"
)


_STATEMENTS = frozenset(_STATEMENT_WORDS.split())
"""Words that begin a block statement, not a path of names."""


def chain_of(expression: str, *, marks: bool = False) -> str:
    """Return the chain of an expression or a path (see references.py), `UNKNOWN` for anything else.

    With `marks` a name may end in `?` or `!`, as in Ruby; otherwise these marks mean a missing value or a
    macro. Never longer than `CHAIN_MAX`. Takes linear time and raises nothing.
    """
    text = expression.strip()
    if _IS_PLAIN(text):
        return text if len(text) <= CHAIN_MAX else shortened(text)
    if len(text) > EXPRESSION_MAX:
        return shortened(text)
    if "/*" in text:
        text = _COMMENT.sub("", text).strip()
    mark = text[-1:] if marks and _MARKED(text) else ""
    text = text.removesuffix(mark)
    chain, end = _chain(text, 0, 0)
    if mark and not chain.endswith(("()", "[]")):
        chain += mark
    if end > len(text):
        return shortened(text)  # an unclosed bracket, or a false quote, hid the end
    if text[end:].strip(" \t\n;"):
        return UNKNOWN
    return chain if len(chain) <= CHAIN_MAX else shortened(chain)


def last_name(chain: str) -> str:
    """Return the last name of a chain without calls and subscripts: `get` of `a.b().get[]`; may be empty."""
    name = chain.rpartition(".")[2].rpartition(JOINT)[2]
    while name.endswith(("()", "[]")):
        name = name[:-2]
    return name if name != UNKNOWN and name[:1] not in "'0{[" else ""


PARTS_KEPT: Final = 8_192
"""Maximum number of cached chains, about 2 MB: the files of a folder use similar ones."""


@lru_cache(PARTS_KEPT)
def parts_of(chain: str) -> tuple[str, ...]:
    """Return the steps of a chain in order: `("a", ".b", "()", "[]", ".c")` for `a.b()[].c`."""
    return tuple(_STEP.findall(chain))


_IS_PLAIN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z").match


_STEP = re.compile(r"\.?[^.()\[\]]+|\(\)|\[\]")


MAX_NESTING = 8
"""Maximum number of nested parentheses around a chain."""


def _chain(text: str, at: int, depth: int) -> tuple[str, int]:
    """Return the chain at an offset, and the offset of its end."""
    match = _PREFIX.match(text, at)
    is_new = False
    if match is not None and match.end() < len(text):
        at = match.end()
        is_new = "new" in match[0]
    is_enclosed = text.startswith("(", at)
    root, at = _root(text, at, depth)
    parts = [root]
    operand = _OPERAND.match(text, at) if is_enclosed and depth < MAX_NESTING else None
    if operand is not None:  # a cast: `(Foo) value` is an instance of `Foo`
        return f"{root}()", _chain(text, operand.end(), depth + 1)[1]
    while at < len(text):
        before = at
        at = _suffix(text, at, parts)
        if at == before:
            break
    if is_new and "()" not in parts:
        parts.append("()")  # `new Foo` without arguments
    return "".join(parts), at


def _root(text: str, at: int, depth: int) -> tuple[str, int]:
    string = _STRING.match(text, at)
    if string is not None:
        return "''", _string_end(text, string.end(), string[1] or "`")
    match = _IDENTIFIER.match(text, at)
    if match is not None:
        return (UNKNOWN, at) if match[0] in _STATEMENTS else (match[0], match.end())
    qualified = _QUALIFIED.match(text, at)
    if qualified is not None:
        return _chain(qualified[1], 0, depth + 1)[0], qualified.end()
    first = text[at : at + 1]
    if first.isdigit():
        number = re.compile(r"[\w.]+").match(text, at)
        return "0", number.end() if number is not None else at + 1
    if first == "(":
        end = _closed(text, at)
        if depth < MAX_NESTING and end > at + 1:
            inner, stop = _chain(text, at + 1, depth + 1)
            if not text[stop : end - 1].strip():
                return inner, end
        return UNKNOWN, end
    if first in _CLOSING:
        return "[]" if first == "[" else "{}", _closed(text, at)
    return UNKNOWN, at


def _suffix(text: str, at: int, parts: list[str]) -> int:
    """Parse one step of a chain; return its end, or `at` if there is no step."""
    joint = _JOINT.match(text, at)
    if joint is not None:
        return _member(text, joint, parts) or at
    stripped = _after_space(text, at)
    first = text[stripped : stripped + 1]
    if first == "(":
        parts.append("()")
        return _closed(text, stripped)
    if first == "{" and parts[-1] not in _NOT_NAMED:
        if parts[-1] != "()":
            parts.append("()")  # `Foo { a: 1 }` constructs, `each { … }` calls
        return _closed(text, stripped)
    if first == "[" and stripped == at:
        parts.append("[]")
        return _closed(text, stripped)
    if first == "<":
        match = _TYPE_ARGUMENTS.match(text, stripped)
        return match.end() if match is not None else at
    if first == "`":
        parts.append("()")
        return _string_end(text, stripped + 1, "`")
    if first in {"?", "!"} and not text[stripped + 1 : stripped + 2].isspace():
        return stripped + 1  # error propagation, a non-null assertion, or a macro call
    return at


def _member(text: str, joint: re.Match[str], parts: list[str]) -> int:
    """Parse the member after a joint; return its end, 0 if there is no member."""
    at = joint.end()
    following = text[at : at + 1]
    if following == "<":  # `::<T>`
        match = _TYPE_ARGUMENTS.match(text, at)
        name = _IDENTIFIER.match(text, match.end()) if match is not None else None
        if match is not None and name is not None:  # `List.<Foo>of`
            parts.append(f".{name[0]}")
            return name.end()
        return match.end() if match is not None else 0
    if following == "(" and joint[0] == ".":  # `value.(*Foo)` is an instance of `Foo`
        root, end = _root(text, at, MAX_NESTING - 1)
        parts[:] = [root, "()"]
        return end
    if following in {"(", "["}:  # `?.(` and `?.[`
        parts.append("()" if following == "(" else "[]")
        return _closed(text, at)
    if following.isdigit():
        parts.append("[]")
        return at + 1
    name = _IDENTIFIER.match(text, at)
    if name is None:
        return 0
    if name[0] != "await":
        parts.append(f".{name[0]}")
    return name.end()


def _closed(text: str, at: int) -> int:
    """Return the offset after the bracket that closes the one at an offset; beyond the end if it is
    unclosed."""
    depth = 0
    while (match := _BRACKET.search(text, at)) is not None:
        at = match.end()
        character = match[0]
        if character in "\"'`":
            at = _string_end(text, at, character)
        elif character in "([{":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return at
    return len(text) + 1


def _string_end(text: str, at: int, quote: str) -> int:
    """Return the offset after a string's closing quote, the end of the text if it is unclosed."""
    while (end := text.find(quote, at)) >= 0:
        before = text[at:end]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return end + len(quote)
        at = end + 1
    return len(text)


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n":
        at += 1
    return at


def shortened(text: str) -> str:
    """Return the last name of an expression that can't be followed, after an unknown start: `?.push`; or
    `UNKNOWN`."""
    match = _LAST_NAME.search(text[-CHAIN_MAX:])
    if match is None or len(match[0]) > CHAIN_MAX - 2:
        return UNKNOWN
    return f"{UNKNOWN}.{match[0]}"


UNION_MAX = 4
"""Maximum number of members of a union that are followed; a larger union identifies no type."""


ELEMENT = "[]."
"""Separates a container from the type of its elements in a chain: `list[].Foo`."""


INFERRED: Final = frozenset({"var", "auto", "_", "val", "let"})
"""Keywords in the place of a type by which the language infers the type from the value."""


def type_chains(written: str, depth: int = 0) -> tuple[str, ...]:
    """Return the chains of the project types named in a written type, each member of a union separately.

    Transparent wrappers (`Optional[Foo]`, `Arc<Foo>`, `*Foo`, `Promise<Foo>`) are dropped, containers become
    `list[].Foo`. Empty if nothing can be followed: `int | None` gives only `int`, a callable nothing.
    """
    text = _BEFORE.sub("", written.strip().strip("\"'")).strip()
    if not text or len(text) > _WRITTEN_MAX or depth > _DEPTH_MAX:
        return ()
    members = [each for each in _split(text, "|") if each not in _NOTHING]
    if len(members) != 1:
        found = dict.fromkeys(chain for each in members for chain in type_chains(each, depth + 1))
        return tuple(found) if len(members) <= UNION_MAX else ()
    return _single(members[0], depth)


_WRITTEN_MAX = 400


_DEPTH_MAX = 6


_BEFORE = re.compile(
    r"^(?:(?:[:?]|->|&+|\*+|'\w+\b(?!')|(?:mut|dyn|impl|const|readonly|final|some|any|struct|in|out|asserts)\b)\s*)+"
)


_NOTHING = frozenset({"None", "null", "undefined", "nil", "void", "NoneType", ""})


_WRAPPERS = frozenset(
    """Optional Annotated Final ClassVar Required NotRequired Type type Promise Awaitable Coroutine Partial
    Readonly PromiseLike Box Arc Rc Cell RefCell Mutex RwLock Option Result Ref RefMut Pin Cow Weak Supplier
    CompletableFuture Future Task ValueTask Nullable IO Lazy AtomicReference NonNullable Self
    unique_ptr shared_ptr weak_ptr optional""".split()  # noqa: SIM905 - a list of words reads worse
)
"""Generic types whose methods are mostly called on their content after it is unwrapped."""


_LAST_ARGUMENT = frozenset(
    "Coroutine dict Dict Mapping MutableMapping Map HashMap BTreeMap Record Dictionary MutableMap".split()  # noqa: SIM905 - as above
)


_CONTAINERS = frozenset(
    """list List tuple Tuple set Set frozenset Sequence Iterable Iterator Collection MutableSequence Generator
    AsyncIterator AsyncIterable Array ReadonlyArray Vec VecDeque HashSet BTreeSet dict Dict Mapping
    MutableMapping Map HashMap BTreeMap Record ArrayList LinkedList Queue Deque deque Stream
    MutableList MutableSet MutableMap Dictionary IEnumerable ICollection IList IReadOnlyList Seq Vector
    vector span""".split()  # noqa: SIM905 - as above
)


_GO = re.compile(r"map\[[^\[\]]*\](?=.)|\[[\w.]*\](?=.)|\.\.\.|(?:<-\s*)?chan(?:\s*<-)?\s+")


_GENERIC = re.compile(r"([\w.$:]+?)\s*(?:\[(.*)\]|<(.*)>)\Z", re.DOTALL)


def _single(text: str, depth: int) -> tuple[str, ...]:
    if text.endswith("[]") or text.startswith("[]"):
        return _elements("list", text.removesuffix("[]").removeprefix("[]"), depth)
    if text.startswith("[") and text.endswith("]") and "," not in text:  # Swift's `[Foo]`, `[Key: Foo]`
        return _elements("list", _split(text[1:-1], ":")[-1], depth)
    go = _GO.match(text)
    if go is not None:
        return _elements("map" if go[0].startswith("map") else "list", text[go.end() :], depth)
    text = text.rstrip("?!&* ")
    generic = _GENERIC.fullmatch(text)
    if generic is None:
        chain = chain_of(text)
        return (chain,) if chain != UNKNOWN and "(" not in chain and not chain.startswith("'") else ()
    outer, arguments = generic[1], _split(generic[2] or generic[3] or "", ",")
    last = re.split(r"[.:]", outer)[-1]
    if last == "Union":
        return type_chains(" | ".join(arguments), depth + 1)
    if not arguments:
        return ()
    chosen = arguments[-1] if last in _LAST_ARGUMENT else arguments[0]
    if last in _WRAPPERS:
        return type_chains(chosen, depth + 1)
    if last in _CONTAINERS:
        return _elements(last, chosen, depth)
    chain = chain_of(outer)
    return (chain,) if chain != UNKNOWN else ()


def _elements(container: str, written: str, depth: int) -> tuple[str, ...]:
    return tuple(f"{container}{ELEMENT}{chain}" for chain in type_chains(written, depth + 1))


def _split(text: str, separator: str) -> list[str]:
    """Return the parts of a text at a separator outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "[(<{":
            depth += 1
        elif character in "])>}":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return parts
