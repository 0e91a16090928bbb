"""Any bytes give an ordered, bounded answer in bounded time, broken and hostile ones too."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from foveal.daemon.languages.shared import parse
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Import, ParsedFile
from foveal.daemon.languages.shared.source_text import MAX_SIGNATURE
from foveal.daemon.languages.shared.symbols import MAX_DOC
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import hostile_sources
from tests.properties import examples

PARSED = [name for name, row in LANGUAGES.items() if row.grammar]


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"a\r\nb\r\n", 2), (b"\x0c\x0b\x85\n", 1)],
)
@pytest.mark.parametrize("language", ["python", "markdown", "rust", "", "nonsense"])
def test_lines_end_at_line_feeds(data: bytes, lines: int, language: str) -> None:
    assert parse_source(data, language).lines == lines


def test_hostile_sources_end() -> None:
    """In a process of its own: some grammars keep memory of such sources."""
    done = subprocess.run(
        [sys.executable, "-m", hostile_sources.__name__, *PARSED],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == PARSED, done.stderr


@pytest.mark.parametrize("language", ["python", "javascript", "typescript", "tsx"])
def test_a_tree_that_would_take_minutes_to_query_is_given_up(language: str) -> None:
    assert parse_source(b"(" * 200_000, language) == ParsedFile((), (), 1, broken=True)


def test_a_tree_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foveal.daemon.languages.shared.parse.PARSE_SECONDS", -1.0)
    assert parse_source(b"def f(): pass\n" * 1000, "python") == ParsedFile((), (), 1000, broken=True)


def test_the_search_for_unreadable_code_counts_as_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def slow(source: bytes, gaps: object) -> bytes:
        now[0] += parse.PARSE_SECONDS + 1
        return source

    monkeypatch.setattr("time.thread_time", lambda: now[0])
    assert not parse_source(b"int a;\n" * 1000, "c").broken
    monkeypatch.setattr(parse, "readable", slow)
    assert parse_source(b"int a;\n" * 1000, "c").broken


@given(st.binary(max_size=300), st.sampled_from(PARSED))
@settings(max_examples=examples(200))
def test_any_bytes_give_an_ordered_answer(data: bytes, language: str) -> None:
    holds_invariants(parse_source(data, language))


FRAGMENTS = st.sampled_from(
    ["def f(", "):", "\n", "    ", "class A", "{", "}", "=>", "x = 1", "# a", "export ", "import a", "`",
     "/*", "*/", "@d", "func ", "type T struct", '"""', "'", "---", "===", "> ", "- ", ";", "(", ")",
     "from . import b", "//"]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=40).map("".join), st.sampled_from(PARSED))
@settings(max_examples=examples(300))
def test_any_code_gives_an_ordered_answer(source: str, language: str) -> None:
    holds_invariants(parse_source(source.encode(), language))


def holds_invariants(parsed: ParsedFile) -> None:
    assert len({each.name for each in parsed.symbols}) == len(parsed.symbols)
    starts = [each.start_line for each in parsed.symbols]
    assert starts == sorted(starts)
    for symbol in parsed.symbols:
        assert 1 <= symbol.start_line <= symbol.end_line <= parsed.lines
        assert 0 < len(symbol.signature) <= MAX_SIGNATURE
        assert len(symbol.doc) <= MAX_DOC
        assert symbol.name
        assert symbol.depth >= 0
    for imported in parsed.imports:
        assert isinstance(imported, Import)
        assert imported.module
        assert 1 <= imported.line <= parsed.lines


def test_threads_do_not_disturb_each_other() -> None:
    sources = [f"class A{number}:\n    def m(self): pass\n" * 50 for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda source: parse_source(source.encode(), "python"), sources))
    assert together == [parse_source(source.encode(), "python") for source in sources]


def test_only_the_grammar_that_is_needed_is_loaded() -> None:
    code = (
        "import sys; from foveal.daemon.languages.shared.parse import parse_source; parse_source(b'x = 1', 'python');"
        "print(sorted(m for m in sys.modules if m.startswith('tree_sitter_') and '.' not in m))"
    )
    assert (
        subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "['tree_sitter_python']"
    )
