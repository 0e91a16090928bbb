"""Names that say that their value is secret, and which kind of secret."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise


class NameKind(IntEnum):
    """What a name says of its value. The higher, the less the value itself must show."""

    NONE = 0
    RANDOM = 1
    """A secret if it looks drawn at random: `token`, `key_password_field`."""
    TOKEN = 2
    """A secret if it mixes letters and digits: `access_token`, `api_key`."""
    PHRASE = 3
    """A secret unless it is a name, a reference or a placeholder: `client_secret`."""
    PASSWORD = 4
    """The same, of words too, which people choose: `db_pass`."""


def words_in(*lines: str) -> frozenset[str]:
    """Return the words of some lines."""
    return frozenset(" ".join(lines).split())


NAME_MAX = 64
"""Characters of a name that are looked at, before and after the word that speaks of a secret."""

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
"""What names of passwords end with, in twelve languages."""
_OTHER_PASSES = words_in(
    "first second third render shadow num number pre post single multi opt llvm one two three n last",
    "next final geometry lighting depth forward deferred color compute function module loop machine per",
    "each sub max min all boarding mountain early late main base frame blend clear draw gpu vulkan",
    "metal copy blur bloom z optimization analysis lowering transform compiler pipeline ir codegen test",
    "tests build check lint skip did can could shall must let fast slow nth scan parse token",
)
"""What stands before `pass` where it is a round, in compilers, renderers and tests."""
_GLUED_PASSES = words_in(
    "db database mysql pg postgres redis root admin user smtp imap mail ftp ssh ssl sudo become ldap",
    "proxy http key store keystore truststore wifi wpa api master my sa auth login account require bind",
    "rpc super",
)
"""What `pass` is written together with; `bypass` and `compass` are words."""
_AFTER = words_in(
    "value val text plain plaintext raw string str literal clear cleartext prod production dev",
    "development staging test testing local default old new current previous primary secondary backup",
    "admin root db b64 base64 env main master confirmation confirm repeat again input 0 1 2 3 4 5",
)
"""What may stand behind the word without another meaning."""
_VERBS = words_in(
    "forgot forget reset no invalid show change wrong missing hide use has is require requires encrypt",
    "validate needs need can should get find generate create read ask prompt verify check hash bad",
    "incorrect lost recover not non update edit remember toggle min max enter empty without csrf xsrf",
)
"""A name that begins with one is that of an action, a message or a question."""
_KEY_KINDS = words_in(
    "api access auth private signing encryption encrypt decryption account secret client master service",
    "admin app application license jwt session cookie crypto aes hmac shared storage stripe sendgrid",
    "twilio mailgun algolia openai anthropic aws azure gcp google github gitlab heroku datadog newrelic",
    "firebase server deploy ssh tls ssl rsa token sas base webhook consumer security instrumentation",
    "subscription write ingest integration maps rapidapi signature",
)
_PLAIN_KEYS = words_in(
    "public primary foreign sort partition row hash cache index object translation i18n registry map",
    "dict query search shortcut hot lookup group unique natural idempotency site publishable header",
    "field param json config storage",
)
_TOKEN_KINDS = words_in(
    "auth access api bearer refresh secret bot id deploy personal oauth github gitlab npm slack vault",
    "jwt service admin user login session private pat app client registry pypi discord telegram sentry",
)
_NOT_RANDOM = words_in(
    "id ids name names type types kind url uri path file files dir field label count length size hash",
    "digest expiry expires ttl age prefix suffix header format pattern regex ref provider class",
    "function algorithm manager policy endpoint limit index position placeholder hint message error",
    "title",
)
"""A name that ends with one is of something about a secret."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")
_GLUED_KEY = re.compile(
    r"(?:api|access|auth|secret|private|master|account|encryption|shared|signing)key\d?\Z"
)
_GLUED_TOKEN = re.compile(r"(?:api|access|auth|refresh|bearer|oauth|id|bot)token\Z")


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> NameKind:
    """Return what a name says of its value, whatever its style: `dbPass`, `DB_PASS`, `db.pass`, `dbpass`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return NameKind.NONE
    last = len(words) - 1
    while last > 0 and (words[last] in _AFTER or words[last].isdigit()) and not _is_noun(words[last]):
        last -= 1
    if words[last] == "base" and "secret" in words:
        last -= 1
    if words[0] in _VERBS and last > 0:
        return NameKind.RANDOM if _speaks(words) else NameKind.NONE
    kind = _kind_of_words(words[: last + 1])
    if kind is NameKind.NONE and _speaks(words) and words[-1] not in _NOT_RANDOM:
        return NameKind.RANDOM
    return kind


def _kind_of_words(words: list[str]) -> NameKind:
    """Return the kind by the last word, and the one before it."""
    word = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if word.endswith(_PASSWORDS) or (word in {"word", "words"} and before == "pass") or word == "passwords":
        return NameKind.PASSWORD
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
    if word == "auth" and len(words) == 1:
        return NameKind.RANDOM
    return NameKind.NONE


def _kind_of_key(before: str, words: list[str]) -> NameKind:
    if before == "secret" or (before == "base" and "secret" in words):
        return NameKind.PHRASE
    if before in _KEY_KINDS:
        return NameKind.TOKEN
    return NameKind.RANDOM if before and before not in _PLAIN_KEYS and "_" in before else NameKind.NONE


def _is_noun(word: str) -> bool:
    return _kind_of_words([word]) is not NameKind.NONE


def _speaks(words: list[str]) -> bool:
    """Whether a secret is spoken of anywhere in a name."""
    return any(_is_noun(word) for word in words if word not in {"pass", "auth"}) or any(
        word == "key" and before in _KEY_KINDS for before, word in pairwise(words)
    )
