"""The questions: strings, messages with values filled in, and names, drawn from sources by a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.project.service import role_of

from ..needed.projects import CodeBase

PLACES_MAX = 3
"""Maximum number of lines of source with a literal: one that stands everywhere has no source."""

NAMES_MAX = 8
"""Maximum number of lines of source with a name."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its kind (`message`, `filled message`, `literal`, `name`, `usages`) and the places, a file
    and a line from 1 each, of which any is right."""

    text: str
    kind: str
    places: frozenset[tuple[str, int]]


def questions(code: CodeBase, literals: int, names: int, seed: int) -> list[Question]:
    """Return so many questions for literals and for names of a code base, the same ones for a seed."""
    chance = random.Random(f"{code.name} {seed}")
    lines = {path: code.file(path).lines for path in sorted(code.paths) if _is_source(path)}
    return [*_of_literals(lines, chance, literals), *_of_names(lines, chance, names)]


def _is_source(path: str) -> bool:
    language = language_of(path)
    return language in _LANGUAGES and role_of(path, language) == "source"


def _of_literals(lines: Mapping[str, Sequence[str]], chance: random.Random, most: int) -> Iterator[Question]:
    places: dict[str, set[tuple[str, int]]] = {}
    drawn: dict[str, tuple[str, str]] = {}
    for path, text in lines.items():
        for number, line in enumerate(text, 1):
            if _COMMENT.match(line) or len(line) > 300:
                continue
            for written, said in _literals(line, language_of(path)):
                places.setdefault(written, set()).add((path, number))
                drawn.setdefault(written, (written, said))
    numbered = [((path, at), line) for path, text in lines.items() for at, line in enumerate(text, 1)]
    everywhere = "\n".join(line for _, line in numbered)
    kinds: dict[str, list[str]] = {"message": [], "filled message": [], "literal": []}
    for written, (_, said) in drawn.items():
        pieces = [piece for piece in _HOLES.split(written) if piece]
        longest = max(pieces, key=len, default="")
        if len(places[written]) <= PLACES_MAX and everywhere.count(longest) <= PLACES_MAX:
            kinds[_kind(written, said)].append(written)
            # A longer string may say the same.
            places[written] |= {place for place, line in numbered if longest in line}
    for kind, share in (("message", 0.35), ("filled message", 0.4), ("literal", 0.25)):
        chosen = sorted(kinds[kind])
        chance.shuffle(chosen)
        for written in chosen[: round(most * share)]:
            said = _filled(written, chance)
            form = chance.choice(_LITERAL_FORMS if kind == "literal" else _MESSAGE_FORMS)
            yield Question(form.format(said), kind, frozenset(places[written]))


def _kind(written: str, said: str) -> str:
    if len(said.split()) < 3:
        return "literal"
    return "filled message" if _HOLES.search(written) else "message"


def _literals(line: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield literals of a line as written, holes included, and without these."""
    for match in _LITERAL.finditer(line):
        written = next(group for group in match.groups() if group is not None)
        quote = match[0][0]
        if len(written) < 8 or (quote == "'" and language not in _SINGLE_QUOTES):
            continue
        formats = match.start() > 0 and line[match.start() - 1] in "fF"
        if "\\" in written or (language == "python" and "{" in written and not formats):
            continue
        said = _HOLES.sub(" ", written)
        words = re.findall(r"[A-Za-z]{2,}", said)
        prose = len(words) >= 3 and sum(map(len, words)) >= 14 and written[0] not in " <"
        exact = (
            len(words) in {1, 2}
            and 8 <= len(written) <= 60
            and re.fullmatch(r"[\w./:-]*[./:-][\w./:-]*", written)
        )
        if prose or (exact and said == written):
            yield written, said


def _filled(written: str, chance: random.Random) -> str:
    """Return a message as a program would print it."""

    def value(match: re.Match[str]) -> str:
        hole = match[0]
        if hole == "%%":
            return "%"
        if re.fullmatch(r"%[-+0-9.*lhzj]*[diufxX]", hole):
            return str(chance.randrange(2, 5_000))
        return chance.choice(_VALUES)

    return _HOLES.sub(value, written)


def _of_names(lines: Mapping[str, Sequence[str]], chance: random.Random, most: int) -> Iterator[Question]:
    places: dict[str, set[tuple[str, int]]] = {}
    for path, text in lines.items():
        for number, line in enumerate(text, 1):
            if not _COMMENT.match(line):
                for name in _NAME.findall(line[:300]):
                    places.setdefault(name, set()).add((path, number))
    constants = sorted(name for name, at in places.items() if name.isupper() and len(at) <= NAMES_MAX)
    others = sorted(name for name, at in places.items() if not name.isupper() and len(at) <= NAMES_MAX)
    chance.shuffle(constants)
    chance.shuffle(others)
    chosen = constants[: (most + 1) // 2]
    chosen += others[: most - len(chosen)]
    for at, name in enumerate(chosen):
        defining = {
            (path, number)
            for path, number in places[name]
            if re.search(_DEFINING.format(re.escape(name)), lines[path][number - 1])
        }
        if at % 2:
            using = places[name] - defining or places[name]
            yield Question(chance.choice(_USAGE_FORMS).format(name), "usages", frozenset(using))
        else:
            yield Question(
                chance.choice(_NAME_FORMS).format(name), "name", frozenset(defining or places[name])
            )


_LANGUAGES = frozenset(
    ("python", "go", "javascript", "typescript", "java", "php", "ruby", "rust", "c", "cpp", "csharp")
)
_SINGLE_QUOTES = frozenset(("python", "javascript", "typescript", "php", "ruby"))
_LITERAL = re.compile(r"\"((?:[^\"\\]|\\.){0,200})\"|'((?:[^'\\]|\\.){0,200})'|`([^`]{0,200})`")
_HOLES = re.compile(
    r"#\{[^{}]*\}|\$\{[^{}]*\}|\{\$?[\w.:!?\[\]()>$'-]*\}|%%|%\(\w+\)s|%[-+0-9.*lhzj]*[a-zA-Z]\b|\$[a-z]\w*\b"
)
_COMMENT = re.compile(r"\s*(?:#(?! *define)|//|/?\*|--|\"\"\"|'''|use |import |require|from )")
_NAME = re.compile(r"\b(?:[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+|[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+){2,})\b")
_DEFINING = (
    r"\b(?:def|class|func|fn|function|const|let|var|val|type|struct|enum|interface|static|define|final|trait"
    r"|mod|sub)\b[^=({{]*\b{0}\b|^\s*(?:self\.|[@$])?{0}\s*(?::|=[^=])"
)
_VALUES = ("'abc'", "42", "/tmp/data.json", "user-17", "None", "[1, 2]", "example.com", "Foo", '"x y"')
_MESSAGE_FORMS = (
    "{}",
    "{}",
    "Error: {}",
    "ValueError: {}",
    'I get "{}" when I start it, why?',
    "2026-01-31 12:00:03,123 ERROR [worker] {}",
    'where does the message "{}" come from?',
)
_LITERAL_FORMS = ("{}", '"{}"', 'where is "{}" used?', "`{}`")
_NAME_FORMS = ("{}", "where is {} defined?", "what is {}?")
_USAGE_FORMS = ("usages of {}", "where is {} used?", "who uses {}?")
