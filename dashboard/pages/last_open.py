"""The page that was last open in a session: which pages are kept, and the address that leads back.

A session keeps it as its set `applet`: `[slug, "key=value", …]`. Slugs are those of a fixed table, so that no
entry, whoever wrote it, can lead anywhere but to a page of this site.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from aiohttp import web

from ...hooks.http import read_params
from ...ipc.errors import INVALID_PARAMS, RpcError
from ..view import View, href

SET_NAME: Final = "applet"

SESSION: Final = "session"
"""The parameter of an address with the session in which the page is open. It isn't stored in
the applet."""

VALUE_MAX: Final = 500
"""Maximum characters of a parameter's value; longer values don't help to find a page again."""

_ID = re.compile(r"[A-Za-z0-9._:@+-]{1,128}")


@dataclass(frozen=True, slots=True)
class ViewPlace:
    """A page that a session can return to: its address with `{id}`, its title, and the parameters that
    decide what it shows."""

    path: str
    title: str
    parameters: tuple[str, ...] = ()


PLACES: Final[Mapping[str, ViewPlace]] = {
    "overview": ViewPlace("/", "Overview"),
    "search": ViewPlace("/search", "Search", ("q", "route", "path", "language", "limit")),
    "graph": ViewPlace("/graph", "Dependencies", ("path",)),
    "contexts": ViewPlace("/contexts", "Contexts", ("agent",)),
    "context": ViewPlace("/contexts/{id}", "Context"),
    "scope": ViewPlace("/scopes/{id}", "Scope"),
    "items": ViewPlace("/items", "Items", ("q", "type", "server", "mode", "page")),
    "experiences": ViewPlace(
        "/experiences",
        "Experiences",
        ("query", "outcome", "agent_id", "session_id", "trust", "since", "until"),
    ),
    "performance": ViewPlace("/performance", "Metrics", ("period",)),
}
"""The pages by slug, with their stored parameters besides `project`."""


@dataclass(frozen=True, slots=True)
class LastOpen:
    """The page that was last open. `link` is empty for an unknown slug."""

    title: str
    details: tuple[str, ...]
    link: str = ""


def last_open(entries: Sequence[str], session_id: str) -> LastOpen | None:
    """Return the page of a set `applet`, None for an empty set. Never raises, because anybody may have set
    it."""
    if not entries:
        return None
    slug, given = entries[0], _pairs(entries[1:])
    place = PLACES.get(slug)
    ident = given.pop("id", "")
    if place is None or ("{id}" in place.path and not _ID.fullmatch(ident)):
        return LastOpen(slug, tuple(entries[1:]))
    kept = _kept(place, given)
    path = place.path.replace("{id}", quote(ident, safe=""))
    details = tuple(value for name, value in kept.items() if name not in {"project", "page", "limit"})
    return LastOpen(place.title, details, href(path, **kept, **{SESSION: session_id}))


def applet_of(address: str) -> list[str]:
    """Return the set for a page's path and query. Raises `RpcError` for a page outside of `PLACES`."""
    try:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query, max_num_fields=50))
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"address can't be read: {error}", {"field": "address"}) from error
    if parts.scheme or parts.netloc or not address.startswith("/"):
        raise RpcError(
            INVALID_PARAMS, "address must be the path of a page of this site", {"field": "address"}
        )
    for slug, place in PLACES.items():
        ident = _ident(place.path, parts.path)
        if ident is not None:
            kept = [f"{name}={value}" for name, value in _kept(place, given).items()]
            return [slug, *([f"id={ident}"] if ident else []), *kept]
    raise RpcError(
        INVALID_PARAMS, f"no page at {parts.path!r:.200} can be come back to", {"field": "address"}
    )


RACE_MS: Final = 10_000
"""Maximum milliseconds between two views that may arrive in the wrong order. A larger difference means
another clock: a tab from before the machine slept, or a clock that was set back."""

SEEN_AT_MAX: Final = 2**53
"""Exclusive limit of a browser's time in milliseconds."""

SEEN_MAX: Final = 1_000
"""Maximum number of sessions whose last seen view is remembered."""


class LastOpenKeeper:
    """The address `POST /sessions/{id}/last-open` with `{address, seen_at?}`, which a visible page calls.

    The requests of two pages that are seen shortly after each other may arrive in any order. So each says
    when its page was seen, in milliseconds since 1970 by the browser's clock, and a page seen before the last
    stored one isn't stored: `applet` is null then.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._seen: dict[str, float] = {}

    def add_to(self, application: web.Application) -> None:
        """Serve the address."""
        application.router.add_post("/sessions/{session_id}/last-open", self._keep)

    async def _keep(self, request: web.Request) -> web.Response:
        params = await read_params(request)
        address, seen_at = params.get("address"), params.get("seen_at")
        if not isinstance(address, str):
            raise RpcError(INVALID_PARAMS, "address must be a text", {"field": "address"})
        if not isinstance(seen_at, int | float | None) or isinstance(seen_at, bool):
            raise RpcError(INVALID_PARAMS, "seen_at must be a number of milliseconds", {"field": "seen_at"})
        if seen_at is not None and not 0 <= seen_at < SEEN_AT_MAX:
            raise RpcError(INVALID_PARAMS, "seen_at is no time of this age", {"field": "seen_at"})
        applet = applet_of(address)
        session_id = request.match_info["session_id"]
        last = self._seen.get(session_id)
        if seen_at is not None and self._is_outdated(session_id, seen_at):
            return web.json_response({"applet": None})
        try:
            await self._view.call(
                "SetRelevantContext",
                session_id=session_id,
                set_name=SET_NAME,
                items=applet,
                mode="replace",
            )
        except BaseException:
            if seen_at is not None and self._seen.get(session_id) == seen_at:
                self._seen[session_id] = last or 0.0  # it wasn't kept, so an earlier one may be
            raise
        kept: dict[str, Any] = {"applet": applet}
        return web.json_response(kept)

    def _is_outdated(self, session_id: str, seen_at: float) -> bool:
        """Whether a slightly later view of the session is known; otherwise remember this one."""
        last = self._seen.pop(session_id, 0.0)
        is_outdated = 0 < last - seen_at < RACE_MS
        self._seen[session_id] = last if is_outdated else seen_at
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        return is_outdated


def _pairs(entries: Sequence[str]) -> dict[str, str]:
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}


def _kept(place: ViewPlace, given: Mapping[str, str]) -> dict[str, str]:
    """Return those of a page's parameters that are kept, in the page's order."""
    found = {name: given.get(name, "").strip() for name in (*place.parameters, "project")}
    return {
        name: value for name, value in found.items() if 0 < len(value) <= VALUE_MAX and value.isprintable()
    }


def _ident(pattern: str, path: str) -> str | None:
    """Return the id that a path has where a pattern has `{id}`: "" where it has none, None without match."""
    before, marker, after = pattern.partition("{id}")
    if not marker:
        return "" if path == pattern else None
    ident = path.removeprefix(before).removesuffix(after)
    return ident if path.startswith(before) and _ID.fullmatch(ident) else None
