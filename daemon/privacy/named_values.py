"""Finds values whose name says that they are secret (`password = …`), in code, settings, markup, commands and
prose.

Each place with such a name is checked once, with at most a few hundred characters around it, so that the time
is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .drawn_values import Looked, column_below, drawn_near, inserted_values, said_value
from .key_forms import CALLS_OF_NAMES, in_call
from .secret_evidence import (
    BARE_MIN,
    NAME_MAX,
    RANDOM_MIN,
    NameKind,
    is_bare_secret,
    is_drawn,
    is_key_text,
    is_noise,
    is_random,
    is_reference,
    is_secret,
    is_title,
    is_type,
    kind_of_name,
)

Span = tuple[int, int]

VALUE_MAX = 512
"""Maximum characters of a value."""

LINE_MAX = 300
"""Maximum characters of a line that are read before and after a name."""

PARAGRAPH_LINES = 4
"""Number of lines before and after a value that tell settings from code."""

NEAR = 120
"""Maximum characters between `pass` and the mention of a user that shows it is a password."""

LITERALS = (
    *("pass", "pw", "secret", "token", "key", "cred", "auth", "salt", "pepper", "psk"),
    *("kennwort", "senha", "wachtwoord", "haslo", "heslo", "parola", "contrasena", "mnemonic", "phrase"),
)
OTHER_LITERALS = (
    "contraseña",
    "hasło",
    "lösenord",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "şifre",
)
"""Parts of names of secrets in lower case; those beyond ASCII are searched only in texts that have any."""

CUES = (
    "login",
    "user",
    "admin",
    "hmac",
    "cipher",
    "serializer",
    "signwith",
    "securestring",
    "securitykey",
    "zugang",
)
"""Other words of lines that speak of secrets, in lower case."""

_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_QUOTE = r"(?:\\{1,8}[\"']|\"{3}|'{3}|``|[\"'`]|&quot;|&#34;)"
_HEAD = re.compile(
    r"(?P<rest>[\w-]{0,40}(?:\.[\w-]{1,30}){0,3})(?P<array>\[[\w\"'-]{0,40}\])?"
    rf"(?P<close>{_QUOTE}?[ ]?\]?\)?)"
    r"(?:[ ]{0,2}:[ ]{0,2}[&?*]?(?:'static[ ])?[A-Za-z][\w.<>\[\]|? ]{0,30}?(?=[ ]{0,2}=[^=>]))?"
    r"(?:[ ]?(?:\([\w .-]{1,30}\)"
    r"|(?:for|of|on|for the|f\u00fcr|para|pour)[ ][\w .'-]{1,40})(?=[ ]?:|[ ]is[ ]))?"
    r"(?:[ ](?:[aA]s[ ])?[sS]tring(?=[ ]{0,2}=[^=]))?"
    r"(?P<sep>[ \t]{0,24}(?:=>|::?=|[!=]==?|\?\?=?|\|\|=?|<-|\?=|:-|\uff1a|[:=]\*{0,2})[ \t]{0,24}"
    r"|[ \t]{0,3},[ \t\n]{0,24}(?:with:[ ]|value:[ ])?|\([ ]{0,2}|(?:[ ][^<>\n]{0,160})?>"
    r"|[ \t]{1,4}(?:is|was|to|from|lautet|ist|es|est|\u00e8|reads|(?:has |was )?(?:changed|set) to|is now)"
    r"[ \t:]{1,3}"
    r"|[ \t]{1,24})"
)
_SAID = frozenset(
    ["is", "was", "to", "from", "lautet", "ist", "es", "est", "\u00e8", "reads"]
    + [f"{verb} to" for verb in ("changed", "has changed", "was changed", "set", "has set", "was set")]
    + ["is now"]
)
"""What stands between a name and its value in prose."""
_OPENING = re.compile(
    r"(?:\r?\n[ \t]{0,60})?(?:\([ \t]{0,4}\n?[ \t]{0,60}(?=[\"']))?(?:(?:Some|(?i:md5|sha1|sha2"
    r"|password|crypt)|String::from|[\w.]{0,40}[gG]et_?[bB]ytes|String\.valueOf|Buffer\.from|\[\]byte|bytes|str|Secret(?:Str)?"
    r"|new[ ][\w.]{1,40}|Hash::make|(?:await )?bcrypt(?:js)?(?:\.hash(?:Sync)?)?"
    r"|SecureString|ConvertTo-SecureString)[ (]{1,2}(?:-String[ ])?)?"
    rf"(?P<prefix>@|N|L|&|\$@?|[brufBRUF]{{1,2}}|r\#{{1,4}})?(?P<quote>{_QUOTE})"
)
_FIRST_LINE = re.compile(r"[ \t]{0,4}\r?\n[ \t]{0,60}")
_CONCATENATED = re.compile(r"\A\s|\A[+.,);&|]|[\"'`]\s{0,2}[+.&,)]|\A[\"']")
_TAG = re.compile(r"<(?:[\w-]{1,30}:)?\Z")
_TAG_NAME = re.compile(r"(?:\b(?:name|key|id)=[\"'])\Z")
_CONTENT = re.compile(
    r"\s{0,80}(?:<[vV]alue>"
    r"|<!\[CDATA\[)?\s{0,80}(?P<value>[^<>\s](?:[^<>\n]{0,510}[^<>\s])?)\s{0,80}(?:\]\]>)?\s{0,80}</"
)
_PLIST = re.compile(r"[\w.-]{0,30}</key>\s{0,60}<string>(?P<value>[^<>\n]{1,512})</string>")
_VALUE_OF = re.compile(
    rf"[\w.-]{{0,30}}(?P<gap>{_QUOTE}?[ \t]{{0,4}}(?:,|\n"
    rf"|[:=][ ]?\{{)?[ \t]{{0,60}}(?:\n[ \t]{{0,60}})?{_QUOTE}?)"
    rf"(?:[vV]alue|VALUE|default(?:Value)?){_QUOTE}?[ \t]{{0,3}}[:=][ \t]{{0,3}}"
)
_BLOCK_DEFAULT = re.compile(
    r"[\w-]{0,40}\"[ ]?\{[^{}]{0,300}?\bdefault[ ]{0,20}=[ ]{0,3}"
    r"|[\w-]{0,40}:[ ]{0,3}\n(?:[ ]{1,20}\w{1,30}:[^\n]{0,120}\n){0,6}?"
    r"[ ]{1,20}[dD]efault:[ ]{1,3}(?=[^\n]{0,60}\d)"
)
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\n[ \t]{1,40}(?P<value>[^\s#][^\n]{2,300})")
_TOKEN = re.compile(r"[^\s\"'`<>]{3,512}")
_TO_END = re.compile(
    r"(?P<value>[^\s\"'`]{3,512})(?P<after>[ \t]*(?:\#[^\n]*|[ \t]//[^\n]*)?)(?:\r?$|\Z)", re.MULTILINE
)
_PARAMETER = re.compile(r"[^&#\s\"'`<>)\];,}\\|]{3,512}")
_PAIR = re.compile(r"[^;\"'`\n<>]{3,200}")
_WORDS_OF_PAIR = re.compile(r"[^\s;\"'`<>&]{3,200}")
_CONNECTION = re.compile(
    r"(?i)(?:\A|[\s;\"'?&:(])(?:server|host(?:name)?|data source|addr(?:ess)?|user(?:[ _]?id|name)?"
    r"|uid|database"
    r"|initial catalog|endpoint|(?:server)?port|dbname|driver|provider"
    r"|persist security info)\s{0,2}=\s{0,2}[^\s=,)]"
)
_BRACED = re.compile(r"\{(?P<value>(?:[^{}\n]|\}\}){3,128})\}(?=[;\"'\s]|\Z)")
_WORDS_TO_END = re.compile(
    r"(?P<value>[^\s\"'`#<>(){}\[\]|=][^\n\"'`#<>(){}\[\]|=;]{4,160})(?:[ \t]\#[^\n]*)?(?:\r?$|\Z)",
    re.MULTILINE,
)
_EXPRESSION = re.compile(
    r"[A-Za-z_$][A-Za-z_.$]*(?: (?:or|and|if|else|is|not|in|[?:&|+]{1,2}) [A-Za-z_$][A-Za-z_.$]*)+\Z"
)
"""Names that may be joined in code, such as `key_password or conf.key_password`; words may be too."""
_COMMAND = re.compile(
    r"(?P<value>\S+) (?P<program>[a-z]{2,}|\./[a-z_-]+(?:\.[a-z]{2,3})?)"
    r"(?P<options>(?: [a-z-]+)* (?:--?[a-z]|\.{0,2}/[a-z]))?(?: |\w|\Z)"
)
"""A value before what may be the command that it is given to, as in `PASSWORD=value ./run.sh --now`."""
_ASSIGNED = re.compile(r"(?:\A|\n)[ \t]*(?:export[ ])?[\w.-]+[ ]?[=:]")
_FLAGS_BEHIND = re.compile(r"[ \t]*(?:\r?$|\Z|[ \t]-|\\|\||>|&&|;|[ \t]https?:)", re.MULTILINE)
_LINE_START = re.compile(
    r"[ \t]*(?:(?:export|set|setx|setenv|declare -x|env|ENV|ARG|local|readonly|[-+*#;>]|//|--"
    r"|\d{1,6}\s)[ \t]+)*"
    r"(?:\*\*|[A-Za-z]{2,12}[ ])?"
    r"(?:\$env:|\$)?[\"']?\Z"
)
_SHELL_START = re.compile(
    r"(?:\A|[\s;&|\"'])(?:export|setx?|declare -x|env|ENV|ARG|-e|--env|--set(?:-string)?"
    r"|--from-literal|--build-arg"
    r"|-)[ \t=]+(?:.*[ \t])?[\"']?\Z"
)
_DECLARING = re.compile(r"\blogin \S+\Z|\bmysqladmin\b")
_PAIR_BEFORE = re.compile(r"(?:\A|\s)[\w.-]+=[^\s,()]+\s+\Z")
_DUMPED = re.compile(r"(?:[\s{])\w+:[^\s,]+\s+\Z")
_PAIR_BEHIND = re.compile(r"\s+[\w.-]+=[^\s=]")
_SETTING = re.compile(
    r"\s*(?:(?:[#;!*]|/\*|//)[^\n]*|\[[^\]]*\]"
    r"|(?:-[ ]+)?[\w.\-\"'/]+(?:[ ]?[\w.\-]+)?\s*[:=](?:\s*[^\n]*[^\s,;{}()\[\]])?"
    r"|-[ ]+[^\n]*[^\s,;{}()\[\]]|[\w-]+[ ][^\s(){}=]+)?\s*\Z"
)
_CODE = re.compile(
    r"\s*(?:def|return|import|from|if|elif|else|for|while|class|let|const|var|val|func|fn|local|use"
    r"|with|end)\b"
)
_SIGNED_WORD = re.compile(
    r"(?=\S*[!#$%*?@^~&])(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9][A-Za-z0-9!#$%*?@^~&_.+-]{6,40}\Z"
)
"""A password of words as people make them: with a number and a sign."""
_CALLED = re.compile(r"\w[(\[]")
"""Code that calls or looks up something."""
_USER = re.compile(r"(?i)user|login|auth|uid|account|smtp|mail")
_SETTERS = re.compile(
    r"(?i)(?:define|getenv|env|put|setproperty|setdefault|putenv|setenv|getproperty|fetch|config"
    r"|set\w*|fill(?:_in)?"
    r"|type|sendkeys|property|add|append|param\w*|field|header\w*|var|variable|getordefault)\Z"
)
_REVERSED = re.compile(r"([\"'])([^\"'\n]{4,100})\1[ ]?[!=]==?[ ]?[\w.$]{0,60}\Z")
_AS_NAMED = re.compile(
    r"([\"'`])([^\"'`\s]{4,100})\1 (?:as|for|is) (?:the|its|your|a|my)? ?(?:[\w-]+ ){0,2}\Z"
)
_BEHIND = frozenset({"pass", "secret", "token"})
"""Literals whose value may also precede the name: `"x" == password`."""
_UNSAID = frozenset({"token", "key", "cred", "auth", "salt", "pepper"})
"""Literals of names that sentences give to other things as well: a parser's token."""
_WORD_BEFORE = re.compile(r"([A-Za-z]{2,14}) \Z")
_UPPER = re.compile(r"[A-Z][A-Z_]*\Z")


def named_values(text: str, lowered: str, words: str) -> Iterator[Span]:
    """Yield the spans of values whose name says that they are secret; some may overlap. `lowered` is as long
    as `text`, and `words` has its words once."""
    looked = Looked()
    for literal in LITERALS if text.isascii() else (*LITERALS, *OTHER_LITERALS):
        if literal not in words:
            continue
        speaks, calls = literal not in {"key", "salt"}, CALLS_OF_NAMES.get(literal, [])
        place = lowered.find(literal)
        while place >= 0:
            if speaks and (literal != "pw" or not lowered[place - 1 : place].isalnum()):
                yield from drawn_near(text, place, looked)
            yield from in_call(text, place, calls)
            if _may_begin(literal, lowered, place):
                if head := _HEAD.match(text, place):
                    yield from _values_of(text, place, head)
                yield from column_below(text, place, looked)
                if any(
                    text.find(word, place, place + LINE_MAX) >= 0 for word in ("alue", "efault", "</key>")
                ):
                    yield from _of_pair(text, place)
                if literal not in _UNSAID and (span := said_value(text, place)):
                    yield span
                if literal in _BEHIND and (span := _before(text, place)):
                    yield span
            place = lowered.find(literal, place + len(literal))
    for cue in CUES:
        place = lowered.find(cue) if cue in words else -1
        while place >= 0:
            yield from drawn_near(text, place, looked)
            yield from in_call(text, place, CALLS_OF_NAMES.get(cue, []))
            place = lowered.find(cue, place + len(cue))
    place = lowered.find("values") if "values" in words else -1
    while place >= 0:
        yield from inserted_values(text, place)
        place = lowered.find("values", place + 6)


def _may_begin(literal: str, lowered: str, place: int) -> bool:
    """Whether a literal at a place may be part of a name: text precedes `key`, nothing follows `pw`."""
    before = lowered[place - 1 : place]
    if literal == "key":
        return before.isalnum() or before in {"", "\n", "_", "-", ".", " ", '"', "'"}
    if literal == "pw":
        behind = lowered[place + 2 : place + 3]
        return behind == "d" or not behind.isalpha()
    if literal == "auth":
        behind = lowered[place + 4 : place + 7]
        return not before.isalpha() and (behind == "tok" or not behind[:1].isalnum())
    return True


def _values_of(text: str, place: int, head: re.Match[str]) -> Iterator[Span]:
    """Yield the values that follow a name."""
    start, name = _name_at(text, place, head["rest"])
    kind = kind_of_name(name)
    sep = head["sep"].strip()
    if name.endswith("NOPASSWD"):
        return
    if kind is NameKind.RANDOM and name.lower() in {"pass", "pw"}:
        kind = _kind_of_pass(text, start, head.end(), sep)
    if kind is NameKind.NONE:
        return
    if sep.endswith(">") and not sep.endswith("=>"):
        yield from _in_markup(text, start, head, kind, name)
        return
    opened = _OPENING.match(text, head.end())
    span = opened and _quoted(text, opened)
    if not (opened and span and _is_quoted_secret(text, start, head, opened, span, kind, name)):
        span = _bare(text, start, head, kind, name)
    if span:
        yield span


def _name_at(text: str, place: int, rest: str) -> tuple[int, str]:
    """Return the start and the text of the name that continues with `rest`. `api key` is one name."""
    window = text[max(place - NAME_MAX, 0) : place]
    left = window[len(window.rstrip(_NAME_LETTERS)) :]
    name = (left + rest).strip(".-")
    if rest.lower() == "passe" and window.lower().endswith("mot de "):
        name = "mot_de_passe"
    if not left and rest.lower() in {"key", "token", "phrase"} and (word := _WORD_BEFORE.search(window)):
        name = f"{word[1]}_{rest}"
    return place - len(left), name


def _kind_of_pass(text: str, start: int, end: int, sep: str) -> NameKind:
    """Return the kind of the name `pass`: a password only if a user is mentioned near it."""
    near = text[max(start - NEAR, 0) : start] + text[end : end + NEAR]
    if (
        sep == ""
        and text[start : start + 2] == "pw"
        and _SIGNED_WORD.match(text[end : end + 60].split(" ", maxsplit=1)[0])
    ):
        return NameKind.PASSWORD
    if sep == "" or not (
        _USER.search(near) or re.match(r"[\"'\\]*[^\s\"'\\]*[\d#!@$%^&]", text[end : end + 40])
    ):
        return NameKind.RANDOM
    return NameKind.PASSWORD


# Quoted values


def _quoted(text: str, opened: re.Match[str]) -> Span | None:
    """Return the span between quotes, None if they don't close on the line."""
    quote, start = opened["quote"], opened.end()
    if len(quote) == 3 and (first := _FIRST_LINE.match(text, start)):
        start = first.end()
    if "#" in (opened["prefix"] or ""):
        quote += opened["prefix"][1:]
    place = start
    while (end := text.find(quote, place, start + VALUE_MAX)) >= 0:
        slashes = end - len(text[start:end].rstrip("\\")) - start
        if quote == "'" and text[end + 1 : end + 2] == "'" and end > start:
            place = end + 2  # doubled, as in SQL and YAML
            continue
        if quote[0] == "\\" or quote[0] == "&" or slashes % 2 == 0:
            break
        place = end + 1
    if end <= start:
        return None
    end = start + len(text[start:end].rstrip()) if len(quote) == 3 else end
    return None if "\n" in text[start:end] else (start, end)


def _is_quoted_secret(
    text: str, start: int, head: re.Match[str], opened: re.Match[str], span: Span, kind: NameKind, name: str
) -> bool:
    value, sep, close = text[slice(*span)], head["sep"].strip(), head["close"].strip()
    if _CONCATENATED.search(value) and ("$" in value or len(value) < 20 or not is_random(value)):
        return False
    if opened["prefix"] and opened["prefix"].lower() in {"f", "rf", "fr", "$", "$@"} and "{" in value:
        return False
    if (
        kind is NameKind.RANDOM
        and not is_noise(value)
        and (re.search(r"[()\[\]{},<>]", value) or (sep == "(" and not re.search(r"\d", value)))
    ):
        return False
    if is_title(value) or (" " in value and name.lower() in {"pass", "pw"}):
        return False
    if sep == "(" and kind is NameKind.PHRASE and value.replace(" ", "").isalpha():
        return False
    if sep.rstrip(": \t") in _SAID:
        return kind is NameKind.PASSWORD and is_secret(value, kind, name)
    if sep == "":
        if kind >= NameKind.TOKEN and len(value) >= 16 and is_random(value) and re.search(r"\d", value):
            return True
        if kind is not NameKind.PASSWORD and text[start : start + 1] != "-":
            return False
    elif sep.startswith(","):
        if not _is_argument(text, start, span[1], value, sep):
            return False
    elif sep == "(" and close:
        return False
    return is_secret(value, kind, name)


def _is_argument(text: str, start: int, end: int, value: str, sep: str) -> bool:
    """Whether a quoted name and a quoted value are arguments of a call, not a list of fields."""
    if "with:" in sep or "value:" in sep:
        return True
    if text[start : start + 1] == "-":
        return True
    before = text[max(start - 60, 0) : start].rstrip("\"'`@N\\ \n#[")
    behind = text[end + 1 : end + 8].lstrip()[:1]
    if (
        re.search(r"\d\D*\d|[!@#$%^&*]", value)
        and behind in {")", ","}
        and re.search(r"[\"']\Z", text[:start][-1:])
    ):
        return True
    if text[start - 1 : start] in {" ", ","} and _UPPER.match(text[start : start + 40].partition(",")[0]):
        return behind == ")" and re.search(r"[:\d]", value) is not None
    if not before.endswith("(") or behind not in {")", ",", ";"}:
        return False
    called = before[:-1].rstrip()
    called = called[len(called.rstrip(_NAME_LETTERS)) :].rpartition(".")[2]
    if _SETTERS.search(called):
        return True
    quoted = text[start - 1 : start] in {"'", '"', "`"}  # else it is a variable, and the value another's
    return quoted and not value.replace("_", "").isalpha()


# Pairs with the name as a value: `name: DB_PASSWORD, value: x`, <property name="password">x</property>


def _of_pair(text: str, place: int) -> Iterator[Span]:
    """Yield the value of a pair that gives its name as a value, as in `name: DB_PASSWORD, value: x`."""
    for pattern in (_VALUE_OF, _BLOCK_DEFAULT, _PLIST):
        if not (found := pattern.match(text, place)) or (
            pattern is _VALUE_OF and not found["gap"].strip(" \t")
        ):
            continue
        _, name = _name_at(text, place, re.match(r"[\w.-]{0,30}", text[place : place + 30])[0])  # type: ignore[index]  # it matches nothing as well
        kind = kind_of_name(name)
        kind = NameKind.PASSWORD if kind is NameKind.RANDOM and name.lower() == "pass" else kind
        if pattern is _PLIST:
            span = found.span("value")
        elif (opened := _OPENING.match(text, found.end())) and (quoted := _quoted(text, opened)):
            span = quoted
        elif bare := _PARAMETER.match(text, found.end()):
            if _CALLED.search(bare[0]):
                continue
            span = bare.span()
        else:
            continue
        if is_secret(text[slice(*span)], kind, name):
            yield span


def _in_markup(text: str, start: int, head: re.Match[str], kind: NameKind, name: str) -> Iterator[Span]:
    """Yield the content of an element whose tag, or whose attribute `name`, `key` or `id`, is the name."""
    before = text[max(start - 40, 0) : start]
    closed = head["close"].strip()
    if not (_TAG.search(before) if not closed else _TAG_NAME.search(before)):
        return
    if (found := _CONTENT.match(text, head.end())) and is_secret(found["value"], kind, name):
        yield found.span("value")


# Bare values


def _bare(text: str, start: int, head: re.Match[str], kind: NameKind, name: str) -> Span | None:
    """Return the span of a value without quotes, by the syntax around it."""
    place = head.end()
    first = text[place : place + 1]
    sep, close = head["sep"].strip().replace("\uff1a", ":"), head["close"].strip()
    line_start = max(text.rfind("\n", max(start - LINE_MAX, 0), start) + 1, start - LINE_MAX, 0)
    before = text[line_start:start]
    if sep in {":", "="} and first in {"|", ">"} and (block := _BLOCK_SCALAR.match(text, place)):
        value = block["value"]
        chosen = kind >= NameKind.TOKEN and not is_reference(value) and len(value.split()) <= 6
        chosen = chosen or is_secret(value, kind, name)
        return block.span("value") if chosen else None
    if first == "{" and sep == "=" and (braced := _BRACED.match(text, place)) and _CONNECTION.search(before):
        return braced.span("value")
    if not first or first in "\"'`<{([,;|&":
        return None
    if text[start : start + 1] == "-" and (before[-1:].isspace() or not before) and not close:
        return _of_flag(text, place, before, sep, kind, name)
    if before[-2:] == "${" and sep in {":", ":-"}:
        end = text.find("}", place, place + VALUE_MAX)
        value = text[place:end]
        return (
            (place, end)
            if end > 0
            and value[:1] not in {"", "+", "?", "=", "-"}
            and " " not in value
            and is_secret(value, kind, name)
            else None
        )
    if sep.rstrip(": \t") in _SAID:
        return _in_prose(text, place, kind, name, goes=sep in {"to", "from"})
    if sep == "":
        return _behind_space(text, place, before, kind, name)
    if sep == "=" and (span := _of_parameter(text, start, place, before, kind, name)):
        return span
    begins = _LINE_START.match(before) or (before[-1:] in {"'", '"'} and not close)
    if (
        sep in {":", "=", ":=", "?=", "::="}
        and begins
        and (span := _to_end(text, place, before, head["sep"], kind, name))
    ):
        return span
    if sep in {":", "="}:
        return _in_line(text, place, before, head["sep"], kind, name)
    return None


def _of_flag(text: str, place: int, before: str, sep: str, kind: NameKind, name: str) -> Span | None:
    """Return the value of an option of a command."""
    found = _TOKEN.match(text, place)
    if found is None or found[0].startswith("-") or sep not in {"", "="}:
        return None
    value = found[0].rstrip(";|)\\,")
    kind = max(kind, NameKind.PHRASE)
    if _UPPER.match(value) or not is_secret(value, kind, name) or (sep == "" and value.isdigit()):
        return None
    if sep == "" and value.replace("-", "").isalpha():
        command = before.strip()
        if not command or command.startswith("-") or not _FLAGS_BEHIND.match(text, found.end()):
            return None
    return place, place + len(value)


def _of_parameter(text: str, start: int, place: int, before: str, kind: NameKind, name: str) -> Span | None:
    """Return a value of a query of a URL, or of a connection string."""
    if before[-1:] in {"?", "&"} or before.endswith("&amp;"):
        found = _PARAMETER.match(text, place)
        if found is None or _CALLED.search(found[0]):
            return None
        if is_secret(found[0], kind, name) or (len(found[0]) >= 16 and is_random(found[0])):
            return found.span()
        return None
    end = text.find("\n", place, place + LINE_MAX)
    behind = text[place : end if end >= 0 else place + LINE_MAX]
    spaced = _PAIR_BEFORE.search(before) or _PAIR_BEHIND.search(behind)
    if not (_CONNECTION.search(before) or _CONNECTION.search(behind) or spaced):
        return None
    earlier = before.rstrip()[-1:]
    by_semicolons = (
        earlier == ";" or before.count(";") > 0 or re.match(r"[^;\"'\n]{1,200};\s*[\w ]{1,40}=", behind)
    )
    if by_semicolons:
        quoted = behind[:1] in {"'", '"'}
        found = _PAIR.match(text, place + quoted)
        if found and (value := found[0].rstrip()) and not re.search(r"[(){}]|\w\.\w+\Z", value):
            allowed = kind >= NameKind.PHRASE and not is_reference(value) and len(value) < 65
            if is_secret(value, kind, name) or (allowed and " " in value):
                return found.start(), found.start() + len(value)
        return None
    found = _WORDS_OF_PAIR.match(text, place)
    if found is None or earlier in {"(", "["} or _CALLED.search(found[0]):
        return None
    if earlier == "," or text[found.end() - 1] in ",)" or "," in found[0]:
        value = found[0].split(",")[0].rstrip(")")
        return (place, place + len(value)) if is_bare_secret(value, kind, name) else None
    return found.span() if is_secret(found[0], kind, name) else None


def _to_end(text: str, place: int, before: str, sep: str, kind: NameKind, name: str) -> Span | None:
    """Return a value that ends a line which begins with its name, as in settings and in the shell."""
    found = _TO_END.match(text, place)
    if found is None:
        found = _WORDS_TO_END.match(text, place)
        if found and " " in found["value"].strip() and kind is NameKind.PASSWORD and sep.strip() != ":=":
            qualified = name.lower() not in {"password", "passwd", "pwd", "pass", "pw"}
            value = found["value"].rstrip()
            if sep.endswith("= ") and _joins_names(value, name):
                return None
            if sep == "=" and (end := _end_before_command(text, place, value, name)):
                return place, place + end
            words = (qualified or re.search(r"\d", value)) and not value.endswith((",", "."))
            if words and is_secret(value, kind, name) and _in_settings(text, place):
                return place, place + len(value)
        return None
    value = found["value"]
    cut = value.rstrip(",;})")
    if cut != value or value.endswith(("(", "{", "[")):
        return (place, place + len(cut)) if is_bare_secret(cut, kind, name) else None
    span = found.span("value")
    if is_bare_secret(value, kind, name):
        return span
    if not is_secret(value, kind, name) or re.search(r"[()\[\]{}]|->|::", value):
        return None
    if sep == "=" and (not before or _SHELL_START.search(before)):
        return span
    if sep == ":" and not name.isupper():
        return None
    if (
        ":" in sep
        and value[:1].isupper()
        and (value.isalpha() or (kind < NameKind.PASSWORD and is_type(value)))
    ):
        return None
    return span if _in_settings(text, place) else None


def _joins_names(value: str, name: str) -> bool:
    """Whether a value is code that joins names of secrets, its own among them, rather than words of a pass
    phrase."""
    sides, own = value.split(" ")[::2], name.rpartition(".")[2]
    return (
        _EXPRESSION.match(value) is not None
        and any(own in side for side in sides)
        and all(kind_of_name(side) is not NameKind.NONE for side in sides)
    )


def _end_before_command(text: str, place: int, value: str, name: str) -> int:
    """Return the length of a value of the environment that a command follows; 0 if all may be a pass phrase.

    It is surely a command if its options or paths follow, or if the name is the program's, as in
    `BORG_PASSPHRASE=value borg list`. Between other settings it is none, and after a word it may be one.
    """
    command = _COMMAND.match(value) if name.isupper() else None
    if command is None or not is_drawn(command["value"], quoted=True, least=RANDOM_MIN):
        return 0
    if not command["options"] and not name.lower().startswith(command["program"]):
        return 0
    line = text.rfind("\n", 0, place)
    above = text[text.rfind("\n", 0, max(line, 0)) + 1 : max(line, 0)]
    below = text[text.find("\n", place) :][:LINE_MAX] if "\n" in text[place:] else ""
    is_setting = _ASSIGNED.match(above) or _ASSIGNED.match(below)
    return 0 if is_setting else command.end("value")


def _in_line(text: str, place: int, before: str, sep: str, kind: NameKind, name: str) -> Span | None:
    """Return a value in the middle of a line."""
    found = _TOKEN.match(text, place)
    if found is None:
        return None
    if kind is NameKind.PASSWORD and _SIGNED_WORD.match(found[0]) and not _CALLED.search(before):
        return found.span() if is_secret(found[0], kind, name) else None
    value = re.match(r"[^;,&()\[\]{}|\\]*", found[0])
    if value is None or len(value[0]) < 3:
        return None
    if name == "PASS" and sep == ": " and not _SIGNED_WORD.match(value[0]):
        return None  # `PASS: Ed448 works`, a title in capitals
    chosen = value[0].rstrip(".:!?")
    behind = text[place + len(value[0]) : place + len(value[0]) + 1]
    if behind in {"(", "["} or text[place + len(found[0]) : place + len(found[0]) + 1] in {"<", ">"}:
        return None
    shell = sep == "=" and kind >= NameKind.PHRASE and behind not in {",", ")"}
    if shell and (name.isupper() or _SHELL_START.search(before)) and is_secret(chosen, kind, name):
        return place, place + len(chosen)
    if (
        _DUMPED.search(before)
        and sep == ":"
        and not chosen.replace(":", "").isalpha()
        and is_secret(chosen, kind, name)
    ):
        return place, place + len(chosen)
    said = sep.strip() == ":" and sep.endswith(" ") and behind in {"", " ", "\n", "."} and "," in before
    mixed = kind >= NameKind.PHRASE and chosen.isalnum() and not chosen.isalpha() and not chosen.isdigit()
    if (
        said
        and mixed
        and not re.search(r"[({]", before)
        and is_secret(chosen, max(kind, NameKind.TOKEN), name)
    ):
        return place, place + len(chosen)
    return (place, place + len(chosen)) if is_bare_secret(chosen, kind, name) else None


def _in_prose(text: str, place: int, kind: NameKind, name: str, *, goes: bool) -> Span | None:
    """Return a value behind "is"; behind "to" and "from" (`goes`) only one that is no word with a number."""
    found = _TOKEN.match(text, place)
    if found is None:
        return None
    if goes and not _SIGNED_WORD.match(found[0]) and not (len(found[0]) >= BARE_MIN and is_random(found[0])):
        return None
    value = found[0].rstrip(".,;:!?)}]")
    chosen = kind >= NameKind.PHRASE and is_secret(value, kind, name) and any(map(str.isdigit, value))
    chosen = chosen and any(map(str.isalpha, value)) and not re.search(r"[(\[{]|\A[/~]", value)
    if value[:1] in {"~", "-"} or value.strip("*_").isalpha():
        return None
    return (place, place + len(value)) if chosen or is_bare_secret(value, kind, name) else None


def _behind_space(text: str, place: int, before: str, kind: NameKind, name: str) -> Span | None:
    """Return a value that only a space separates from its name: in settings of servers, or a random one in
    prose."""
    found = _TOKEN.match(text, place)
    if found is None:
        return None
    value = found[0].rstrip(".,;:!?)}]")
    span = place, place + len(value)
    if value[:1] == "-":
        return None
    long = len(value) >= BARE_MIN and is_random(value) and "(" not in value
    if long and (kind is not NameKind.RANDOM or is_secret(value, kind, name)):
        digits = sum(map(str.isdigit, value))
        return span if digits >= 2 or (digits and is_key_text(value)) else None
    if kind is NameKind.PASSWORD and _SIGNED_WORD.match(found[0]) and not _CALLED.search(before):
        return found.span() if is_secret(found[0], kind, name) else None
    if kind is NameKind.PASSWORD and is_drawn(value, quoted=True, least=RANDOM_MIN):
        return span
    if kind < NameKind.PHRASE or not _FLAGS_BEHIND.match(text, span[1]):
        return None
    line = before.strip()
    declared = line in {"ENV", "ARG", "setx", "setenv", "enable"} or _DECLARING.search(line) is not None
    declared = declared or (not line and "." in name and not value.islower())
    glued = not line and name.lower() in {"requirepass", "masterauth", "bind-password", "bindpw", "rootpw"}
    if declared or glued:
        return span if is_secret(value, kind, name) else None
    if line:
        return None
    lines_before = text[max(place - LINE_MAX, 0) : place].split("\n")
    of_login = len(lines_before) > 1 and re.match(r"\s*(?:login|machine|user)\s", lines_before[-2])
    chosen = re.search(r"\d", value) and is_bare_secret(value, kind, name)
    return span if chosen or (of_login and is_secret(value, kind, name)) else None


def _in_settings(text: str, place: int) -> bool:
    """Whether the lines around a place, up to an empty line, are settings rather than code."""
    start = max(place - PARAGRAPH_LINES * LINE_MAX, 0)
    before = text[start:place].split("\n")[:-1]
    behind = text[place : place + PARAGRAPH_LINES * LINE_MAX].split("\n")[1:]
    around: list[str] = []
    for lines in (reversed(before), behind):
        for number, line in enumerate(lines):
            if number >= PARAGRAPH_LINES or not line.strip():
                break
            around.append(line)
    return all(len(line) < LINE_MAX and _SETTING.match(line) and not _CODE.match(line) for line in around)


def _before(text: str, place: int) -> Span | None:
    """Return a value before its name: `"x" == password`, `x` as the password."""
    start = max(place - 180, 0)
    before = text[start:place]
    if "=" in before[-70:] and (found := _REVERSED.search(before)):
        name = re.match(r"[\w-]{0,40}", text[place : place + 40])
        if is_secret(found[2], kind_of_name(name[0] if name else "")):
            return start + found.start(2), start + found.end(2)
    if before[-1:] == " " and " as " in before[-40:] and (found := _AS_NAMED.search(before)):
        chosen = is_secret(found[2], NameKind.PASSWORD) and not found[2].isalpha()
        return (start + found.start(2), start + found.end(2)) if chosen else None
    return None
