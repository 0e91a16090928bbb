"""Owns the applet: the page that was last open, as a slug with parameters; knows no session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ..core.errors import InvalidRequest


class Applet(Struct, frozen=True):
    """A page and its parameters, in the order in which they were given."""

    slug: str
    parameters: Mapping[str, str]


def applet_in(entries: Sequence[str]) -> Applet | None:
    """Read the set `applet`, None if it is empty. An entry without `=` is a parameter without a value.

    Never raises: a person may have mended the file that the entries come from.
    """
    if not entries:
        return None
    parameters = {}
    for entry in entries[1:]:
        name, _, value = entry.partition("=")
        parameters[name] = value
    return Applet(entries[0], parameters)


def applet_entries(entries: Iterable[str]) -> tuple[str, ...]:
    """Return what a caller gave for the set: `[slug, "key=value", ...]`, of a repeated key the last value.

    Raises `InvalidRequest` for another form.
    """
    slug, *parameters = entries or [""]
    if not slug:
        return ()
    if "=" in slug or any(character.isspace() for character in slug):
        raise InvalidRequest(
            f"applet begins with a slug, a name without spaces and =, not {slug!r:.80}", "items"
        )
    pairs = {}
    for entry in parameters:
        name, equals, value = entry.partition("=")
        if not equals or not name.strip():
            raise InvalidRequest(f'applet takes a slug and then "key=value", not {entry!r:.80}', "items")
        pairs[name.strip()] = value.strip()
    return (slug, *(f"{name}={value}" for name, value in pairs.items()))


def merged_applet(former: Sequence[str], entries: Sequence[str]) -> tuple[str, ...]:
    """Return the set after a merge: parameters join those of the same page, another page takes its place."""
    if not former or not entries or former[0] != entries[0]:
        return tuple(entries or former)
    return applet_entries((*former, *entries[1:]))
