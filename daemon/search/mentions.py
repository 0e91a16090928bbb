"""Finds the file paths and identifiers that a question names, with line numbers and certainties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from ..core.vocabulary import words
from ..index.records import MAX_WORD
from ..index.service import looks_like_identifier
from ..languages.shared.language import language_of
from .patterns import clean_path, compiled

MAX_PATHS = 40
"""Maximum number of paths kept; a pasted listing has thousands."""

MAX_PATH = 400
"""Maximum characters of a path; a longer word is no path."""


class PathMention(Struct, frozen=True):
    """A path in a question, with `/` between its parts, and without `./`, a diff's `a/`, a drive or a host.

    It may be absolute, from another machine, a folder (ends with `/` if written so) or a glob, so compare it
    with the project's paths from its end. `line` counts from 1; 0 means that no line is given.
    """

    path: str
    line: int = 0


def find_paths(text: str) -> tuple[PathMention, ...]:
    r"""Return the paths that a text names, in order, each with the first line given for it.

    Returns at most `MAX_PATHS`. Supported forms are `a/b.py`, `b.py:12:5`, `b.go#L10-L20`, `b.ts(41,17)`,
    `src\a\b.cs`, `File "x.py", line 3`, `--> src/main.rs:4:5`, links to a file at a code host,
    `webpack:///./src/a.ts`, and folders whose slashes can't mean "or". Takes time linear in the text.
    """
    lines: dict[str, int] = {}
    for mention in _mentions(text):
        lines[mention.path] = lines.get(mention.path) or mention.line
        if len(lines) >= MAX_PATHS:
            break
    return tuple(PathMention(path, line) for path, line in lines.items())


def read_path(word: str, *, loosely: bool = False) -> PathMention | None:
    """Return the path that a word is, or None. `loosely` also takes `web/router`, which may mean "or"."""
    if not 2 < len(word) <= MAX_PATH or not compiled(_MAY_BE_PATH).search(word):
        return None
    host = compiled(_HOST_LINK).match(word)
    if host:
        return PathMention(host["path"], int(host["line"] or 0))
    if compiled(_URL).match(word) and not compiled(_LOCAL_URL).match(word):
        return None
    position = compiled(_POSITION).search(word)
    bare = clean_path(word[: position.start()] if position else word)
    numbers = [number for number in position.groups() if number] if position else []
    line = int(numbers[0]) if numbers else 0
    if not bare or not compiled(_PATH).fullmatch(bare) or not (_is_file(bare) or _is_folder(bare, loosely)):
        return None
    return PathMention(bare, line)


def _mentions(text: str) -> Iterator[PathMention]:
    for match in islice(compiled(_WORD).finditer(text), MAX_WORDS):
        if len(match[0]) > MAX_PATH or not compiled(_MAY_BE_PATH).search(match[0].strip(_AROUND[1:])):
            continue
        for word in _parts(match[0]):
            mention = read_path(word)
            if mention is None:
                continue
            if not mention.line:
                later = compiled(_LINE_AFTER).match(text, match.end())
                mention = PathMention(mention.path, int(later["line"])) if later else mention
            yield mention


MAX_WORDS = 100_000
"""Maximum number of words that are read for paths."""


def _parts(word: str) -> list[str]:
    """Split a text without spaces into words: `[a](src/a.py)`, `a.py,b.py`, `path=src/a.py`."""
    if not word.isascii() and any(
        compiled(_CJK).search(part) and compiled(_ASCII_LETTER).search(part)
        for part in compiled(_SEGMENT).split(word)
    ):
        return [part for run in compiled(_CJK).split(word) for part in _parts(run)]
    if word.startswith("**") and word.endswith("**"):
        word = word.strip("*")
    word = word.strip(_AROUND) if not word.startswith(".") else word.rstrip(_AROUND)
    if compiled(_POSITION).search(word):
        pieces = [word[word.find("](") + 2 :] if "](" in word else word]
    else:
        pieces = [piece for part in word.split(",") for piece in part.split("(")] if len(word) > 2 else []
    return [_after_equals(piece.rstrip(_AROUND + ")]}").lstrip("([{")) for piece in pieces]


def _after_equals(word: str) -> str:
    head, equals, tail = word.partition("=")
    return tail if equals and "/" not in head and compiled(_MAY_BE_PATH).search(tail) else word


_AROUND = ".,;:!?\"'`_|<>«»“”\u2018\u2019\uff0c\u3002\uff1a\uff1b\uff1f\uff01…\u3001「」"


def _is_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    if path.lower() in _PRODUCTS or not name:
        return False
    if (
        "/" in path
        and dot
        and stem
        and extension.isalnum()
        and len(extension) <= 10
        and not extension.isdigit()
    ):
        return True
    if name in _KNOWN_NAMES or (name.startswith(".") and bool(language_of(name))):
        return True
    # `a.b` is a path only if `b` is a known file extension. Some extensions are common member names too
    # (`self.c`, `req.s`), so an extension of one letter needs a stem of at least two letters.
    if stem in _RECEIVERS:
        return False
    known = bool(language_of(name)) or extension.lower() in _OTHER_EXTENSIONS
    return bool(dot and stem and known and (len(extension) > 1 or len(stem) > 1) and not extension.isupper())


def _is_folder(path: str, loosely: bool) -> bool:
    parts = [part for part in path.split("/") if part]
    if not parts or "/" not in path:
        return False
    if path.startswith(("/", "~/")):
        return len(parts) > 1
    if path.endswith("/"):
        return len(parts) > 1 or len(parts[0]) > 1
    if all(part.lower() in _EITHER_OR for part in parts) or (len(parts) == 2 and min(map(len, parts)) < 2):
        return False
    if loosely or parts[0] in _USUAL_FOLDERS or any("*" in part for part in parts):
        return True
    plain = all(part.isalpha() for part in parts)
    return not plain and all(any(map(str.isalpha, part)) for part in parts)


_WORD = r"[^\s\"'`<>|;\uff0c\u3002\uff1a\uff1b\uff1f\uff01\u3001「」“”]++"
_CJK = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
_ASCII_LETTER = r"[A-Za-z]"
_SEGMENT = r"[/.]"
_MAY_BE_PATH = r"[./\\]|^(?:Makefile|Dockerfile|README|CHANGELOG|LICENSE|Rakefile|Gemfile|Jenkinsfile)$"
_POSITION = (
    r"(?::(\d{1,7})(?:[:-]\d{1,7}){0,2}:?|#L?(\d{1,7})(?:-L?\d{1,7})?|\((\d{1,7})(?:,\d{1,7}){0,3}\)?:?"
    r"|:L(\d{1,7})|:line)\Z"
)
_LINE_AFTER = r"[\"'`)]{0,2}(?:,| on| at|\()? ?\(?lines? (?P<line>\d{1,7})"
_PATH = r"(?:[/~]/?)?[\w.@+*\-\[\]()$%{},=~# ]{1,200}(?:/[\w.@+*\-\[\]()$%{},=~# ]{0,200}){0,60}"
_URL = r"(?i)[a-z][a-z0-9+.-]{1,20}://|www\.|mailto:"
_LOCAL_URL = r"(?i)(?:file|webpack(?:-internal)?|https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0))"
_HOST_LINK = (
    r"https?://[^/\s]{1,100}/[^/\s]{1,100}/[^/\s]{1,100}/(?:-/)?(?:blob|blame|tree|raw"
    r"|src/(?:branch|commit|tag))/[^/\s]{1,100}/(?P<path>[^\s#?()]{1,300})(?:\?[^\s#]{0,100})?(?:#(?:L"
    r"|lines-)?(?P<line>\d{1,7}))?"
)

_KNOWN_NAMES = words(
    """
    Makefile makefile GNUmakefile Dockerfile Containerfile Jenkinsfile Rakefile Gemfile Procfile Vagrantfile
    README CHANGELOG LICENSE CONTRIBUTING CODEOWNERS Cargo.lock Cargo.toml go.mod go.sum justfile BUILD
    WORKSPACE
    """
)
_OTHER_EXTENSIONS = words(
    """
    txt log lock mod sum env csv tsv png svg pdf gif jpg jpeg ico woff wasm so dll exe jar zip gz tar whl
    sqlite db map snap tmpl tpl erb ejs hbs cfg conf toml ini xml plist
    """
)
_PRODUCTS = words(
    """
    node.js next.js vue.js nuxt.js three.js d3.js chart.js socket.io backbone.js ember.js express.js
    react.js angular.js angularjs discord.js moment.js electron.js asp.net vb.net github.com gitlab.com e.g
    i.e etc.
    """
)
_USUAL_FOLDERS = words(
    """
    src lib libs app apps pkg cmd internal core packages crates modules test tests spec docs doc examples
    include scripts tools bin config server client web api frontend backend components utils util common
    shared plugins services public static assets vendor build dist node_modules .github .circleci etc usr
    home var opt tmp srv
    """
)
_RECEIVERS = words("self this cls req res ctx window document console os sys np pd np e i")
_EITHER_OR = words(
    """
    and or read write client server input output true false yes no on off before after import export tcp udp
    ip he she his her him request response get set key value start stop open close push pull up down left
    right min max add remove create update delete insert select enable disable enabled disabled old new in
    out http https tls ssl login logout sync async public private front back end linux windows mac macos
    unix css js html json xml yaml row column width height x y a b c d i o w n ios android and/or any all
    some many one two three vs his hers
    """
)


MAX_SYMBOLS = 64
"""Maximum number of identifiers kept, the most certain ones; pasted code has hundreds."""

MAX_NAMES = 20_000
"""Maximum number of words that are read for identifiers."""

QUOTED_CODE, SHAPED, MEMBER, TITLE_CASE, IN_CODE = 1.0, 0.9, 0.7, 0.4, 0.5
"""Certainty (0 to 1) that a word is a name in the project's code, in the order of the constants: in
backticks; a call, `snake_case`, `camelCase` or `ns::name`; `a.b`, which may be a host or the end of a
sentence; capitalized within a sentence; in pasted code, where most names are the asker's own. The values are
estimates."""


class SymbolMention(Struct, frozen=True):
    """A possible identifier as written, without the parentheses of a call, and its certainty (0 to 1)."""

    name: str
    certainty: float


def find_symbols(prose: str, code: Iterable[str] = ()) -> tuple[SymbolMention, ...]:
    """Return the identifiers in prose and in pasted code, the most certain first, then in order.

    Returns at most `MAX_SYMBOLS`. Paths, products (`JavaScript`, `GitHub`), plain words, and capitalized
    words at the beginning of a sentence are no identifiers. A name that occurs several times gets its highest
    certainty. Takes time linear in the text.
    """
    certainties: dict[str, float] = {}
    for name, certainty in _in_prose(prose):
        certainties[name] = max(certainty, certainties.get(name, 0.0))
    for lines in code:
        for match in islice(compiled(_CODE_NAME).finditer(lines), MAX_NAMES):
            if certainty_of(match[0]):
                certainties.setdefault(match[0], IN_CODE)
    ordered = sorted(certainties.items(), key=lambda item: -item[1])
    return tuple(SymbolMention(name, certainty) for name, certainty in ordered[:MAX_SYMBOLS])


def certainty_of(word: str) -> float:
    """Return the certainty (0 to 1), by its form alone, that a word in prose is an identifier."""
    if len(word) > MAX_WORD or word.lower() in _BRANDS or read_path(word) or compiled(_VERSION).match(word):
        return 0.0
    if not (looks_like_identifier(word) or compiled(_SPECIAL).fullmatch(word)):
        return TITLE_CASE if compiled(_DECORATOR).fullmatch(word) else 0.0
    if (
        word.endswith(")")
        or not compiled(_DOTTED).fullmatch(word)
        or any(map(looks_like_identifier, word.split(".")))
    ):
        # Letters followed by digits may be a name (`utf8`), but also a format or product (`mp3`, `i7`).
        return MEMBER if compiled(_LETTERS_DIGITS).fullmatch(word) else SHAPED
    return 0.0 if word.rpartition(".")[2] in _HOST_ENDINGS else MEMBER


def _in_prose(prose: str) -> Iterator[tuple[str, float]]:
    end = 0
    for match in islice(compiled(_TICKED).finditer(prose), MAX_NAMES):
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
    for match in islice(compiled(_SYMBOL).finditer(text), MAX_NAMES):
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
    return bool(compiled(_TITLE).fullmatch(word)) and word.lower() not in _BRANDS and word not in _CALENDAR


def _is_path(name: str) -> bool:
    return "::" not in name and read_path(name) is not None


_TICKED = r"`[^`\n]{1,400}`"
_CALL_END = r"\([^()]{0,200}\)$"
_NAME = r"[@$]?[^\W\d][\w$]*[!?]?(?:(?:\.|::|->|#|/|\\|-)[^\W\d~][\w$]*[!?]?)*|operator\S{1,3}"
_CODE_NAME = r"[^\W\d][\w$]*(?:(?:\.|::|->|#)[^\W\d][\w$]*)*"
_SYMBOL = r"[\w$@]+(?:(?:\.|::|->|#|\\)[\w$]+)*(?:\(\))?"
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
_BRANDS = words(
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
