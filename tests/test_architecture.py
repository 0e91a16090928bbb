"""The structure that ARCHITECTURE.md describes holds: who imports whom, who owns which package."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("daemon", "ipc", "dashboard", "hooks", "cli")

OWNERS = {
    "aiohttp": {"dashboard/", "hooks/http.py", "hooks/upgrade.py"},
    "fastembed": {"daemon/embedding/model.py"},
    "anyio": {"daemon/rules/tool_client.py"},
    "httpx2": {
        "daemon/rules/tool_client.py",
        "daemon/core/model_endpoint.py",
    },
    "bpe_openai": {"daemon/context/tokens.py"},
    "jinja2": {"daemon/context/prompts.py", "dashboard/view.py"},
    "markupsafe": {"dashboard/"},
    "prometheus_client": {"dashboard/prometheus.py"},
    "pygments": {"dashboard/pages/explore.py"},
    "lsprotocol": {"hooks/editors/lsp_server.py"},
    "pygls": {"hooks/editors/lsp_server.py"},
    "mcp": {
        "daemon/rules/tool_client.py",
        "hooks/mcp_server/server.py",
    },
    "numpy": {"daemon/embedding/"},
    # usearch must be loaded after onnxruntime, so its owner loads both.
    "onnxruntime": {"daemon/embedding/vectors.py"},
    "usearch": {"daemon/embedding/vectors.py"},
    "py_rust_stemmers": {"daemon/index/terms.py"},
    "tantivy": {"daemon/index/lexical_reader.py", "daemon/index/lexical_indexer.py"},
    "click": {"__main__.py", "cli/"},
    "msgpack": {"ipc/protocol.py"},
    "msgspec": {"daemon/", "hooks/hosts/", "hooks/http.py", "hooks/mcp_server/tool.py"},
    "rapidfuzz": {"daemon/graph/subjects.py"},
    "redis": {"daemon/embedding/redis_source.py"},
    "rich": {"cli/"},
    "sqlite3": {"daemon/core/storage.py"},
    "tree_sitter": {"daemon/languages/shared/parse.py"},
    "uvloop": {"daemon/app/server.py"},
    "watchfiles": {"daemon/project/watcher.py"},
    "yaml": {"daemon/rules/instruction_text.py"},
}
"""Each outside package and the files that may import it; a folder ends in a slash."""

REPLACED = {
    # Class names; a part of a name counts.
    "Given": "DeliveredContext",
    "Happening": "SessionEvent",
    "Sight": "ReplyFilter",
    "Resident": "ConversationContent",
    "Held": "SentSlice",
    "Ledger": "RequestLog",
    "Zone": "ConfinedFolder",
    "Faces": "WebProcess",
    "Beat": "Heartbeat",
    "Look": "FileDigest",
    "Former": "Previous",
    "Suspects": "CrashGuard",
    "World": "LinkerView",
    "Lexing": "LexicalIndexer",
    "Semantics": "EmbedderClient",
    "Upkeep": "VectorUpdater",
    "Scoping": "ScopeService",
    "Explaining": "ExplainService",
    "Forgetting": "ProjectEraser",
    "Grafting": "GraftService",
    "Compressing": "CompressionService",
    "Talk": "Caller",
    "Ground": "HookBackend",
    "Desk": "DaemonSession",
    # First lines of docstrings.
    "sight": "filter",
    "residency": "sent content",
    "ledger": "request log",
    "faces": "web process",
    "suspects": "files that a process died on",
    "purse": "remaining budget",
    "referrals": "references in replies",
    "moods": "question cues",
    "happening": "event",
    "happenings": "events",
}
"""Words that were replaced, and the word to use."""

ROOMS = (
    "ipc",
    "hooks/hosts",
    "daemon/core",
    "daemon/privacy",
    "daemon/languages",
    "daemon/config",
    "daemon/linking",
    "daemon/project",
    "daemon/index",
    "daemon/embedding",
    "daemon/graph",
    "daemon/compression",
    "daemon/memory",
    "daemon/transcripts",
    "daemon/rules",
    "daemon/workspace",
    "daemon/search",
    "daemon/sessions",
    "daemon/access",
    "daemon/context",
    "daemon/hooks",
    "daemon/engine",
    "daemon/api",
    "daemon/app",
    "hooks",
    "dashboard",
    "cli",
    ".",
)
"""The rooms from the ground up: what is in one imports only what is in it or in a room named before it."""

LIBRARIES = ROOMS[: ROOMS.index("daemon/linking")]
"""Rooms without state: functions and values by subject, so that each of their files may be imported."""

DOORS = ("service", "records")
"""Files of a room of the daemon, libraries aside, that other rooms may import: what they call and what they hold."""


def test_imports_point_down() -> None:
    wrong = [
        f"{path} imports {target}"
        for path, target in internal_imports()
        if ROOMS.index(room_of(path)) < ROOMS.index(room_of(target))
    ]
    assert not wrong


def test_other_rooms_enter_by_the_doors() -> None:
    entered = [(path, target) for path, target, _ in imported_by_other_rooms() if has_doors(room_of(target))]
    assert len(entered) > 200, "the rule would hold of nothing"
    assert not [f"{path} imports {target}" for path, target in entered if Path(target).name not in DOORS]


def test_doors_name_only_what_other_rooms_use() -> None:
    used = {(target, name) for _, target, name in imported_by_other_rooms()}
    doors = [path for path in modules() if path.stem in DOORS and has_doors(room_of(relative(path)))]
    assert len(doors) > 25, "the rule would hold of nothing"
    unused = [
        f"{relative(path)}: {name}"
        for path in doors
        for name in names_passed_on(path)
        if (relative(path).removesuffix(".py"), name) not in used
    ]
    assert not unused


def names_passed_on(path: Path) -> Iterator[str]:
    """Yield what a door imports from its own room without using it."""
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = (alias.asname or alias.name for alias in node.names)
            yield from (name for name in names if len(re.findall(rf"\b{name}\b", text)) == 1)


def test_each_file_is_in_a_room() -> None:
    lost = [path for path in modules() if path.parent != ROOT and path.name != "__init__.py"]
    assert not [path for path in lost if room_of(path.relative_to(ROOT).as_posix()) == "."]


def test_clients_of_the_socket_know_nothing_of_the_daemon() -> None:
    wrong = [
        f"{path} imports {target}"
        for path, target in internal_imports()
        if path.startswith(("hooks/", "dashboard/")) and target.startswith("daemon")
    ]
    assert not wrong


def test_the_hook_process_imports_no_host() -> None:
    direct = {target for path, target in internal_imports() if path in {"hooks/hook.py", "hooks/spool.py"}}
    assert not [target for target in direct if target.startswith("hooks/hosts")]


def test_each_outside_package_has_its_owner() -> None:
    wrong = []
    for path in modules():
        for name in imported_names(path):
            package = name.split(".")[0]
            package = "tree_sitter" if package.startswith("tree_sitter") else package
            owners = OWNERS.get(package)
            relative = str(path.relative_to(ROOT))
            if owners is None:
                standard = package in sys.stdlib_module_names or package == "__future__"
                if not standard:
                    wrong.append(f"{relative} imports {package}, which has no owner")
            elif not any(
                relative == owner or (owner.endswith("/") and relative.startswith(owner)) for owner in owners
            ):
                wrong.append(f"{relative} imports {package}, which {sorted(owners)} owns")
    assert not wrong


REPORTING = {"onnxruntime", "fastembed"}
"""Packages that report to their makers as soon as they are imported, or import one that does."""


def test_nothing_imports_a_reporting_package_before_ours() -> None:
    # The rooms are part of the package, tests begin with their conftest: both import its __init__.py first.
    early, all_of_them = [], 0
    for path in sorted([*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if REPORTING.intersection(name.partition(".")[0] for name in names):
                all_of_them += 1
                early += [str(path.relative_to(ROOT))] if node in tree.body else []
    assert not early, "import it in the function that needs it"
    assert all_of_them >= 1


def test_the_daemon_has_no_dataclasses() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in modules()
        if path.relative_to(ROOT).parts[0] == "daemon"
        and str(path.relative_to(ROOT)) != "daemon/config/settings.py"  # its fields carry their rules
        and re.search(
            r"^from dataclasses import .*\bdataclass\b|^import dataclasses",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    ]
    assert not wrong


def test_every_file_says_on_its_first_line_what_it_is() -> None:
    wrong = []
    for path in modules():
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        if not re.match(r'"""[\w`][^"]{10,}', first):
            wrong.append(f"{path.relative_to(ROOT)}: {first}")
    assert not wrong


def test_package_files_hold_a_docstring_only() -> None:
    for path in modules():
        if path.name == "__init__.py":
            body = ast.parse(path.read_text(encoding="utf-8")).body
            # The package's own keeps libraries from reporting to their makers, before any is imported.
            allowed = (ast.Assign, ast.Import, ast.ImportFrom) if path.parent == ROOT else ()
            extra = [node for node in body[1:] if not isinstance(node, allowed)]
            assert not extra, path


def test_architecture_page_names_every_room() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {
        path.parent.relative_to(ROOT).as_posix() + "/" for path in modules() if path.name != "__init__.py"
    }
    assert not [room for room in sorted(rooms) if room != "./" and f"`{room}" not in page]


def test_architecture_page_stays_readable() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) < 250
    prose = [one for one in page.split("\n\n") if not one.lstrip().startswith(("-", "|", "```"))]
    assert not [one for one in prose if len(one) > 600]


def test_a_class_name_is_defined_once() -> None:
    defined: dict[str, list[str]] = {}
    for path, name, _ in classes_and_first_lines():
        if name:
            defined.setdefault(name, []).append(path)
    assert len(defined) > 500
    assert not {name: paths for name, paths in defined.items() if len(paths) > 1}


def test_the_glossary_names_classes_of_the_product() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    entries = re.findall(r"^- \*\*(.+?)\*\*(?: \(`(\w+)`[^)]*\))?: .+$", page, re.MULTILINE)
    assert len(entries) >= 25
    assert len({word for word, _ in entries}) == len(entries)
    defined = {name for _, name, _ in classes_and_first_lines()}
    assert not [(word, name) for word, name in entries if name and name not in defined]
    assert sum(1 for _, name in entries if name) >= 20


def test_replaced_words_stay_replaced() -> None:
    assert len(REPLACED) >= 20
    wrong = [
        f"{path}: {REPLACED[word]} instead of {word} in {name or line!r}"
        for path, name, line in classes_and_first_lines()
        for word in sorted({*re.findall("[A-Z][a-z]+", name), *re.findall("[a-z]+", line.lower())})
        if word in REPLACED
    ]
    assert not wrong


@cache
def classes_and_first_lines() -> tuple[tuple[str, str, str], ...]:
    """Return (path, name, first line of its docstring) of each class; of a file and a function without name."""
    return tuple((relative(path), name, line) for path in modules() for name, line in parsed(path)[0])


def room_of(path: str) -> str:
    """Return the innermost room that a file or folder lies in."""
    return max((room for room in ROOMS if f"{path}/".startswith(f"{room}/")), key=len, default=".")


def has_doors(room: str) -> bool:
    """Tell whether a room is entered by its doors alone: those of the daemon that are no libraries."""
    return room.startswith("daemon/") and room not in LIBRARIES


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def modules() -> tuple[Path, ...]:
    found = [ROOT / "__init__.py", ROOT / "__main__.py"]
    for folder in FOLDERS:
        found.extend(sorted((ROOT / folder).rglob("*.py")))
    assert len(found) > 400, "the rules of this file would hold of nothing"
    return tuple(path for path in found if path.exists())


@cache
def parsed(path: Path) -> tuple[tuple[tuple[str, str], ...], tuple[ast.Import | ast.ImportFrom, ...]]:
    """Return what `classes_and_first_lines` says of a file, and its imports; trees of all files fill memory."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines, imports = [], []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, documented):
            name = node.name if isinstance(node, ast.ClassDef) else ""
            lines.append((name, (ast.get_docstring(node) or "").partition("\n")[0]))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
    return tuple(lines), tuple(imports)


def imported_by_other_rooms() -> Iterator[tuple[str, str, str]]:
    return (one for one in imports_by_name() if room_of(one[0]) != room_of(one[1]))


def internal_imports() -> set[tuple[str, str]]:
    """Return (file, imported module as a path) for every import of the package by itself."""
    return {(path, target) for path, target, _ in imports_by_name()}


@cache
def imports_by_name() -> tuple[tuple[str, str, str], ...]:
    """Return (file, imported module as a path, imported name, empty for the module itself)."""
    found = tuple(_imports_by_name())
    assert len(found) > 1_500, "the rules of this file would hold of nothing"
    return found


def _imports_by_name() -> Iterator[tuple[str, str, str]]:
    for path in modules():
        package = list(path.relative_to(ROOT).parent.parts)
        for node in parsed(path)[1]:
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = package[: len(package) - node.level + 1]
            module = [*base, *(node.module or "").split(".")] if node.module else base
            for alias in node.names:
                inner = "/".join([*module, alias.name])
                if (ROOT / f"{inner}.py").exists():
                    yield relative(path), inner, ""
                elif module:
                    yield relative(path), "/".join(module), alias.name


def imported_names(path: Path) -> Iterator[str]:
    for node in parsed(path)[1]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module
