"""Divides a question into blocks (prose, pasted code, traces, logs), and prose into paragraphs and
windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct

from .patterns import compiled
from .stack_trace import is_trace_line
from .stop_words import STOP_WORDS

BlockKind = Literal["prose", "code", "trace", "log", "diff", "command"]
"""`trace` is a stack trace or the output of a compiler or test runner, `log` also JSON or a table of data,
`command` shell or SQL."""

MAX_CHARACTERS = 100_000
"""Maximum characters of a question that are read. A longer question is cut to half of this at each end."""

MAX_LINES = 10_000
"""Maximum lines of a question that are read. A longer question is cut to half of this at each end."""

MAX_LINE = 1_000
"""Maximum characters of a line that are read to determine its kind."""


class QuestionBlock(Struct, frozen=True):
    """Neighbouring lines of one kind. `language` is the language of a Markdown fence, in lower case."""

    kind: BlockKind
    lines: tuple[str, ...]
    language: str = ""
    fenced: bool = False


def readable(text: str) -> str:
    """Return a text without invisible characters, cut to `MAX_CHARACTERS` and `MAX_LINES`.

    Removes escape codes, zero-width and control characters, HTML comments and carriage returns. Escaped line
    breaks of stack traces in JSON or string literals become line breaks; lone surrogates become question
    marks.
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
    """Return the blocks of a text that `readable` returned, in order. Takes time linear in the text.

    A single line that could be code or a sentence counts as a sentence. Blank lines belong to the block
    before them. The kind of a fenced block depends on its lines, not only on the language of the fence.
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
        # The whole fenced code may be on one line: ```foo()```
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
    """Group neighbouring lines of one kind; indented lines after a trace, log, code or diff belong to it."""
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
    """Return the kind of a single line, None for a blank line."""
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
    """Remove HTML comments. A comment that isn't closed stays, since it may be part of the question."""
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
    r"|\[ {0,6}\d{1,6}\.\d{6}\] "  # the Linux kernel
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


WINDOW_WORDS = 100
"""Maximum number of words in a window (a part of the prose that gets its own vector). 128 tokens gave better
results than 256; 64 gave nearly the same."""

MAX_WINDOWS = 6
"""Maximum number of windows, from the beginning and the end of a longer text; embedding one takes 2 ms."""

MAX_CONTENT_WORDS = 256
MAX_PROSE_LINE = 4_000
"""Maximum characters of a line of prose; the rest is ignored, since no sentence is that long."""


def telling_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines of prose that may be about code, unchanged, and the blank lines.

    Leaves out headings, checkboxes and placeholders of issue templates, commit trailers, tables, and sections
    about versions and environment.
    """
    kept: list[str] = []
    skipping = 0  # the level of the heading whose section is left out
    for line in (line[:MAX_PROSE_LINE] for line in lines):
        heading, level = _heading(line)
        about = compiled(_BARE).sub("", heading).strip().lower()
        if heading and compiled(_TEMPLATE_HEADING).fullmatch(about):
            skipping = 0
            kept.append("")
            continue
        if heading and (not skipping or level <= skipping):
            skipping = level if compiled(_IRRELEVANT_SECTION).match(about) else 0
        if skipping or compiled(_IRRELEVANT_LINE).match(line):
            continue
        kept.append(line)
    return kept


def plain(line: str) -> str:
    """Return a line without Markdown, HTML tags, addresses, and mentions of people, issues and commits.

    Words in backticks and the texts of links stay.
    """
    for pattern, replacement in _MARKUP:
        line = compiled(pattern).sub(replacement, line)
    return line.strip()


def paragraphs(lines: Sequence[str]) -> list[str]:
    """Join lines into paragraphs at blank lines, each with single spaces."""
    joined: list[str] = []
    current: list[str] = []
    for line in (*lines, ""):
        if line.strip():
            current.append(" ".join(line.split()))
        elif current:
            joined.append(" ".join(current))
            current = []
    return joined


def cut_windows(parts: Sequence[str]) -> tuple[str, ...]:
    """Cut paragraphs into at most `MAX_WINDOWS` windows of at most `WINDOW_WORDS` words.

    Short prose is one window. The first sentence of longer prose, usually the title, is a window by itself.
    If there are too many windows, the first ones and the last one stay, because a question is usually at the
    beginning or at the end.
    """
    whole = " ".join(parts)
    if not whole:
        return ()
    if len(_pieces(whole)) <= WINDOW_WORDS:
        return (whole,)
    title = compiled(_SENTENCE_END).split(parts[0], maxsplit=1)[0]
    title = "".join(_pieces(title)[:WINDOW_WORDS]).strip()
    pieces = _pieces(whole)
    cut = ["".join(pieces[at : at + WINDOW_WORDS]).strip() for at in range(0, len(pieces), WINDOW_WORDS)]
    if len(cut) > MAX_WINDOWS - 1:
        cut = [*cut[: MAX_WINDOWS - 2], cut[-1]]
    return tuple(dict.fromkeys((title, *cut)))


def content_words(prose: str) -> tuple[str, ...]:
    """Return the words of prose in lower case without stop words, each once, in order; at most 256."""
    words = (match[0].lower() for match in compiled(_WORD).finditer(prose))
    telling = dict.fromkeys(
        word
        for word in words
        if word not in STOP_WORDS and not word.isdigit() and (len(word) > 1 or not word.isascii())
    )
    return tuple(islice(telling, MAX_CONTENT_WORDS))


def _pieces(text: str) -> list[str]:
    """Split a text into words, each with the following space; two characters of a script without spaces
    count as a word."""
    return compiled(_PIECE).findall(text)


def _heading(line: str) -> tuple[str, int]:
    """Return a heading's text and level, ("", 0) for other lines.

    A line that is only `**X**` or a template's question has level 7."""
    match = compiled(_ATX).match(line)
    if match:
        return match["text"], len(match["level"])
    match = compiled(_BOLD_LINE).match(line)
    if match:
        return match["text"], 7
    match = compiled(_BARE_LINE).match(line)
    text = match["text"].lower() if match else ""
    if text and (compiled(_TEMPLATE_HEADING).fullmatch(text) or compiled(_IRRELEVANT_SECTION).match(text)):
        return text, 7
    return "", 0


_ATX = r" {0,3}(?P<level>#{1,6})\s++(?P<text>\S.{0,200})"
_BOLD_LINE = r"\s{0,3}(?:[-*] )?(?:\*\*|__)(?P<text>[^*_]{2,80}?)(?:\*\*|__):?\s{0,3}$"
_BARE_LINE = r"\s{0,3}(?P<text>[A-Z][A-Za-z /']{2,50}):?\s{0,3}$"
_BARE = r"[*_`#:?!().\[\]-]|:\w{1,40}:|[^\x00-\x7f]+(?= )|^\d{1,2}\. "

_TEMPLATE_HEADING = (
    r"(?:steps to (?:reproduce|replicate)|(?:how )?to reproduce|how can we reproduce"
    r"|how to reproduce(?: it| the (?:bug|issue|problem))?|repro(?:duction)?(?: steps| link| case)?"
    r"|(?:the |what is the )?(?:expected|actual|current|observed|desired|correct|incorrect) (?:behaviou?r"
    r"|results?|outcome|output)|expected|actual|(?:describe|description of) (?:the )?(?:bug|issue|problem"
    r"|feature|solution)[\w ,']{0,40}|(?:issue |bug |problem |feature )?(?:description|summary|report"
    r"|request)|bug|issue|problem|the (?:bug|issue|problem)|details"
    r"|what (?:happened|did you (?:do|expect|see)|version|went wrong|is the (?:problem|issue|bug)|happens"
    r"|you expected|i expected)[\w ,']{0,60}|(?:additional|other|more|further) (?:context|info|information"
    r"|details|notes?)|anything else[\w ,']{0,40}|context|motivation|background|notes?"
    r"|(?:possible|proposed|suggested) (?:solution|fix|change)s?"
    r"|(?:is your feature request related to a problem|problem description)[\w ]{0,40}"
    r"|(?:stack ?trace|traceback|backtrace|logs?|relevant log output|log output"
    r"|error(?: message| log| output)?|output|console output|full traceback)|important information"
    r"|minimal (?:reproducible|reproduction) (?:example|code|case)|(?:code )?(?:example|sample|snippet)s?"
    r"|use ?case|alternatives(?: considered)?|subject of the issue|preconditions?|tl;?dr"
    r"|reproducible example|code to reproduce|solution|fix|changes|what does this (?:pr|mr) do|tests?)"
)
_IRRELEVANT_SECTION = (
    r"(?:(?:your |my |affected |test )?(?:environments?|system(?: info(?:rmation)?| details)?|setup"
    r"|configuration details|platform|versions?|operating system|os)(?: info(?:rmation)?| details| used"
    r"| and os| versions?)?|(?:package |software |project |library |tool "
    r"|which )?versions?(?: info(?:rmation)?)?(?: \w{1,20}){0,3}|(?:pre-?)?check ?lists?|prerequisites"
    r"|before (?:you )?(?:submit|open|report|post)[\w ]{0,40}|acknowledge?ments?|code of conduct"
    r"|validations?|participation|screenshots?(?: or videos?)?|related (?:issues|prs?|pull requests)"
    r"|type of change|is there an existing issue[\w ]{0,20}|are you willing to[\w ]{0,40}"
    r"|would you like to[\w ]{0,40}|preflight checklist|dependencies|installed packages|pip (?:freeze|list)"
    r"|npx envinfo|(?:browsers?|browser info)|used package manager|node(?:js)? version|last commit"
    r"|duplicates?|license)$"
)
_IRRELEVANT_LINE = (
    r"(?i)\s{0,12}(?:[-*+] )?(?:\[[ xX]\] |[^\w<|`]{1,20}$|\d{1,2}\.[ .]*$"
    r"|(?:a clear and (?:concise|detailed)|steps to reproduce the behaviou?r|if applicable,"
    r"|add any (?:other|additional) (?:context|details)"
    r"|please (?:make sure|provide|describe|include|fill|note)|thanks for (?:taking|reporting|filing)"
    r"|describe what)\b|(?:\*\*|__)?(?:[\w/&. -]{1,40} )?(?:version|distribution|os|installation type"
    r"|environment)(?:\*\*|__)? ?:(?:\*\*|__)? .{0,60}$"
    r"|(?:\*\*|__)?(?:os|operating system|platform|arch(?:itecture)?"
    r"|(?:\w[\w.-]{0,25} )?versions?(?: of [\w. -]{1,30})?|browser|device|kernel|shell|terminal"
    r"|node(?:\.?js)?|python|ruby|java|jdk|go|php|rustc?|npm|yarn|typescript|compiler|cpu|gpu|ram|memory"
    r"|distro|desktop|docker|package manager)(?:\*\*|__)? ?(?:\([\w ]{1,30}\))?:(?:\*\*|__)?(?:$|\s)"
    r"|\|[^\n]{1,600}\|\s*$|\|?[ :|-]{5,}$|[-=_*]{3,}\s*$"
    r"|(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|change-id|cc"
    r"|bug-id|pr-url|refs?|git-svn-id|cherry.picked.from|see-also|release-note): "
    r"|\(cherry picked from commit |(?:closes|fixes|resolves|fix|refs?|see)[: ]{1,2}(?:[\w./-]{0,60}#\d+"
    r"|gh-\d+)[.,; ]*$|</?(?:details|summary|p|br|hr|div|table|tr|td|img)\b[^>\n]{0,300}>\s*$"
    r"|!\[[^\]\n]{0,200}\]\([^)\n]{1,400}\)\s*$)"
)
_MARKUP = (
    ((r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,600}\)"), r"\1"),
    ((r"<?(?:https?|ftp|git|ssh)://[^\s<>\"')\]]{1,2000}>?"), " "),
    ((r"</?[A-Za-z][\w-]{0,30}(?: [^<>\n]{0,300})?/?>(?!\w*\()"), " "),
    ((r"^\s{0,12}(?:(?:>\s?){1,4}|#{1,6}\s|(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s)?)+"), ""),
    ((r"\*{1,3}(?=\S)([^*\n]{1,400}?)(?<=\S)\*{1,3}"), r"\1"),
    ((r"(?<![\w_])__(?=\S)([^_\n]{1,200} [^_\n]{1,200})__(?![\w_])"), r"\1"),
    ((r"~~|`{1,3}|(?<![\w`@./])@[A-Za-z\d](?:[\w-]{0,38})(?=[\s,.:;!?)]|$)(?!\()"), ""),
    ((r"(?<![\w/])(?:[\w-]{1,40}/[\w.-]{1,60})?#\d{1,7}\b|(?<!\w):[a-z_+\d]{2,40}:(?!\w)"), " "),
    ((r"\b[0-9a-f]{12,64}\b"), " "),
    ((r"&(?:nbsp|amp|lt|gt|quot);"), " "),
    ((r"(?i)\((?:fixes|closes|resolves|refs?|see)?\s{0,3}\)"), " "),
)
_SENTENCE_END = r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])"
_PIECE = (
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}\s*"
    r"|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,200}\s*"
)
_WORD = r"\w(?:[\w'-]{0,98}\w)?"
