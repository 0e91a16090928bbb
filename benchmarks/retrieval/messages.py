"""Commit messages as questions: what of a message is asked, which ask nothing, what they fix."""

from __future__ import annotations

import re

BODY_LINES = 4
"""Lines of the body that are asked with the subject: the start of the first paragraph of prose."""

SUBJECT_WORDS = 5
"""A subject of fewer words (`Fix tests again`) doesn't say what to look for."""

_HTML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TRAILER = re.compile(
    r"^([A-Z][A-Za-z]*(-[A-Za-z]+)+|Cc|CC|Closes|Fixes|Refs?|Resolves|Ref|See|PR|Issue|Bug|Link|Backport)"
    r"\s*:?\s*(\S+@|<|#\d|GH-\d|https?:|[0-9a-f]{7,40}\b)|^[A-Z][a-z]+(-[a-z]+)+: |^(BREAKING CHANGE|---)"
)
_NUMBER = r"(?:(?:[\w-]+(?:/[\w.-]+)?)?#|GH-|\bissue |https?://(?:www\.)?github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/)(\d+)(?:#[\w-]+)?"
_VERB = r"(?:fix(?:es|ed)?|clos(?:es?|ed)|resolv(?:es?|ed))"
_REFERENCE = re.compile(
    rf"(?:\b(?:{_VERB}|refs?|see|part of|related to|follow-?up (?:to|of)|issue|pr|pull request)\b\s*:?\s*)*"
    rf"(?<![\w/]){_NUMBER}(?:\s*(?:,|and|&)\s*(?:{_VERB}\s*)?{_NUMBER})*",
    re.IGNORECASE,
)
_LEFT_OVERS = (
    (re.compile(r"https?://\S+"), ""),
    (re.compile(r"\(\s*(?:[,;:&]|and|\s)*\)|\[\s*[,;:]*\s*\]"), ""),
    (re.compile(r"\s+([.,;:)\]])"), r"\1"),
    (re.compile(r"^[\s:,;.\])*-]+|[\s:,;(\[-]+$"), ""),
    (re.compile(r"\s{2,}"), " "),
)
_TEMPLATE = re.compile(r"^(#|>|\||!\[|<|- \[[ x]\]|[*-] |```|\(?cherry[- ]picked|This (reverts|PR closes))")
_ASKS_NOTHING = re.compile(
    r"^(merge|revert|release|bump|back out|apply suggestions|wip\b|v?\d+\.\d+|prepare|sync\b|import\b)"
    r"|^(fixup|squash|amend)!"
    r"|^\[?(style|chore|docs?|ci|build|tests?|release|changelog|man|readme)(\([^)]*\))?(\]|!?:)"
    r"|^(update|upgrade)\b.*\b(version|dependenc|deps|contributors|authors|changelog|docs?|translations?|readme)"
    r"|\b(typos?|spelling|white-?space|rustfmt|gofmt|clang-format|prettier|clippy|lint(s|er|ing)?|eslintrc)\b"
    r"|\b(reformat(s|ted|ting)?|formatting|indentation|code style|coding style|copyright|license headers?)\b"
    r"|\b(changelog|dependabot|renovate|translations?|readme|release notes|\[ci skip\]|pre-commit)\b"
    r"|\b(deps|dependenc(y|ies))\b.*\bto v?\d|\bto v?\d+\.\d+(\.\d+)?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?:^|(?<=\s))\S*[^\W\d_]{2}\S*")


def question(message: str) -> str:
    """Return the subject and the first lines of prose below it, or "" if the message asks nothing.

    Trailers, numbers of issues and links are taken out: they name the answer's history, not the problem.
    """
    subject, _, rest = message.strip().partition("\n")
    clean = _clean(subject)
    if _ASKS_NOTHING.search(subject) or len(_WORD.findall(clean)) < SUBJECT_WORDS:
        return ""
    return "\n".join([clean, *_first_lines(rest)])


def _first_lines(body: str) -> list[str]:
    """Return the body's first paragraph of prose, at most `BODY_LINES` lines; headings and lists are none."""
    lines: list[str] = []
    for raw in _HTML_COMMENT.sub("", body).splitlines():
        line = raw.strip()
        prose = bool(line) and not _TRAILER.search(line) and not _TEMPLATE.search(line)
        clean = _clean(line) if prose else ""
        if len(clean.split()) > 1 or (clean and lines):
            lines.append(clean)
        elif lines:
            break
    return lines[:BODY_LINES]


def _clean(line: str) -> str:
    text = _REFERENCE.sub("", line)
    for pattern, replacement in _LEFT_OVERS:
        text = pattern.sub(replacement, text)
    return text.strip()
