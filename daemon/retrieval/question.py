"""Owns the anatomy of a question: what in it is prose, path, symbol, stack frame or error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ..lazy_dataclass import dataclass
from .blocks import Block, BlockKind, readable, split_blocks
from .error_messages import ErrorMention, find_errors
from .path_mentions import MAX_PATHS, PathMention, find_paths
from .patterns import compiled
from .plain_prose import WINDOW_WORDS, content_words, cut_windows, paragraphs, plain, telling_lines
from .stack_trace import Frame, frames_in
from .symbol_mentions import SymbolMention, find_symbols

LONG_CHARACTERS = 1_000
"""From this length on a question is long, whatever it is made of: about three windows of prose."""

SHORT_WORDS = 25
"""In a question of so few words `tests` alone says what it is after; in an issue it doesn't."""


MAX_DEFINED = 16
MAX_CODE = 20_000
"""So many definitions are read from pasted code, in so many characters of a block: the first is meant."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart. All parts are bounded, and empty where the question has nothing of the kind.

    `text` is as given. `asked` is the part that is prose, with its marks, without issue templates, versions
    and environment; `prose` the same in plain words, without marks and addresses: for the embedding model,
    in `windows` that it can take. A question without prose has its errors as its windows. `words` are the
    content words of the prose in order. `paths` are those of the prose, then of frames outside of libraries,
    then the rest. `frames` are the most relevant first. `symbols` are the surest first. `pasted` are the
    kinds of blocks that aren't prose, `defined` what code among them defines, in order. `wants_…` say that
    the question is after tests, documentation, configuration or examples, so that these aren't to be ranked
    down.
    """

    text: str
    asked: str
    prose: str
    windows: tuple[str, ...]
    words: tuple[str, ...]
    paths: tuple[PathMention, ...]
    frames: tuple[Frame, ...]
    symbols: tuple[SymbolMention, ...]
    errors: tuple[ErrorMention, ...]
    pasted: tuple[BlockKind, ...]
    defined: tuple[str, ...]
    wants_tests: bool
    wants_docs: bool
    wants_config: bool
    wants_examples: bool
    is_long: bool


def take_apart(text: str) -> Question:
    """Return the anatomy of a question: a few words, an issue, a pasted log, code, or anything at all.

    Never raises; takes time linear in the text, of which at most `blocks.MAX_CHARACTERS` are read.
    """
    blocks = split_blocks(readable(text))
    prose_lines = _lines_of(blocks, {"prose"})
    printed = [block for block in blocks if block.kind in {"trace", "log"} or _is_output(block)]
    asked_lines = telling_lines(prose_lines)
    if not any(map(str.strip, asked_lines)):
        asked_lines = prose_lines  # it looks like a template, yet there is nothing else
    asked = "\n".join(asked_lines).strip()
    parts = paragraphs(list(map(plain, asked_lines))) or paragraphs(asked_lines)
    prose = "\n".join(parts)
    frames = frames_in([line for block in blocks if block.kind != "diff" for line in block.lines])
    errors = find_errors([line for block in printed for line in block.lines], asked)
    code = ["\n".join(block.lines) for block in blocks if block.kind in {"code", "diff"}]
    is_long = len(text) > LONG_CHARACTERS
    return Question(
        text=text,
        asked=asked,
        prose=prose,
        windows=cut_windows(parts) or cut_windows([_sentence(error) for error in errors]),
        words=content_words(prose),
        paths=_paths(asked, frames, blocks),
        frames=frames,
        symbols=find_symbols(asked, code),
        errors=errors,
        pasted=tuple(dict.fromkeys(block.kind for block in blocks if block.kind != "prose")),
        defined=_defined(code),
        wants_tests=_wants("tests", prose),
        wants_docs=_wants("docs", prose),
        wants_config=_wants("config", prose),
        wants_examples=_wants("examples", prose),
        is_long=is_long,
    )


def _lines_of(blocks: Iterable[Block], kinds: set[BlockKind]) -> list[str]:
    """Return the lines of the blocks of some kinds, with a blank one between blocks."""
    lines: list[str] = []
    for block in blocks:
        if block.kind in kinds:
            lines.extend((*block.lines, ""))
    return lines


def _is_output(block: Block) -> bool:
    """Whether what a program printed may stand in a block: a fence that names no programming language."""
    return block.fenced and block.kind in {"command", "code"} and block.language in _OUTPUTS


def _paths(asked: str, frames: Sequence[Frame], blocks: Iterable[Block]) -> tuple[PathMention, ...]:
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
    """Return the names that pasted code defines at the beginnings of its lines, at most `MAX_DEFINED`."""
    found = (match for text in code for match in compiled(_DEFINITION).finditer(text[:MAX_CODE]))
    names = dict.fromkeys(match["name"] or match["typed"] for match in islice(found, 4 * MAX_DEFINED))
    return tuple(islice(names, MAX_DEFINED))


def _sentence(error: ErrorMention) -> str:
    return f"{error.type}: {error.message}" if error.type and error.message else error.type or error.message


def _wants(thing: str, prose: str) -> bool:
    """Whether a question asks for a kind of file: a short one by a word, a long one by a phrase."""
    short, phrase = _WANTED[thing]
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
    r"|env(?:ironment)? (?:variables?|files?))\b|\.(?:ya?ml|toml|ini|cfg|conf|env|properties|json)\b|配置文件"
    r"|設定ファイル|Konfigurationsdatei"
)
_EXAMPLES = (
    r"(?<!for )(?<!your )(?<!this )\b(?:examples?|demos?|samples?|snippets? of usage|usage example"
    r"|sample (?:app|code|project)|Beispiele?|exemples?|ejemplos?|exemplos?|esempi[o]?)\b|示例|пример"
)

_WANTED = {
    "tests": _pair(_TESTS, r"(?:unit |integration )?(?:tests?\b|specs\b|fixtures?\b)"),
    "docs": _pair(_DOCS, r"(?:docs?\b|documentation\b|readme\b|changelog\b|tutorial|guide\b)"),
    "config": _pair(
        _CONFIG, r"(?:config(?:uration)? files?\b|workflows?\b|dockerfile\b|makefile\b|pipeline\b)"
    ),
    "examples": _pair(_EXAMPLES, r"(?:examples?\b|demos?\b|samples?\b)"),
}
