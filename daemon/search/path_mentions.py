"""Owns the file paths that a question names, in whatever notation, with the line where one is given."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from ..project.languages import language_of
from ..project.vocabulary import words
from .patterns import compiled

MAX_PATHS = 40
"""Maximum number of paths kept; a pasted listing has thousands."""

MAX_PATH = 400
"""A longer word is no path, in characters."""


class PathMention(Struct, frozen=True):
    """A path as a question names it: `/` between its parts, without `./`, a diff's `a/`, a drive or a host.

    It may be absolute, from another machine, a folder (it ends in `/` if written so) or a glob: match it
    from its end. `line` counts from 1, 0 where none is given.
    """

    path: str
    line: int = 0


def find_paths(text: str) -> tuple[PathMention, ...]:
    r"""Return the paths that a text names, in order, each with the first line given for it.

    At most `MAX_PATHS`. Understood are `a/b.py`, `b.py:12:5`, `b.go#L10-L20`, `b.ts(41,17)`, `src\a\b.cs`,
    `File "x.py", line 3`, `--> src/main.rs:4:5`, links to a file at a code host, `webpack:///./src/a.ts`, and
    folders where the slashes can't mean "or". Takes time linear in the text.
    """
    found: dict[str, int] = {}
    for mention in _mentions(text):
        found[mention.path] = found.get(mention.path) or mention.line
        if len(found) >= MAX_PATHS:
            break
    return tuple(PathMention(path, line) for path, line in found.items())


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


def clean_path(path: str) -> str:
    """Return a path with `/` between its parts, without scheme, host, drive, `./` and what bundlers add."""
    path = path.strip()
    path = compiled(_SCHEME).sub("", path)
    if "\\" in path:
        path = path.replace("\\\\", "/").replace("\\", "/")
    path = compiled(_DRIVE).sub("/", path)
    path = path.partition("?")[0] if "?" in path and "*" not in path else path
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    return path


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
"""Maximum number of words looked at."""


def _parts(word: str) -> list[str]:
    """Return the words in what stands without a space: `[a](src/a.py)`, `a.py,b.py`, `path=src/a.py`."""
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
    # `a.b` is a dotted name unless the extension is one that files bear. Among those some are common as
    # members too (`self.c`, `req.s`), so an extension of one letter wants a stem of two.
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
_SCHEME = (
    r"^(?:file:/{0,3}(?=[A-Za-z]:)|file://|webpack(?:-internal)?:/{2,3}(?:\.|[\w@-]{1,60}(?=/\.))?/?"
    r"|https?://[^/\s]{1,200}/|package:|phar://|app://|(?=\w)\w{3,}://(?=/))"
)
_DRIVE = r"^[A-Za-z]:/"
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
