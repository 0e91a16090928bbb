"""Tests whether a value may be a secret: no reference, placeholder, type or label."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from .secret_names import NameKind, words_in

ENTROPY_MIN = 3.2
"""Bits a character, by Shannon's formula over the value's own characters. English words of 12 to 24 letters
have 2.6 to 3.3, random base64 of that length 3.5 to 4.4, hexadecimal 3.0 to 3.7."""

RANDOM_MIN = 10
"""A shorter value after a name such as `token` is taken for a word."""

TOKEN_MIN = 8
"""The same where the name says that it is a key of access."""

PHRASE_MIN = 6
"""The same after a name such as `secret`."""

PASSWORD_MIN = 4
"""A shorter value of a password is a letter or two in a test."""

DISTINCT_MIN = 3
"""A secret has so many different characters; `xxxx` and `--------` are in examples."""

BARE_MIN = 20
"""A bare value that could be the name of a variable is a secret from this length on, with three digits."""

BEGIN_MAX = 128
"""Characters at the beginning of a value that show a reference or placeholder."""

PHRASE_WORDS_MAX = 6
"""A value with spaces has no more words; a sentence has. After `passphrase` there may be twice as many."""

NOISE_MIN = 32
NOISE_SIGNS = 8
"""Minimum length, and number of different signs, of a value with spaces that counts as random."""

_REFERENCE_INSIDE = re.compile(
    r"""\$\{|\$\(|\\\(|\{\{|\#\{|%\(\w*\)|<%|%%|\.\.\.|…|\*{3,}|\[masked|://|\{\w+\}|%[sdv]"""
)
_REFERENCE = re.compile(
    r"""(?:\$[A-Za-z_]\w*|\$\d|%\w*%|%[-+#0-9.]*[a-z]|@\w+@|:\w+|\?|__\w+__|\\\w?|[&*!]\w*)\Z"""
    r"""|(?:\$env:|\$[A-Za-z_]\w*[.\[(>-]|env:|ENC\(|file:|vault:|ssh-|ecdsa-|AAAA[A-Z]3Nza|ssm:|op://|arn:|ref:|secretref:)"""
    r"""|[~.]{0,2}/[\w.\-/]*\Z|[\w.:>$-]*\w\([^()]*\)\Z|\{[\w.:!, -]*\}\Z|<[^<>]*>?\Z|\[[\w .-]*\]\Z"""
    r"""|\([\w .-]*\)\Z|[\w.]+\[[\w'"]*\]\Z"""
)
_PLACEHOLDER = re.compile(
    r"""example|change[-_ ]?(?:me|it|this)|placeholder|redacted|replace[-_ ]?(?:me|this|with)"""
    r"""|\Ayour|your[-_]"""
    r"""|\A(?:dummy|sample|insert|todo|fixme|my[-_](?!s)|fake|some[-_]|enter[-_]|add[-_]|put[-_]"""
    r"""|the[-_])|x{4,}""",
    re.IGNORECASE,
)
_SERIES = ("0123456789012345", "abcdefghijklmnopqrstuvwxyz")
_TYPES = words_in(
    "string str text bool boolean int integer number float any bytes byte object null none nil",
    "undefined true false required optional hidden hashed encrypted nullable present confirmed default",
    "empty unset secure basic bearer digest plain plaintext disabled enabled yes no on off value values",
    "varchar char blob binary opaque generic unknown never void self this other foo bar baz qux test",
    "tests abc abcd asdf input submit sensitive masked redacted prompt file environment readonly unused",
    "invalid valid wrong incorrect missing static dynamic inherit auto random generated keyword",
    "identifier literal symbol comment operator sha1 sha256 sha512 md5 base64 utf8 utf-8 bcrypt scrypt",
    "argon2 pbkdf2 http https ldap saml oauth2",
)
"""Values that are types, settings and words of tests."""
_NOUNS = words_in(
    "password passwords passwd pwd pass passphrase secret secrets token tokens key keys credential",
    "credentials auth pw apikey passcode pin passwort kennwort contraseña contrasena senha wachtwoord",
    "hasło haslo lösenord adgangskode passord salasana parola heslo jelszó geslo lozinka sandi",
    "motdepasse apitoken authtoken accesstoken authorization authentication csrf jwt",
)
_FILLERS = words_in(
    "a an the my your our some this that is are not no and or for to of in on with from by at new old",
    "current previous confirm confirmation repeat again user users username name names db database api",
    "app client server service admin root master account access refresh bearer id ids field fields",
    "input form label box value values type hash hashed digest reset forgot change update edit show",
    "hide toggle strength hint error icon wrapper container text plain encrypted encoded env var",
    "variable file path url uri header headers example default test empty invalid wrong missing correct",
    "valid first second other login signup register session cookie store manager provider controller",
    "view model request response grant code data config configuration settings setting option options",
    "param params argument arg max min length count public private encryption signing docker github",
    "gitlab aws azure google oauth openid ssh ssl tls k s v x y z raw string str base64 list create",
    "delete get set put post enter email required expired mysql postgres postgresql redis mongo mongodb",
    "smtp mail ftp ldap proxy host keystore truststore web page validation validator policy rule rules",
    "check checker generator length broker brokers store storage",
)
_WORDS_OF_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")
_RULES = re.compile(r"[a-z_]+(?::[\w,]+)?(?:\|[a-z_]+(?::[\w,./]+)?)+\Z")
_CHAIN = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|/)[A-Za-z_$][\w$]*)+\Z")
_FILE = re.compile(r"\A[\w.-]+(?:/[\w.-]+)+\.[a-z]{1,4}\Z")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*\Z")
_WORD = r"(?:[A-Za-z]{2,}\d{0,2}|[a-z]\d{1,2}[a-z]|\d{1,4})"
_PATH_WORDS = re.compile(rf"[./~@]{{0,3}}{_WORD}(?:[_\-./:@+ ]{{1,3}}{_WORD})*[;/]?\Z")
_HUMPS = re.compile(r"[a-z]*(?:[A-Z][a-z]+)+\d{0,2}\Z")
_KINDS = tuple(re.compile(kind) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9_.\-/]"))


def is_reference(value: str) -> bool:
    """Whether a value stands for another, is a placeholder, a type or nothing."""
    begin = value[:BEGIN_MAX]
    if (
        _REFERENCE.match(begin)
        or _REFERENCE_INSIDE.search(begin)
        or _PLACEHOLDER.search(begin)
        or len(set(value)) < DISTINCT_MIN
    ):
        return True
    low = begin.lower()
    return low.strip("!?[]") in _TYPES or _is_series(low) or _is_of_nouns(begin)


def is_secret(value: str, kind: NameKind, name: str = "") -> bool:
    """Whether a literal, quoted or one by its place, is the secret that its name promises."""
    if kind is NameKind.NONE or is_reference(value) or _same(value, name):
        return False
    if kind is NameKind.RANDOM:
        drawn = any(map(str.isdigit, value)) or (value.lower() != value and value.upper() != value)
        return len(value) >= RANDOM_MIN and " " not in value and drawn and is_random(value)
    if " " in value.strip():
        if len(value) >= NOISE_MIN and len(set(re.findall(r"[^\w ]", value))) >= NOISE_SIGNS:
            return True
        return kind >= NameKind.PHRASE and _is_phrase(value, name)
    if _RULES.match(value) or _is_label(value) or _FILE.search(value):
        return False
    if kind is NameKind.TOKEN:
        named = re.fullmatch(r"[\w-]+", value) and any(map(str.isdigit, value)) and not value.isdigit()
        if len(value) >= BARE_MIN and is_key_text(value):
            return True
        return len(value) >= TOKEN_MIN and (bool(named) or _is_mixed(value)) and not _CHAIN.match(value)
    if _CHAIN.match(value) and not any(map(str.isdigit, value)):
        return False
    if kind is NameKind.PHRASE:
        return len(value) >= PHRASE_MIN
    return len(value) >= PASSWORD_MIN


def is_bare_secret(value: str, kind: NameKind, name: str = "") -> bool:
    """Whether a value without quotes is a secret where it may as well be code: no name, no chain of names."""
    if not is_secret(value, kind, name):
        return False
    if re.search(r"\w[(\[<]|[)\]]\Z", value):
        return False
    digits = sum(map(str.isdigit, value))
    if _IDENTIFIER.match(value) or _CHAIN.match(value) or "->" in value or "::" in value:
        if kind >= NameKind.PHRASE and value.isalnum() and digits and _is_tangled(value):
            return True
        return len(value) >= BARE_MIN and value.isalnum() and digits >= 3 and is_random(value)
    if kind is NameKind.PASSWORD:
        return _is_mixed(value) or (not value.isalpha() and any(map(str.isalpha, value)))
    return digits > 0 and is_random(value)


def is_random(value: str) -> bool:
    """Whether a value looks drawn at random rather than written: no words, no code, no placeholder."""
    if is_reference(value) or _PATH_WORDS.match(value) or _HUMPS.match(value):
        return False
    kinds = sum(kind.search(value) is not None for kind in _KINDS)
    return kinds >= 2 and _entropy(value) >= min(ENTROPY_MIN, math.log2(len(value)) - 0.6)


def is_key_text(value: str) -> bool:
    """Whether a run of base64 can't be words or a path: capitals, small letters and digits take turns."""
    counts = [sum(map(test, value)) for test in (str.isupper, str.islower, str.isdigit)]
    turns = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    return (
        min(counts[:2]) >= 4
        and counts[2] > 0
        and turns >= len(value) // 4
        and value.count("/") <= len(value) // 8
    )


def _is_series(low: str) -> bool:
    return any(low in series for series in _SERIES) or low in {"password1", "987654321", "87654321", "654321"}


def _is_of_nouns(value: str) -> bool:
    """Whether a value is made of words for secrets and what is said of them: `new_password2`, `API_KEY`."""
    words = [word.lower() for word in _WORDS_OF_CAMEL.findall(value)]
    words = [word for word in words if len(word) > 1 or not word.isdigit()]
    if not words or not any(word in _NOUNS for word in words):
        return False
    if all(word in _NOUNS or word in _FILLERS for word in words):
        return True
    # The name of a constant or of a variable of the environment.
    return value.upper() == value and "_" in value and value.replace("_", "").isalpha()


def _is_label(value: str) -> bool:
    """Whether a value is of a script without letters a to z, as labels of other languages are, or ends so."""
    begin = value[:BEGIN_MAX]
    letters = sum(map(str.isalpha, begin))
    plain = sum(one.isascii() and one.isalpha() for one in begin)
    return (letters > 0 and plain * 2 < letters) or value.endswith((":", "?"))


def _is_phrase(value: str, name: str) -> bool:
    """Whether some words are a pass phrase rather than a sentence or a label."""
    words = [word.strip(".,:;!?'").lower() for word in value.split()]
    if value[-1:] in ".:?!" or re.search(r"[(){}<>=|\[\]]", value) or not value.isascii():
        return False
    if re.search(r"(?i)phrase|psk|mnemonic", name):
        return len(words) <= 2 * PHRASE_WORDS_MAX
    if len(words) > PHRASE_WORDS_MAX or _NOUNS.intersection(words):
        return False
    qualified = len(_WORDS_OF_CAMEL.findall(name)) > 1 and "confirm" not in name
    if value[:1].isupper() and not (any(map(str.isdigit, value)) or (qualified and len(words) > 2)):
        return False
    return sum(word in _FILLERS or word in _TYPES for word in words) * 3 <= len(words)


def _is_mixed(value: str) -> bool:
    """Whether a value has digits among its letters, or signs that no name has."""
    if not any(map(str.isalpha, value)) or _HUMPS.match(value):
        return False
    if not any(map(str.isdigit, value)):
        return bool(re.search(r"[!@#$%^&*+=~]", value)) or (len(value) >= BARE_MIN and is_random(value))
    words = _PATH_WORDS.match(value) and re.search(r"[_\-./:@+ ]", value)
    return not words


def _is_tangled(value: str) -> bool:
    """Whether letters and digits are mixed as in no name of a variable, which ends in one digit."""
    return not re.fullmatch(r"[a-z]+\d{1,2}|[a-z]+(?:[A-Z][a-z]*)*\d?", value)


def _same(value: str, name: str) -> bool:
    """Whether a value only says its name again, as constants do."""
    if not name:
        return False
    one, other = (re.sub(r"[\W_]", "", text).lower() for text in (value, name))
    return one == other or (len(one) >= PHRASE_MIN and one in other)


def _entropy(value: str) -> float:
    """Return Shannon's entropy of a value's characters, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())
