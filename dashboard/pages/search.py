"""The search page: a question, how it was routed, and the rank of each result in each index."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from aiohttp import web
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename, get_lexer_for_filename
from pygments.util import ClassNotFound

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..view import Page, get

LIMIT: Final = 10
LIMITS: Final = (10, 25, 50, 100)

ROUTES: Final[Mapping[str, str]] = {
    "": "as the question asks",
    "hybrid": "names, words and meaning",
    "structural": "an edge of the code: who calls, imports, inherits",
    "positional": "in the place that the question names",
    "semantic": "words and meaning",
}
"""Descriptions of the routes; without a route the question's words decide."""

SOURCES: Final[Mapping[str, str]] = {
    "tree": "Names",
    "vector": "Meaning",
    "lexical": "Words",
}
"""The indexes whose ranks are shown, and what each searches."""


class SearchPage(Page):
    """The page at `/search`."""

    @get("/search")
    async def _serve(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        question = request.query.get("q", "").strip()
        asked = {name: request.query.get(name, "").strip() for name in ("path", "language", "route", "limit")}
        if asked["route"] not in ROUTES:
            message = f"route is one of {', '.join(filter(None, ROUTES))}, not {asked['route']!r:.40}"
            raise RpcError(INVALID_PARAMS, message, {"field": "route"})
        found = None
        if question and project.root:
            found = await view.call(
                "Query",
                cwd=project.root,
                query=question,
                limit=_limit(asked["limit"]),
                route=asked["route"] or None,
                languages=[asked["language"]] if asked["language"] else None,
                **_place(asked["path"]),
            )
        rows = await asyncio.to_thread(_rows, found["results"]) if found else []
        return await view.page(
            request,
            "search.html",
            at="search",
            title=f"{question} – Search" if question else "Search",  # noqa: RUF001 - a dash
            project=project,
            question=question,
            asked=asked,
            found=found,
            rows=rows,
            routes=ROUTES,
            sources=SOURCES,
            limits=LIMITS,
            languages=sorted(
                {row["language"] for row in rows if row["language"]} | {asked["language"]} - {""}
            ),
        )


def _limit(text: str) -> int:
    if not text:
        return LIMIT
    if text not in map(str, LIMITS):
        raise RpcError(INVALID_PARAMS, f"limit is one of {LIMITS}, not {text!r:.40}", {"field": "limit"})
    return int(text)


def _place(path: str) -> dict[str, str]:
    """Return which parameter of a Query says where to look: a glob, or the beginning of a path."""
    if not path:
        return {}
    return {"glob": path} if any(sign in path for sign in "*?[{") else {"path_prefix": path}


def _rows(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**result, "code": _code(result)} for result in results]


def _code(result: Mapping[str, Any]) -> list[tuple[int, Markup]]:
    """Return the lines of a snippet with their numbers."""
    lines = highlighted(result["snippet"], result["path"]).split("\n")
    return [(result["snippet_line"] + at, line) for at, line in enumerate(lines)]


CHARACTERS_MAX: Final = 20_000
"""Maximum characters of highlighted text: some lexers need a millisecond for a thousand."""

_FORMATTER: Final = HtmlFormatter(nowrap=True, classprefix="t-")


def highlighted(text: str, path: str) -> Markup:
    """Return code with its colours, by the name of its file; plain and escaped where no colours are known.

    About a millisecond for ten lines: not for the event loop where there are many.
    """
    lexer = _lexer(path.rpartition("/")[2])
    if lexer is None or len(text) > CHARACTERS_MAX:
        return escape(text)
    marked = highlight(text, lexer, _FORMATTER)
    if not text.endswith("\n"):
        marked = marked.removesuffix("\n")  # the formatter ends every line
    return Markup(marked)  # noqa: S704 - the formatter escapes what it is given


@lru_cache(maxsize=512)
def _lexer(name: str) -> Lexer | None:
    # Without the first test an unknown name would be guessed from an empty text.
    if find_lexer_class_for_filename(name) is None:
        return None
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
