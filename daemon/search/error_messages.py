"""Finds the errors that a question reports: type, message, and the parts of it that source code contains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from msgspec import Struct

from .patterns import compiled

MAX_ERRORS = 16
MAX_PHRASES = 6
"""Maximum number of errors kept, and of phrases kept of each message; a pasted log repeats itself."""

MAX_LINE = 1_000
"""Maximum characters of a line that are read."""

MAX_PROSE_LINES = 2_000
"""Maximum number of lines of prose searched for errors."""

MAX_QUOTES, MAX_QUOTED = 20, 20_000
"""Maximum number of quotations that are read, and maximum characters of prose that are searched for them."""

MAX_VALUES = 50
"""Maximum number of values found in a message."""

MIN_PHRASE_WORDS = 2
"""Minimum number of words in a phrase; the lexical search finds single words anyway."""


class ErrorMention(Struct, frozen=True):
    """An error as reported.

    `type` is `KeyError`, `java.sql.SQLException`, `E0382` or the like, or empty. `message` is its text as
    written. `phrases` are the parts of the message that can be searched as phrases, in order: the text
    between numbers, quoted values, paths, addresses and time stamps.
    """

    type: str
    message: str
    phrases: tuple[str, ...]


def find_errors(pasted: Iterable[str], prose: str = "") -> tuple[ErrorMention, ...]:
    """Return the errors in pasted lines (traces, logs, compiler output) and in prose, each once, in order.

    Log lines below the level of a warning come last. In prose an error is the name of an error type, the text
    after `Error:`, or a quotation of several words. Returns at most `MAX_ERRORS`. Takes time linear in the
    text.
    """
    lines = [line[:MAX_LINE] for line in pasted]
    informing = [line for line in lines if compiled(_INFORMS).search(line[:100])]
    telling = [line for line in lines if not compiled(_INFORMS).search(line[:100])] if informing else lines
    found: dict[tuple[str, tuple[str, ...]], ErrorMention] = {}
    for error in chain(_in_lines(telling), _in_prose(prose), _in_lines(informing)):
        if error.type or error.phrases:
            found.setdefault((error.type, error.phrases), error)
        if len(found) >= MAX_ERRORS:
            break
    complete = {error.type for error in found.values() if error.phrases}
    return tuple(error for error in found.values() if error.phrases or error.type not in complete)


def quoted(prose: str) -> Iterator[str]:
    """Yield the texts in quotation marks or backticks in prose, in order; at most `MAX_QUOTES`."""
    for match in islice(compiled(_QUOTE).finditer(prose[:MAX_QUOTED]), MAX_QUOTES):
        yield next(filter(None, match.groups()))


def value_spans(message: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a message that look like values inserted by the program."""
    for match in islice(compiled(_VALUE).finditer(message[:MAX_LINE]), MAX_VALUES):
        yield match.span()


def literal_parts(message: str) -> tuple[str, ...]:
    """Return the parts of a message that the source code probably contains unchanged.

    `order 4711 is already closed` gives `is already closed`. A part of one word is left out, unless the
    message has nothing else. Returns at most `MAX_PHRASES`.
    """
    parts = [part.strip(_EDGES) for part in compiled(_VALUE).split(message[:MAX_LINE])]
    parts = [re.sub(r"\s+", " ", part) for part in parts]
    long = [part for part in parts if _is_phrase(part)]
    if not long and len(message.split()) < 3:
        long = [part for part in parts if len(part) > 3]
    return tuple(dict.fromkeys(long))[:MAX_PHRASES]


def _is_phrase(part: str) -> bool:
    """Whether a part is specific enough to search for; `on line` and `passed to` occur everywhere."""
    if not part.isascii() and len(part) > 3:
        return True
    words = part.split()
    return len(words) >= MIN_PHRASE_WORDS and len(part) > 8 and any(len(word) > 4 for word in words)


def _in_lines(lines: Iterable[str]) -> Iterator[ErrorMention]:
    for line in lines:
        rest = compiled(_LOG_HEAD).sub("", line, count=1)
        fields = [
            next(filter(None, match.groups())) for match in islice(compiled(_LOG_FIELD).finditer(rest), 4)
        ]
        if not rest.startswith("{"):
            found = next(filter(None, (compiled(pattern).search(rest) for pattern in _MESSAGES)), None)
            if found:
                groups = found.groupdict()
                yield _error(groups.get("type") or "", groups.get("message") or "")
            elif rest != line or compiled(_LEVELS).match(rest):
                yield _error("", compiled(_LEVELS).sub("", rest, count=1))
        yield from (_error("", field) for field in fields)


def _in_prose(prose: str) -> Iterator[ErrorMention]:
    for line in (line[:MAX_LINE] for line in islice(prose.split("\n"), MAX_PROSE_LINES)):
        match = compiled(_PROSE_MESSAGE).search(line)
        if match:
            yield _error(match["type"] or "", match["message"])
        for quote in islice(compiled(_QUOTE).finditer(line), 10):
            text = next(filter(None, quote.groups()))
            if _is_phrase(text):
                yield _error("", text)
        for name in islice(compiled(_TYPE_NAME).finditer(line), 10):
            yield ErrorMention(name[0], "", ())


def _error(kind: str, message: str) -> ErrorMention:
    message = message.strip()
    if len(message) > 1 and message[0] == message[-1] and message[0] in "\"'`":
        message = message[1:-1]
    inner = compiled(_TYPE_FIRST).match(message)
    if inner and not kind:
        kind, message = inner["type"], inner["message"]
    return ErrorMention(kind, message, literal_parts(message))


_TYPE = (
    r"(?:[A-Za-z_][\w$]{0,80}(?:\.|::|\\)){0,12}[A-Za-z_]\w{0,80}?(?:Error|Exception|Warning|Failure|Fault"
    r"|Interrupt|Panic)\b"
)
_TYPE_NAME = r"\b(?:[A-Za-z_]\w{0,80}(?:\.|::|\\)){0,8}[A-Z]\w{1,80}?(?:Error|Exception)\b"
_TYPE_FIRST = rf"(?:Uncaught |Unhandled )?(?P<type>{_TYPE})(?: \[[A-Z_]+\])?: (?P<message>.+)"

_MESSAGES = (
    # error[E0382]: borrow of …      error TS2345: Argument …      error CS0103: …      LNK2019
    r"\berror(?:\[| )(?P<type>[A-Z]{1,4}\d{2,5})\]?: (?P<message>.+)",
    # src/a.c:12:3: error: 'x' undeclared       fatal: not a git repository
    (
        r"(?:^|[\s:)])(?:(?:[Ff]atal |[Pp]arse )?error|fatal|[Ww]arning|Notice|Error|panic|ERROR"
        r"|FATAL): {1,4}(?:Uncaught |Error: ){0,2}(?P<message>\S.+)"
    ),
    # lib/cart.rb:12:in `total': undefined method … (NoMethodError)
    r":in [`'][^'\n]{1,200}': (?P<message>.{1,500}) \((?P<type>[A-Z][\w:]{1,100})\)",
    # thread 'main' panicked at 'index out of bounds: the len is 3', src/a.rs:1:2
    r"panicked at '(?P<message>[^\n]{1,500})', \S",
    # Caused by: java.sql.SQLException: Lock wait …     Uncaught TypeError: …     ValueError: …
    (
        rf"(?:^|Caused by: |in thread \"[^\"\n]{{0,80}}\" |[Uu]ncaught |[Uu]nhandled [\w ]{{0,30}}[.:] "
        rf"|\) |E {{1,6}}|\[ERROR\] |- )(?P<type>{_TYPE})\b(?: \[[A-Z_]{{1,60}}\])?(?:: "
        rf"(?P<message>.*))?$"
    ),
    # requests.exceptions.Timeout: …, at the beginning of a line
    r"^(?P<type>(?:[a-z_]\w{0,60}\.){1,8}[A-Z]\w{1,80}): (?P<message>.+)",
    # ** (KeyError) key :x not found        lua: cart.lua:12: attempt to …      … at lib/Cart.pm line 12.
    r"^\*\* \((?P<type>[\w.]{1,100})\) (?P<message>.+)",
    r"^lua[\d.]{0,4}: \S{1,200}:\d{1,7}: (?P<message>.+)",
    r"^(?P<message>.{1,400}?) at \S{1,200}\.p[lm] line \d",
    # a plain sentence printed by a program
    r"^(?P<message>[A-Z][a-z']{1,30}(?: [\w'/-]{1,60}){3,40}[.!]?)$",
    # x.go:12:3: undefined: y
    r"^\S{1,300}\.\w{1,6}:\d{1,7}(?::\d{1,7})?:(?: \w{1,3}\d{1,4})? (?P<message>\D.+)",
    r"^npm ERR! (?P<message>(?!code|errno|syscall|path|A complete|\s*/).+)",
)

_PROSE_MESSAGE = (
    rf"(?:(?<![\w.:\\])(?P<type>{_TYPE})|\b(?:error|Error|ERROR|exception|Exception|message|panic|fatal"
    rf"|fails with|failed with|says))"
    r" ?: ?(?P<message>[^\s`][^`\n]+)"
)
_QUOTE = (
    r"(?<!\w)\"([^\"\n]{3,300})\"(?!\w)|“([^”\n]{3,300})”|«([^»\n]{3,300})»|「([^」\n]{3,300})」"
    r"|(?<![\w`])'([^'\n]{3,300})'(?!\w)|`([^`\n]{3,300})`"
)
_LOG_HEAD = (
    r"^(?:[\[(\"']{0,2}\d{4}[-/]\d\d[-/]\d\d[T ]{1,2}\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z"
    r"|[+-]\d\d:?\d\d)?[\])\"']{0,2}"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?|\d{1,2}:\d\d(?:AM|PM)"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d \S{1,80} "
    r"\S{1,80}:|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9}\s{1,8}\d{1,9} [^\]\s]{1,100}\])"
    r"[\s|-]{0,8}(?:[\[(]?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|NOTICE|SEVERE|trace"
    r"|debug|info|warn|warning|error|fatal|TRC|DBG|INF|WRN|ERR|FTL|PNC)[\])]?[\s:|-]{1,8})?"
    r"(?:\[[^\]\n]{1,80}\][\s:|-]{1,8}){0,3}(?:[\w$-]{1,60}(?:[./][\w$-]{1,60}){1,10}(?:\s[-:]\s|: |\s))?"
)
_INFORMS = (
    r"\b(?:TRACE|DEBUG|INFO|NOTICE|info|debug|trace|notice|TRC|DBG|INF)\b(?!:)[\]\s:|\"-]"
    r"|level=(?:info|debug|trace)"
    r"|\[(?:info|debug|trace)\]"
)
_LEVELS = (
    r"^\W{0,3}(?:ERROR|WARN|WARNING|FATAL|CRITICAL|SEVERE|error|warn|warning|fatal|WRN|ERR|FTL|PNC)\b"
    r"[\]\s:|-]{1,8}"
)
_LOG_FIELD = (
    r"(?:\"(?:msg|message|err|error|exception|reason|detail)\": ?\"((?:[^\"\\]|\\.){1,500})\")"
    r"|\b(?:msg|message|err|error|reason)=(?:\"((?:[^\"\\]|\\.){1,500})\"|(\w[^\s\"]{3,200}))"
)  # a key whose value is empty gives nothing
# Values inserted into a message by the program. Addresses and identifiers come before plain numbers.
_VALUE = (
    r"\"[^\"\n]{0,300}\"|(?<!\w)'[^'\n]{0,300}'|`[^`'\n]{0,300}[`']|“[^”\n]{0,300}”|«[^»\n]{0,300}»"
    r"|\{[^{}\n]{0,200}\}|<[^<>\n]{1,200}>|\[[^\[\]\n]{0,200}\]|\b\w{1,20}=\S{1,200}"
    r"|\S{0,200}(?:/|\\)\S{1,300}|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{10,30}\b|\b0x[0-9a-fA-F]{1,16}\b"
    r"|\b[0-9a-f]{12,64}\b|\d[\w.:,-]{0,60}%?|\S{1,60}@\S{1,60}|[:;]\s|\s-{1,2}\s|\.\s|[()]|\u2192|\.{3}|…"
)
_EDGES = " \t.,:;!?-\u2013—'\"`*=|>\u00d7·"
