"""What every page shares: calls to the daemon, templates, the chosen project, addresses."""

from __future__ import annotations

import asyncio
import collections
import hashlib
import inspect
import os
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import jinja2
from aiohttp import web

from ..ipc.aclient import DaemonLink
from ..ipc.errors import INVALID_PARAMS, NOT_FOUND, RpcError
from ..ipc.version import __version__
from .formats import FILTERS, NOTHING, editor_href
from .guard import VIEWER

FOLDER: Final = os.path.dirname(os.path.abspath(__file__))
STATIC: Final = os.path.join(FOLDER, "static")

THEME_COOKIE: Final = "foveal_theme"
"""Which colours the reader chose, `light` or `dark`; without it those of the system. No secret."""

QUESTION_CHARACTERS: Final = 7_000
"""Maximum characters of a question: with up to nine bytes each and all other fields of a search, the
address stays below the line limit of `app.py`."""

TEXT_CHARACTERS: Final = 500
"""Maximum characters of filters, names and other short texts in an address; a path may have
`PATH_CHARACTERS`."""

PATH_CHARACTERS: Final = 4_096

FAILED_S: Final = 3_600
"""Seconds in which a page that failed is told on Home."""

FAILED_MAX: Final = 100
"""Maximum failed pages remembered."""

PROJECT: Final = "project"
"""The parameter of an address with the root of the page's project."""

NAVIGATION: Final = (
    ("home", "/", "overview status"),
    ("sessions", "/sessions", "conversations requests turns timeline contexts"),
    ("scopes", "/scopes", "agents subagents focus anchor horizon layers constraints pin"),
    ("knowledge", "/knowledge", "rules references tools decisions items experiences quarantine"),
    ("explore", "/explore", "search find files graph"),
    ("usage", "/usage", "tokens cost saved unused"),
    ("project", "/project", "index exclude trust hooks hosts forget"),
    ("diagnostics", "/diagnostics", "metrics performance latency memory cache live events faults"),
)
"""The navigation: name and address of each page, and more words by which the palette finds it."""


class View:
    """Renders pages: `call` asks the daemon, `page` renders a template."""

    def __init__(self, link: DaemonLink) -> None:
        self._link = link
        self._templates = _templates()
        self._failed: collections.deque[tuple[float, str]] = collections.deque(maxlen=FAILED_MAX)

    async def call(self, method: str, **params: Any) -> Any:
        """Return the result of a method; parameters that are None are left out.

        Raises `RpcError`, and `DaemonUnavailable` without a daemon; the application makes pages of both.
        """
        given = {name: value for name, value in params.items() if value is not None}
        return await self._link.call(method, given)

    async def found(self, method: str, **params: Any) -> dict[str, Any] | None:
        """Return what a method answers, None for what isn't there any more."""
        try:
            found: dict[str, Any] = await self.call(method, **params)
        except RpcError as error:
            if error.code != NOT_FOUND:
                raise
            return None
        return found

    def page_failed(self, path: str) -> None:
        """Remember that a page couldn't be made."""
        self._failed.append((time.monotonic(), path))

    def failed_pages(self) -> list[str]:
        """Return the paths of pages that failed in the last hour, the latest last."""
        return [path for at, path in self._failed if at >= time.monotonic() - FAILED_S]

    async def project(self, request: web.Request) -> ProjectChoice:
        """Return the project that the address names, or the last used one. Raises `NotOpen` if it isn't
        open, because reading a page opens no project."""
        known = await self.call("ListProjects")
        return ProjectChoice.chosen(known, request.query.get(PROJECT, ""))

    async def project_of(self, root: str) -> ProjectChoice:
        """Return the project with this root, which may be closed or gone."""
        return ProjectChoice(root, await self.call("ListProjects"))

    async def page(
        self, request: web.Request, template: str, *, title: str, status: int = 200, **values: Any
    ) -> web.Response:
        """Return a template as a page, drawn in a thread: a large one takes 30 ms.

        A template has `at`, the name of its entry in the navigation, `title`, `path`, `query`, `viewer`,
        `theme`, and the values given. A page about a project gives `project` (`ProjectChoice`) for the
        header. `picked` is the address to which the header's choice of a project leads, by default that of
        the page.
        """
        viewer, part = request[VIEWER], request.path.split("/")[1]
        text = await asyncio.to_thread(
            self._templates.get_template(template).render,
            {
                "project": None,
                "picked": request.path,
                **values,
                "at": {"": "home", "turns": "sessions", "scope": "scopes"}.get(part, part),
                "title": title,
                "path": request.path,
                "query": dict(request.query),
                "viewer": viewer,
                "theme": _theme(request),
                "editor_link": lambda root, path, line=1: editor_href(viewer.editor, root, path, line),
            },
        )
        return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")


RowT = TypeVar("RowT")
HandlerT = TypeVar("HandlerT", bound=Callable[..., Awaitable[web.StreamResponse]])

_ADDRESSES: dict[Callable[..., Any], str] = {}


def get(address: str) -> Callable[[HandlerT], HandlerT]:
    """Let a method of a `Page` answer GET at an address."""

    def serve(handler: HandlerT) -> HandlerT:
        _ADDRESSES[handler] = address
        return handler

    return serve


class Page:
    """A part of the site over a view: its methods marked by `get` answer."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the addresses, in the order of the methods."""
        for name, member in vars(type(self)).items():
            if inspect.isfunction(member) and member in _ADDRESSES:
                application.router.add_get(_ADDRESSES[member], getattr(self, name))


class ProjectChoice:
    """The project that a page is about, among all that the daemon knows.

    `all` are the open ones, as ListProjects tells them, `closed` the roots of those that were open before.
    `status` is None for one that isn't open; `root` is empty where a page is about none, or about all.
    """

    __slots__ = ("all", "closed", "root", "status")

    def __init__(self, root: str, known: Mapping[str, Any]) -> None:
        self.root = root
        self.all: list[Mapping[str, Any]] = known["projects"]
        self.closed: list[str] = [closed["root"] for closed in known["closed"]]
        self.status = next((project for project in self.all if project["root"] == root), None)

    @classmethod
    def chosen(cls, known: Mapping[str, Any], root: str) -> ProjectChoice:
        """Return the open project with this root, or the first if none is named.

        `known` is the answer of ListProjects. Raises `NotOpen`. `root` is empty without any open project.
        """
        project = cls(root, known)
        if root and project.status is None:
            raise NotOpen(project)
        return project if root or not project.all else cls(str(project.all[0]["root"]), known)

    @property
    def is_known(self) -> bool:
        """Whether it is open, or was before."""
        return self.status is not None or self.root in self.closed

    @property
    def name(self) -> str:
        """The last part of the root."""
        return os.path.basename(self.root.rstrip("/")) or self.root


class NotOpen(RpcError):
    """The page's project isn't open, or none is. `project` is the wanted one."""

    def __init__(self, project: ProjectChoice) -> None:
        root = project.root
        said = f"no open project has the root {root!r:.300}" if root else "no project is open"
        super().__init__(NOT_FOUND, f"{said}; open it: foveal up {shlex.quote(root or 'FOLDER'):.300}")
        self.project = project


def href(path: str, /, **query: Any) -> str:
    """Return an address within the site, without parameters that are None or empty."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def page_number(request: web.Request, name: str = "page") -> int:
    """Return the number of the wanted page of a list, from 1."""
    text = request.query.get(name, "1")
    if not text.isascii() or not text.isdigit() or len(text) > 7 or not 1 <= int(text) <= 1_000_000:
        raise RpcError(INVALID_PARAMS, f"{name} must be a number from 1, not {text!r:.40}", {"field": name})
    return int(text)


def rows_on(page: int, rows: Sequence[RowT], size: int) -> tuple[Sequence[RowT], int, int]:
    """Return the rows on a page of a list, the page's number, at most that of the last one, and the last."""
    last = max(-(-len(rows) // size), 1)
    page = min(page, last)
    return rows[(page - 1) * size : page * size], page, last


def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.join(FOLDER, "templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: NOTHING if value is None else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals.update(
        navigation=NAVIGATION,
        href=href,
        version=__version__,
        static=_static_addresses().__getitem__,
    )
    environment.globals.update(
        question_max=QUESTION_CHARACTERS, text_max=TEXT_CHARACTERS, path_max=PATH_CHARACTERS
    )
    return environment


def _static_addresses() -> dict[str, str]:
    """Return the address of each static file by name, with the hash of its content, so that browsers can
    cache it."""
    addresses = {}
    for folder, _, names in os.walk(STATIC):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()[:12]
            known = os.path.relpath(path, STATIC).replace(os.sep, "/")
            addresses[known] = f"/static/{known}?v={digest}"
    return addresses


def _theme(request: web.Request) -> str:
    theme = request.cookies.get(THEME_COOKIE, "")
    return theme if theme in ("light", "dark") else ""
