"""Owns masking of values that look like secrets: keys, tokens, passwords. Knows texts only, no file.

Precision counts as much as recall: a masked constant is a hole in the code that an agent reads. So a value is
masked for its own form where providers gave their keys one, and elsewhere only where a name says that it is
secret and the value looks drawn at random.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..lazy_dataclass import dataclass

MASK = "[masked]"
"""What stands in place of a secret; no longer than any, so that masking never lets a text grow."""

ENTROPY_MIN = 3.2
"""Bits a character, by Shannon's formula over the value's own characters. English words of 12 to 24 letters
have 2.6 to 3.3, random base64 of that length 3.5 to 4.4, hexadecimal 3.0 to 3.7."""

VALUE_MIN = 12
"""A shorter value after a name such as `password` is taken for a word or a placeholder, unless it stands in a
URL."""

DISTINCT_MIN = 5
"""A password has so many different characters; `a1a1a1a1` and `12345678` are in examples."""

BARE_MIN = 20
"""A bare value that could be the name of a variable is a secret from this length on, with three digits."""


_APART = "\n" * 8
"""Between texts that are looked at as one: no form of a secret goes over so many line breaks."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and how many there were. Its lines are as they were."""

    text: str
    count: int


def mask_secrets(text: str) -> Masked:
    """Replace what looks like a secret by `MASK`, line breaks kept; the same text always gives the same.

    Takes a millisecond or two for 100 KB of code: patterns are only tried where one of their literals stands.
    """
    spans = sorted(_spans(text, text.lower()))
    if not spans:
        return Masked(text, 0)
    parts: list[str] = []
    end = count = 0
    for start, stop in spans:
        if stop <= end or text[start:stop] == MASK:
            continue
        if start >= end:  # else it goes on where the one before ends
            parts += [text[end:start], MASK]
            count += 1
        end = stop
    return Masked("".join([*parts, text[end:]]), count)


def may_hold_secrets(texts: Iterable[str]) -> bool:
    """Return whether `mask_secrets` may find something in any of many texts; False is certain.

    One look at all: 7,000 short texts take 5 ms instead of 140.
    """
    whole = _APART.join(texts)
    lowered = whole.lower()
    if len(lowered) != len(whole) or "-----BEGIN " in whole:
        return True  # what there is in one text would hide what there is in another
    return next(_spans(whole, lowered), None) is not None


def mask_piece(text: str) -> Masked:
    """Mask a part that was cut out of a longer text: it may hold the middle of a private key, whose marks lie
    outside. Neighbouring lines of nothing but 60 or more characters of base64 are taken for one."""
    masked = mask_secrets(text)
    if not _may_hold_key_lines(masked.text):
        return masked
    lines = masked.text.split("\n")
    is_key = [_KEY_LINE.fullmatch(line) is not None for line in lines]
    inside = [
        number
        for number, line in enumerate(lines)
        if (is_key[number] and any(is_key[max(number - 1, 0) : number] + is_key[number + 1 : number + 2]))
        or (
            _KEY_END_LINE.fullmatch(line)
            and any("-----END " in one for one in lines[number + 1 : number + 2])
        )
    ]
    if not inside:
        return masked
    for number in inside:
        lines[number] = _KEY_TEXT.sub(MASK, lines[number])
    return Masked("\n".join(lines), masked.count + len(inside))


def mask_pieces(texts: Sequence[str]) -> list[str]:
    """Return many parts of texts as `mask_piece` leaves them: by one look at all where none has a secret."""
    if not may_hold_secrets(texts) and not any(map(_may_hold_key_lines, texts)):
        return list(texts)
    return [mask_piece(text).text for text in texts]


def _may_hold_key_lines(text: str) -> bool:
    """Whether a line of a text may be one of a private key; False is certain."""
    return "-----END " in text or any(
        len(line) >= _KEY_LINE_MIN and _KEY_LINE.fullmatch(line) for line in text.split("\n")
    )


def _spans(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield where secrets stand; some may overlap."""
    yield from _private_keys(text)
    for literal, pattern in _FORMS:
        for place in _places(text, literal):
            if found := pattern.match(text, place):
                yield found.span("secret" if pattern.groups else 0)
    if len(lowered) == len(text):  # lower-casing a few letters of a few languages makes a text longer
        for literal, pattern in _FOLDED_FORMS:
            for place in _places(lowered, literal):
                if found := pattern.match(text, place):
                    yield found.span("secret")
        yield from _named(text, lowered)


def _places(text: str, literal: str) -> Iterator[int]:
    place = text.find(literal)
    while place >= 0:
        yield place
        place = text.find(literal, place + 1)


# Private keys

_LOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_UNLOCK = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_TEXT = re.compile(r"[A-Za-z0-9/+]{16,}={0,2}")
_AROUND_KEY = r"[\s>|#*/\"'`+,;]{0,16}"
_KEY_LINE_MIN = 60
_KEY_LINE = re.compile(rf"{_AROUND_KEY}[A-Za-z0-9/+]{{{_KEY_LINE_MIN},76}}={{0,2}}(?:\\n)?{_AROUND_KEY}")
_KEY_END_LINE = re.compile(rf"{_AROUND_KEY}[A-Za-z0-9/+]{{16,76}}={{0,2}}(?:\\n)?{_AROUND_KEY}")
"""A line of a private key in PEM, which has 64 characters or 76, as it may stand in code; and the last."""
_KEY_CHARACTERS = 20_000
"""A private key of 16,384 bits, the largest in use, has 12,700 characters in PEM."""


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the body of each private key, line by line: numbers of lines may stand between."""
    for place in _places(text, "-----BEGIN "):
        begin = _LOCK.match(text, place)
        if begin is None:
            continue
        end = _UNLOCK.search(text, begin.end(), begin.end() + _KEY_CHARACTERS)
        if end is None and _LOCK.search(text, begin.end(), begin.end() + _KEY_CHARACTERS):
            continue  # code that names the marks of keys has no key between them
        stop = end.start() if end else begin.end() + _KEY_CHARACTERS
        for found in _KEY_TEXT.finditer(text, begin.end(), stop):
            yield found.span()


# Values under a name that says so

_NAMES = ("password", "passwd", "passphrase", "pwd", "secret", "token", "key", "credential")
_KEY_KINDS = re.compile(
    r"(?:api|access|auth|private|signing|encryption|account|secret|client|master|service|admin)[_-]?\Z"
)
"""What stands before `key` where it is no key of a dictionary or a keyboard."""
_ASSIGNED = re.compile(
    r"[A-Za-z]{2,10}[\w-]{0,30}(?:[\"'`\]]{0,2}(?:\s?:\s?\w{1,20})?\s{0,4}(?:[:=]|=>|:=)|[\"'`]\s{0,2},)\s{0,4}"
    r"(?P<quote>[\"'`])(?P<value>[^\s\"'`\\]{12,512})(?P=quote)"
)
_ENVIRONMENT = re.compile(
    r"[A-Za-z]{2,10}[\w.-]{0,30}(?:=|:\s|\s=\s)\s{0,3}(?P<value>[^\s\"'`#,;]{12,512})\s*$", re.MULTILINE
)
_PASSWORD_NAMES = frozenset({"password", "passwd", "pwd", "passphrase"})
_PASSWORD, _BARE_PASSWORD = (
    re.compile(one.pattern.replace("{12,512}", "{8,512}"), one.flags) for one in (_ASSIGNED, _ENVIRONMENT)
)
"""Their values are shorter than keys."""
_NO_SECRET = re.compile(
    r"(?i)\$[\w{(]|%[({]|\{\{|<[\w /-]+>|\(|\)|\[|\]|\.\.\.|^x{4,}|\*{4,}|example|changeme|change-me"
    r"|placeholder|your[_-]|dummy|^test|sample|redacted|insert|todo|forbidden|password|secret|token"
)
"""A value that is a reference to another, a piece of code, or one that everybody writes into examples."""
_WORD = r"(?:[A-Za-z]{2,}\d{0,2}|[a-z]\d{1,2}[a-z]|\d{1,4})"
_WORDS = re.compile(rf"[./~@]{{0,3}}{_WORD}(?:[_\-./:@+ ]{{1,3}}{_WORD})*[;/]?\Z")
_HUMPS = re.compile(r"[a-z]*(?:[A-Z][a-z]+)+\d{0,2}\Z")


def _named(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield values that a name calls secret and that look drawn at random: quoted ones anywhere, and bare
    ones that end a line, as in environment files, YAML and INI."""
    for name in _NAMES:
        for place in _places(lowered, name):
            if name == "key" and not _KEY_KINDS.search(lowered, max(place - 12, 0), place):
                continue
            if name in _PASSWORD_NAMES:
                found = _PASSWORD.match(text, place) or _BARE_PASSWORD.match(text, place)
                if found and _is_password(found["value"], is_bare=found.re is _BARE_PASSWORD):
                    yield found.span("value")
            elif found := _ASSIGNED.match(text, place):
                if _is_random(found["value"]):
                    yield found.span("value")
            elif (found := _ENVIRONMENT.match(text, place)) and _is_bare_secret(found["value"]):
                yield found.span("value")


def _is_password(value: str, *, is_bare: bool) -> bool:
    """Whether the value of a name such as `password` is one: people choose short ones, half of words."""
    if _NO_SECRET.search(value) or _WORDS.match(value) or _HUMPS.match(value):
        return False
    if is_bare and re.match(r"[A-Za-z_][\w.]*\Z", value) and not value.isalnum():
        return False  # a name, or a chain of names
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    return has_letter and has_digit and len(set(value)) >= DISTINCT_MIN


def _is_bare_secret(value: str) -> bool:
    """Whether a value without quotes is a secret; in code it is a name, or a chain of names."""
    digits = sum(map(str.isdigit, value))
    if re.match(r"[A-Za-z_][\w.]*\Z", value):
        return len(value) >= BARE_MIN and value.isalnum() and digits >= 3 and _is_random(value)
    return digits > 0 and _is_random(value)


def _is_random(value: str) -> bool:
    """Whether a value looks drawn at random rather than written: no words, no code, no placeholder."""
    if _NO_SECRET.search(value) or _WORDS.match(value) or _HUMPS.match(value):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9_.\-/]"))
    return kinds >= 2 and _entropy(value) >= min(ENTROPY_MIN, math.log2(len(value)) - 0.6)


def _entropy(value: str) -> float:
    """Return Shannon's entropy of a value's characters, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


# Forms that providers gave their keys


def _forms(*rows: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each literal with the pattern that begins there."""
    return tuple((literal, re.compile(pattern)) for literals, pattern in rows for literal in literals.split())


_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9_-])"

_URL_FORM = (
    r"://[^\s:/@\"'<>{}$\[]{0,64}:(?P<secret>(?![%*]|(?:your|my|the)?[_-]?(?:pass|pw|secret|x{3})|[A-Z_]+@)"
    r"[^\s:/@\"'<>{}$\[]{8,256})@"
)

_FORMS = _forms(
    ("AKIA ASIA ABIA ACCA", rf"{_START}A[A-Z]{{3}}[A-Z0-9]{{16}}{_END}"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", rf"{_START}gh[pousr]_[A-Za-z0-9]{{30,255}}{_END}"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    ("glpat- gldt- glrt- glptt- gloas- glsoat- glcbt-", r"gl[a-z]{2,4}-[A-Za-z0-9_-]{20,255}"),
    ("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", rf"{_START}xox[a-z]-[A-Za-z0-9-]{{10,255}}"),
    ("xapp-", rf"{_START}xapp-\d-[A-Za-z0-9-]{{10,255}}"),
    (
        "hooks.slack.com/services/",
        r"hooks\.slack\.com/services/(?P<secret>T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/\w{16,64})",
    ),
    (
        "sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ pk_test_",
        rf"{_START}[srp]k_(?:live|test)_[A-Za-z0-9]{{16,255}}{_END}",
    ),
    ("whsec_", rf"{_START}whsec_[A-Za-z0-9+/=]{{20,255}}"),
    ("sk-proj- sk-ant- sk-svcacct- sk-or-", rf"{_START}sk-[a-z]{{2,7}}-[A-Za-z0-9_-]{{20,255}}"),
    ("sk-", rf"{_START}sk-[A-Za-z0-9]{{32,255}}{_END}"),
    ("AIza", rf"{_START}AIza[0-9A-Za-z_-]{{35}}{_END}"),
    ("ya29.", rf"{_START}ya29\.[0-9A-Za-z_-]{{20,2048}}"),
    ("GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{20,64}"),
    ("npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
    ("pypi-", rf"{_START}pypi-[A-Za-z0-9_-]{{50,512}}"),
    ("hf_", rf"{_START}hf_[A-Za-z0-9]{{30,64}}{_END}"),
    ("SG.", rf"{_START}SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{30,64}}"),
    ("SK", rf"{_START}SK[0-9a-f]{{32}}{_END}"),
    (":AA", r"(?<=\d{8}):(?P<secret>AA[A-Za-z0-9_-]{32,34})(?![A-Za-z0-9_-])"),
    ("dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("shpat_ shpca_ shppa_ shpss_", rf"shp[a-z]{{2}}_[0-9a-fA-F]{{32}}{_END}"),
    ("dapi", rf"{_START}dapi[0-9a-f]{{32}}{_END}"),
    ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", rf"{_START}dp\.[a-z]{{2,5}}\.[A-Za-z0-9.]{{40,64}}"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("lin_api_ lin_oauth_", rf"{_START}lin_[a-z]{{3,5}}_[0-9A-Za-z]{{32,64}}"),
    ("sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_=+/-]{40,512}"),
    ("hvs.", rf"{_START}hvs\.[A-Za-z0-9_-]{{24,255}}"),
    ("eyJ", rf"{_START}eyJ[A-Za-z0-9_-]{{8,4096}}\.eyJ[A-Za-z0-9_-]{{8,4096}}\.[A-Za-z0-9_-]{{16,1024}}"),
    ("://", _URL_FORM),
    ("pbkdf2_", r"pbkdf2_[a-z0-9]{3,12}\$\d{1,9}\$(?P<secret>[^\s\"']{20,256})"),
    ("$2a$ $2b$ $2y$", r"\$2[aby]\$\d\d\$(?P<secret>[./A-Za-z0-9]{53})"),
    ("$argon2", r"\$argon2(?:id|i|d)\$[^\s\"'$]{1,40}\$[^\s\"'$]{1,80}\$(?P<secret>[^\s\"']{20,256})"),
    (
        "curl ",
        r"curl [^\n]{0,300}?(?:-u|--user)[ =][\"']?[\w.@-]{1,64}:(?P<secret>(?![$<{*])[^\s\"']{6,256})",
    ),
)

_FOLDED_FORMS = _forms(
    ("aws", r"(?i)aws.{0,30}secret.{0,30}?[\"'=:\s](?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    (
        "accountkey= sharedaccesskey=",
        r"(?i)[a-z]{10,16}=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})",
    ),
    (
        "token= key= secret= sig= signature=",
        r"(?i)[a-z]{3,9}=(?P<secret>(?=[A-Za-z_~.+/%-]{0,100}\d)[A-Za-z0-9_~.+/%-]{24,512})(?=[&#\s\"'<)\]]|\Z)",
    ),
    (
        "bearer basic",
        r"(?i)(?:bearer|basic)\s{1,4}(?P<secret>(?=[A-Za-z._~+/-]{0,200}\d)[A-Za-z0-9._~+/-]{20,2048}={0,2})",
    ),
)
"""Their literals are in lower case and looked for in the lower-cased text."""
