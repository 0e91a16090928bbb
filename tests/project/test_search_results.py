"""A hit is told with the lines that speak for it, and a file that isn't what was found any more is named."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest
from foveal.daemon.config.settings import ProjectConfig
from foveal.daemon.core.system import System
from foveal.daemon.index.records import StoredChunk
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.privacy.policy import NO_POLICY
from foveal.daemon.rules.records import RuleSet
from foveal.daemon.search.query import DescribedHits
from foveal.daemon.search.records import NOTHING_FOUND, Hit, SearchQuery
from foveal.daemon.search.results import SNIPPET_LINES, describe_hits
from foveal.daemon.workspace.records import ProjectSnapshot
from msgspec.structs import replace

from tests.search_cases import Indexed, index_project, indexed

BODY = (
    "def login(user):\n"
    + "".join(f"    step_{n}(user)\n" for n in range(30))
    + "    return open_session(user)\n"
)
FILES: dict[str, str | bytes] = {
    "auth.py": f"import os\n\n\n{BODY}",
    "minified.js": "function a(){return 1};" * 2_000 + "\n",
    "guide.md": "# Guide\n\nAbout passwords.\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Indexed:
    return indexed(tmp_path, FILES)


def snapshot(project: Indexed) -> ProjectSnapshot:
    return ProjectSnapshot(
        tree=project.tree,
        rules=cast("RuleSet", None),
        config=ProjectConfig(),
        overlays=MappingProxyType({}),
        degraded=(),
        reader=project.reader,
        lexical=project.handle,
        relevant_experiences=lambda *_: (),
        system=System(),
    )


def chunks(project: Indexed, path: str) -> list[StoredChunk]:
    with project.reader() as reader:
        return reader.chunks.of_paths([path])


def describe_all(view: ProjectSnapshot, text: str, *hits: Hit) -> DescribedHits:
    return describe_hits(view, SearchQuery(text, 10), replace(NOTHING_FOUND, hits=hits))


def described(project: Indexed, text: str, *hits: Hit) -> tuple[list[dict[str, Any]], list[str]]:
    return describe_all(snapshot(project), text, *hits)


def one(project: Indexed, text: str, path: str, **more: Any) -> dict[str, Any]:
    largest = max(chunks(project, path), key=lambda chunk: chunk.end_line - chunk.start_line)
    ((result,), stale) = described(project, text, Hit(largest, 0.5, **more))
    assert stale == []
    return result


def test_a_hit_is_a_place_with_its_reasons(project: Indexed) -> None:
    chunk = chunks(project, "guide.md")[0]
    hit = Hit(chunk, 0.5, {"lexical": 2}, (chunk,), certainty="resolved", via="a.py", why=("because",))
    ((result,), _) = described(project, "passwords", hit)
    assert result == {
        "node_id": "guide.md",
        "path": "guide.md",
        "start_line": 1,
        "end_line": 3,
        "kind": "file",
        "score": 0.5,
        "sources": {"lexical": 2},
        "line": 3,
        "snippet": "# Guide\n\nAbout passwords.",
        "snippet_line": 1,
        "language": "markdown",
        "why": ["because"],
        "certainty": "resolved",
        "via": "a.py",
        "more": [{"node_id": "guide.md#Guide", "start_line": 1, "end_line": 3, "kind": "section"}],
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [("open the session", 35), ("step_7", 12), ("nothing of it", 4), ("", 4), ("step_29", 34)],
)
def test_the_lines_with_the_words_are_shown(project: Indexed, text: str, line: int) -> None:
    result = one(project, text, "auth.py")
    assert result["line"] == line
    lines = result["snippet"].split("\n")
    assert len(lines) <= SNIPPET_LINES
    source = str(FILES["auth.py"]).split("\n")
    assert lines == source[result["snippet_line"] - 1 :][: len(lines)]
    assert result["snippet_line"] <= line < result["snippet_line"] + len(lines)


@pytest.mark.parametrize(("line", "shown"), [(20, 20), (999, 35), (-5, 4)])
def test_the_line_of_a_reference_is_shown(project: Indexed, line: int, shown: int) -> None:
    assert one(project, "open session", "auth.py", line=line)["line"] == shown


def test_a_file_that_changed_on_the_disk_is_named(project: Indexed) -> None:
    (project.root / "auth.py").write_text("def other(): ...\n")
    results, stale = described(project, "x", Hit(chunks(project, "auth.py")[0], 0.5))
    assert (len(results), stale) == (1, ["auth.py"])
    (project.root / "guide.md").unlink()
    assert described(project, "x", Hit(chunks(project, "guide.md")[0], 0.5))[1] == ["guide.md"]


def test_a_file_that_changed_in_the_index_is_named_and_one_that_went_is_not(project: Indexed) -> None:
    hits = [Hit(chunks(project, path)[0], 0.5) for path in ("auth.py", "guide.md")]
    (project.root / "auth.py").write_text("def other(): ...\n")
    (project.root / "guide.md").unlink()
    index_project(project.root, project.folder)
    with project.reader() as reader:
        records = reader.load_files()
    project.tree = project.tree.with_changes(99, records.values(), ["guide.md"])
    assert described(project, "x", *hits) == ([], ["auth.py"])


def test_what_the_graph_found_is_the_definition_around_the_reference(project: Indexed) -> None:
    chunk = chunks(project, "guide.md")[0]
    node = Symbol("Guide.part", "method", 2, 3, "part()", "", 1)
    hit = Hit(chunk, 1.0, {"tree": 1}, (), 3, "name", "a → b", (), node, ("x.py#a",), ("y.py", 7))
    ((result,), _) = described(project, "passwords", hit)
    assert (result["node_id"], result["enclosing"]) == ("guide.md#Guide.part", "Guide.part")
    assert (result["start_line"], result["end_line"], result["kind"], result["line"]) == (2, 3, "method", 3)
    assert (result["certainty"], result["via"], result["steps"]) == ("name", "a → b", ["x.py#a"])
    assert result["reference"] == {"path": "y.py", "line": 7}


def test_a_text_that_was_shown_is_not_unpacked_again(
    project: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = [Hit(chunk, 0.5) for path in ("auth.py", "guide.md") for chunk in chunks(project, path)]
    first = described(project, "session", *hits)
    with monkeypatch.context() as patched:
        patched.setattr("foveal.daemon.index.chunk_table._unpacked", None)
        assert described(project, "session", *hits) == first


def test_a_text_that_was_shown_is_gone_with_its_chunk(project: Indexed) -> None:
    hits = [Hit(chunk, 0.5) for chunk in chunks(project, "auth.py")]
    assert len(described(project, "session", *hits)[0]) == len(hits)
    (project.root / "auth.py").unlink()
    index_project(project.root, project.folder)
    assert described(project, "session", *hits) == ([], ["auth.py"])


def test_what_was_shown_without_secrets_is_never_shown_to_others_as_masked(tmp_path: Path) -> None:
    secret = "AKIA" + "Q7ZT3XKD5WNB2MRP"
    project = indexed(tmp_path, {"settings.py": f"KEY = '{secret}'\n"})
    hit = Hit(chunks(project, "settings.py")[0], 0.5)
    open_view = replace(snapshot(project), policy=replace(NO_POLICY, mask_values=False))
    closed_view = replace(snapshot(project), policy=replace(NO_POLICY, mask_values=True))
    for _ in range(2):
        assert secret in describe_all(open_view, "key", hit)[0][0]["snippet"]
        assert "[masked]" in describe_all(closed_view, "key", hit)[0][0]["snippet"]
