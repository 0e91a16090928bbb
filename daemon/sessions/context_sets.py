"""The context sets of a session (files, applet, endpoints, ports): their changes, limits and warnings, and
the text with which a resumed session begins."""

from __future__ import annotations

import difflib
import os.path
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ..config.addresses import applet_address, applet_at
from ..core.errors import InvalidRequest, TooLarge
from ..privacy.secret_values import mask_secrets
from ..rules.service import has_harmful, one_line
from .session import Session

SetMode = Literal["replace", "merge"]

KNOWN_SETS = ("files", "applet", "endpoints", "ports")
MAX_SET_ENTRIES = 10
MAX_ENTRIES = 50
"""Maximum number of entries of all sets, which an agent reads whenever it resumes."""
MAX_SET_NAME_CHARACTERS = 60
_SIMILAR = 0.7
"""Minimum similarity of two names to suggest one for the other: a letter or two differ. With a lower value
`applet` would be suggested for `people`."""


class SetOutcome(Struct, frozen=True):
    """The result of changing a set: its entries, those added and removed, and warnings."""

    set_name: str
    items: tuple[str, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether entries were added or removed; their order doesn't count."""
        return bool(self.added or self.removed)

    @property
    def text(self) -> str:
        """The result in a sentence, followed by the warnings."""
        if not self.changed:
            said = f"{self.set_name} is as it was ({_counted(len(self.items))})."
        elif not self.items:
            said = f"{self.set_name} was cleared ({len(self.removed)} removed)."
        else:
            counts = f"{len(self.added)} added, {len(self.removed)} removed"
            said = f"{self.set_name} has {_counted(len(self.items))} ({counts})."
        return " ".join((said, *self.warnings))


def set_context(
    session: Session, set_name: str, entries: Sequence[str], mode: SetMode, home: str
) -> tuple[Session, SetOutcome]:
    """Replace a set's entries, or merge entries into it; an empty list clears it, or merges nothing.

    `home` is the folder for `~`. Raises `InvalidRequest` for an unusable entry, `TooLarge` if the set or all
    sets would exceed their limits; then nothing is changed.
    """
    name = _checked_name(set_name)
    given, warnings = checked_entries(name, entries, home)
    former = session.context.get(name, ())
    now = given
    if mode == "merge":
        now = merged_applet(former, given) if name == "applet" else tuple(dict.fromkeys((*former, *given)))
    changed = _with_sets(session, {**session.context, name: now})
    return changed, _outcome(name, former, now, (*name_warnings(name), *warnings))


def replace_context(
    session: Session, sets: Mapping[str, Sequence[str]], home: str
) -> tuple[Session, tuple[SetOutcome, ...]]:
    """Replace all sets at once; sets that aren't named are cleared. Raises as `set_context` does.

    Returns outcomes of the named and the cleared sets.
    """
    warnings: dict[str, tuple[str, ...]] = {}
    now: dict[str, tuple[str, ...]] = {}
    for set_name, entries in sets.items():
        name = _checked_name(set_name)
        if name in now:
            raise InvalidRequest(f"context names the set {name!r} twice", "context")
        now[name], said = checked_entries(name, entries, home)
        warnings[name] = (*name_warnings(name), *said)
    changed = _with_sets(session, now)
    return changed, tuple(
        _outcome(name, session.context.get(name, ()), now.get(name, ()), warnings.get(name, ()))
        for name in _in_order({*session.context, *now})
    )


def name_warnings(set_name: str) -> tuple[str, ...]:
    """Return the warnings about a set's name: none, or the known name that was probably meant."""
    if set_name in KNOWN_SETS:
        return ()
    if near := difflib.get_close_matches(set_name.lower(), KNOWN_SETS, 1, _SIMILAR):
        return (f"{set_name}: did you mean {near[0]}?",)
    return (f"{set_name} is none of the known sets ({', '.join(KNOWN_SETS)}); it is kept as it is.",)


def _checked_name(set_name: str) -> str:
    name = one_line("set_name", set_name, MAX_SET_NAME_CHARACTERS)
    if not name:
        raise InvalidRequest(f"set_name is empty; the known sets are {', '.join(KNOWN_SETS)}", "set_name")
    return name


def _with_sets(session: Session, sets: Mapping[str, tuple[str, ...]]) -> Session:
    """Return a session with these sets, without empty ones, in a fixed order, so that equal sets give equal
    bytes. Raises `TooLarge`."""
    for name, entries in sets.items():
        # A set that a person made longer in the file may stay unchanged.
        if len(entries) > MAX_SET_ENTRIES and entries != session.context.get(name):
            raise TooLarge(
                f"{name} would have {_counted(len(entries))}, and a set has at most {MAX_SET_ENTRIES}."
                " Nothing was changed; leave some out, or replace the set instead of merging."
            )
    total = sum(map(len, sets.values()))
    if total > max(MAX_ENTRIES, sum(map(len, session.context.values()))):
        raise TooLarge(
            f"all sets together would have {_counted(total)}, and at most {MAX_ENTRIES} are kept. Nothing was"
            " changed; clear a set that isn't needed any more."
        )
    return replace(session, context={name: sets[name] for name in _in_order(sets) if sets[name]})


def _in_order(names: Iterable[str]) -> list[str]:
    """Return the known sets in their order, then the others by name."""
    return sorted(
        names, key=lambda name: (KNOWN_SETS.index(name) if name in KNOWN_SETS else len(KNOWN_SETS), name)
    )


def _outcome(name: str, former: Sequence[str], now: Sequence[str], warnings: tuple[str, ...]) -> SetOutcome:
    added = tuple(entry for entry in now if entry not in former)
    removed = tuple(entry for entry in former if entry not in now)
    return SetOutcome(name, tuple(now), added, removed, warnings)


def _counted(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


MAX_ENTRY_CHARACTERS = 4_096
"""Maximum length of an entry: that of a path on Linux (PATH_MAX), and more than servers accept for a URL."""


def checked_entries(
    set_name: str, entries: Iterable[str], home: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the entries that a caller gave for a set in normal form, each once, and warnings about them.
    `home` is the folder for `~`.

    Raises `InvalidRequest` for the first unusable entry, with its position.
    """
    plain = dict.fromkeys(_plain(set_name, number, entry) for number, entry in enumerate(entries))
    if set_name == "applet":
        return applet_entries(plain), ()
    form = _FORMS.get(set_name)
    warnings: dict[str, None] = {}
    if form is not None:
        plain = dict.fromkeys(form(entry, home, warnings) for entry in plain)
    return tuple(plain), tuple(warnings)


def _plain(set_name: str, number: int, entry: str) -> str:
    text = entry.strip()
    place = f"entry {number + 1} of {set_name}"
    if not text:
        raise InvalidRequest(f"{place} is empty; leave it out. An empty list clears the set", "items")
    if len(text) > MAX_ENTRY_CHARACTERS:
        raise InvalidRequest(f"{place} is longer than {MAX_ENTRY_CHARACTERS:,} characters", "items")
    if has_harmful(text) or "\n" in text or "\t" in text:
        raise InvalidRequest(f"{place} holds line breaks or control characters: {text!r:.80}", "items")
    return text


def _file(entry: str, home: str, _warnings: dict[str, None]) -> str:
    """Return an absolute path without `.`, `..` and doubled slashes. Doesn't look at the disk."""
    path = home + entry[1:] if entry == "~" or entry.startswith("~/") else entry
    if not path.startswith("/"):
        raise InvalidRequest(f"files takes absolute paths (~ is expanded), not {entry!r:.200}", "items")
    return "/" + os.path.normpath(path).lstrip("/")


def _endpoint(entry: str, _home: str, warnings: dict[str, None]) -> str:
    wrong = f"endpoints takes full URLs such as http://localhost:8080/health, not {entry!r:.200}"
    try:
        parts = urlsplit(entry)
        usable = bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError as error:
        raise InvalidRequest(f"{wrong} ({error})", "items") from error
    if not usable or any(character.isspace() for character in entry):
        raise InvalidRequest(wrong, "items")
    if parts.password:
        warnings[
            f"endpoints: the URL for {parts.hostname} holds a password, which is kept and shown as it is"
        ] = None
    return entry


def _port(entry: str, _home: str, _warnings: dict[str, None]) -> str:
    # The length first: converting thousands of digits takes long.
    if not (entry.isascii() and entry.isdecimal() and len(entry) <= 5 and 1 <= int(entry) <= 65_535):
        raise InvalidRequest(
            f'ports takes numbers from 1 to 65535 as strings, such as "8080", not {entry!r:.60}', "items"
        )
    return str(int(entry))


_FORMS: dict[str, Callable[[str, str, dict[str, None]], str]] = {
    "files": _file,
    "endpoints": _endpoint,
    "ports": _port,
}


class Applet(Struct, frozen=True):
    """The page that was open last, as a slug, its parameters in their order, and the address that opens it
    again, "" for none."""

    slug: str
    parameters: Mapping[str, str]
    url: str = ""


def applet_in(entries: Sequence[str], template: str = "") -> Applet | None:
    """Read the set `applet`, None if it is empty. An entry without `=` is a parameter without a value.

    `template` is the setting `applet.url`. Secrets are masked here, where name and value still stand
    together: a value alone doesn't look like a password. An applet with one has no address. Never raises: a
    person may have edited the entries in the file.
    """
    if not entries:
        return None
    masked = [mask_secrets(entry) for entry in entries]
    slug, parameters = masked[0].text, {}
    for entry in masked[1:]:
        name, _, value = entry.text.partition("=")
        parameters[name] = value
    is_secret = any(entry.count for entry in masked)
    return Applet(slug, parameters, applet_address("" if is_secret else template, slug, parameters))


def given_applet(entries: Sequence[str], template: str) -> tuple[str, ...]:
    """Return the entries that a caller gave for the applet, an address among them as its slug and parameters.

    Raises `InvalidRequest` for an address that `template`, the setting `applet.url`, doesn't give.
    """
    if not template or not entries or "://" not in entries[0]:
        return tuple(entries)
    found = applet_at(template, entries[0].strip())
    if found is None:
        raise InvalidRequest(f"{entries[0]!r:.200} is no address of applet.url, {template}", "items")
    slug, parameters = found
    return (slug, *(f"{name}={value}" for name, value in parameters), *entries[1:])


def applet_entries(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the checked entries of the set: `[slug, "key=value", ...]`, with the last value of a repeated
    key.

    Raises `InvalidRequest` for another form.
    """
    slug, *parameters = entries or [""]
    if not slug:
        return ()
    if "=" in slug or any(character.isspace() for character in slug):
        raise InvalidRequest(
            f"applet begins with a slug, a name without spaces and =, or its address where applet.url is set,"
            f" not {slug!r:.80}",
            "items",
        )
    pairs = {}
    for entry in parameters:
        name, equals, value = entry.partition("=")
        if not equals or not name.strip():
            raise InvalidRequest(f'applet takes a slug and then "key=value", not {entry!r:.80}', "items")
        pairs[name.strip()] = value.strip()
    return (slug, *(f"{name}={value}" for name, value in pairs.items()))


def merged_applet(former: Sequence[str], entries: Sequence[str]) -> tuple[str, ...]:
    """Merge entries into the set: parameters of the same page are added, another page replaces it."""
    if not former or not entries or former[0] != entries[0]:
        return tuple(entries or former)
    return applet_entries((*former, *entries[1:]))


class Resume(Struct, frozen=True):
    """The reply to an agent that resumes a session. The same state gives the same bytes.

    `text` is empty if there is nothing to tell. `context` has all sets, missing files included. `summary`
    counts what is there: `2 files, applet git-diff, 1 port`.
    """

    text: str
    context: Mapping[str, tuple[str, ...]]
    missing_files: tuple[str, ...]
    summary: str = ""
    applet: Applet | None = None


def resume_text(session: Session, applet_url: str = "") -> Resume:
    """Return the text for a session: intent, environment, files that exist, applet, other sets. Looks at the
    disk."""
    there = {path: os.path.exists(path) for path in session.context.get("files", ())}
    missing = tuple(path for path in there if not there[path])
    files = tuple(path for path in there if there[path])
    applet = applet_in(session.context.get("applet", ()), applet_url)
    summary = _summary({**session.context, "files": files})
    lines = [
        *_note("Intent", session.current_intent),
        *_note("Environment", session.env_hint),
        *_files_lines(files, len(missing)),
        *([_applet_line(applet)] if applet else ()),
        *(
            f"{name}: {', '.join(entries)}"
            for name, entries in session.context.items()
            if name not in _OWN_FORM
        ),
    ]
    head = f"Context of this session, as it was left{f' ({summary})' if summary else ''}:"
    text = "\n".join([head, *lines]) if lines else ""
    return Resume(text, session.context, missing, summary, applet)


_NOUNS = {"files": "file", "endpoints": "endpoint", "ports": "port"}


def _summary(sets: Mapping[str, Sequence[str]]) -> str:
    """Count what is in the sets, without empty ones: `2 files, applet git-diff, 1 port, 3 in people`."""
    said = []
    for name, entries in sets.items():
        if not entries:
            continue
        noun, number = _NOUNS.get(name), len(entries)
        if name == "applet":
            said.append(f"applet {entries[0]}")
        else:
            said.append(f"{number} {noun}{'s' * (number != 1)}" if noun else f"{number} in {name}")
    return ", ".join(said)


_OWN_FORM = frozenset(("files", "applet"))


def _note(label: str, text: str) -> list[str]:
    if "\n" in text:
        return [f"{label}:", *(f"  {line}" for line in text.split("\n"))]
    return [f"{label}: {text}"] if text else []


def _files_lines(files: Sequence[str], missing: int) -> list[str]:
    lines = [f"- {path}" for path in files]
    if missing:
        lines.append(f"({missing} {'file' if missing == 1 else 'files'} not found)")
    return ["Relevant files:", *lines] if lines else []


def _applet_line(applet: Applet) -> str:
    parameters = ", ".join(f"{name}={value}" for name, value in applet.parameters.items())
    line = f"Last applet: {applet.slug} ({parameters})" if parameters else f"Last applet: {applet.slug}"
    return f"{line}, to reopen at {applet.url}" if applet.url else line
