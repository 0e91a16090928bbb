"""Text is cut into terms so that the ways of writing one name meet, whatever the text, in linear time."""

from __future__ import annotations

import pytest
from foveal.daemon.index import terms
from foveal.daemon.index.terms import (
    MAX_CACHED,
    MAX_TERM,
    MAX_WORD,
    document_terms,
    looks_like_identifier,
    query_terms,
)
from hypothesis import given
from hypothesis import strategies as st


def check(text: str, expected: str) -> None:
    assert document_terms(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUsers", "get user getusers"),
        ("get_users", "get user getusers"),
        ("get-users", "get user getusers"),
        ("GET_USERS", "get user getusers"),
        ("XMLHttpRequest", "xml http request xmlhttprequest"),
        ("HTTPServer", "http server httpserver"),
        ("userIDs", "user id userids"),
        ("IDs", "id ids"),
        ("__init__", "init"),
        ("_private", "privat"),
        ("iPhone", "phone iphone"),
        ("utf8", "utf utf8"),
        ("sha256", "sha 256 sha256"),
        ("x86_64", "86 64 x8664"),
        ("os.path.join(a, b)", "os path join"),
        ("self->items[0]", "self item"),
        ("foo::bar", "foo bar"),
        ("a - b--c", ""),
    ],
)
def test_identifiers_give_their_parts_and_themselves(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("connections connecting connected", "connect connect connect"),
        ("The parser's errors, quickly.", "the parser error quick"),
        ("a I 7 x", ""),
        ("HTTP 404", "http 404"),
        ("", ""),
        (" \t\r\n", ""),
        ("!?;()[]{}", ""),
    ],
)
def test_words_are_stemmed_and_single_characters_left_out(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("café", "café cafe"),
        ("cafe\u0301", "café cafe"),
        ("größeBerechnen", "größe große berechnen größeberechnen großeberechnen"),
        ("Прочитать ПолучитьДанные", "прочитать получить данные получитьданные"),
        ("用户登录", "用户 户登 登录"),
        ("ログイン", "ログ グイ イン"),
        ("登", "登"),
        ("login登录page", "login 登录 page"),
        ("がく", "がく"),
        ("로그인", "로그 그인"),
        ("हिन्दी", "हिन्दी"),
        ("\uff26\uff49\uff4c\uff45\uff2e\uff41\uff4d\uff45", "file name filename"),
        ("ﬁle", "file"),
        ("🎉 done ✅", "done"),
        ("½", ""),
        ("\ud800name\udfff", "name"),
    ],
)
def test_words_outside_ascii_are_kept_and_found_without_accents(text: str, expected: str) -> None:
    check(text, expected)


@given(st.text())
def test_terms_are_short_and_hold_no_white_space(text: str) -> None:
    for term in document_terms(text):
        assert 1 <= len(term) <= MAX_TERM
        assert term.split() == [term]
        assert term.encode()


def test_hashes_are_kept_whole_and_longer_data_is_not_kept() -> None:
    digest = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
    check(digest, digest)
    check(digest * 2, "")


def test_the_cache_of_words_is_bounded() -> None:
    words = [f"name{number}" for number in range(MAX_CACHED + 10)]
    assert len(document_terms(" ".join(words))) > MAX_CACHED
    remembered = terms._WORDS
    assert 0 < len(remembered) <= MAX_CACHED
    before = len(remembered)
    document_terms("a" * (MAX_WORD + 1))
    assert len(remembered) == before


# Questions


def test_a_question_is_cut_like_a_document_without_stop_words() -> None:
    assert list(query_terms("How does the TokenCache expire its tokens?").weights) == [
        "token", "cach", "tokencache", "expir",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("what is this", []),
        ("I don't know what they're", ["know", "re"]),
        ("any", ["ani"]),
        ("用户登录", ["用户", "户登", "登录"]),
    ],
)
def test_stop_words_alone_ask_for_nothing_but_a_single_word_does(text: str, expected: list[str]) -> None:
    assert list(query_terms(text).weights) == expected


def test_identifiers_of_a_question_are_named_once_as_they_are_written() -> None:
    text = "Why does `Session.login()` call parse_url, then parse_url again in HTTPServer (see docs)?"
    assert query_terms(text).identifiers == ("Session.login()", "parse_url", "HTTPServer")


IDENTIFIERS = """
    foo_bar fooBar FooBar HTTPServer SCREAMING_CASE __init__ _x foo() os.path a::b Array#each this->size
    $scope_id utf8 größeBerechnen
"""
WORDS = "login Login README IDs well-known 3rd 3.11 e.g i.e. _ ()"


def test_which_words_look_like_identifiers() -> None:
    for word in IDENTIFIERS.split():
        assert looks_like_identifier(word), word
    for word in (*WORDS.split(), "", "foo bar", "_" * 255 + "!", "a_" * 1000):
        assert not looks_like_identifier(word), word
