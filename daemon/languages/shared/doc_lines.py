"""Doc lines: the first sentence of a definition's docstring or comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .source_text import SourceText

MAX_DOC = 200
"""Maximum characters of a symbol's doc line."""


def docstring(text: SourceText, body: int) -> str:
    """Return the first sentence of the docstring at the beginning of a Python body."""
    match = _DOCSTRING.match(text.source, body)
    if match is None:
        return ""
    end = text.source.find(match[1], match.end(), match.end() + 4000)
    if end < 0:
        end = min(match.end() + 4000, len(text.source))
    return summary(text.slice(match.end(), end).split("\n"))


def comment_above(text: SourceText, start: int, mark: str) -> str:
    """Return the first sentence of the comment directly above a definition.

    `mark` begins a line comment in its language: `//`, `#` or `--`.
    """
    source = text.source
    line = text.line_start(start)
    if source[line:start].strip():
        return ""
    comments: list[str] = []
    floor = max(0, line - _MAX_COMMENT)
    marker = mark.encode()
    while line > floor:
        above = source.rfind(b"\n", 0, line - 1) + 1
        content = source[max(above, line - 400) : line].strip()
        if not content.startswith(marker) or content.startswith((b"#!", b"--[[", b"--]]", b"//!<")):
            break
        comments.append(content.decode("utf-8", "ignore").lstrip(_MARKS[mark]).removeprefix(" "))
        line = above
    comments = [each for each in reversed(comments) if not _DIRECTIVE.match(each.strip())]
    if comments:
        # A line that ends like a statement is code that was commented out.
        return "" if comments[0].rstrip().endswith((";", "{", "(", "}")) else _line_summary(comments)
    opening, closing = _BLOCKS.get(mark, (b"", b""))
    if not opening:
        return ""
    end = len(source[floor:line].rstrip(b" \t\n")) + floor
    opened = source.rfind(opening, floor, end) if source.endswith(closing, floor, end) else -1
    if opened < 0 or source[text.line_start(opened) : opened].strip():
        return ""
    # Older JSDoc may be followed by an empty line; an ordinary comment there belongs to other code.
    if source.count(b"\n", end, line) > (2 if source.startswith(b"/**", opened) else 1):
        return ""
    return _block_summary(text.slice(opened + len(opening), min(end - 2, opened + 4000)))


_MARKS = {"//": "/!", "#": "#", "--": "-"}
_BLOCKS = {"//": (b"/*", b"*/"), "--": (b"--[[", b"]]")}
_DOCSTRING = re.compile(rb"""(?:\s*#[^\n]*\n)*\s*[rRuU]?(\"\"\"|'''|"|')""")
# Comments for tools, not for readers.
_DIRECTIVE = re.compile(
    r"[a-z]+:\S|@ts-|eslint|prettier-|biome-|istanbul|c8 ignore|v8 ignore|#(?:region|endregion)|nolint"
    r"|tslint|jshint|@license|<reference|@__|#__|[-=*#~_/\s]+$"
    r"|NOLINT|clang-(?:format|tidy)|noinspection|shellcheck |swiftlint:|rubocop:|frozen_string_literal"
    r"|-\*-|MARK:"
)
_MAX_COMMENT = 8_192


def _line_summary(comments: list[str]) -> str:
    """Return the first sentence of line comments, without tagged parts."""
    lines = [_BRIEF.sub("", each) for each in comments]
    tagged = next((number for number, line in enumerate(lines) if line.startswith("@")), len(lines))
    return summary(_without_markup(lines[:tagged]))


# Doxygen's tag for the first sentence.
_BRIEF = re.compile(r"^\s*[@\\]brief\s+")
_MARKUP = re.compile(
    r"</(?:[a-z]+)>"
    r"|(?<![`\w])<(?:see|seealso|paramref|typeparamref)\s+\w+=\"(?:[A-Z]:)?(?P<refers>[^\"<>]*)\"\s*/?>"
    r"|(?<![`\w])</?(?:summary|remarks|inheritdoc|para|p|pre|code|c|b|i|em|strong|tt|ul|li|br)\b[^<>]*>"
    r"|\{@(?:code|link|linkplain|literal|value)\s+(?P<shows>[^{}]*)\}"
)


def _without_markup(lines: Sequence[str]) -> list[str]:
    """Return lines without the tags of JavaDoc and C# documentation; the closing tag ends the summary."""
    kept: list[str] = []
    for line in lines:
        before, ended, _ = line.partition("</summary>")
        plain = _MARKUP.sub(lambda found: found["refers"] or found["shows"] or "", before)
        # A line of only a tag doesn't count as empty, since an empty line ends the paragraph.
        if plain.strip() or not before.strip():
            kept.append(plain)
        if ended:
            break
    return kept


def _block_summary(comment: str) -> str:
    """Return the first sentence of a block comment's text, which may be JSDoc."""
    lines = [_BRIEF.sub("", line.strip().lstrip("*!-").strip()) for line in comment.split("\n")]
    while lines and (not lines[0] or _DIRECTIVE.match(lines[0])):
        lines.pop(0)
    for number, line in enumerate(lines):
        if line.startswith("@"):
            tag, _, description = line.partition(" ")
            lines = [description, *lines[1:]] if number == 0 and tag == "@description" else lines[:number]
            break
    return summary(_without_markup(lines))


_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?](?=\s+[^\sa-z])")


def summary(lines: Sequence[str]) -> str:
    """Return the first sentence of the first paragraph of a text, at most `MAX_DOC` characters."""
    paragraph: list[str] = []
    for line in lines:
        content = line.strip()
        if content:
            paragraph.append(content)
        if (paragraph and (not content or content.endswith((".", "!", "?", ":")))) or len(paragraph) > 8:
            break
    summary = " ".join(" ".join(paragraph)[: 4 * MAX_DOC].split()).strip("/=-#~ ")
    sentence = _SENTENCE.search(summary)
    if sentence is not None:
        summary = summary[: sentence.end()]
    return summary if len(summary) <= MAX_DOC else summary[: MAX_DOC - 1].rstrip() + "…"
