"""Scripts inside of markup: which parts of a Vue, Svelte, Astro or HTML file are code, and what its template
uses of them.

The code is parsed where it stands: everything else is overwritten with blanks, so that lines and offsets are
those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from .records import Export, Import, ParsedFile, Reference, ReferenceKind, References, SplitPoint, Symbol
from .source_text import MAX_NAME, SourceText, Span
from .symbols import UniqueNames, summary

MAX_TAG = 2_000
"""Maximum bytes of an opening tag. Vue's `generic="…"` and lists of attributes seldom reach 500."""

MAX_USES = 5_000
"""Maximum references kept of a template. The largest template of Vue's and Svelte's own sites has 400."""


class Markup(Struct, frozen=True):
    """The parts of a source that consists of markup. All offsets are in bytes.

    `script` is the source with everything but its code overwritten, `dialect` the language of that code if it
    isn't the row's own. `starts` are the offsets at which scripts, styles and the markup between them begin,
    `templates` the ranges of markup, `files` the offsets and specifiers of scripts in other files.
    """

    script: bytes
    dialect: str
    starts: tuple[int, ...]
    templates: tuple[Span, ...]
    files: tuple[tuple[int, str], ...]


def read_markup(source: bytes, *, frontmatter: bool = False) -> Markup:
    """Return the parts of a source. Takes linear time for any bytes.

    With `frontmatter` code may also stand between two lines of `---` at the beginning, as in Astro.
    """
    code: list[Span] = []
    cuts: list[int] = []
    hidden: list[Span] = []
    files: list[tuple[int, str]] = []
    dialect = ""
    at = 0
    if frontmatter and (opened := _FENCE.match(source)):
        closed = _CLOSING_FENCE.search(source, opened.end() - 1)
        end = closed.start() if closed else len(source)
        at = closed.end() if closed else len(source)
        code.append((opened.end(), end))
        hidden.append((0, at))
    for tag, attributes, start, inner, end, after in _elements(source, at):
        hidden.append((start, after))
        if tag == b"!--":
            continue
        cuts.extend((start, after))
        named = {key.lower(): value.strip(b"\"'") for key, value in _ATTRIBUTE.findall(attributes)}
        language = named.get(b"lang", named.get(b"type", b"")).decode("utf-8", "replace").lower()
        if tag != b"script" or not (_CODE.fullmatch(language) or _DIALECT.fullmatch(language)):
            continue
        if (src := named.get(b"src", b"").decode("utf-8", "replace")) and not _ELSEWHERE.match(src):
            files.append((start, src))
        code.append((inner, end))
        dialect = "tsx" if language.endswith(("tsx", "jsx")) else dialect
    templates = tuple(_between(hidden, len(source)))
    return Markup(_only(source, code), dialect, tuple(cuts), templates, tuple(files))


def _elements(source: bytes, at: int) -> Iterator[tuple[bytes, bytes, int, int, int, int]]:
    """Yield the comments, scripts and styles of a source: tag, attributes, and the offsets of the element, of
    its content, of the content's end and of what follows."""
    while opened := _OPENING.search(source, at):
        tag = (opened[1] or b"!--").lower()
        head = _ATTRIBUTES.match(source, opened.end(), opened.end() + MAX_TAG) if opened[1] else opened
        if head is None:
            at = opened.end() + MAX_TAG  # no tag; trying again within it would take quadratic time
            continue
        closed = _CLOSING[tag].search(source, head.end())
        end, at = (closed.start(), closed.end()) if closed else (len(source), len(source))
        yield tag, head[0], opened.start(), head.end(), end, at


_OPENING = re.compile(rb"<!--|<(script|style)(?=[\s/>])", re.IGNORECASE)
_ATTRIBUTES = re.compile(rb"(?:[^>\"']|\"[^\"]*\"|'[^']*')*+>")
_CLOSING = {
    b"!--": re.compile(rb"-->"),
    b"script": re.compile(rb"</script\s{0,99}>", re.IGNORECASE),
    b"style": re.compile(rb"</style\s{0,99}>", re.IGNORECASE),
}
_ATTRIBUTE = re.compile(rb"([\w:-]{1,99})\s{0,99}=\s{0,99}(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_FENCE = re.compile(rb"\s{0,999}---[ \t]{0,99}\n")
_CLOSING_FENCE = re.compile(rb"\n---[ \t]{0,99}(?=\n|\Z)")
_CODE = re.compile(r"|module|(?:text|application)/(?:java|ecma|type)script|js|ts|javascript|typescript")
_DIALECT = re.compile(r"[jt]sx|text/(?:babel|jsx)")
_ELSEWHERE = re.compile(r"[a-z][\w+.-]*:|//|[{<]", re.IGNORECASE)


def _between(hidden: list[Span], size: int) -> Iterator[Span]:
    """Yield the ranges of a source that are in none of these, which ascend."""
    at = 0
    for start, end in hidden:
        if start > at:
            yield at, start
        at = end
    if at < size:
        yield at, size


def _only(source: bytes, code: list[Span]) -> bytes:
    """Return a source with all but these ranges overwritten; a semicolon parts two scripts."""
    pieces: list[bytes] = []
    at = 0
    for start, end in code:
        blank = source[at:start].translate(_BLANK)
        pieces.extend((b";" + blank[1:] if at and blank else blank, source[start:end]))
        at = end
    pieces.append(source[at:].translate(_BLANK))
    return b"".join(pieces)


_BLANK = bytes(10 if byte == 10 else 32 for byte in range(256))


def component_name(path: str) -> str:
    """Return the name of the component that a file defines, as templates write it: `MyButton` for
    `my-button.vue`; that of its folder for an index file."""
    folder, _, file = path.rpartition("/")
    stem = _STEM.sub(r"\1", file)
    if stem.lower() == "index":
        stem = folder.rpartition("/")[2] or stem
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[^\W_]+", stem))[:MAX_NAME]


_STEM = re.compile(r"^\W*(.*?)(?:\.\w+)+$")


def with_markup(parsed: ParsedFile, markup: Markup, text: SourceText, component: str) -> ParsedFile:
    """Return a parsed script with what its markup adds: split points, scripts in other files, and if the file
    defines a component, that component and what its template uses."""
    points = {point.line: point for point in parsed.split_points}
    for at in markup.starts:
        line = text.line(at)
        points[line] = SplitPoint(line, 1)
    files = [
        Import(module if module.startswith(".") else f"./{module.lstrip('/')}", "", text.line(at))
        for at, module in markup.files
    ]
    parsed = replace(
        parsed,
        imports=(*parsed.imports, *files),
        split_points=tuple(points[line] for line in sorted(points)),
    )
    return _with_component(parsed, markup, text, component) if component else parsed


def _with_component(parsed: ParsedFile, markup: Markup, text: SourceText, name: str) -> ParsedFile:
    """Return a parsed file with its component, which takes the place of a default export without a name: the
    members of `export default { … }` are its own."""
    written = {symbol.name for symbol in parsed.symbols}
    if name in written:  # a class component, or a function of that name
        return _with_uses(parsed, markup, text, "", -1)
    opening = _COMMENT.match(text.source)
    doc = summary(opening[1].decode("utf-8", "replace").split("\n")) if opening else ""
    lines = max(1, parsed.lines)
    symbols = [Symbol(name, "class", 1, lines, f"component {name}", doc.removeprefix("@component "), 0)]
    names = UniqueNames()
    places = {-1: -1}
    for index, symbol in enumerate(parsed.symbols):
        if symbol.name == _DEFAULT:
            places[index] = 0
            continue
        places[index] = len(symbols)
        is_member = symbol.name.startswith(f"{_DEFAULT}.")
        own = name + symbol.name.removeprefix(_DEFAULT) if is_member else symbol.name
        symbols.append(replace(symbol, name=names.unique(own)))
    found = parsed.references
    exports = (each for each in found.exports if each.name != _DEFAULT)
    references = References(
        tuple(each._replace(scope=max(places[each.scope], 0)) for each in found.references),
        tuple(each._replace(scope=places[each.scope]) for each in found.bindings),
        (Export(_DEFAULT, "", name), *exports),
        tuple(each._replace(scope=places[each.scope]) for each in found.types),
        found.package,
    )
    parsed = replace(parsed, symbols=tuple(symbols), references=references)
    return _with_uses(parsed, markup, text, name, 0)


_DEFAULT = "default"
_COMMENT = re.compile(rb"\s{0,99}<!--(.{0,2000}?)-->", re.DOTALL)


def _with_uses(parsed: ParsedFile, markup: Markup, text: SourceText, name: str, scope: int) -> ParsedFile:
    """Return a parsed file with the references of its template: components by their tags, and what the script
    defines or imports by its name in an expression."""
    found = parsed.references
    known = {symbol.name: symbol.name for symbol in parsed.symbols if "." not in symbol.name}
    members = (symbol.name for symbol in parsed.symbols if name and symbol.name.count(".") == 1)
    known.update({each.removeprefix(f"{name}."): each for each in members if each.startswith(f"{name}.")})
    known.update({binding.name: binding.name for binding in found.bindings if binding.scope < 0})
    uses = dict.fromkeys(
        Reference(text.line(at), kind, chain, scope)
        for start, end in markup.templates
        for at, kind, chain in _uses(text.source, start, end, known)
        if chain != name
    )
    ordered = sorted((*found.references, *list(uses)[:MAX_USES]), key=lambda each: each.line)
    return replace(parsed, references=replace(found, references=tuple(ordered)))


def _uses(
    source: bytes, start: int, end: int, known: dict[str, str]
) -> Iterator[tuple[int, ReferenceKind, str]]:
    """Yield what a range of markup uses: offset, kind and chain."""
    for match in _TAG.finditer(source, start, end):
        tag = match[1].decode("ascii")
        pascal = "".join(word[0].upper() + word[1:] for word in tag.split("-") if word)
        camel = pascal[:1].lower() + pascal[1:]
        yield match.start(), "call", next((each for each in (tag, pascal, camel) if each in known), pascal)
    for match in _DIRECTIVE.finditer(source, start, end):
        if (action := match[1].decode("ascii")) in known:
            yield match.start(1), "use", known[action]
    for expression in _EXPRESSION.finditer(source, start, end):
        inside = expression.lastindex or 0
        for match in _NAME.finditer(expression[inside]):
            first, dot, rest = match[1].decode("ascii").partition(".")
            if first in known:
                kind: ReferenceKind = "call" if match[2] else "use"
                yield expression.start(inside) + match.start(1), kind, f"{known[first]}{dot}{rest}"


_TAG = re.compile(rb"<([A-Z][A-Za-z0-9_.]{0,99}|[a-z][a-z0-9]{0,99}(?:-[a-z0-9]{1,99}){1,9})(?=[\s/>])")
_DIRECTIVE = re.compile(rb"\s(?:use|transition|in|out|animate):([A-Za-z_]\w{0,99})")
_EXPRESSION = re.compile(
    rb"\s(?:[@:#]|v-)[\w:.\[\]-]{0,99}\s{0,9}=\s{0,9}\"([^\"]{1,2000})\"|\{([^{}]{1,2000})"
)
_NAME = re.compile(
    rb"(?<![\w$.'\"</])\$?([A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){0,9})\b(?!\s{0,9}=(?![=>]))(\s{0,9}\()?"
)
"""A name in an expression; not that of a tag or, before an equals sign, of an attribute."""
