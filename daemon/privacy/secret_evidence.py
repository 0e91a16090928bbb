"""What a name says of its value, and whether a value looks like a secret: no reference, placeholder, type or
label."""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise

from ..core.vocabulary import words as word_set

ENTROPY_MIN = 3.2
"""Bits a character, by Shannon's formula over the value's own characters. English words of 12 to 24 letters
have 2.6 to 3.3, random base64 of that length 3.5 to 4.4, hexadecimal 3.0 to 3.7."""

RANDOM_MIN = 10
"""Minimum length of a secret after a name such as `token`; shorter values are words."""

TOKEN_MIN = 8
"""The same after the name of an access key, such as `api_key`."""

PHRASE_MIN = 6
"""The same after a name such as `secret`."""

PASSWORD_MIN = 4
"""Minimum length of a password; shorter ones are letters in tests."""

DISTINCT_MIN = 3
"""Minimum number of different characters of a secret; `xxxx` and `--------` are in examples."""

DRAWN_MIN = 8
KEY_MIN = 32
"""Minimum length of a secret after the name of just some key: `weather_key`, "my key"."""

SHORT_MAX = 20
"""Maximum length of a password in which `+` counts as a sign; base64 has it as well."""

DRAWN_BARE_MIN = 16
"""Minimum length of a value that nothing but its letters tells from words, with signs and without."""

BARE_MIN = 20
"""Minimum length, with three digits, of an unquoted secret that could be a variable's name."""

BEGIN_MAX = 128
"""Maximum characters of a value that are searched for a reference or placeholder."""

CACHED = 512
"""Number of values whose verdict is kept: long texts repeat their values, such as `password=` in a row, and a
prompt is asked about for its context, search and history."""

MNEMONIC_WORDS = 6
"""Minimum words of a wallet's mnemonic, which has 12 or more (BIP 39) but may be cut; fewer are an aid to
remember something, unless the name has another word for a secret."""

PHRASE_WORDS_MAX = 6
"""A value with spaces has no more words; a sentence has. After `passphrase` there may be twice as many."""

NOISE_MIN = 32
NOISE_SIGNS = 6
"""Minimum length, and number of different signs, of a value that is random whatever else it has."""

_REFERENCE_INSIDE = re.compile(
    r"""\$\{|\$\(|\\u[0-9A-Fa-f]{4}|\\\(|\{\{|\#\{|%\(\w*\)|<%|%%\Z|\.\.\.|…|\*{3,}|\[masked|://|%7B|&lt;"""
    r"""|\{\w+\}|%[sdv](?![A-Za-z0-9])"""
)
_REFERENCE = re.compile(
    r"""(?:\$[A-Za-z_]\w*|\$\d|%\w*%|%[-+#0-9.]*[a-z]|@\w+@|:\w+|\?|__\w+__|\\\w?|[&*!]\$?\w*)\Z"""
    r"""|(?:\$env:|\$[A-Za-z_]\w*[./\\\[(>-]|env:|ENC\(|file:|urn:|vault:|ssh-|ecdsa-|AAAA[A-Z]3Nza"""
    r"""|ssm:|op://|arn:"""
    r"""|ref:|secretref:)"""
    r"""|0x[0-9A-Fa-f]{1,8}\Z|PBKDF2With\w+\Z|\.\w[\w.]*\Z|[~.]{0,2}/[\w.\-/:]*\Z"""
    r"""|[\w.:>$-]*\w\([^()]*\)\Z|\{[\w.:!, -]*\}\Z"""
    r"""|<{1,2}[^<>]*>{0,2}\Z|--[a-z][\w-]*\Z"""
    r"""|[\w-]+\.(?:pem|key|crt|p12|jks|json|ya?ml)\Z|pass:\$|\[[\w .-]*\]\Z"""
    r"""|\([\w .-]*\)\Z|[\w.]+\[[\w'"]*\]\Z"""
)
_PLACEHOLDER = re.compile(
    r"""example|change[-_ ]?(?:me|it|this)|placeholder|redacted|replace[-_ ]?(?:me|this|with)"""
    r"""|\Ayour|your[-_]"""
    r"""|\A(?:dummy|sample|insert|todo|fixme|my[-_](?!s)|fake|some[-_]|enter[-_]|add[-_]|put[-_]"""
    r"""|the[-_])|x{4,}|abcdefghij""",
    re.IGNORECASE,
)
_SERIES = ("0123456789012345", "abcdefghijklmnopqrstuvwxyz")
_TYPES = word_set(
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
_NOUNS = word_set(
    "password passwords passwd pwd pass passphrase secret secrets token tokens key keys credential",
    "credentials auth pw apikey passcode pin passwort kennwort contraseña contrasena senha wachtwoord",
    "hasło haslo lösenord adgangskode passord salasana parola heslo jelszó geslo lozinka sandi",
    "kodeord passe lozinku motdepasse apitoken authtoken accesstoken authorization authentication csrf jwt",
)
_FILLERS = word_set(
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
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w.$]*\Z")
_TYPE_NAME = re.compile(
    r"(?:[A-Z]+[a-z]{2,}\d{0,3}){2,}(?:<|\Z)|[A-Z]{2,}\d{0,3}\Z|[A-Z][A-Za-z]+-[A-Z][A-Za-z]+\Z"
)
"""The name of a type, which may have a number inside (`Uint8Array`), or of a command (`Get-Secret`)."""
_RECORD = re.compile(r"\A\w*#[a-z]\w*(?:[.{]|\Z)|[})]\.?\Z")
"""A record of Erlang, and the end of an expression."""
_CLASS_PATH = re.compile(r"[a-z_][a-z_0-9]*(?:\.[A-Za-z_]\w*)+\Z")
_VERSIONS = re.compile(r"(?=[^.]*\.)[\d.,|<>=^~*v \-]+\Z")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_WORD = r"(?:[A-Za-z]{2,}\d{0,2}|[a-z]\d{1,2}[a-z]|\d{1,4})"
_PATH_WORDS = re.compile(rf"[./~@]{{0,3}}{_WORD}(?:[_\-./:@+ ]{{1,3}}{_WORD})*[;/]?\Z")
_HUMPS = re.compile(r"[a-z]*(?:[A-Z]\d)?(?:[A-Z]{1,2}[a-z]+\d{0,2})+\Z")
_OTHER_KEY = re.compile(r"(?i)(?:\A|[a-z0-9][_. -]?)key\Z")
_KEY_LETTERS = re.compile(r"[A-Za-z0-9_+/-]+={0,2}\Z")
_HEX = re.compile(r"[0-9a-f]+\Z")
_LOWER, _UPPER, _DIGIT = (re.compile(kind) for kind in (r"[a-z]", r"[A-Z]", r"\d"))
_SIGNS = re.compile(r"[!#$%*?@^~&]")
_SIGN = re.compile(r"[^\w ]")
_CODED = re.compile(
    r"%[-+#0-9.]*l?[A-Za-z](?![A-Za-z0-9])|%[2-7][0-9A-F]|\$\d|\$(?:[a-z]{3,}[A-Za-z_]*|[A-Z_]{4,})\b"
    r"|#[0-9A-Fa-f]{3,8}\b|&#x?[0-9A-Fa-f]{2,6};?|&[a-z]{2,8};"
)
"""What stands for something else: placeholders, escapes, colours."""
_ADDRESS = re.compile(r"@[\w-]+\.[A-Za-z]|@\d")
_PUBLIC = re.compile(r"MII|AAAA|LS0t|sha\d{1,3}-")
"""How certificates, public keys and digests begin."""
_OTHER_SECRET = re.compile(r"(?i)pass|phrase|psk|pwd|secret|word|key|seed|wallet|pin|auth|cred")
"""What a name has that speaks of a secret beside `mnemonic`."""
_LETTER_RUNS = re.compile(r"[A-Za-z][a-z]{3,}")
_KINDS = tuple(re.compile(kind) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9_.\-/]"))


def is_reference(value: str) -> bool:
    """Whether a value is a reference, a placeholder, a type or nothing."""
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


@lru_cache(maxsize=CACHED)
def is_secret(value: str, kind: NameKind, name: str = "") -> bool:
    """Whether a literal, quoted or unmistakable by its place, is the secret that its name announces."""
    if kind is NameKind.NONE or is_reference(value) or _same(value, name):
        return False
    if kind is NameKind.RANDOM:
        if is_noise(value):
            return True
        if _UUID.match(value) and name and not _is_noun(_WORDS_OF_CAMEL.findall(name)[-1].lower()):
            return False  # an id, as most are
        if _OTHER_KEY.search(name) and not _is_key_of_service(value, name):
            return False
        drawn = any(map(str.isdigit, value)) or (value.lower() != value and value.upper() != value)
        return len(value) >= RANDOM_MIN and " " not in value and drawn and is_random(value)
    if " " in value.strip():
        if is_noise(value):
            return True
        return kind >= NameKind.PHRASE and _is_phrase(value, name)
    if _RULES.match(value) or _VERSIONS.match(value) or _is_label(value) or _FILE.search(value):
        return False
    if kind is NameKind.TOKEN:
        named = re.fullmatch(r"[\w-]+", value) and any(map(str.isdigit, value)) and not value.isdigit()
        if len(value) >= BARE_MIN and is_key_text(value):
            return True
        return len(value) >= TOKEN_MIN and (bool(named) or is_mixed(value)) and not _CHAIN.match(value)
    if _CHAIN.match(value) and not any(map(str.isdigit, value)):
        return False
    if kind is NameKind.PHRASE:
        return len(value) >= PHRASE_MIN
    return len(value) >= PASSWORD_MIN


def _is_key_of_service(value: str, name: str) -> bool:
    """Whether a value is as long as keys that services give, and has the letters of one. A digest in
    hexadecimal may be the key of a table, if that is all of its name."""
    if len(value) < KEY_MIN or not _KEY_LETTERS.match(value) or not _DIGIT.search(value):
        return False
    return bool(_LOWER.search(value)) and (
        bool(_UPPER.search(value)) or (len(name) > len("key") and bool(_HEX.match(value)))
    )


@lru_cache(maxsize=CACHED)
def is_bare_secret(value: str, kind: NameKind, name: str = "") -> bool:
    """Whether an unquoted value that could be code is a secret: no name, no chain of names."""
    if not is_secret(value, kind, name):
        return False
    if re.search(r"\w[(\[<]|[)\]]\Z", value):
        return False
    if is_type(value) or _RECORD.search(value) or ">>" in value:
        return False
    if _IDENTIFIER.match(value) and kind_of_name(value) is not NameKind.NONE:
        return False  # another variable with a secret
    if kind >= NameKind.TOKEN and is_drawn(value, quoted=True):
        return True
    digits = sum(map(str.isdigit, value))
    if _IDENTIFIER.match(value) or _CHAIN.match(value) or "->" in value or "::" in value:
        if kind >= NameKind.PHRASE and value.isalnum() and digits and _is_tangled(value):
            return True
        return len(value) >= BARE_MIN and value.isalnum() and digits >= 3 and is_random(value)
    if kind is NameKind.PASSWORD:
        return is_mixed(value) or (not value.isalpha() and any(map(str.isalpha, value)))
    return digits > 0 and is_random(value)


def is_random(value: str) -> bool:
    """Whether a value looks random rather than written: no words, no code, no placeholder."""
    if (
        is_reference(value)
        or _PATH_WORDS.match(value)
        or _HUMPS.match(value)
        or _CLASS_PATH.match(value)
        or _VERSIONS.match(value)
    ):
        return False
    kinds = sum(kind.search(value) is not None for kind in _KINDS)
    return kinds >= 2 and _entropy(value) >= min(ENTROPY_MIN, math.log2(len(value)) - 0.6)


def is_noise(value: str) -> bool:
    """Whether a value is long and full of signs, as generated keys and salts are."""
    if len(value) < NOISE_MIN or not value.isascii() or len(set(_SIGN.findall(value))) < NOISE_SIGNS:
        return False
    return _DIGIT.search(value) is not None and 3 * sum(map(len, _LETTER_RUNS.findall(value))) <= len(value)


def is_type(value: str) -> bool:
    """Whether a value is the name of a type or command."""
    return _TYPE_NAME.match(value) is not None


def is_title(value: str) -> bool:
    """Whether a value is one word with a capital, as in lists of translations."""
    return value.istitle() and value.rstrip(".").replace("-", "").isalpha()


def is_drawn(value: str, *, quoted: bool, least: int = DRAWN_BARE_MIN) -> bool:
    """Whether a value can only have been drawn at random: it mixes small letters, capitals, digits and signs,
    and no words. Without signs it must be quoted, and have at least `least` characters."""
    if not (_DIGIT.search(value) and _LOWER.search(value) and _UPPER.search(value)):
        return False
    bare = _CODED.sub("", value)
    if not (_DIGIT.search(bare) and _LOWER.search(bare) and _UPPER.search(bare)):
        return False
    words = sum(map(len, _LETTER_RUNS.findall(value)))
    letters = sum(map(str.isalpha, value))
    if (
        words * 2 > len(value)
        or letters * 2 < len(value)
        or _UUID.match(value)
        or is_reference(value)
        or _CHAIN.match(value)
        or _PUBLIC.match(value)
    ):
        return False
    if _SIGNS.search(bare) or ("+" in bare and len(bare) <= SHORT_MAX):
        return len(bare) >= DRAWN_MIN and value[0] not in "$%@&*#-" and not _ADDRESS.search(value)
    parts = len(_WORDS_OF_CAMEL.findall(value))
    return quoted and len(value) >= least and len(value) <= 2.4 * parts and is_random(value)


def is_key_text(value: str) -> bool:
    """Whether a run of base64 can't be words or a path: capitals, small letters and digits alternate."""
    counts = [sum(map(test, value)) for test in (str.isupper, str.islower, str.isdigit)]
    turns = sum(first.isupper() != second.isupper() for first, second in pairwise(value))
    return (
        min(counts[:2]) >= 4
        and counts[2] > 0
        and turns >= len(value) // 4
        and value.count("/") <= len(value) // 8
    )


def _is_series(low: str) -> bool:
    return any(low in series for series in _SERIES) or low in {"password1", "987654321", "87654321", "654321"}


def _is_of_nouns(value: str) -> bool:
    """Whether a value consists of words for secrets and their attributes: `new_password2`, `API_KEY`."""
    words = [word.lower() for word in _WORDS_OF_CAMEL.findall(value)]
    words = [word for word in words if len(word) > 1 or not word.isdigit()]
    if not words or not any(word in _NOUNS for word in words):
        return False
    if all(word in _NOUNS or word in _FILLERS for word in words):
        return True
    # The name of a constant or of a variable of the environment.
    return value.upper() == value and "_" in value and value.replace("_", "").isalpha()


def _is_label(value: str) -> bool:
    """Whether a value is a label: mostly in a non-Latin script, or ending in `:` or `?`."""
    begin = value[:BEGIN_MAX]
    letters = sum(map(str.isalpha, begin))
    plain = sum(letter.isascii() and letter.isalpha() for letter in begin)
    return (
        (letters > plain and begin.istitle())
        or (letters > 0 and plain * 2 < letters)
        or (value.endswith((":", "?")) and not any(map(str.isdigit, value)))
    )


def _is_phrase(value: str, name: str) -> bool:
    """Whether some words are a pass phrase rather than a sentence or a label."""
    words = [word.strip(".,:;!?'").lower() for word in value.split()]
    if value[-1:] in ".:?!" or re.search(r"[(){}<>=|\[\]]", value) or not value.isascii():
        return False
    if "mnemonic" in name.lower() and not _OTHER_SECRET.search(name):
        return len(words) >= MNEMONIC_WORDS
    if re.search(r"(?i)phrase|psk|mnemonic", name):
        return len(words) <= 2 * PHRASE_WORDS_MAX
    if value[:1].isupper() and value.upper() != value and any(word.islower() for word in value.split()):
        return any(map(str.isdigit, value))  # a label, which begins with a capital
    if len(words) > PHRASE_WORDS_MAX or _NOUNS.intersection(words):
        return False
    qualified = len(_WORDS_OF_CAMEL.findall(name)) > 1 and "confirm" not in name
    if value[:1].isupper() and not (any(map(str.isdigit, value)) or (qualified and len(words) > 2)):
        return False
    return sum(word in _FILLERS or word in _TYPES for word in words) * 3 <= len(words)


def is_mixed(value: str) -> bool:
    """Whether a value has digits among its letters, or signs that no name has."""
    if not any(map(str.isalpha, value)) or _HUMPS.match(value):
        return False
    if not any(map(str.isdigit, value)):
        return bool(re.search(r"[!@#$%^&*+=~]", value)) or (len(value) >= BARE_MIN and is_random(value))
    words = _PATH_WORDS.match(value) and re.search(r"[_\-./:@+ ]", value)
    return not words


def _is_tangled(value: str) -> bool:
    """Whether letters and digits are mixed as in no variable's name, which has digits only at its end."""
    return not re.fullmatch(r"[a-z]+\d{1,2}|[a-z]+(?:[A-Z][a-z]*)*\d?", value)


def _same(value: str, name: str) -> bool:
    """Whether a value only repeats its name, as constants do."""
    if not name:
        return False
    bare, bare_name = (re.sub(r"[\W_]", "", text).lower() for text in (value, name))
    return bare == bare_name or (len(bare) >= PHRASE_MIN and bare in bare_name)


def _entropy(value: str) -> float:
    """Return Shannon's entropy of a value's characters, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


class NameKind(IntEnum):
    """The kind of value that a name announces. The higher, the weaker the evidence needed of the value."""

    NONE = 0
    RANDOM = 1
    """A secret if it looks drawn at random: `token`, `key_password_field`."""
    TOKEN = 2
    """A secret if it mixes letters and digits: `access_token`, `api_key`."""
    PHRASE = 3
    """A secret unless it is a name, a reference or a placeholder: `client_secret`."""
    PASSWORD = 4
    """The same, and also plain words, which people choose: `db_pass`."""


NAME_MAX = 64
"""Maximum characters of a name that are read before and after the word for a secret."""

_PASSWORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "psk", "mnemonic"),
    *(
        "passwort",
        "kennwort",
        "motdepasse",
        "contrasena",
        "contraseña",
        "senha",
        "wachtwoord",
        "haslo",
        "hasło",
    ),
    *("parola", "lösenord", "пароль", "密码", "密碼", "パスワード", "비밀번호", "şifre"),
)
"""Endings of names of passwords, in twelve languages."""
_OTHER_PASSES = word_set(
    "first second third render shadow num number pre post single multi opt llvm one two three n last",
    "next final geometry lighting depth forward deferred color compute function module loop machine per",
    "each sub max min all boarding mountain early late main base frame blend clear draw gpu vulkan",
    "metal copy blur bloom z optimization analysis lowering transform compiler pipeline ir codegen test",
    "tests build check lint skip did can could shall must let fast slow nth scan parse token",
)
"""Words before `pass` where it means a round, in compilers, renderers and tests."""
_GLUED_PASSES = word_set(
    "db database mysql pg postgres redis root admin user smtp imap mail ftp ssh ssl sudo become ldap",
    "proxy http key store keystore truststore wifi wpa api master my sa auth login account require bind",
    "rpc super remote mqtt wlan cert rabbit mongo",
)
"""Prefixes joined to `pass` in names of passwords; `bypass` and `compass` are words."""
_AFTER = word_set(
    "value val text plain plaintext raw string str literal clear cleartext prod production dev",
    "development staging test testing local default old new current previous primary secondary backup",
    "admin root db b64 base64 env main master confirmation confirm repeat again input 0 1 2 3 4 5",
)
"""Words after the word for a secret that don't change its meaning."""
_VERBS = word_set(
    "forgot forget reset no invalid show change wrong missing hide use has is require requires encrypt",
    "validate needs need can should get find generate create read ask prompt verify check hash bad",
    "incorrect lost recover not non update edit remember toggle min max enter empty without csrf xsrf",
)
"""First words of names of actions, messages and questions."""
_KEY_KINDS = word_set(
    "api access auth private signing encryption encrypt decryption account secret client master service",
    "admin app application license jwt session cookie crypto aes hmac shared storage stripe sendgrid",
    "twilio mailgun algolia openai anthropic aws azure gcp google github gitlab heroku datadog newrelic",
    "firebase server deploy ssh tls ssl rsa token sas base webhook consumer security instrumentation",
    "subscription write ingest integration maps rapidapi signature wallet signer deployer priv",
)
_PLAIN_KEYS = word_set(
    "public primary foreign sort partition row hash cache index object translation i18n registry map",
    "dict query search shortcut hot lookup group unique natural idempotency site publishable header",
    "field param json config storage encrypted wrapped ephemeral verification verify host hash digest",
    "fingerprint",
)
_TOKEN_KINDS = word_set(
    "auth access api bearer refresh secret bot id deploy personal oauth github gitlab npm slack vault",
    "jwt service admin user login session private pat app client registry pypi discord telegram sentry",
)
_NOT_RANDOM = word_set(
    "id ids name names type types kind url uri path file files dir field label count length size hash",
    "digest expiry expires ttl age prefix suffix header format pattern regex ref provider class",
    "function algorithm manager policy endpoint limit index position placeholder hint message error",
    "title",
)
"""Last words of names of something about a secret, not of the secret."""
_GLUED_KEY = re.compile(
    r"(?:api|access|auth|secret|private|master|account|encryption|shared|signing)key\d?\Z"
)
_GLUED_TOKEN = re.compile(r"(?:api|access|auth|refresh|bearer|oauth|id|bot)token\Z")


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> NameKind:
    """Return what a name says of its value, whatever its style: `dbPass`, `DB_PASS`, `db.pass`, `dbpass`."""
    words = [word.lower() for word in _WORDS_OF_CAMEL.findall(name)]
    if not words:
        return NameKind.NONE
    last = len(words) - 1
    while last > 0 and (words[last] in _AFTER or words[last].isdigit()) and not _is_noun(words[last]):
        last -= 1
    if words[last] == "base" and "secret" in words:
        last -= 1
    own = _WORDS_OF_CAMEL.findall(name.rpartition(".")[2])
    if last > 0 and (words[0] in _VERBS or (len(own) > 1 and own[0].lower() in _VERBS)):
        return NameKind.RANDOM if _mentions_secret(words) and words[-1] not in _NOT_RANDOM else NameKind.NONE
    kind = NameKind.RANDOM if words == ["key"] else _kind_of_words(words[: last + 1])
    if kind is NameKind.NONE and _mentions_secret(words) and words[-1] not in _NOT_RANDOM:
        return NameKind.RANDOM
    return kind


def _kind_of_words(words: list[str]) -> NameKind:
    """Return the kind by the last word, and the one before it."""
    word = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if word.endswith(_PASSWORDS) or (word in {"word", "words"} and before == "pass"):
        return NameKind.PASSWORD
    if word == "passwords":
        return NameKind.TOKEN
    if word == "pass":
        return NameKind.PASSWORD if before and before not in _OTHER_PASSES else NameKind.RANDOM
    if word == "pw" or (word == "phrase" and before in {"pass", "secret", "seed"}):
        return NameKind.PASSWORD if before else NameKind.RANDOM
    if (word[-4:] == "pass" and word[:-4] in _GLUED_PASSES) or (
        word[-2:] == "pw" and word[:-2] in _GLUED_PASSES
    ):
        return NameKind.PASSWORD
    if words[-3:] == ["mot", "de", "passe"]:
        return NameKind.PASSWORD
    if word == "key" and before in {"shared", "preshared"}:
        return NameKind.PHRASE
    if word in {"masterauth", "secretkey"} or word.endswith("secret"):
        return NameKind.PHRASE
    if word in {"secrets", "salt", "pepper", "credential", "credentials", "creds"}:
        return NameKind.RANDOM
    if word == "key":
        return _kind_of_key(before, words)
    if _GLUED_KEY.search(word) or _GLUED_TOKEN.search(word):
        return NameKind.TOKEN
    if word == "token":
        return NameKind.TOKEN if before in _TOKEN_KINDS else NameKind.RANDOM
    if word == "auth":
        return NameKind.RANDOM
    if word == "authtok":
        return NameKind.PASSWORD
    return NameKind.NONE


def _kind_of_key(before: str, words: list[str]) -> NameKind:
    if before in {"secret", "jwt"} or (before == "base" and "secret" in words):
        return NameKind.PHRASE
    if "hash" in words or "digest" in words:
        return NameKind.NONE
    if before in _KEY_KINDS:
        return NameKind.TOKEN
    return NameKind.RANDOM if before and not _PLAIN_KEYS.intersection(words) else NameKind.NONE


def _is_noun(word: str) -> bool:
    return _kind_of_words([word]) is not NameKind.NONE


def _mentions_secret(words: list[str]) -> bool:
    """Whether a name mentions a secret anywhere."""
    return any(_is_noun(word) for word in words if word not in {"pass", "auth"}) or any(
        word == "key" and before in _KEY_KINDS for before, word in pairwise(words)
    )
