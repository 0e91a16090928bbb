"""Owns the split of a question into blocks: prose on one side, what was pasted into it on the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from .patterns import compiled
from .stack_trace import is_trace_line

BlockKind = Literal["prose", "code", "trace", "log", "diff", "command"]
"""`trace` holds stack traces and the output of compilers and test runners, `log` also JSON and tables of
data, `command` shell and SQL."""

MAX_CHARACTERS = 100_000
"""Of a longer question the beginning and the end are read, half of this each."""

MAX_LINES = 10_000
"""And of more lines the first and the last, half of this each."""

MAX_LINE = 1_000
"""Characters of a line that tell what it is."""


class QuestionBlock(Struct, frozen=True):
    """Lines that belong together. `language` is the word at the opening of a Markdown fence, lower case."""

    kind: BlockKind
    lines: tuple[str, ...]
    language: str = ""
    fenced: bool = False


def readable(text: str) -> str:
    """Return a text without what only machines see, cut to `MAX_CHARACTERS` and `MAX_LINES`.

    Gone are escape codes, zero-width and control characters, HTML comments and carriage returns. Stack
    traces inside of JSON or string literals get their lines back. Lone surrogates become question marks.
    """
    if len(text) > MAX_CHARACTERS:
        half = MAX_CHARACTERS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    text = compiled(_ESCAPE).sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = compiled(_ESCAPED_FRAME).sub("\n", text)
    text = _without_comments(compiled(_INVISIBLE).sub("", text).replace("\u00a0", " "))
    if text.count("\n") > MAX_LINES:
        lines = text.split("\n")
        text = "\n".join((*lines[: MAX_LINES // 2], *lines[-MAX_LINES // 2 :]))
    return text


def split_blocks(text: str) -> tuple[QuestionBlock, ...]:
    """Return the blocks of a text that `readable` gave, in order. Takes time linear in the text.

    A line on its own that could be code or a sentence is a sentence. Blank lines belong to the block
    before them. The contents of a fence are told apart by what stands in them, not by its language alone.
    """
    blocks: list[QuestionBlock] = []
    for lines, language, fenced in _fences(text.split("\n")):
        if fenced:
            blocks.append(QuestionBlock(_kind_of_fenced(lines, language), tuple(lines), language, True))
        else:
            blocks.extend(_unfenced(lines))
    return tuple(blocks)


def _fences(lines: Sequence[str]) -> Iterator[tuple[list[str], str, bool]]:
    """Yield runs of lines inside and outside of Markdown fences; an open fence ends with the text."""
    run: list[str] = []
    fence = ""
    language = ""
    for line in lines:
        mark = compiled(_FENCE).match(line[:MAX_LINE])
        if not mark or (fence and not mark["mark"].startswith(fence)):
            run.append(line)
            continue
        if run:
            yield run, language, bool(fence)
        run = []
        # What follows the opening mark on its line may be the code itself: ```foo()```
        if fence:
            fence, language = "", ""
        elif mark["mark"] in mark["info"]:
            yield [mark["info"].replace(mark["mark"], "")], "", True
        else:
            fence, language = mark["mark"], mark["info"].strip().split(" ")[0].lower()
    if run:
        yield run, language, bool(fence)


def _kind_of_fenced(lines: Sequence[str], language: str) -> BlockKind:
    if language in {"diff", "patch"}:
        return "diff"
    kinds = [kind for kind in map(line_kind, lines) if kind]
    for kind in ("diff", "trace"):
        if kinds.count(kind) >= (1 if kind == "diff" or len(kinds) < 8 else 2):
            return kind
    if kinds.count("log") * 2 > len(kinds):
        return "log"
    if language in _SHELLS or kinds[:1] == ["command"]:
        return "command"
    return "code"


def _unfenced(lines: Sequence[str]) -> Iterator[QuestionBlock]:
    """Group lines of one kind; what is indented below a trace, log or diff belongs to it."""
    kind: BlockKind = "prose"
    run: list[str] = []
    for line in lines:
        found = _continued(kind, line) or line_kind(line) or kind
        if found != kind and run:
            yield from _block(kind, run)
            run = []
        kind = found
        run.append(line)
    if run:
        yield from _block(kind, run)


def _block(kind: BlockKind, lines: Sequence[str]) -> Iterator[QuestionBlock]:
    if (
        kind == "code"
        and sum(1 for line in lines if line.strip()) < 2
        and not compiled(_SURE_CODE).search(lines[0][:MAX_LINE])
    ):
        kind = "prose"
    yield QuestionBlock(kind, tuple(lines))


def _continued(kind: BlockKind, line: str) -> BlockKind | None:
    if kind == "diff" and line[:1] in {"+", "-", " ", "@", "\\"}:
        return kind
    if (
        kind in {"trace", "log", "code"}
        and line[:1] in {" ", "\t"}
        and line.strip()
        and not compiled(_LIST).match(line)
    ):
        return "trace" if kind == "log" and is_trace_line(line) else kind
    if kind == "trace" and compiled(_ERROR_LINE).match(line[:MAX_LINE]):
        return kind
    return None


def line_kind(line: str) -> BlockKind | None:
    """Return what a single line looks like, None for a blank one."""
    line = line[:MAX_LINE]
    if not line.strip():
        return None
    if compiled(_DIFF).match(line):
        return "diff"
    if compiled(_LOG).match(line):
        return "log"
    if is_trace_line(line):
        return "trace"
    if _is_command(line):
        return "command"
    return "code" if compiled(_CODE).match(line) or compiled(_SURE_CODE).search(line) else "prose"


def _is_command(line: str) -> bool:
    unquoted = compiled(_QUOTED).sub("", line)
    return bool(
        compiled(_SQL).search(unquoted)
        or (compiled(_SHELL).match(line) and compiled(_SHELL_SIGN).search(unquoted))
        or compiled(_PROMPT).match(line)
    )


def _without_comments(text: str) -> str:
    """Remove HTML comments; one that isn't closed stays, since it may be anything."""
    if "<!--" not in text:
        return text
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            break
        kept.append(text[position:start])
        position = end + 3
    return "".join((*kept, text[position:]))


_SHELLS = frozenset(("sh", "bash", "shell", "console", "sql", "zsh", "shell-session"))
_ESCAPE = r"\x1b(?:\[[0-9;?]{0,40}[ -/]?[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_])"
_ESCAPED_FRAME = (
    r"\\{1,2}n(?=(?:\\{1,2}t| {1,8})?(?:at |File |Caused by: |\.\.\. \d)|[\w.]{1,80}(?:Error|Exception): )"
    r"|\\{1,2}r?\\n\\{1,2}t"
)
_INVISIBLE = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+"
_FENCE = r"[ \t>]{0,12}(?P<mark>`{3,10}|~{3,10})(?P<info>.*)$"
_LIST = r"\s*+(?:[-*+]|\d{1,3}[.)]) "
_DIFF = (
    r"diff --git |@@ -\d{1,7}(?:,\d{1,7})? \+\d{1,7}|--- (?:a/|/dev/null)|\+\+\+ (?:b/|/dev/null)|Index: \S+$"
)
_ERROR_LINE = (
    r"(?:[A-Za-z_][\w.:$\\]{0,200}?(?:Error|Exception|Warning|Failure|Exit|Interrupt)\b"
    r"|[A-Za-z_][\w.$]{1,200}: )"
)

_LOG = (
    r"[\[(\"']{0,2}\d{4}[-/]\d\d[-/]\d\d[T ]{1,2}\d{1,2}:\d\d"  # 2031-03-04 02:11:09
    r"|\[?\d\d:\d\d:\d\d[\]. ,]"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d "  # syslog
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d"  # klog, glog
    r"|\[?\d{1,2}/[A-Z][a-z]{2}/\d{4}[: ]|\d{1,3}(?:\.\d{1,3}){3} \S+ \S+ \["
    r"|\W?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|NOTICE|SEVERE)(?:\]|: ?| [-|] | {2,}|\[|:\w)"
    r"|\[(?:trace|debug|info|warn|warning|error|fatal|critical|\w{1,20}\])\] "
    r"|(?:time|ts|level|lvl|msg)=\S|\S{1,80} {1,10}\| \d{4}-|\{\"\w{1,30}\": ?[\"\d{\[]"
    r"|\[ {0,6}\d{1,6}\.\d{6}\] "  # the kernel's
)

_SQL = (
    r"\bSELECT\b.{1,400}\bFROM\b|\bINSERT INTO \S|\bUPDATE \S{1,80} SET\b|\bDELETE FROM \S"
    r"|\b(?:CREATE|DROP|ALTER) (?:OR REPLACE )?(?:UNIQUE )?(?:TABLE|INDEX|VIEW|DATABASE|TRIGGER)\b"
    r"|^\s{0,20}(?:SELECT|FROM|WHERE|(?:INNER |LEFT |RIGHT )?JOIN|GROUP BY|ORDER BY) \S"
    r"|^\s{0,20}(?:select .{1,400} from .{1,400}[=;*]|select \*)"
)
_PROMPT = r"\s{0,8}(?:\$|\u276f|\u279c|PS [A-Z]:\\\S{0,200}>|[\w.-]{1,40}@[\w.-]{1,60}[:~]\S{0,100}[$#]) \S"
_SHELL = (
    r"\s{0,8}(?:sudo )?(?:\w{1,40}=\S{1,100} ){0,4}(?:curl|wget|git|docker(?:-compose)?|podman|kubectl|helm"
    r"|terraform|npm|npx|yarn|pnpm|pip3?|pipx|uv|poetry|python3?|node|deno|bun|cargo|rustc|go|make|cmake|mvn"
    r"|gradle|\./gradlew|bazel|apt|apt-get|dnf|brew|ssh|scp|rsync|tar|grep|rg|sed|awk|find|ls|cd|cat|tail"
    r"|head|echo|chmod|chown|rm|cp|mv|mkdir|export|psql|mysql|sqlite3|redis-cli|openssl|gcc|g\+\+|clang"
    r"|javac?|dotnet|php|composer|ruby|bundle|gem|mix|xargs|kill|ps|systemctl|journalctl) "
)
_SHELL_SIGN = r"\s--?[A-Za-z]|\s(?:\|{1,2}|&&|>{1,2}|2>) ?\S|\$\w|\$\("
_QUOTED = r"`[^`\n]{0,400}`"

_CODE = (
    r"\s*+(?:"
    r"(?:def|fn|func|fun|function|async function|pub fn|public|private|protected|static|abstract"
    r"|override) [^\n]{0,300}[({]"
    r"|(?:class|struct|interface|enum|trait|impl|module|namespace|type) \w[^\n]{0,200}(?:[{:]$|=|\(\w*\):)"
    r"|(?:const|let|var|val|auto|final) [\w{\[][^\n]{0,200}="
    r"|from [\w.]{1,200} import [\w*(]|import (?:[\w.*{}, ]{1,200} from )?['\"]|import [\w.]{1,100}"
    r"(?: as \w{1,60})?;?$|#include [<\"]|#define |using [\w.]{1,200};"
    r"|(?:if|for|while|switch|elif|else if|catch|with)\b[^\n]{0,300}[{:]$|(?:else|try|finally|do)\s*[{:]$"
    r"|return\b(?:$|[^\n]{0,300}[;()\[\]])|(?:raise|throw|await|yield|defer|print|echo|assert) "
    r"[^\n]{0,200}[(;]"
    r"|[\w.$\[\]'\"]{1,120}(?:: ?[\w\[\]|<>., ]{1,60})? ?(?::=|[-+*/|&]?=) [^\s=]"
    r"|[\w.$]{1,120}\([^\n]{0,300}\)[;,]?$|[})\]]{1,6}[;,)]{0,3}$|@\w[\w.]{0,80}(?:\(|$)"
    r"|</?\w[\w.-]{0,40}(?:\s[^>\n]{0,300})?/?>$"
    r"|//|/\*|\*/|\* @|<\?php|(?:>>>|\.\.\.|In \[\d{1,4}\]:) |end$|\w{1,60}: \w{0,60}[\[{(]"
    r")"
)
_SURE_CODE = r"(?:\)|\w|['\"\]])\s*(?:;|\{)$|=> ?[{(]|^\s*+(?:#include|<\?php|@Override|>>> )|\}\s*;$"
