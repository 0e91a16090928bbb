"""The parts of a question: prose, paths, identifiers, stack frames, errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from ..index.service import query_terms
from ..project.records import Role
from .blocks import (
    WINDOW_WORDS,
    BlockKind,
    QuestionBlock,
    content_words,
    cut_windows,
    paragraphs,
    plain,
    readable,
    split_blocks,
    telling_lines,
)
from .error_messages import ErrorMention, find_errors
from .failed_tests import FailedTest, find_failed_tests
from .mentions import MAX_PATHS, SHAPED, PathMention, SymbolMention, find_paths, find_symbols
from .patterns import compiled
from .stack_trace import Frame, frames_in

LONG_CHARACTERS = 1_000
"""Characters above which a question counts as long: about three windows of prose."""

SHORT_WORDS = 25
"""Maximum number of words of a question in which a single word such as `tests` asks for files of this role. A
longer text, such as an issue, needs a phrase."""


MAX_DEFINED = 16
MAX_CODE = 20_000
"""Maximum number of definitions read from pasted code, and maximum characters read of a block."""


class Question:
    """A question divided into its parts. All parts have limits, and are empty if the question has none.
    Immutable.

    - `text`: the question as given.
    - `asked`: its prose with Markdown, but without issue templates, versions and environment.
    - `pasted`: the kinds of its blocks other than prose.
    - `defined`: the names that its pasted code defines, in order.
    - `is_long`: whether it has more than `LONG_CHARACTERS`.

    These parts decide the route. The other parts are computed at their first use, because a graph question
    doesn't need them and they take three quarters of the time.
    """

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self._blocks: Final = split_blocks(readable(text))
        prose_lines = _lines_of(self._blocks, {"prose"})
        asked_lines = telling_lines(prose_lines)
        if not any(map(str.strip, asked_lines)):
            asked_lines = prose_lines  # all lines look like a template, so keep them
        self._asked_lines: Final = asked_lines
        self.asked: Final = "\n".join(asked_lines).strip()
        self._code: Final = ["\n".join(one.lines) for one in self._blocks if one.kind in {"code", "diff"}]
        self.pasted: Final[tuple[BlockKind, ...]] = tuple(
            dict.fromkeys(block.kind for block in self._blocks if block.kind != "prose")
        )
        self.defined: Final = _defined(self._code)
        self.is_long: Final = len(text) > LONG_CHARACTERS

    @cached_property
    def prose(self) -> str:
        """The prose without Markdown and addresses."""
        return "\n".join(self._paragraphs)

    @cached_property
    def windows(self) -> tuple[str, ...]:
        """The prose in windows for the embedding model; the errors if there is no prose."""
        return cut_windows(self._paragraphs) or cut_windows([_sentence(error) for error in self.errors])

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The content words of the prose in order."""
        return content_words(self.prose)

    @cached_property
    def paths(self) -> tuple[PathMention, ...]:
        """The paths in the prose, then of stack frames outside of libraries, then in other pasted blocks."""
        return _paths(self.asked, self.frames, self._blocks)

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of stack traces, the most relevant first."""
        return frames_in([line for block in self._blocks if block.kind != "diff" for line in block.lines])

    @cached_property
    def failed_tests(self) -> tuple[FailedTest, ...]:
        """The tests that pasted output reports as failed."""
        return find_failed_tests(line for block in self._blocks for line in block.lines)

    @cached_property
    def symbols(self) -> tuple[SymbolMention, ...]:
        """The identifiers, the most certain first; single letters only if the question has no other words."""
        mentions = find_symbols(self.asked, self._code)
        if not mentions and not query_terms(self.asked).weights:
            letters = compiled(_LETTER).findall(self.asked[:MAX_LETTERS])
            return tuple(SymbolMention(letter, SHAPED) for letter in dict.fromkeys(letters))
        return mentions

    @cached_property
    def only_word(self) -> str:
        """The question if it is a single word, which may be a name; otherwise empty."""
        return self.asked if not self.pasted and compiled(_ONE_NAME).fullmatch(self.asked) else ""

    @cached_property
    def errors(self) -> tuple[ErrorMention, ...]:
        """The errors in pasted output and in prose."""
        printed = [one for one in self._blocks if one.kind in {"trace", "log"} or _is_output(one)]
        return find_errors([line for block in printed for line in block.lines], self.asked)

    @cached_property
    def wanted(self) -> frozenset[Role]:
        """The roles of files other than source that it asks for, such as tests; these get no penalty in
        ranking."""
        return frozenset(role for role in _WANTED if _wants(role, self.prose))

    @cached_property
    def _paragraphs(self) -> list[str]:
        return paragraphs(list(map(plain, self._asked_lines))) or paragraphs(self._asked_lines)


def take_apart(text: str) -> Question:
    """Return the parts of a question, which may be a few words, an issue, a pasted log, code, or anything
    else.

    Never raises. Takes time linear in the text, and reads at most `blocks.MAX_CHARACTERS` of it.
    """
    return Question(text)


def _lines_of(blocks: Iterable[QuestionBlock], kinds: set[BlockKind]) -> list[str]:
    """Return the lines of the blocks of some kinds, each block followed by a blank line."""
    lines: list[str] = []
    for block in blocks:
        if block.kind in kinds:
            lines.extend((*block.lines, ""))
    return lines


def _is_output(block: QuestionBlock) -> bool:
    """Whether a block may be the output of a program: a fenced block without a programming language."""
    return block.fenced and block.kind in {"command", "code"} and block.language in _OUTPUTS


def _paths(asked: str, frames: Sequence[Frame], blocks: Iterable[QuestionBlock]) -> tuple[PathMention, ...]:
    found: dict[str, int] = {}
    framed = [PathMention(frame.path, frame.line) for frame in frames if frame.path and not frame.library]
    pasted = "\n".join(
        compiled(_DIFF_SIDE).sub(r"\1", line)
        for kind in ("diff", "log", "command", "code")
        for block in blocks
        if block.kind == kind
        for line in block.lines
    )
    for mention in (*find_paths(asked), *framed, *find_paths(pasted)):
        found[mention.path] = found.get(mention.path) or mention.line
    return tuple(PathMention(path, line) for path, line in list(found.items())[:MAX_PATHS])


def _defined(code: Iterable[str]) -> tuple[str, ...]:
    """Return the names that pasted code defines at the beginning of a line, at most `MAX_DEFINED`."""
    found = (match for text in code for match in compiled(_DEFINITION).finditer(text[:MAX_CODE]))
    names = dict.fromkeys(match["name"] or match["typed"] for match in islice(found, 4 * MAX_DEFINED))
    return tuple(islice(names, MAX_DEFINED))


def _sentence(error: ErrorMention) -> str:
    return f"{error.type}: {error.message}" if error.type and error.message else error.type or error.message


def _wants(role: Role, prose: str) -> bool:
    """Whether a question asks for files of a role; a short question needs a word for it, a long one a
    phrase."""
    short, phrase = _WANTED[role]
    if len(prose) <= SHORT_WORDS * 12 and len(prose.split()) <= SHORT_WORDS:
        return bool(compiled(short).search(prose))
    return bool(compiled(phrase).search(prose[: WINDOW_WORDS * 12]))


_OUTPUTS = frozenset(("", "text", "txt", "plain", "console", "sh", "bash", "shell", "log", "output"))
_DEFINITION = (
    r"(?m)^[ \t]{0,40}(?:[@\w]{1,40}(?:\([^()\n]{0,80}\))? ){0,4}"
    r"(?:(?:def|fn|func|fun|function\*?|class|struct|enum|interface|trait|type|protocol|object|record|module"
    r"|const|let|var|val) (?:\([^()\n]{0,80}\) ?)?(?P<name>[A-Za-z_$][\w$]{0,200})"
    r"|(?!return|throw|else|new|await)[\w:<>,*&\[\]]{1,80}[ *&]{1,3}(?P<typed>[A-Za-z_]\w{0,200})"
    r"\([^()\n;]{0,300}\)[^\n;]{0,80}\{)"
)
_ONE_NAME = r"[^\W\d]\w{1,80}"
MAX_LETTERS = 100
"""Maximum characters of a question that are searched for names of one letter, as in `what is g`."""

_LETTER = r"(?<![\w'\u2019])[^\W\d](?![\w'\u2019])"
_DIFF_SIDE = r"(^(?:---|\+\+\+|diff --git) | )[ab]/(?=\S)"

_ASKED = (
    r"\b(?:add|write|update|fix|find|show|which|what|where are|run|extend|improve|missing|see|read"
    r"|in) (?:\w+ ){0,3}"
)


def _pair(short: str, phrase: str) -> tuple[str, str]:
    return f"(?i){short}", f"(?i){_ASKED}{phrase}"


_TESTS = (
    r"\b(?:(?:unit|integration|e2e|regression|acceptance|smoke|snapshot)[ -]?tests?|tests|test[ "
    r"_-](?:cases?|suites?|files?|coverage|fixtures?"
    r"|helpers?|data|utils?|for|of)|fixtures?|(?:is|are|was) (?:\S{1,80} )?tested|(?:a|the|any) tests?"
    r"|specs|_test\b|test_\w|\w_spec\b)"
    r"|(?:^|[\s/])(?:tests?|specs?|__tests__)/|\.(?:test|spec)\.|测试|テスト|\bтест|\bpruebas?\b|\btestes\b"  # noqa: RUF001 - Cyrillic is meant
    r"|\bTestf[aä]ll"
)
_DOCS = (
    r"\b(?:docs?|documentation|documented|readme|changelog|change ?log|tutorials?|user guide|handbook|manual"
    r"|wiki|runbook|docstrings?|release notes?|contributing|migration guide|faq|documentación|documentação"
    r"|documentazione|Dokumentation)\b|\.(?:md|rst|adoc)\b|文档|ドキュメント|документаци"
)
_CONFIG = (
    r"\b(?:config(?:uration)? (?:files?|of|for|values?|options?|defaults?)|settings files?|configured"
    r"|(?:ci|build|lint|deploy\w*) (?:config\w*|pipelines?|workflows?)|workflows?|makefile|dockerfile"
    r"|docker[ -]compose|helm charts?|package\.json|pyproject|tsconfig|dependabot|eslintrc"
    r"|(?-i:CI|CD)|continuous integration|git(?:hub|lab) (?:actions?|ci)|npm scripts?|containers? images?"
    r"|(?:dev|peer)?[ -]?dependenc(?:y|ies)|docker|lint(?:er|ers|ing)|pre-commit|cargo\.toml|go\.mod|tox|nox"
    r"|(?:build|release|publish|deploy\w*|lint|ci) (?:scripts?|steps?|jobs?|targets?|matrix|commands?)"
    r"|(?:sql|database|db|graphql|protobuf) (?:schemas?|tables?|migrations?)"
    r"|(?:python|node|rust|go|java|ruby|php|typescript) versions?"
    r"|versions? of (?:python|node|rust|go|java|ruby|php|typescript)"
    r"|env(?:ironment)? (?:variables?|files?))\b|\.(?:ya?ml|toml|ini|cfg|conf|env|properties|json)\b|配置文件"
    r"|設定ファイル|Konfigurationsdatei"
)
_EXAMPLES = (
    r"(?<!for )(?<!your )(?<!this )\b(?:examples?|demos?|samples?|snippets? of usage|usage example"
    r"|sample (?:app|code|project)|Beispiele?|exemples?|ejemplos?|exemplos?|esempi[o]?)\b|示例|пример"
)

_WANTED: Final[dict[Role, tuple[str, str]]] = {
    "test": _pair(_TESTS, r"(?:unit |integration )?(?:tests?\b|specs\b|fixtures?\b)"),
    "document": _pair(_DOCS, r"(?:docs?\b|documentation\b|readme\b|changelog\b|tutorial|guide\b)"),
    "data": _pair(
        _CONFIG, r"(?:config(?:uration)? files?\b|workflows?\b|dockerfile\b|makefile\b|pipeline\b)"
    ),
    "example": _pair(_EXAMPLES, r"(?:examples?\b|demos?\b|samples?\b)"),
}
