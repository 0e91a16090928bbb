"""Messages with their values, quotations and names that nothing defines are found where they stand as text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from foveal.daemon.search.candidates import GatheredCandidates
from foveal.daemon.search.exact_text import TextPlace, defines_alone, find_text, has_name, unknown_names
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.query import Hit
from foveal.daemon.search.question import take_apart
from foveal.daemon.search.router import conclude, gather

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "shop/ports.py": (
        "LOWEST_PORT = 1\n\n\ndef parse(port):\n"
        "    if not port.isdigit():\n        raise ValueError(f\"Invalid port: {port!r}\")\n"
        "    return int(port)\n\n\n"
        "def check(name, config):\n"
        "    if config['PORT_FALLBACKS']:\n"
        "        raise KeyError('The scheme of %s is not one that '\n"
        "                       'the shop knows' % name)\n"
    ),
    "shop/settings.py": "DEFAULTS = {\n    'PORT_FALLBACKS': None,\n}\n",
    "shop/words.py": "def port(invalid):\n    # a port that is invalid: see parse\n    return invalid\n",
    "shop/cart.go": (
        "package shop\n\nimport \"fmt\"\n\nfunc Load(path string, n int) error {\n"
        "\treturn fmt.Errorf(\"could not load %s: %d items are too many\", path, n)\n}\n"
    ),
    "shop/late.rb": "def late(job)\n  raise ArgumentError, \"Job 'at' must be a time: `#{job}`\"\nend\n",
    "tests/test_ports.py": (
        "def test_parse():\n    with raises(match=\"Invalid port: 'abc'\"):\n        parse('abc')\n"
    ),
    "docs/ports.md": "# Ports\n\nInvalid port: 'abc' means that PORT_FALLBACKS is empty.\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


def places(project: Indexed, text: str) -> list[TextPlace]:
    question = take_apart(text)
    with project.reader() as reader:
        names = unknown_names(question, reader)
        return find_text(question, names, reader, project.handle.current())


def ask(project: Indexed, text: str) -> tuple[GatheredCandidates, Sequence[Hit]]:
    with project.reader() as reader:
        gathered = gather(text, project.tree, reader, project.handle, EVERYTHING, None, 10)
        if gathered.answer is not None:
            return gathered, gathered.answer
        return gathered, conclude(gathered, (), project.tree, reader, 10)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a port that is invalid", False),
        ('"a port that is invalid"', True),
        ("the shop knows a port that is invalid", False),
        ("Invalid port: 80x", True),
    ],
)
def test_plain_prose_is_a_text_only_where_a_string_says_it(project: Indexed, text: str, found: bool) -> None:
    """A comment that says the same as a question is no message."""
    assert bool(places(project, text)) == found


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Invalid port: 'abc'", "shop/ports.py:6"),
        ("ValueError: Invalid port: 'abc'", "shop/ports.py:6"),
        ('I get "Invalid port: 80x" when I start it, why?', "shop/ports.py:6"),
        ("2026-01-31 12:00:03,123 ERROR [worker] Invalid port: None", "shop/ports.py:6"),
        ("KeyError: The scheme of foo is not one that the shop knows", "shop/ports.py:12"),
        ("could not load /tmp/a.json: 42 items are too many", "shop/cart.go:6"),
        ("Job 'at' must be a time: `None`", "shop/late.rb:2"),
    ],
)
def test_a_message_is_found_where_a_source_says_it(project: Indexed, text: str, place: str) -> None:
    found = places(project, text)
    assert {f"{one.chunk.path}:{one.line}" for one in found} == {place}
    _, hits = ask(project, text)
    assert f"{hits[0].path}:{hits[0].line}" == place


@pytest.mark.parametrize(
    "text",
    [
        "why is the port invalid?",
        "make the shop load faster",
        "add a check of the scheme",
        "",
        "''",
        "'",
        "::: ...",
        "x" * 10_000,
    ],
)
def test_what_is_no_text_of_the_tree_is_not_found(project: Indexed, text: str) -> None:
    assert places(project, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("usages of PORT_FALLBACKS", ["shop/ports.py:11", "shop/settings.py:2"]),
        ("where is PORT_FALLBACKS used?", ["shop/ports.py:11", "shop/settings.py:2"]),
        ("where is PORT_FALLBACKS defined?", ["shop/settings.py:2", "shop/ports.py:11"]),
        ("PORT_FALLBACKS", ["shop/settings.py:2", "shop/ports.py:11"]),
    ],
)
def test_a_name_that_nothing_defines_is_found_as_text(
    project: Indexed, text: str, expected: list[str]
) -> None:
    gathered, hits = ask(project, text)
    assert [f"{hit.path}:{hit.line}" for hit in hits[:2]] == expected
    if gathered.only_names:
        assert gathered.evidence[-1] == "the project doesn't define PORT_FALLBACKS, but has it as text"
        assert {hit.path for hit in hits} == {"shop/ports.py", "shop/settings.py", "docs/ports.md"}
    else:
        assert "used" not in text


def test_usages_are_told_of_tests_and_documents_as_well(project: Indexed) -> None:
    _, hits = ask(project, "usages of PORT_FALLBACKS")
    assert [hit.path for hit in hits if hit.line] == ["shop/ports.py", "shop/settings.py", "docs/ports.md"]


def test_a_name_that_stands_in_the_tree_is_no_misspelt_other_one(project: Indexed) -> None:
    _, hits = ask(project, "where is LOWEST_PORTS defined?")
    assert [hit.node_id for hit in hits] == ["shop/ports.py#LOWEST_PORT"]
    with project.reader() as reader:
        lexical = project.handle.current()
        assert has_name("PORT_FALLBACKS", reader, lexical)
        assert not has_name("port_fallbacks", reader, lexical)
        assert not has_name("FALLBACKS", reader, lexical), "a part of a name is another one"


def test_a_question_of_a_name_alone_means_its_definition(project: Indexed) -> None:
    with project.reader() as reader:
        assert defines_alone(take_apart("LOWEST_PORT"), reader).keys() == {"shop/ports.py"}
        assert defines_alone(take_apart("why is LOWEST_PORT one"), reader) == {}
        assert defines_alone(take_apart("parse"), reader) == {}, "a plain word"
