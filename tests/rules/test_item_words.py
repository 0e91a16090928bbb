"""Words say how much of a query an item covers, rare ones more, and identifiers which items a query names."""

from __future__ import annotations

import pytest
from foveal.daemon.rules.item_search import NAMED_MAX, WordEvidence, item_words
from foveal.daemon.rules.items import Item


def evidence(*texts: str, name: str = "n{}") -> WordEvidence:
    items = [Item("rule", name.format(n), "agent", text, "s") for n, text in enumerate(texts)]
    return WordEvidence([item_words(one) for one in items])


def test_an_item_with_more_of_the_words_covers_more() -> None:
    both, one, none = evidence("retries with backoff", "retries", "colours").cover("retry with backoff")
    assert 1 > both > one > none == 0


def test_rare_words_weigh_more() -> None:
    rare, *_, common = evidence("backoff", "test a", "test b", "test c").cover("test backoff")
    assert rare > common > 0


def test_a_short_query_proves_less_than_a_long_one() -> None:
    found = evidence("retry a request with exponential backoff and jitter", "colours of buttons")
    assert found.cover("retry")[0] < found.cover("retry a request with exponential backoff and jitter")[0]


@pytest.mark.parametrize("text", ["", "???", "the of and", "\ud800", "x" * 100_000, "a_b " * 5_000])
def test_any_text_can_be_asked(text: str) -> None:
    found = evidence("retries", "")
    assert all(0 <= cover < 1 for cover in found.cover(text))
    assert found.named(text) == set()


def test_without_items_there_is_nothing() -> None:
    assert evidence().cover("a word") == []
    assert evidence().named("a_word") == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("why does retry_captures fail?", {0}),
        ("call retry_captures() again", {0}),
        ("RetryPolicy.delay is wrong", {1}),
        ("look at retry_captures and RetryPolicy.delay", {0, 1}),
        ("retry_captures_all is another name", set()),
        ("retry the captures", set()),
        ("Delay it", set()),
    ],
)
def test_identifiers_name_the_items_in_which_they_stand(text: str, expected: set[int]) -> None:
    found = evidence(
        "The job `retry_captures` runs hourly.", "RetryPolicy.delay(n) gives seconds", "retry and captures"
    )
    assert found.named(text) == expected


def test_an_identifier_in_many_items_names_none() -> None:
    assert evidence(*["uses parse_args"] * NAMED_MAX).named("parse_args") == set(range(NAMED_MAX))
    assert evidence(*["uses parse_args"] * (NAMED_MAX + 1)).named("parse_args") == set()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("code-review", "please do a code-review", True),
        ("code-review", "see code-reviews", False),
        (".cursor/rules/code-review.mdc", "please do a code-review", True),
        ("docs/AGENTS.md", "what does docs/AGENTS.md say?", True),
        ("naming", "the naming of this class", False),
        ("git_log", "use git_log", True),
        ("a-b", "what a-b is", False),
    ],
)
def test_a_name_unlike_everyday_words_names_its_item(name: str, text: str, expected: bool) -> None:
    assert evidence("nothing", name=name).named(text) == ({0} if expected else set())


def test_a_tool_is_known_by_its_server_too() -> None:
    tool = Item("tool", "send", "agent", "{}", "s", description="Sends it", server_name="slack")
    other = Item("tool", "send", "agent", "{}", "s", description="Sends it", server_name="mail")
    of_slack, of_mail = WordEvidence([item_words(tool), item_words(other)]).cover("send it with slack")
    assert of_slack > of_mail
