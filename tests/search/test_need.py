"""A prompt needs the code as probably as its words are the code's, and as what is found for it is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.service import document_terms, path_terms
from foveal.daemon.search.need import HINT, Evidence, is_small_talk, need_of
from foveal.daemon.search.query import NEED_MIN, Need
from foveal.daemon.search.question import LONG_CHARACTERS, take_apart
from hypothesis import given
from hypothesis import strategies as st

NAMES = ("parse_cookie", "Client.send", "Client.close", "redirect_url", "build_headers", "ReadTimeout")


@pytest.fixture(scope="module")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> LexicalReader:
    folder: Path = tmp_path_factory.mktemp("lexical")
    writer = LexicalWriter.create(str(folder))
    for number, name in enumerate(NAMES * 20):
        body = document_terms(f"def {name}(self): return value of exit")
        symbols = list(dict.fromkeys(document_terms(name)))
        writer.replace(
            number, [LexicalDocument(number, "function", body, path_terms("shop/web.py"), symbols)]
        )
    writer.commit()
    return LexicalReader(str(folder))


def need(
    lexical: LexicalReader,
    prompt: str,
    *,
    named: float = 0.0,
    found: tuple[float, ...] = (),
) -> Need:
    return need_of(take_apart(prompt), lexical, Evidence(named, 0.0, found))


@pytest.mark.parametrize(
    "prompt",
    [
        "how do i exit vim",
        "sorry, i was in a meeting",
        "write you a nice haiku about gardens",
        "open a PR with a short description",
        "what is a good book about distributed systems",
    ],
)
def test_what_the_project_does_not_know_needs_nothing_of_it(lexical: LexicalReader, prompt: str) -> None:
    assert not need(lexical, prompt, found=(0.01,)).is_probable


@pytest.mark.parametrize(
    "prompt",
    [
        "where are cookies parsed?",
        "how does the client close?",
        "add a timeout to Client.send",
        "redirect urls",
    ],
)
def test_what_it_knows_does(lexical: LexicalReader, prompt: str) -> None:
    assert need(lexical, prompt, found=(0.2, 0.1)).is_probable


def test_what_is_named_outright_is_needed_as_surely(lexical: LexicalReader) -> None:
    assert need(lexical, "run `parse_cookie` again", named=0.9).probability >= 0.9
    assert not need(lexical, "tell me about zzyzx", named=0.0).is_probable


def test_a_long_prompt_is_worth_looking(lexical: LexicalReader) -> None:
    assert need(lexical, "you and me, and " * (LONG_CHARACTERS // 10)).is_probable


@pytest.mark.parametrize(
    ("prompt", "hinted"),
    [
        ("Wo wird das Zeitlimit für Verbindungen gesetzt?", True),
        ("¿cómo se liberan los contextos?", True),
        ("编码是怎么检测的?", True),
        ("как проверяется адрес?", True),
        ("wo werden die Fehler vom Leser behandelt", True),
        ("怎么决定用几个线程", True),
        ("Wie viele Bananen?", True),
        ("wir machen das so, danke dir", False),
        ("gracias, eso es todo por hoy", False),
        ("ありがとう、助かりました", False),
        ("how do i exit vim", False),
        ("where is the zzyzx?", False),
    ],
)
def test_a_question_in_another_language_is_hinted_at_the_words_of_the_code(
    lexical: LexicalReader, prompt: str, *, hinted: bool
) -> None:
    assert need(lexical, prompt).hint == (HINT if hinted else "")


@given(st.text(max_size=200), st.floats(0, 1), st.floats(0, 1), st.lists(st.floats(0, 1), max_size=20))
def test_it_is_a_probability_whatever_is_asked(
    lexical: LexicalReader, prompt: str, named: float, text: float, found: list[float]
) -> None:
    one = need_of(take_apart(prompt), lexical, Evidence(named, text, found))
    assert 0 <= one.probability <= 1
    assert one.is_probable == (one.probability >= NEED_MIN)


@pytest.mark.parametrize(
    "chore",
    [
        "push it and open a draft pr",
        "sounds good, go ahead",
        "run the tests again",
        "commit and push",
        "what did you change?",
        "how much does a server with two gpus cost?",
    ],
)
def test_chores_and_small_questions_need_nothing_though_the_project_has_their_words(
    tmp_path: Path, chore: str
) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    for number in range(40):
        name = ("push_server", "open_tests", "run_commit", "change_cost")[number % 4]
        body = document_terms(f"{name} it sounds good go ahead draft pr again gpus")
        writer.replace(number, [LexicalDocument(number, "function", body, [], document_terms(name))])
    writer.commit()
    lexical = LexicalReader(str(tmp_path))
    assert not need(lexical, chore, found=(0.05, 0.02)).is_sure
    assert need(lexical, "the server forgets the cost of a push", found=(0.05, 0.02)).is_probable


SILENT = """
2
what is this?
do it again
/clear
/review 12
!git log -5
#remember to use tabs
[Request interrupted by user for tool use]
"""
ASKING = """
the cache
#123 is still open, the timeout of the pool
fix `it`
it's in util.py
KeyError again
still "no route to host"
now the same for DigestAuth
/home/ada/x.py is slow
# Cookies are lost
重定向在哪里处理？
"""  # noqa: RUF001 - Chinese marks are meant


@pytest.mark.parametrize("prompt", SILENT.strip().split("\n"))
def test_what_names_nothing_is_not_looked_up(prompt: str) -> None:
    assert is_small_talk(take_apart(prompt))


@pytest.mark.parametrize("prompt", [*ASKING.strip().split("\n"), "fix\n```\nfor x in y:\n    pass\n```"])
def test_one_name_is_enough_to_be_looked_up(prompt: str) -> None:
    assert not is_small_talk(take_apart(prompt))
