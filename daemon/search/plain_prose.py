"""Owns what is left of a question for a model that reads sentences: plain prose, its windows, its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from .patterns import compiled
from .question_words import STOP_WORDS

WINDOW_WORDS = 100
"""Maximum number of words that enter the model at once: 128 tokens were better than 256, 64 nearly as
good."""

MAX_WINDOWS = 6
"""Maximum number of windows embedded, at 2 ms each; the beginning and the end of a longer text."""

MAX_CONTENT_WORDS = 256
MAX_LINE = 4_000
"""A longer line is cut, in characters: no sentence is that long."""


def telling_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines of prose that say something about code, as they are; blank lines stay.

    Gone are headings, checkboxes and placeholders of issue templates, trailers of commits, tables, and
    sections about versions and environment.
    """
    kept: list[str] = []
    skipping = 0  # the level of the heading whose section is left out
    for line in (line[:MAX_LINE] for line in lines):
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
    """Return a line without Markdown and HTML marks, addresses, mentions of people, issues and commits.

    The words in backticks and of links stay.
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
    """Cut paragraphs into windows of at most `WINDOW_WORDS` words, at most `MAX_WINDOWS`.

    Short prose is one window. Of longer the first sentence, mostly the title, is a window by itself; where
    there are too many, the first ones and the last stay, since a question stands at the beginning or the end.
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
    """Cut into words with the space behind them; scripts without spaces count two characters as a word."""
    return compiled(_PIECE).findall(text)


def _heading(line: str) -> tuple[str, int]:
    """Return a heading's text and level; `**X**` and questions of templates on their own line are level 7."""
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
