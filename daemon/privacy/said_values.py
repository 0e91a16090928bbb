"""Finds passwords that a sentence or a line of settings tells with other words in between: `the password of
the database is …`, `neighbor 10.0.0.1 password …`.
"""

from __future__ import annotations

import re

from .secret_evidence import NameKind, is_secret, kind_of_name

Span = tuple[int, int]

SAID_MIN = 8
"""Minimum length of a password that only a sentence announces; shorter ones are ports, versions and units."""

SAID_DIGITS = 2
"""Minimum number of its digits: `argon2` and `base64url` are no passwords."""

_SAID = re.compile(
    r"(?P<name>[^\W\d_]{0,12}(?: de passe)?)(?P<words>(?: [^\W\d_][\w'\u2019]{0,20}){0,6})"
    r"(?: ?[:\uff1a]| (?:is|was|ist|lautet|es|est|\u00e8|\u00e9|jest|\u00e4r|er)(?= )"
    r"| ?(?:\u662f|\u4e3a|\u70ba|\u306f|\uc740|\ub294))[ :]{0,3}"
    r"(?P<value>[^\s\"'`<>(){},;=]{8,64})"
)
"""A name, words without marks, what says the value, and the value."""
_BEHIND = re.compile(
    r"[^\W\d_]{0,12}(?: [^\W\d_]{4,20})?(?:,? [\"'`]| )"
    r"(?P<value>(?!0x)[^\s\"'`<>(){}\[\],;=:|]{8,64})[\"'`]?(?=[\s.,]|\Z)"
)
"""A value that only a space separates from its name, or one more word."""
_ALGORITHM = re.compile(
    r"(?i)sha|md\d|pbkdf|utf|base|aes|hmac|rfc|ntlm|x509|argon|crypt"
    r"|oauth|http|saml|pkcs|iso"
)


def said_value(text: str, place: int) -> Span | None:
    """Return the span of a password that the words from a part of a name at a place on announce."""
    if (found := _SAID.match(text, place)) and (span := _password(found)):
        return span
    return _password(found) if (found := _BEHIND.match(text, place)) else None


def _password(found: re.Match[str]) -> Span | None:
    value = found["value"].rstrip(".:!?]") if found["value"][-1:] in ".:?]" else found["value"]
    start = found.start("value")
    if len(value) < SAID_MIN or sum(map(str.isdigit, value)) < SAID_DIGITS or not value.isascii():
        return None
    chosen = any(map(str.isalpha, value)) and not _ALGORITHM.search(value)
    chosen = chosen and kind_of_name(value) is NameKind.NONE
    chosen = chosen and not re.search(
        r"\A(?:\d[\d\W]|[/$-])|\w\.\w|\A(?:[a-z0-9]+|[A-Z0-9]+)_|->|::|/", value
    )
    return (start, start + len(value)) if chosen and is_secret(value, NameKind.PASSWORD) else None
