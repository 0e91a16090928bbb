"""The pages that explore code: a search with the reason of each hit, and a file with what is around it."""

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
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..dependency_graph import SHOWN, arranged
from ..exports import exported
from ..view import Page, ProjectChoice, get, href

LIMIT: Final = 10
LIMITS: Final = (10, 25, 50, 100)

FILES: Final = 5
"""Maximum files offered whose path contains the question."""

ROUTES: Final[Mapping[str, str]] = {
    "": "as the question asks",
    "hybrid": "names, words and meaning",
    "structural": "the structure: who calls, imports, inherits",
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

REASONS: Final[Mapping[str, str]] = {
    "tree": "its name is in the question",
    "lexical": "it has words of the question",
    "vector": "its meaning is near the question’s",  # noqa: RUF001
}
"""What it means that an index found a hit."""

COLOURED: Final = 25
"""Maximum hits whose definitions are read, some 10 ms each, for the excerpt's colours and first line."""

ASKED: Final = 8
"""Maximum questions of agents offered where nobody asked yet."""

HIT_COLUMNS: Final = (
    *("path", "line", "symbol", "kind", "language", "score", "sources", "reasons", "certainty", "via"),
)
SYMBOL_COLUMNS: Final = ("line", "end_line", "kind", "name", "signature", "doc")
TURN_COLUMNS: Final = ("at", "context_id", "agent_name", "session_id", "prompt", "tokens", "max_tokens")
FILE_COLUMNS: Final = ("relation", "path", "line")

TABLES: Final = ("turns", "definitions", "files")
"""The tables of a file's page that `table` chooses for an export."""

LISTED: Final = 100
"""Maximum definitions and files of a list on the page."""

TURNS: Final = 20
"""Maximum turns on a file's page; an export has up to 100, as many as ListContexts returns."""

TURNS_MAX: Final = 100

SOURCE_LINES: Final = 400
SOURCE_CHARACTERS: Final = 60_000
"""Maximum lines, and characters, of a file's text on its page; colours take as much again."""


class ExplorePage(Page):
    """The search at `/explore`, and a file at `/explore/file`."""

    @get("/explore")
    async def _search(self, request: web.Request) -> web.StreamResponse:
        view = self._view
        project = await view.project(request)
        question = request.query.get("q", "").strip()
        asked = {name: request.query.get(name, "").strip() for name in ("path", "language", "route", "limit")}
        if asked["route"] not in ROUTES:
            message = f"route is one of {', '.join(filter(None, ROUTES))}, not {asked['route']!r:.40}"
            raise RpcError(INVALID_PARAMS, message, {"field": "route"})
        found, latest = None, []
        files: Sequence[str] = []
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
            file = exported(
                request, HIT_COLUMNS, [{**one, "reasons": _reasons(one)} for one in found["results"]]
            )
            if file is not None:
                return file
        if project.root:
            files = await self._named(project, question, asked["path"])
            latest = [] if question or asked["path"] else await self._latest(project)
        nodes = await self._nodes(project, found["results"]) if found else []
        rows = await asyncio.to_thread(_hits, found["results"], nodes) if found else []
        return await view.page(
            request,
            "explore.html",
            title=f"{question} – Explore" if question else "Explore",  # noqa: RUF001 - a dash
            project=project,
            question=question,
            asked=asked,
            found=found,
            files=files,
            rows=rows,
            routes=ROUTES,
            sources=SOURCES,
            limits=LIMITS,
            latest=latest,
            languages=sorted(
                {row["language"] for row in rows if row["language"]} | {asked["language"]} - {""}
            ),
        )

    async def _named(self, project: ProjectChoice, question: str, folder: str) -> Sequence[str]:
        """Return files whose path contains a question of one word; without a question those of a folder."""
        wanted = question or folder
        if not wanted or any(sign.isspace() for sign in wanted):
            return []
        limit = FILES if question else LISTED
        found = await self._view.call("FindFiles", cwd=project.root, query=wanted, limit=limit)
        files: list[str] = found["files"]
        return files if question else sorted(path for path in files if path.startswith(folder))

    async def _nodes(
        self, project: ProjectChoice, results: Sequence[Mapping[str, Any]]
    ) -> Sequence[Mapping[str, Any] | None]:
        """Return the definition, or file, that each hit is part of, None where that can't be had."""

        async def node(node_id: str) -> Mapping[str, Any] | None:
            try:
                return await self._view.found("GetNode", cwd=project.root, node_id=node_id)
            except RpcError:  # its colours are not worth the page
                return None

        found = await asyncio.gather(*[node(one["node_id"]) for one in results[:COLOURED]])
        return [*found, *[None] * (len(results) - len(found))]

    async def _latest(self, project: ProjectChoice) -> list[str]:
        """Return the latest prompts of agents, each once."""
        listed = await self._view.call("ListContexts", cwd=project.root, limit=4 * ASKED)
        prompts = (given["prompt"] for given in listed["contexts"] if given["prompt"])
        return list(dict.fromkeys(prompts))[:ASKED]

    @get("/explore/file")
    async def _file(self, request: web.Request) -> web.StreamResponse:
        view = self._view
        project = await view.project(request)
        path = request.query.get("path", "").strip()
        values: dict[str, Any] = {"node": None}
        if project.root and path:
            values = await self._around(project, path)
            file = _exported_table(request, values)
            if file is not None:
                return file
        return await view.page(
            request,
            "file.html",
            title=f"{values['node']['path']} – Explore" if values["node"] else "A file",  # noqa: RUF001
            project=project,
            asked=path,
            listed=LISTED,
            turns_shown=TURNS,
            **values,
        )

    async def _around(self, project: ProjectChoice, path: str) -> dict[str, Any]:
        """Return what the template shows of a file. With the id of a definition (`path#name`) it also has
        that `definition`, its callers and its callees."""
        asked = await self._view.call("GetNode", cwd=project.root, node_id=path)
        node, definition = asked, None
        if asked["node_id"] != asked["path"]:
            node = await self._view.call("GetNode", cwd=project.root, node_id=asked["path"])
            definition = asked
        imports = _paths(node["imports"])
        importers = _paths(node["importers"])
        near = [*importers[:SHOWN], *imports[:SHOWN]]
        turns, *found = await asyncio.gather(
            self._view.call("ListContexts", cwd=project.root, path=node["path"], limit=TURNS_MAX),
            *[self._imports(project, file) for file in near],
        )
        graph = arranged(node["path"], importers, imports, dict(zip(near, found, strict=True)))
        return {
            "node": node,
            "definition": definition,
            "source": await asyncio.to_thread(_source, definition or node),
            "drawing": graph.draw(lambda file: href("/explore/file", project=project.root, path=file)),
            "drawn": max(len(imports), len(importers)) <= SHOWN,
            "imports": imports,
            "importers": importers,
            "outside": sorted({imported["module"] for imported in node["imports"] if "path" not in imported}),
            "turns": turns["contexts"],
        }

    async def _imports(self, project: ProjectChoice, path: str) -> Sequence[str]:
        """Return the imports of a file, none if it was deleted meanwhile."""
        node = await self._view.found("GetNode", cwd=project.root, node_id=path)
        return _paths(node["imports"]) if node else []


def _exported_table(request: web.Request, values: Mapping[str, Any]) -> web.StreamResponse | None:
    table = request.query.get("table", "turns")
    if table not in TABLES:
        message = f"table is one of {', '.join(TABLES)}, not {table!r:.40}"
        raise RpcError(INVALID_PARAMS, message, {"field": "table"})
    node = values["node"]
    if table == "turns":
        return exported(request, TURN_COLUMNS, values["turns"])
    if table == "definitions":
        return exported(
            request,
            SYMBOL_COLUMNS,
            [
                {**one, "line": one["start_line"], "name": one["node_id"].split("#")[-1]}
                for one in node["symbols"]
            ],
        )
    related = [("depends on it", one) for one in node["importers"]]
    related += [("it depends on", one) for one in node["imports"]]
    return exported(
        request,
        FILE_COLUMNS,
        [
            {"relation": how, "path": one.get("path") or one["module"], "line": one.get("line")}
            for how, one in related
        ],
    )


def _paths(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({entry["path"] for entry in entries if "path" in entry})


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


def _hits(
    results: Sequence[Mapping[str, Any]], nodes: Sequence[Mapping[str, Any] | None]
) -> list[dict[str, Any]]:
    return [
        {**result, "reasons": _reasons(result), "code": excerpt(result, node)}
        for result, node in zip(results, nodes, strict=True)
    ]


def excerpt(
    result: Mapping[str, Any], node: Mapping[str, Any] | None
) -> list[tuple[int | None, Markup | str]]:
    """Return the lines of a hit with their numbers, behind the line that begins its definition; `None` is the
    number of lines that are left out between.

    `node` is the definition or file that it is part of. Colours come from there, since what begins within a
    string can't be told from code. They are left out where the node has other lines, as after an edit.
    """
    first, shown = result["snippet_line"], result["snippet"].split("\n")
    lines = node["definition"].split("\n") if node else []
    start = first - node["start_line"] if node else -1
    if start < 0 or lines[start : start + len(shown)] != shown:
        return [(first + at, escape(line)) for at, line in enumerate(shown)]
    coloured = numbered("\n".join(lines[: start + len(shown)]), result["path"], first - start)
    head = next((at for at in range(start) if not lines[at].lstrip().startswith("@")), start)
    if "symbol" not in result or head == start:
        return [*coloured[start:]]
    left_out = [(None, "…")] if head + 1 < start else []
    return [coloured[head], *left_out, *coloured[start:]]


def _reasons(result: Mapping[str, Any]) -> list[str]:
    """Return why a hit was found: the daemon's reasons, else what the indexes that have it look at."""
    reasons = [*result["why"], *([f"through {result['via']}"] if result.get("via") else [])]
    return reasons or [said for name, said in REASONS.items() if name in result["sources"]]


def _source(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbered lines of a file or definition, and how many more it has."""
    text = "\n".join(node["definition"].split("\n")[:SOURCE_LINES])[:SOURCE_CHARACTERS]
    code = numbered(text, node["path"], node["start_line"])
    whole = node["end_line"] - node["start_line"] + 1
    return {"code": code, "more": max(whole - len(code), 0)}


def numbered(text: str, path: str, first: int) -> list[tuple[int, Markup]]:
    """Return the lines of code with their numbers and colours."""
    return [(first + at, line) for at, line in enumerate(highlighted(text, path).split("\n"))]


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
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
