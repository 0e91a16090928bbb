"""Owns the identifiers that a question names, and how sure it is that each of them is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from ..index.terms import MAX_WORD, looks_like_identifier
from ..project.vocabulary import words
from .path_mentions import read_path
from .patterns import compiled

MAX_SYMBOLS = 64
"""Maximum number of identifiers kept, the surest; pasted code has hundreds."""

MAX_WORDS = 20_000
"""Maximum number of words looked at."""

QUOTED_CODE, SHAPED, MEMBER, TITLE_CASE, IN_CODE = 1.0, 0.9, 0.7, 0.4, 0.5
"""How sure it is that a word is a name in code: in backticks; a call, `snake_case`, `camelCase`, `ns::name`;
`a.b`, which may be a host or the end of a sentence; a capital within a sentence; found in pasted code, where
most names are the asker's own. By judgement, in steps coarse enough to be told apart."""


class SymbolMention(Struct, frozen=True):
    """An identifier as written, without the parentheses of a call; how sure it is that it is one, 0 to 1."""

    name: str
    certainty: float


def find_symbols(prose: str, code: Iterable[str] = ()) -> tuple[SymbolMention, ...]:
    """Return the identifiers in prose and in pasted code, the surest first, then in order.

    At most `MAX_SYMBOLS`. Paths are no symbols, nor are products (`JavaScript`, `GitHub`), plain words, and
    capitals at the beginning of a sentence. A name that is there several times counts by its surest mention.
    Takes time linear in the text.
    """
    found: dict[str, float] = {}
    for name, certainty in _in_prose(prose):
        found[name] = max(certainty, found.get(name, 0.0))
    for lines in code:
        for match in islice(compiled(_CODE_NAME).finditer(lines), MAX_WORDS):
            if certainty_of(match[0]):
                found.setdefault(match[0], IN_CODE)
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return tuple(SymbolMention(name, certainty) for name, certainty in ordered[:MAX_SYMBOLS])


def certainty_of(word: str) -> float:
    """How sure it is, by its shape alone, that a word of prose is an identifier: 0 to 1."""
    if len(word) > MAX_WORD or word.lower() in _PRODUCTS or read_path(word) or compiled(_VERSION).match(word):
        return 0.0
    if not (looks_like_identifier(word) or compiled(_SPECIAL).fullmatch(word)):
        return TITLE_CASE if compiled(_DECORATOR).fullmatch(word) else 0.0
    if (
        word.endswith(")")
        or not compiled(_DOTTED).fullmatch(word)
        or any(map(looks_like_identifier, word.split(".")))
    ):
        # Letters followed by digits are names (`utf8`) and units and models as well (`mp3`, `i7`).
        return MEMBER if compiled(_LETTERS_DIGITS).fullmatch(word) else SHAPED
    return 0.0 if word.rpartition(".")[2] in _HOST_ENDINGS else MEMBER


def _in_prose(prose: str) -> Iterator[tuple[str, float]]:
    end = 0
    for match in islice(compiled(_TICKED).finditer(prose), MAX_WORDS):
        yield from _in_sentence(prose[end : match.start()])
        end = match.end()
        inner = match[0].strip("`").strip()
        name = compiled(_CALL_END).sub("", inner)
        if compiled(_NAME).fullmatch(name) and len(name) <= MAX_WORD and not _is_path(name):
            yield name, QUOTED_CODE
        else:
            for word in islice(compiled(_CODE_NAME).finditer(inner), 50):
                certainty = 0.0 if _is_path(inner) else certainty_of(word[0])
                if certainty:
                    yield word[0], certainty
    yield from _in_sentence(prose[end:])


def _in_sentence(text: str) -> Iterator[tuple[str, float]]:
    for match in islice(compiled(_WORD).finditer(text), MAX_WORDS):
        word = match[0].rstrip(".:")
        certainty = certainty_of(word)
        if certainty and not compiled(_AROUND_URL).search(text[max(0, match.start() - 3) : match.start()]):
            yield compiled(_CALL_END).sub("", word), certainty
        elif compiled(_KIND).search(text[max(0, match.start() - 10) : match.start()]) and word[0].isupper():
            yield word, SHAPED
        elif compiled(_CALL_BEGINS).match(text, match.end()) and compiled(_NAME).fullmatch(word):
            yield word, MEMBER
        elif _is_title(word, text[match.end() : match.end() + 1]) and compiled(_WITHIN).search(
            text[max(0, match.start() - 3) : match.start()]
        ):
            yield word, TITLE_CASE


def _is_title(word: str, following: str) -> bool:
    if following in {"'", "\u2019"}:
        return False  # `Couldn't`
    return bool(compiled(_TITLE).fullmatch(word)) and word.lower() not in _PRODUCTS and word not in _CALENDAR


def _is_path(name: str) -> bool:
    return "::" not in name and read_path(name) is not None


_TICKED = r"`[^`\n]{1,400}`"
_CALL_END = r"\([^()]{0,200}\)$"
_NAME = r"[@$]?[^\W\d][\w$]*[!?]?(?:(?:\.|::|->|#|/|\\|-)[^\W\d~][\w$]*[!?]?)*|operator\S{1,3}"
_CODE_NAME = r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*"
_WORD = r"[\w$@]+(?:(?:\.|::|->|#|\\)[\w$]+)*(?:\(\))?"
_SPECIAL = r"(?:[A-Za-z_]\w*\\)+[A-Za-z_]\w*|\$[A-Za-z_]\w+"
_DECORATOR = r"@[A-Za-z_]\w+"  # or a person
_DOTTED = r"[\w$]+(?:\.[\w$]+)+"
_LETTERS_DIGITS = r"[A-Za-z]+\d+[A-Za-z]?"
_TITLE = r"[A-Z][a-z]{2,}"
_CALL_BEGINS = r"\((?!s\)|es\)| )"
_KIND = r"\b(?:class|struct|interface|trait|enum)\s\Z"
_WITHIN = r"[\w,\"'(] ?[\"'(]?\Z"
_VERSION = r"v?\d+(?:\.\w+)+$|v\d+$|[0-9a-f]{7,40}$"
_AROUND_URL = r"(?:://|[@/.])\Z"
_HOST_ENDINGS = words("com org net io dev de fr uk edu gov g e html htm")
_CALENDAR = words(
    """
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June July August
    September October November December English German French Spanish Chinese Japanese Russian
    """
)
_PRODUCTS = words(
    """
    github gitlab bitbucket javascript typescript coffeescript postgresql mysql mariadb sqlite nosql mongodb
    graphql macos ios ipados tvos watchos oauth oauth2 youtube latex freebsd openbsd netbsd powershell
    openssl openssh wordpress linkedin jetbrains intellij pycharm webstorm vscode xcode chatgpt openai
    devops webassembly websocket websockets webrtc webgl dotnet node.js next.js vue.js asp.net nodejs
    reactjs vuejs nextjs jquery rabbitmq dynamodb cloudfront fastapi stackoverflow docker kubernetes linux
    windows python java rust golang ruby kotlin swift php perl redis postgres kafka nginx apache ubuntu
    debian fedora chrome firefox safari android amazon google microsoft apple django rails spring react
    angular svelte electron macbook imagemagick ffmpeg ipv4 ipv6 utf8 utf16 sha1 sha256 md5 base64 http2
    http3 x86 x64 amd64 arm64 win32 win64 win10 win11 mp3 mp4 h264 h265 es5 es6 es2015 es2020 python2
    python3 py2 py3 s3 ec2 k8s i18n l10n a11y e2e p2p b2b
    """
)
