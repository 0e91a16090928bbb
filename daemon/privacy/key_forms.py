"""Patterns that find secrets by their form alone: providers' keys, headers, URLs, calls and commands. To add
a provider's key, add its pattern here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping

from .secret_evidence import NameKind, is_key_text, is_random, is_reference, is_secret, is_type, kind_of_name

Span = tuple[int, int]

BEFORE_MAX = 200
"""Maximum characters of a command that are searched before its option with the password."""

NEAR_ID = 400
"""Maximum characters between the id of an AWS key and its secret: about a paragraph."""

NEAR_WALLET = 80
"""Maximum characters between the mention of a wallet and its key of 64 hexadecimal digits."""

MANIFEST_MAX = 20_000
"""Maximum characters of a Kubernetes manifest that are searched."""


def key_forms(text: str, lowered: str, words: str) -> Iterator[Span]:
    """Yield the spans of secrets of a known form. `lowered` is as long as `text`, and `words` has
    its words once."""
    around = _around_runs(text)
    for literal, pattern in _FORMS:
        if literal not in around:
            continue
        for place in places(text, literal):
            if found := pattern.match(text, place):
                yield found.span("secret" if pattern.groups else 0)
                if literal in _AWS_IDS:
                    yield from bare_keys(text, max(place - NEAR_ID, 0), place + NEAR_ID)
    for found in _DISCORD.finditer(around):
        for place in places(text, found[0]):
            yield place, place + len(found[0])
    for found in _HEX_KEY.finditer(around):
        for place in places(text, found[0]):
            if _OF_WALLET.search(text, max(place - NEAR_WALLET, 0), place):
                yield place, place + len(found[0])
    if "-us" in around:
        for found in _MAILCHIMP.finditer(text):
            yield found.span()
    for literal, pattern in _FOLDED_FORMS:
        for place in places(lowered, literal) if literal in words else ():
            if (found := pattern.match(text, place)) and _is_named(literal, text, place, found["secret"]):
                yield found.span("secret")
    for literal, calls in _CALLS.items():
        if _CORES[literal] in words:
            for place in places(lowered, literal):
                yield from in_call(text, place, calls)
    for place in places(text, "sudo -S") if "sudo" in words else ():
        if found := _TO_SUDO.search(text, max(place - BEFORE_MAX, 0), place):
            yield found.span("secret")
    for place in places(lowered, "chpasswd") if "chpasswd" in words else ():
        if found := _TO_CHPASSWD.search(text, max(place - BEFORE_MAX, 0), place):
            yield found.span("secret")
    if "private-lines:" in words or "encrypted" in words:
        yield from _key_lines(text)
    if "://" in words or "@tcp(" in words:
        yield from _in_urls(text)
    if "authorization" in words or "cookie" in words:
        yield from _in_headers(text, lowered)


def _key_lines(text: str) -> Iterator[Span]:
    """Yield the lines of private keys as PuTTY and SSH2 write them."""
    for literal, pattern in _KEY_BLOCKS:
        for place in places(text, literal):
            if found := pattern.match(text, place):
                for line in _KEY_LINE.finditer(text, *found.span("lines")):
                    yield line.span()


def bare_keys(text: str, start: int = 0, stop: int | None = None) -> Iterator[Span]:
    """Yield runs of 40 characters drawn at random, as secrets of AWS are, which have no other form."""
    for found in _BARE_KEY.finditer(text, start, len(text) if stop is None else stop):
        if is_key_text(found[0]):
            yield found.span()


def kubernetes_secrets(text: str) -> Iterator[Span]:
    """Yield the values of manifests of the kind Secret, whatever their names."""
    done = 0
    for found in _MANIFEST_KIND.finditer(text) if "Secret" in text else ():
        if found.start() < done:
            continue
        begin = text.rfind("\n---", max(found.start() - MANIFEST_MAX, 0), found.start())
        end = text.find("\n---", found.end(), found.end() + MANIFEST_MAX)
        begin = max(begin, found.start() - MANIFEST_MAX, done)
        done = end if end >= 0 else min(found.end() + MANIFEST_MAX, len(text))
        for block in _MANIFEST_DATA.finditer(text, begin, done):
            for entry in _MANIFEST_ENTRY.finditer(text, block.start(1), block.end(1)):
                if not is_reference(entry["value"]):
                    yield entry.span("value")


def in_call(text: str, place: int, calls: list[_Call]) -> Iterator[Span]:
    """Yield the secrets of calls and commands that a literal at a place may belong to."""
    for pattern, before in calls:
        found = pattern.match(text, place)
        if found is None or not is_secret(found["secret"] or found["bare"] or "", NameKind.PASSWORD):
            continue
        if before is None or before.search(text[max(place - BEFORE_MAX, 0) : place].rpartition("\n")[2]):
            yield found.span("secret" if found["secret"] else "bare")


def _is_named(literal: str, text: str, place: int, value: str) -> bool:
    """Whether a value may be a secret by the text before it: after `key=` only if the whole name can be that
    of a secret (not `primary_key=`), after `basic` only if it is a user and a password in base64."""
    if literal == "basic":
        return _is_pair(value) or is_key_text(value)
    if literal != "key=":
        return True
    left = text[max(place - 40, 0) : place]
    left = left[len(left.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")) :]
    return not left or kind_of_name(left + "key") is not NameKind.NONE


def _around_runs(text: str) -> str:
    """Return the runs of at least 20 characters that keys consist of, if they contain a digit, each with the
    text before it.

    Every key has such a run and little code does, so the 90 literals are searched in a small part of a
    text.
    """
    marks = text.encode("ascii", "replace").translate(_RUN_MARKS)
    parts = []
    end = 0
    while (start := marks.find(_RUN, end)) >= 0:
        end = marks.find(b" ", start)
        end = len(marks) if end < 0 else end
        if _DRAWN.search(text, start, end):
            parts.append(text[max(start - _BEFORE_RUN, 0) : end])
    return "\n".join(parts)


def places(text: str, literal: str) -> Iterator[int]:
    """Yield each place where a literal stands."""
    place = text.find(literal)
    while place >= 0:
        yield place
        place = text.find(literal, place + 1)


_DRAWN = re.compile(r"\d|hf_")
_RUN = b"a" * 20
_BEFORE_RUN = 40
_RUN_MARKS = bytes(
    97 if chr(code) in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/+." else 32
    for code in range(256)
)
_TO_SUDO = re.compile(r"(?:echo|printf) [\"']?(?P<secret>(?![$<{*-])[^\s\"']{4,128})[\"']? ?\| ?\Z")
_TO_CHPASSWD = re.compile(
    r"[\"' ][\w.-]{1,40}:(?P<secret>(?![$<{*])[^\s\"':]{4,128})[\"']? ?\| ?(?:sudo )?\Z"
)
_DISCORD = re.compile(
    r"(?<![\w.-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w.-])"
)
_HEX_KEY = re.compile(r"(?<![0-9A-Fa-f])[0-9a-fA-F]{64}(?![0-9A-Fa-f])")
_OF_WALLET = re.compile(
    r"(?i)(?:wallet|priv(?:ate)?[_ -]?key|from_?key|toaccount|accounts|signer|deployer)[^\n]{0,60}\Z"
)
_MAILCHIMP = re.compile(r"(?<![0-9a-z])[0-9a-f]{32}-us\d{1,2}(?![\w-])")
_BARE_KEY = re.compile(
    r"(?:(?<![A-Za-z0-9/+=_.-])|(?<=A[A-Z]{3}[A-Z0-9]{16}/))[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])"
)
_MANIFEST_KIND = re.compile(r"^kind:[ \t]{0,4}[\"']?Secret[\"']?[ \t\r]{0,4}$", re.MULTILINE)
_MANIFEST_DATA = re.compile(r"^(?:stringData|data):[ \t\r]*\n((?:(?:[ \t]+[^\n]*)?\n?){1,200})", re.MULTILINE)
_MANIFEST_ENTRY = re.compile(
    r"^[ \t]+[\w.\-\"']{1,80}:[ \t]+[\"']?(?P<value>[^\s\"'|>][^\s\"']{2,4096})[\"']?[ \t\r]*$", re.MULTILINE
)


# URLs

_IN_URL = re.compile(
    r"://(?P<user>[^\s:/@\"'<>{}$\[\]`,|()]{0,64}):(?P<secret>(?:[^\s\"'<>`/]{3,256}"
    r"|(?=[^/]*[A-Za-z])(?=[^/]*[\d%!$&])[^\s@\"'<>`/{}]{3,100}/[^\s@\"'<>`/{}]{1,100}))@(?=[\w\[{$-])"
)
_TOKEN_IN_URL = re.compile(r"://(?P<secret>[A-Za-z0-9_\-]{20,256})@(?=\w)")
_BEFORE_DRIVER = re.compile(r"[\"'`=\s][\w.-]{1,64}:(?P<secret>[^\s\"'`@/{}$%]{3,128})\Z")
_PLACEHOLDER_IN_URL = re.compile(
    r"(?i)(?:your|my|the)?[_-]?(?:pass(?:word|wd|wort)?|pw|pwd|secret|token|x{2,}|\*+|p|\.+|key"
    r"|api[_-]?key)\d?\Z"
    r"|[%*]|\$|\{|[A-Z_]+\Z(?-i:(?<=[A-Z]))|.*(?:\$\{|\{\{|%\(|%s)|\[\w+\]|\d{2,5}[?#)]|.*@\Z"
)


def _in_urls(text: str) -> Iterator[Span]:
    """Yield passwords of URLs, and of data source names of Go's MySQL driver (`user:password@tcp(…)`)."""
    for place in places(text, "://"):
        if found := _IN_URL.match(text, place):
            value = found["secret"]
            if not _PLACEHOLDER_IN_URL.match(value) and "example" not in value and value != "...":
                yield found.span("secret")
        elif (found := _TOKEN_IN_URL.match(text, place)) and is_random(found["secret"]):
            yield found.span("secret")
    for place in places(text, "@tcp("):
        start = max(place - BEFORE_MAX, 0)
        found = _BEFORE_DRIVER.search(text[start:place])
        if found and not _PLACEHOLDER_IN_URL.match(found["secret"]):
            yield start + found.start("secret"), start + found.end("secret")


# Headers

_HEADER = re.compile(
    r"(?i)authorization(?:\\{0,8}[\"'`])?\]?[ ]{0,3}(?:=>|[:=,])[ ]{0,3}(?:\\{0,8}[\"'`])?"
    r"(?:(?P<scheme>basic|bearer|token|apikey|api-key|key|digest)[ ]{1,2}(?:token=[\"']?)?)?"
    r"(?P<secret>[A-Za-z0-9._~+/:\-]{8,2048}={0,2})(?![\w.~+/:(\[-])"
)
_COOKIE = re.compile(
    r"(?i)(?:set-)?cookie2?(?:\\{0,8}[\"'`])?\]?[ ]{0,3}(?:=>"
    r"|[:=,])[ ]{0,3}(?:\\{0,8}[\"'`])?(?P<pairs>[^\n\"']{8,2000})"
)
_SET_COOKIE = re.compile(
    r"(?i)cookie\(\s{0,20}[\"'][\w.-]{0,30}(?:sess|sid|auth|token|jwt)[\w.-]{0,30}[\"'],\s{0,20}[\"']"
    r"(?P<secret>(?=[A-Za-z_-]{0,60}\d)[\w.=-]{20,200})[\"']"
)
_COOKIE_PAIR = re.compile(
    r"(?<![\w.-])(?!domain=|path=|expires=)[\w.-]{1,60}=(?P<value>[A-Za-z0-9._~+/%:\-]{16,1024})"
)


def _in_headers(text: str, lowered: str) -> Iterator[Span]:
    """Yield the credentials in headers: the values of Authorization and of cookies."""
    for place in places(lowered, "authorization"):
        found = _HEADER.match(text, place)
        if found is None or is_reference(found["secret"]):
            continue
        value, scheme = found["secret"], (found["scheme"] or "").lower()
        if scheme == "basic":
            if _is_pair(value) or is_key_text(value):
                yield found.span("secret")
        elif (
            (len(value) >= 16 or scheme)
            and is_secret(value, NameKind.TOKEN)
            and any(map(str.isdigit, value))
            and not is_type(value)
        ):
            yield found.span("secret")
    done = 0
    for place in places(lowered, "cookie"):
        if place < done:
            continue
        if found := _SET_COOKIE.match(text, place):
            yield found.span("secret")
        if found := _COOKIE.match(text, place):
            done = found.end()
            for pair in _COOKIE_PAIR.finditer(text, *found.span("pairs")):
                if is_random(pair["value"]) and sum(map(str.isdigit, pair["value"])) >= 2:
                    yield pair.span("value")


def _is_pair(value: str) -> bool:
    """Whether a value is a user and a password in base64."""
    try:
        user, colon, word = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).partition(b":")
    except ValueError:
        return False
    return bool(colon and word) and (user + word).isascii()


# Literals and patterns


def _forms(*rows: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each literal with the pattern that begins there."""
    return tuple((literal, re.compile(pattern)) for literals, pattern in rows for literal in literals.split())


_Call = tuple[re.Pattern[str], re.Pattern[str] | None]


def _calls(*rows: tuple[tuple[str, ...], str, str | None]) -> dict[str, list[_Call]]:
    """Return for each literal the patterns that begin there, each with the pattern that must match before it
    in the line, if any."""
    found: dict[str, list[_Call]] = {}
    for literals, pattern, before in rows:
        call = re.compile(pattern, re.IGNORECASE), re.compile(before, re.IGNORECASE) if before else None
        for literal in literals:
            found.setdefault(literal, []).append(call)
    return found


_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9_-])"
_AWS_IDS = frozenset({"AKIA", "ASIA", "ABIA", "ACCA"})

_FORMS = _forms(
    ("AKIA ASIA ABIA ACCA", r"(?<![A-Za-z0-9+/])A[A-Z]{3}[A-Z0-9]{16}(?![A-Za-z0-9_+-])"),
    ("ABSK", rf"{_START}ABSK[A-Za-z0-9+/]{{100,280}}={{0,2}}"),
    ("LTAI", rf"{_START}LTAI[A-Za-z0-9]{{16,26}}{_END}"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", rf"{_START}gh[pousr]_[A-Za-z0-9]{{30,255}}{_END}"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    (
        "glpat- gldt- glrt- glptt- gloas- glsoat- glcbt- glft- glimt- glagent- glffct-",
        r"gl[a-z]{2,5}-[A-Za-z0-9_-]{20,255}(?:\.[a-z0-9]{2,12}){0,2}",
    ),
    ("GR1348941", r"GR1348941[\w-]{20}"),
    ("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", rf"{_START}xox[a-z]-[A-Za-z0-9-]{{15,255}}"),
    ("xoxe.xox", rf"{_START}xoxe\.xox[bp]-\d-[A-Za-z0-9]{{40,255}}"),
    ("xapp-", rf"{_START}xapp-\d-[A-Za-z0-9-]{{13,255}}"),
    (
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        r"hooks\.slack\.com/[a-z]{5,10}/(?P<secret>[TE][A-Z0-9]{6,20}/[A-Z0-9]{6,20}/[\w/]{16,64})",
    ),
    (
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{16,20}/(?P<secret>[\w-]{40,90})",
    ),
    (
        ".webhook.office.com/",
        r"\.webhook\.office\.com/webhookb2/(?P<secret>[\w@-]{36,100}/IncomingWebhook/[\w-]{16,64}/[\w-]{20,64})",
    ),
    (
        "sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ pk_test_ sk_prod_ rk_prod_",
        rf"{_START}[srp]k_(?:live|test|prod)_[A-Za-z0-9]{{16,255}}{_END}",
    ),
    ("whsec_", rf"{_START}whsec_[A-Za-z0-9+/=]{{20,255}}"),
    (
        "sk-proj- sk-ant- sk-svcacct- sk-or- sk-admin- sk-lf-",
        rf"{_START}sk-[a-z]{{2,7}}-[A-Za-z0-9_-]{{20,255}}",
    ),
    ("sk-", rf"{_START}sk-[A-Za-z0-9]{{32,255}}{_END}"),
    ("gsk_", rf"{_START}gsk_[A-Za-z0-9]{{40,64}}{_END}"),
    ("xai-", rf"{_START}xai-[A-Za-z0-9]{{60,120}}{_END}"),
    ("pplx-", rf"{_START}pplx-[A-Za-z0-9]{{40,64}}{_END}"),
    ("r8_", rf"{_START}r8_[A-Za-z0-9]{{37}}{_END}"),
    ("AIza", rf"{_START}AIza[0-9A-Za-z_-]{{35}}{_END}"),
    ("ya29.", rf"{_START}ya29\.[0-9A-Za-z_-]{{20,2048}}"),
    ("1//0", rf"{_START}1//0[0-9A-Za-z_-]{{40,256}}"),
    ("GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{20,64}"),
    ("npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
    ("pypi-", rf"{_START}pypi-[A-Za-z0-9_-]{{50,1024}}"),
    ("rubygems_", rf"{_START}rubygems_[a-f0-9]{{48}}{_END}"),
    ("CLOJARS_", r"CLOJARS_[A-Za-z0-9]{60}"),
    ("oy2", rf"{_START}oy2[a-z0-9]{{43}}{_END}"),
    ("dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{27,64}"),
    ("hf_ api_org_", rf"{_START}(?:hf|api_org)_[A-Za-z0-9]{{30,64}}{_END}"),
    ("SG.", rf"{_START}SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{30,64}}"),
    ("xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("SK", rf"{_START}SK[0-9a-f]{{32}}{_END}"),
    ("key-", rf"{_START}key-[0-9a-f]{{32}}{_END}"),
    (":AA", r"(?<=\d{8}):(?P<secret>AA[A-Za-z0-9_-]{32,34})(?![A-Za-z0-9_-])"),
    ("dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("shpat_ shpca_ shppa_ shpss_", rf"shp[a-z]{{2}}_[0-9a-fA-F]{{32}}{_END}"),
    ("shippo_live_ shippo_test_", r"shippo_[a-z]{4}_[0-9a-f]{40}"),
    ("EZAK EZTK", rf"{_START}EZ[AT]K[A-Za-z0-9]{{54}}{_END}"),
    ("sq0atp- sq0csp-", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,60}"),
    ("EAAA EAAC EAAM EAAB", rf"(?<![A-Za-z0-9+/])EAA[A-Z][A-Za-z0-9_-]{{50,400}}{_END}"),
    ("dapi", rf"{_START}dapi[0-9a-f]{{32}}(?:-\d)?{_END}"),
    ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", rf"{_START}dp\.[a-z]{{2,5}}\.[A-Za-z0-9.]{{40,64}}"),
    ("dt0c01. dt0s01.", r"dt0[cs]01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("lin_api_ lin_oauth_", rf"{_START}lin_[a-z]{{3,5}}_[0-9A-Za-z]{{32,64}}"),
    ("ntn_", rf"{_START}ntn_[0-9]{{11}}[A-Za-z0-9]{{35}}{_END}"),
    ("figd_", rf"{_START}figd_[A-Za-z0-9_-]{{36,64}}"),
    ("rdme_", rf"{_START}rdme_[a-z0-9]{{70}}{_END}"),
    ("PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("pul-", rf"{_START}pul-[0-9a-f]{{40}}{_END}"),
    ("pnu_", rf"{_START}pnu_[A-Za-z0-9]{{36}}{_END}"),
    ("sbp_", rf"{_START}sbp_[0-9a-f]{{40}}{_END}"),
    ("sgp_", rf"{_START}sgp_(?:[0-9a-f]{{16}}_|local_)?[0-9a-f]{{40}}{_END}"),
    ("pscale_tkn_ pscale_oauth_ pscale_pw_", r"pscale_[a-z]{2,5}_[\w=.-]{32,64}"),
    ("tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9]{8,32}-[A-Za-z0-9]{20,64}"),
    ("fo1_ fm1a_ fm1r_ fm2_", rf"{_START}f[om][12][ar]?_[A-Za-z0-9_+/-]{{43,1024}}={{0,3}}"),
    ("HRKU-", r"HRKU-[A-Za-z0-9_-]{36,70}"),
    ("NRAK- NRII- NRRA-", r"NR[A-Z]{2}-[A-Za-z0-9_-]{27,42}"),
    ("glsa_ glc_", rf"{_START}gl(?:sa|c)_[A-Za-z0-9_+/]{{32,400}}={{0,3}}"),
    ("ATATT3 ATCTT3 ATBB", rf"{_START}AT(?:[AC]TT3[A-Za-z0-9_=-]{{60,255}}|BB[A-Za-z0-9]{{28,36}}{_END})"),
    ("AKCp", rf"{_START}AKCp[A-Za-z0-9]{{60,80}}{_END}"),
    ("sha256~", rf"{_START}sha256~[\w-]{{43}}(?![\w-])"),
    (".atlasv1.", r"\.atlasv1\.(?P<secret>[A-Za-z0-9_=-]{60,70})"),
    (
        "alchemy.com/v2/ infura.io/v3/",
        rf"[a-z]{{5,8}}\.[a-z]{{2,3}}/v\d/(?P<secret>[A-Za-z0-9_-]{{32}}){_END}",
    ),
    ("Q~", r"(?<![\w~.-][\w~.-]{4})(?<=[\w~.]{3}\d)Q~[A-Za-z0-9_~.-]{31,34}"),
    ("ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_=-]{100,4096}"),
    (
        "A3-",
        rf"{_START}A3-[A-Z0-9]{{6}}-[A-Z0-9]{{6}}-?[A-Z0-9]{{5}}-[A-Z0-9]{{5}}-[A-Z0-9]{{5}}-[A-Z0-9]{{5}}{_END}",
    ),
    ("squ_ sqp_ sqa_", rf"{_START}sq[upa]_[0-9a-f]{{40}}{_END}"),
    ("AC", rf"{_START}AC[0-9a-f]{{32}}[\"'],\s{{0,20}}[\"'](?P<secret>[0-9a-f]{{32}})"),
    ("$apr1$", r"\$apr1\$[./A-Za-z0-9]{2,16}\$(?P<secret>[./A-Za-z0-9]{22})"),
    ("sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_=+/-]{40,512}"),
    ("hvs. hvb.", rf"{_START}hv[sb]\.[A-Za-z0-9_-]{{24,300}}"),
    ("eyJ", rf"{_START}eyJ[A-Za-z0-9_-]{{8,4096}}\.eyJ[A-Za-z0-9_-]{{8,4096}}\.[A-Za-z0-9_-]{{16,1024}}"),
    ("sk.eyJ", rf"{_START}sk\.eyJ[A-Za-z0-9_-]{{20,255}}\.[A-Za-z0-9_-]{{20,64}}"),
    ("eyJrIjoi", rf"{_START}eyJrIjoi[A-Za-z0-9]{{60,400}}={{0,3}}"),
    ("pbkdf2_", r"pbkdf2_[a-z0-9]{3,12}\$\d{1,9}\$(?P<secret>[^\s\"']{20,256})"),
    ("$2a$ $2b$ $2y$", r"\$2[aby]\$\d\d\$(?P<secret>[./A-Za-z0-9]{53})"),
    ("$argon2", r"\$argon2(?:id|i|d)\$[^\s\"'$]{1,40}\$[^\s\"'$]{1,80}\$(?P<secret>[^\s\"']{20,256})"),
    (
        "$6$ $5$ $1$ $y$",
        r"\$[156y]\$(?:rounds=\d+\$)?[./A-Za-z0-9]{2,32}\$(?P<secret>[./A-Za-z0-9]{22,86})(?![./A-Za-z0-9])",
    ),
)

_KEY_BLOCKS = _forms(
    ("Private-Lines:", r"Private-Lines: \d{1,3}\r?\n(?P<lines>(?:[A-Za-z0-9+/=]{4,76}(?:\r?\n|\Z)){1,300})"),
    ("ENCRYPTED", r"ENCRYPTED PRIVATE KEY ----\r?\n(?P<lines>(?:[A-Za-z0-9+/=]{4,76}(?:\r?\n|\Z)){1,300})"),
)
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{4,76}")

_FOLDED_FORMS = _forms(
    ("jdbc:oracle:", r"(?i)jdbc:oracle:\w{2,5}:[\w$#]{1,60}/(?P<secret>(?!\$\{|[@<{])[^\s@\"'<>]{3,100})@"),
    (
        "key= sig= signature=",
        r"(?i)[a-z]{3,9}=(?P<secret>(?=[A-Za-z_~.+/%-]{0,100}\d)[A-Za-z0-9_~.+/%-]{24,512}={0,2})(?=[&#;\s\"'<)\]]|\Z)",
    ),
    (
        "bearer basic",
        r"(?i)(?:bearer|basic)\s{1,4}(?P<secret>(?=[A-Za-z._~+/-]{0,200}\d)[A-Za-z0-9._~+/-]{20,2048}={0,2})",
    ),
)
"""Their literals are in lower case and looked for in the lower-cased text."""

_WORD = r"(?P<quote>[\"']?)(?P<secret>(?![$<{*-])(?:(?<=[\"'])[^\"'\n]{4,128}|[^\s\"']{4,128}))(?P=quote)"
_ARGUMENT = r"(?P<quote>[\"'`])(?P<secret>[^\"'`\n]{4,128})(?P=quote)"
_DIGITED = _ARGUMENT.replace("[^", r"(?=[^\"'`\n]*\d)[^", 1)
_TEXT = _ARGUMENT.replace("`", "")
_OTHER = r"(?:[bruN@&$]{0,2}[\"'][^\"'\n]{0,80}[\"']|[\w$][\w.$\[\]>()-]{0,59})"

_IDENTIFIED = (
    rf"identified (?:with [\w'\"]{{1,40}} )?by (?:password )?"
    rf"(?:{_TEXT}|(?P<bare>[a-z](?=\w*\d)[\w$#]{{3,30}}(?=[\s;])))"
)
_COMMANDS_WITH_P = (
    r"\b(?:sshpass|twine|(?:docker|podman|registry|az|oc|cf|heroku) login|mongo\w*|cqlsh|sqlcmd|bcp"
    r"|unzip|zip|7za?|sqlplus|plink|pscp|mosquitto_[ps]ub|clickhouse-client|impala-shell|vncpasswd"
    r"|htpasswd|useradd|usermod|ipmitool)\b"
)
_CALLS = _calls(
    ((" -p",), rf" (?:-p[ =]?|-pw )(?!\d{{1,5}}(?:\s|$)){_WORD}", _COMMANDS_WITH_P),
    ((" -p",), rf" -p{_WORD}", r"\b(?:mysql|mariadb)\w*\b"),
    (
        (" -u", " --user"),
        (
            r" (?:-u|--user(?=[ =]))[ =]?(?:\\?[\"'])?[\w.@\\+%-]{1,64}[:%,]"
            r"(?P<secret>(?![$<{*])[^\s\"'\\]{4,256})"
        ),
        r"\b(?:curl|smbclient|rpcclient|lftp|grunt|snmp\w+)\b",
    ),
    (
        (" -a ", " --auth"),
        r" (?:-a |--auth[ =])[\"']?(?:[\w.@-]{1,64}:)?(?P<secret>(?![$<{*-])[^\s\"':]{4,256})",
        r"(?:\A|[\s`|;&])(?:https?|xh|redis-cli|snmp\w+)(?: [^|;]*)?\Z",
    ),
    ((" /p",), rf" /p[: ]{_WORD}", r"\b(?:signtool|[xw]?freerdp\w*|mstsc|schtasks|runas)\b"),
    (
        ("net use ",),
        r"net use \S{2,40} \S{3,80} (?:/user:\S{1,60} )?(?P<secret>(?![/*$<%])[^\s\"']{4,128})(?= /|\s*$)",
        None,
    ),
    (("http-basic.",), r"http-basic\.[\w.-]{1,80} \S{1,60} (?P<secret>(?![/*$<%])[^\s\"']{4,128})", None),
    (("sqlplus ",), r"sqlplus (?:-[a-z] )?[\w$]{1,40}/(?P<secret>(?![$<{&])[^\s\"'@/]{4,64})@", None),
    (("--stdin",), rf"--stdin \w{{1,40}} <<< ?{_WORD}", None),
    (
        ("assword:",),
        (
            r"assword:[^\n]{0,20}\s{1,20}(?:send (?:-- )?|[\w.]{1,20}\.(?:send_?line|send|write)\(b?)"
            r"[\"'](?P<secret>(?!\$)[^\"'\n\\]{4,64})(?:\\[rn]|[\"']\))"
        ),
        None,
    ),
    (
        ("community ",),
        (
            r"community (?P<secret>(?!public\b|private\b|string\b)(?=\S*[0-9A-Z])[^\s\"'<>$]{4,64})"
            r" (?:ro|rw|authorization)\b"
        ),
        None,
    ),
    (
        ("community ",),
        r"community6? (?P<secret>(?!public\b|private\b|string\b)(?=\S*\d)[^\s\"'<>$()=]{4,64})(?=\s|$)",
        r"(?:\A|\W)r[ow]\Z",
    ),
    (
        ("key",),
        (
            r"key(?:-string)? (?:[0-9]{1,5} )?(?:md5 |ascii-text )?"
            r"[\"']?(?P<secret>(?=\S*\d)(?!\$)[^\s\"'<>()=:]{6,64})[\"']?(?=\s|$)"
        ),
        (
            r"\b(?:server|server-private|isakmp|ntp|authentication(?: md5)?|string|shared) "
            r"(?:host \S{1,60} |[\d.]{7,15} )?\Z|(?:message-digest|pre-shared|authentication|wpa)-\Z"
        ),
    ),
    (
        ("root", "admin", "postgres"),
        (
            r"(?:root|admin(?:istrator)?|postgres)(?:[\"'`],\s{0,20}[\"'`]|[\"'`]?: [\"'`]|:| / )"
            r"(?P<secret>(?![\d$<{*/%.\-]|\S*@[\w-]+\.)(?=[^\s\"'`]*\d[^\s\"'`]*\d)"
            r"[^\s\"'`:,;/<>(){}\[\]]{8,64})(?=[\"'`\s]|\Z)"
        ),
        r"(?:\A|[^\w/.@-])\Z",
    ),
    (
        ("crypt(", "cipheriv("),
        (
            r"(?:crypt|cipheriv)\((?:\$?\w[^\n\"'`]{0,80},\s{0,20})?"
            r"(?:[\"'](?:aes|des)[\w-]{2,20}[\"'],\s{0,20})?"
            rf"(?<=, ){_DIGITED}\s{{0,20}}[,)]"
        ),
        r"(?:en|de|create|createDe)\Z",
    ),
    (
        ("secretkeyspec(", "hmac256(", "hmac512(", "securitykey("),
        rf"\w{{7,13}}\((?:[\w.]{{1,30}}\()?{_ARGUMENT}",
        None,
    ),
    (("login",), r"login [\w.@-]{1,40}:(?P<secret>[^\s:\"'$<{]{4,64})", r"_\Z"),
    (
        ("pass", "secret"),
        r"(?:password|secret) [0-9] (?P<secret>(?=\S*\d)[^\s\"'<>$()=;,]{4,64})(?=\s|$)",
        None,
    ),
    (
        ("auth", "login", "user", "pass", "bind_s(", "begin(", "connect(", "mysqli(", "basic("),
        (
            rf"(?:auth(?:enticate)?|login|user|password|bind_s|begin|connect|mysqli|basic)\((?:{_OTHER},\s{{0,20}}){{1,3}}{_DIGITED}"
            r"\s{0,20}[,)]"
        ),
        None,
    ),
    (
        ("pin",),
        (
            r"pin(?:code)?(?:\s(?:for|of)\s[^\n:]{1,40})?[\"']?(?:\s{0,3}[:=]\s{0,3}|\s(?:is|lautet|ist|to)\s)"
            r"[\"']?(?P<secret>\d{4,8})(?![\w.])"
        ),
        r"(?:\A|[^a-z])\Z",
    ),
    (
        ("]:",),
        r"\]:\d{2,3} [\w.@+-]{1,80}:(?P<secret>(?![$<{*])[^\s\"':]{4,128})(?=\s|$)",
        r"\A\[[\w.-]{1,80}\Z",
    ),
    (("load(",), rf"load\([^\n\"']{{1,60}}(?:\"[^\n\"]{{1,60}}\"\))?,\s{{0,20}}{_ARGUMENT}\.tochar", None),
    (("rootpw ",), rf"rootpw (?:--plaintext )?(?!--){_WORD}", r"\A\s*\Z"),
    ((" identify ",), rf" identify (?=\S*\d){_WORD}", r"nickserv\Z"),
    (
        ("pass",),
        (
            rf"pass(?:word|wd)?[^\n]{{0,12}}\)\."
            rf"(?:send_?keys|type|fill|set_?value|val)\({_DIGITED}\)"
        ),
        None,
    ),
    (("totp(",), r"totp\([\"'](?P<secret>[A-Z2-7]{16,64})[\"']", None),
    (("fernet(",), r"fernet\(\s{0,20}b?[\"'](?P<secret>[\w-]{43}=)[\"']", None),
    (('"d"',), r'"d"\s{0,4}:\s{0,4}"(?P<secret>[\w-]{40,600})"', None),
    (
        (":5432:",),
        r":(?:5432|\*):[\w*]{1,60}:\w{1,60}:(?P<secret>[^\s:\"']{4,128})(?=\s|$)",
        r"\A[\w.*-]{1,80}(?::(?:5432|\*))?\Z",
    ),
    ((" -w ",), rf" -w {_WORD}", r"\bldap[a-z]{3,8}\b"),
    (("htpasswd -",), rf"htpasswd -\w{{0,6}}b\w{{0,6}} [^\s]{{1,80}} [^\s]{{1,60}} {_WORD}", None),
    (("pass",), r"pass:(?P<secret>(?![$<{*])[^\s\"']{4,128})", r"-(?:passin|passout|pass|k) \Z"),
    (("identified ",), _IDENTIFIED, r"\b(?:create|alter|grant|user|role|login|all)\b"),
    (
        ("auth", "cred"),
        rf"(?:auth(?:entication(?:token)?)?|credentials?)\(\s{{0,20}}{_OTHER},\s{{0,20}}[@N]?{_ARGUMENT}",
        r"(?:basic_?|digest|network|plain_?|password|http|username|user|set_?)\Z",
    ),
    (
        ("auth",),
        (
            rf"auth'?(?: ?= ?\(| => \[|: \[|=\[)\s{{0,20}}{_OTHER},\s{{0,20}}{_ARGUMENT}"
            r"(?:, ?['\"](?:basic|digest|ntlm)['\"])?\s{0,20},?\s{0,20}[\])]"
        ),
        None,
    ),
    (
        ("connection(", "new pdo(", "connect(", "ftp(", "sequelize("),
        (
            r"(?:connection|new pdo|connect|ftp|sequelize)"
            rf"\(\s{{0,20}}{_OTHER},\s{{0,20}}{_OTHER},\s{{0,20}}{_ARGUMENT}"
        ),
        None,
    ),
    (
        ("jwt.",),
        rf"jwt\.[a-z]{{4,6}}\(\s{{0,20}}(?:\{{[^{{}}\n]{{0,200}}\}}|{_OTHER}),\s{{0,20}}{_ARGUMENT}",
        None,
    ),
    (("hmac",), rf"hmac(?:\([\"'][\w-]{{2,20}}[\"'],\s{{0,20}}|\.new\(\s{{0,20}}b?){_ARGUMENT}", None),
    (("securestring ",), rf"securestring (?:-string )?{_ARGUMENT}", r"convertto-\Z"),
    (
        ("cred", "login"),
        (
            r"(?:credentials(?: are|:)|login(?: with| as|:))[: ] ?[`\"']?[\w.@-]{1,40}[`\"']? ?[/:] ?[`\"']?"
            r"(?P<secret>(?=[^\s`\"']*\d)[^\s`\"',()/]{4,64})(?=[\s`\"',.]|\Z)"
        ),
        None,
    ),
)
"""Calls, commands and sentences whose argument at a certain place is a secret; literals in lower case."""

_CORES: Mapping[str, str] = {literal: max(literal.split(), key=len) for literal in _CALLS}
"""The longest word of each literal."""

CALLS_OF_NAMES: Mapping[str, list[_Call]] = {
    literal: _CALLS.pop(literal) for literal in ("auth", "cred", "key", "login", "pass", "secret", "user")
}
"""Those of literals that `named_values` looks up anyway: a search for one costs more than all else."""
