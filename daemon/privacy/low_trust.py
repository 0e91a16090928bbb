"""Finds texts that steer their reader (orders, commands, links) though they should only inform.

A heuristic, not a guard: texts that it finds are left out of contexts by default, and all others are still
shown as quoted notes, never as instructions.
"""

from __future__ import annotations

import re

CHARACTERS_MAX = 20_000
"""Maximum characters checked of a text: ten times what a context shows of a note."""

LINK = "holds a link"

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "tells its reader to ignore instructions",
        re.compile(
            r"(?i)\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|any"
            r"|other|your|system|the)\b[^.\n]{0,30}\b(?:instructions?|rules?|prompts?|guidelines|constraints?|context)\b"
            r"|\bignorier\w*\b[^.\n]{0,40}\b(?:anweisung|regel|vorgabe)\w*"
            r"|\bignore[zr]?\b[^.\n]{0,40}\b(?:instructions|consignes|règles)\b"
            r"|\bignora\w*\b[^.\n]{0,40}\b(?:instrucciones|istruzioni|reglas|regole)\b"
        ),
    ),
    (
        "speaks as a system or a role",
        re.compile(
            r"(?im)^\s*(?:system|assistant|developer|human|user)\s*:\s|</?(?:system|assistant|user|instructions?)\b[^>]{0,40}>"
            r"|<\|(?:im_start|im_end|system|endoftext)\|>|\[/?INST\]"
            r"|\byou are now\b|\bfrom now on,? you\b|\bact as (?:an?|the)\b|\bnew instructions?\s*:"
        ),
    ),
    (
        "asks to hide something",
        re.compile(
            r"(?i)\b(?:do not|don't|never)\b[^.\n]{0,20}\b(?:tell|mention|reveal|inform|show|report|ask)\b"
            r"[^.\n]{0,30}"
            r"\b(?:user|human|anyone|owner|developer)\b"
            r"|\bsilently\b[^.\n]{0,20}\b(?:run|send|upload|install|execute)\b"
        ),
    ),
    (
        "asks for secrets or to send data",
        re.compile(
            r"(?i)\b(?:send|post|upload|exfiltrate|leak|email|paste|print|cat)\b[^.\n]{0,60}"
            r"\b(?:credentials?|passwords?|secrets?|api[ _-]?keys?|tokens?|id_rsa|(?:ssh|private) keys?)\b"
        ),
    ),
    (
        "tells its reader to run a command",
        re.compile(
            r"(?i)\b(?:run|execute|type|paste|invoke|führe|exécute[zr]?|ejecuta)\b[^.\n]{0,40}"
            r"(?:`[^`\n]{2,}`|\$\s?\w|\b(?:curl|wget|bash|sh|zsh|powershell|eval|sudo|rm -|chmod|nc|ssh)\b)"
            r"|\b(?:curl|wget)\b[^|\n]{0,200}\|\s{0,4}(?:sudo\s+)?(?:ba|z)?sh\b|\brm\s+-[rf]{1,2}\s"
            r"|\bbase64\s+(?:-d|--decode)\b"
        ),
    ),
    (
        LINK,
        re.compile(r"(?i)\b(?:https?|ftp|file|data|javascript)://?[^\s)>\"']{4,}|!\[[^\]\n]{0,80}\]\("),
    ),
)


def suspicions(text: str) -> tuple[str, ...]:
    """Return how a text steers its reader, as ends of sentences; empty for a plain note."""
    beginning = text[:CHARACTERS_MAX]
    return tuple(words for words, pattern in _KINDS if pattern.search(beginning))
