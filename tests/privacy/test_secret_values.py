"""What looks like a secret is masked wherever it stands; code, words, examples and line breaks stay."""

from __future__ import annotations

import string
from random import Random

import pytest
from foveal.daemon.privacy.secret_values import mask_piece, mask_pieces, mask_secrets, may_hold_secrets
from hypothesis import given
from hypothesis import strategies as st

_DRAW = Random(7)


def drawn(size: int, letters: str = string.ascii_letters + string.digits) -> str:
    """Return a text as keys are drawn; none is a key of anybody."""
    return "".join(_DRAW.choice(letters) for _ in range(size))


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits

SECRETS = {
    "argument of a login": ("q7#Vx2m!Lz4t", 'smtp.login(user, "{}")'),
    "argument of a login, of words": ("Falcon7061!", 'server.login("robot@example.org", "{}")'),
    "in a makefile": ("q7#Vx2m!Lz4t", "PASS := {}"),
    "short name": ("q7#Vx2m!Lz4t", "pw: {}"),
    "in German": ("q7xVx2mLz4t9", "Passwort lautet: {}"),
    "column": ("q7#Vx2m!Lz4t", "name,mail,password\nanna,a@example.org,{}"),
    "column of Markdown": ("q7#Vx2m!Lz4t", "| user | password |\n|---|---|\n| anna | {} |"),
    "column of SQL": ("q7xVx2mLz4t9", "INSERT INTO t (login, password) VALUES ('anna', '{}');"),
    "lines of TOML": ("q7#Vx2m!Lz4t", 'password = """\n{}"""'),
    "of SNMP": ("q7xVx2mLz4t9", "rocommunity {} 10.0.0.0/8"),
    "of a wallet": (drawn(64, HEX), 'wallet = Wallet("{}")'),
    "number of a card": ("48091327", "pin: {}"),
    "in prose": ("q7#Vx2m!Lz4t", "config: user anna, password {}, host db"),
    "some key": (drawn(30) + "7aB", 'WEATHER_KEY = "{}"'),
    "aws key": ("AKIA" + drawn(16, UPPER), "key = {}"),
    "aws secret": (drawn(40), 'aws_secret_access_key = "{}"'),
    "github": ("ghp_" + drawn(36), "git clone https://{}@example.org/x"),
    "github fine": ("github_pat_" + drawn(60), "TOKEN: {}"),
    "gitlab": ("glpat-" + drawn(20), "--header 'PRIVATE-TOKEN: {}'"),
    "slack": ("xoxb-" + drawn(24), "slack({})"),
    "stripe": ("sk_live_" + drawn(24), 'stripe.api_key = "{}"'),
    "model": ("sk-ant-" + drawn(80), "export KEY={}"),
    "other model": ("sk-" + drawn(48), "client({})"),
    "google": ("AIza" + drawn(35), "?key={}"),
    "npm": ("npm_" + drawn(36), "//registry.example/:_authToken={}"),
    "pypi": ("pypi-" + drawn(80), "password = {}"),
    "telegram": ("AA" + drawn(33), "12345678:{}"),
    "vault": ("hvs." + drawn(40), "token {}"),
    "azure": (drawn(86) + "==", "AccountName=x;AccountKey={};"),
    "web token": (f"eyJ{drawn(20)}.eyJ{drawn(40)}.{drawn(43)}", "cookie: {}"),
    "header": (drawn(40, HEX), 'curl -H "Authorization: Bearer {}"'),
    "url": (drawn(12) + "9", "postgres://app:{}@db.internal:5432/app"),
    "quoted": (drawn(20) + "7aB", 'DB_PASSWORD = "{}"'),
    "dictionary": (drawn(32, HEX), "{{'client_secret': '{}'}}"),
    "call": (drawn(20) + "7aB", "define('DB_PASSWORD', '{}');"),
    "environment": (drawn(24) + "31x9", "export API_KEY={}"),
    "yaml": (drawn(16) + "!4a", "password: {}"),
    "chosen by a person": ("hunter2hunter2", 'password="{}"'),
    "chosen, in YAML": ("Tr0ub4dor&3", "  POSTGRES_PASSWORD: {}"),
    "chosen, in an environment file": ("w1nter!sale", "MYSQL_ROOT_PASSWORD={}"),
    "query": (drawn(31, HEX) + "7", "https://api.example.org/v1/me?access_token={}&page=2"),
    "hashed": ("$2b$12$" + drawn(53), "hash {}"),
    "hashed by a framework": (drawn(12) + "$" + drawn(43) + "=", "pbkdf2_sha256$260000${}"),
    "command": (drawn(14) + "9", "curl -s -u admin:{} https://example.org"),
    "sentence": ("Rocket4846", "Das Passwort für die Datenbank ist {}, der Host ist db."),
    "sentence in another script": ("Velvet2018#", "数据库密码是 {} ,用户名 root"),
    "behind a space": ("copper42coffee", " neighbor 10.0.0.1 password {}"),
    "behind an account": ("Tiger-7476", "f('shop', 'root', '{}', g)"),
    "encryption": (drawn(20) + "7aB", "AES.encrypt(JSON.stringify(data), '{}')"),
    "typed into a form": ("Falcon4231", "find(By.ID, 'password').send_keys('{}')"),
    "default of a parameter": ("Maple_757", "  DBPassword:\n    Type: String\n    Default: {}"),
    "of words, after a mnemonic": ("correct horse battery staple", 'mnemonic_passphrase = "{}"'),
    "of words, in a map": ("correct horse battery staple", 'mnemonicPassword: "{}"'),
    "of words and numbers": ("river stone seven 4 tiger", 'mnemonic_secret = "{}"'),
    "of words, in properties": ("correct horse battery staple", "\nwallet.mnemonic.passphrase={}\n"),
    "of words, in the environment": ("correct horse battery staple", "\nMNEMONIC_PASSPHRASE={}\n"),
    "words of a wallet": ("apple river stone cloud tiger lemon ocean maple", 'mnemonic = "{}"'),
    "of words and a number": ("correct horse BATTERY staple 7", "\nDB_PASSWORD={}\n"),
    "with what looks like an option": ("hunter2abc horse staple battery --now", "\nDB_PASSWORD={}\n"),
    "with what looks like a path": ("Xk29 /9fJq2 zzkq8", "\nDB_PASSWORD={}\n"),
    "drawn, with words and an option": ("q7xVx2mLz4t9 red lion -x", "A_HOST=db\nDB_PASSWORD={}"),
    "with an operator of the shell": ("love_is blind && deaf", "\nDB_PASSWORD={}\n"),
    "that reads as an expression": ("blue.whale or red.fox", "\nspring.password={}\n"),
    "that reads as names": ("my.secret or red.key", "\nspring.password = {}\n"),
    "that reads as names with digits": ("s3cr3t.pw or fallback.pw1", "\npassword = {}\n"),
    "that reads as names with capitals": ("my.Secret.pw9 or other.word9", "\nPASSWORD={}\n"),
    "typed": (drawn(24) + "1a", 'const apiKey: string = "{}"'),
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_masked(name: str) -> None:
    secret, around = SECRETS[name]
    text = f"before\n{around.format(secret)}\nafter\n"
    masked = mask_secrets(text)
    assert secret not in masked.text
    assert masked.count == 1
    assert masked.text.startswith("before\n")
    assert masked.text.endswith("\nafter\n")
    assert len(masked.text) <= len(text)


PLAIN = [
    "password = models.CharField(_('password'), max_length=128)",
    "password = forms.CharField(label=_('Password'), strip=False)",
    "JToken value = JToken.FromObject(o);",
    "axios.CancelToken = CancelToken$1;",
    "'auth' => ['guards', 'passwords'],",
    "const tokens = loadTokens();",
    "PASSWORD_HASHERS = ('django.contrib.auth.hashers.MD5PasswordHasher',)",
    "secret: Uint8Array",
    "const key = await keys.generateSecret('A256KW', { extractable: true })",
    '"derhansen/fe_change_pwd": "<2.0.5|>=3,<3.0.3",',
    "'passwords' => 'users',",
    'ngx.say("PASS: Ed448 works")',
    'signed = h.sign_value(secret, "/foo?bar=baz")',
    "docker run -v $(pwd):/app:rw app",
    "root ALL=(ALL) NOPASSWD: ALL",
    "mosquitto_sub -h localhost -p 1883 -t x",
    "password = #scram{storedkey = SK}",
    "Password: b64Pwd,",
    'frenchMessage ConfirmPass = "Bestätigen"',
    "$s_password = 'Wagwoord';",
    "$password = ConvertTo-SecureString $env:WORD -AsPlainText",
    'openssl pkcs12 -export -password "pass:$pfxPassword" -in a.pem',
    "- Update export of scram password to XEP-0227 1.1",
    'key = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"',
    '// the header is not encountered, you shall not pass\nthrow new Error("not encountered", 400);',
    'href="https://example.org/?utm_source&#x3D;oss-login&#x3D;Aa1"',
    'password = "password"',
    "key_password = key_password or conf.security_key_password",
    "key_password = key_password or conf.key_password",
    'a key binding (mnemonic: "get pretty") that runs it',
    "OAuth2Authorization authorization = OAuth2Authorization.from(other);",
    "OAuth2Authorization authorization = TestOAuth2Authorizations\n\t.authorization(client)",
    "User.credentialsExpired=\\u30e6\\u30fc\\u30b6\\u8a8d\\u8a3c\\u60c5\\u5831",
    '"V1SecretProjection": ".models.v1_secret_projection",',
    "const credentials = await this.getCredentials('goToWebinarOAuth2Api');",
    "DONT_EXPIRE_PASSWORD = 0x00000200",
    'this(CipherUtils.newSecretKey("PBKDF2WithHmacSHA1",',
    "PASSWORD CONFLICT|10 INSTEAD INHERITS",
    "the password of the user is hashed with pbkdf2_sha256 256 times",
    'password = os.environ["DB_PASSWORD"]',
    "token = parser.next_token(position2)",
    'fields = ["new_password1", "new_password2"]',
    "secret_key = get_random_secret_key()",
    'API_KEY = "your-api-key-here-0000"',
    'token = "${GITHUB_TOKEN}"',
    'api_key = "<YOUR API KEY>"',
    "mongodb://username:password@host:1234/db",
    "https://example.org:8080/@scope/package",
    'key = "9f86d081884c7d659a2feaa0c55ad015"',
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 6034e69f4c1d2a3b4c5d6e7f8091a2b3c4d5e6f7",
    "The token is refreshed every fifteen minutes by a background task.",
    'tokenizer: "./data/minimumInputLength"',
    "keyboard_key = 'ArrowLeftAndRight2'",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "password = form.cleaned_data['password1']",
    "password=hashed_password2",
    'pwd = "~/work/kite2/src"',
    "password: str | None = None",
    'password = "12345678"',
    "next_token=parser.advance_to_next(token_index0)",
    "if line.startswith('-----BEGIN RSA PRIVATE KEY-----') or '-----BEGIN PRIVATE KEY-----' in line:",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask_secrets(text).text == text


@pytest.mark.parametrize("behind", [" borg benchmark crud REPO PATH", " ./run.sh --now", " psql -h db"])
def test_the_command_behind_a_secret_stays(behind: str) -> None:
    assert mask_secrets(f"BORG_PASSPHRASE=q7xVx2mLz4t9{behind}").text == f"BORG_PASSPHRASE=[masked]{behind}"


def test_a_private_key_keeps_its_marks_and_lines_also_where_lines_are_numbered() -> None:
    body = [drawn(64, string.ascii_letters + string.digits + "+/") for _ in range(12)]
    for numbered in (False, True):
        lines = ["-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----", "code()"]
        if numbered:
            lines = [f"{number:3}  {line}" for number, line in enumerate(lines, 1)]
        masked = mask_secrets("\n".join(lines))
        assert masked.count == len(body)
        assert not any(line in masked.text for line in body)
        assert "code()" in masked.text
        assert "END RSA PRIVATE KEY" in masked.text
        assert masked.text.count("\n") == len(lines) - 1


@given(st.text(max_size=400))
def test_any_text_keeps_its_lines_and_never_grows(text: str) -> None:
    masked = mask_secrets(text)
    assert masked.text.count("\n") == text.count("\n")
    assert len(masked.text) <= len(text)


@pytest.mark.parametrize(
    "unit", ["password=", "eyJ", "://a:", "sk-", 'secret: "', "-----BEGIN PRIVATE KEY-----\n", "a" * 50]
)
def test_a_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    """Each pattern is bounded: 200,000 characters of its own beginnings end, which a backtracking one doesn't."""
    text = unit * (200_000 // len(unit))
    assert mask_secrets(text).text.count("\n") == text.count("\n")


BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"


@pytest.mark.parametrize(
    ("piece", "masked"),
    [
        (f"{BODY}\n{BODY}\n-----END PRIVATE KEY-----\n", "[masked]\n[masked]\n-----END PRIVATE KEY-----\n"),
        (f'    "{BODY}\\n"\n    "{BODY}\\n"\n', '    "[masked]\\n"\n    "[masked]\\n"\n'),
        (f"{BODY}\n{BODY[:30]}==\n-----END", f"{BODY}\n{BODY[:30]}==\n-----END"),
        (f"{BODY[:30]}==\n-----END RSA PRIVATE KEY-----", "[masked]\n-----END RSA PRIVATE KEY-----"),
        (f"x = 1\n{BODY}\ny = 2", f"x = 1\n{BODY}\ny = 2"),
    ],
)
def test_the_middle_of_a_key_is_masked_in_a_piece_of_a_text(piece: str, masked: str) -> None:
    assert mask_piece(piece).text == masked
    assert mask_piece(masked).text == masked
    assert piece.count("\n") == masked.count("\n")
    assert mask_piece(piece).count == masked.count("[masked]")


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_among_many_texts_is_noticed(name: str) -> None:
    value, text = SECRETS[name]
    assert may_hold_secrets(["a session", "2030-01-01T00:00:00Z", text.format(value), '"password"'])


def test_a_text_cannot_hide_what_is_in_another() -> None:
    value, text = SECRETS["environment"]
    assert may_hold_secrets(["İ", text.format(value)]), "which gets longer in small letters"
    begin = "-----BEGIN PRIVATE KEY-----"
    assert may_hold_secrets([f"{begin}\n{BODY}\n{BODY}", begin])


def test_a_list_of_plain_texts_holds_no_secrets() -> None:
    assert not may_hold_secrets(["a session", "/home/ada/shop", "", "token =", "2030-01-01T00:00:00Z"] * 50)


KEY_LINES = f"{BODY}\n{BODY}"


@given(
    st.lists(
        st.one_of(
            st.text(),
            st.sampled_from([text.format(value) for value, text in SECRETS.values()]),
            st.sampled_from([KEY_LINES, BODY, f"{BODY[:30]}==\n-----END RSA PRIVATE KEY-----", "x = 1"]),
        ),
        max_size=6,
    )
)
def test_many_pieces_are_masked_as_each_is_alone(pieces: list[str]) -> None:
    assert mask_pieces(pieces) == [mask_piece(piece).text for piece in pieces]


def test_key_lines_are_masked_among_pieces_without_any_other_secret() -> None:
    assert mask_pieces(["x = 1", KEY_LINES]) == ["x = 1", "[masked]\n[masked]"]
