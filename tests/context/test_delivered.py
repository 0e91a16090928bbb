"""A key in somebody's prompt goes back to who sent it, and is neither kept nor shown to anybody later."""

from __future__ import annotations

import pytest
from foveal.daemon.context.delivered import masked_sent
from foveal.daemon.privacy.secret_gate import SAID_MAX
from foveal.daemon.sessions.records import Sent, SentMessage

from tests.site_cases import pages

__all__ = ["pages"]

AWS = "AKIA" + "Q3EGW7ZLTNKD5RXB"
GITHUB = "ghp_" + "Zk3vQ9xLw2RtYb7NmPc5HdJfSgUaEo8iT1Xq"
PROMPT = f"Why is {AWS} refused, and is {GITHUB} still good?"


def test_what_is_kept_is_masked_and_counted() -> None:
    kept, count = masked_sent(Sent("x = 1", "Be kind.", PROMPT, (SentMessage("user", f"I use {GITHUB}"),)))
    assert kept.user_prompt == "Why is [masked]16+ refused, and is [masked]32+ still good?"
    assert kept.history == (SentMessage("user", "I use [masked]32+"),)
    assert (kept.context, kept.system_prompt, count) == ("x = 1", "Be kind.", 3)


def test_what_has_no_secret_is_kept_as_it_is() -> None:
    sent = Sent("x = 1", "Be kind.", "Why does login fail?")
    assert masked_sent(sent) == (sent, 0)


@pytest.mark.parametrize("shift", [-60, -40, -20, 0, 20, 40])
def test_of_a_very_long_prompt_the_two_ends_are_kept_without_the_halves_of_a_secret(shift: int) -> None:
    half = SAID_MAX // 2 + shift
    words = "to be. " * half
    prompt = (
        f"First {AWS}. {words[: half - 30]} {GITHUB} {words}{words} {GITHUB} {words[: half - 30]} {AWS} last"
    )
    kept = masked_sent(Sent("x = 1", "", prompt))[0].user_prompt
    assert kept.startswith("First [masked]16+. to be.")
    assert kept.endswith("[masked]16+ last")
    assert "characters are not kept]" in kept
    assert SAID_MAX - 100 < len(kept) < SAID_MAX + 100
    assert not any(GITHUB[at : at + 12] in kept for at in range(len(GITHUB) - 11))


def test_a_secret_only_in_the_part_that_is_not_kept_is_not_kept() -> None:
    words = "to be. " * SAID_MAX
    prompt = f"{words} {GITHUB} {words}"
    kept, count = masked_sent(Sent("x = 1", "", prompt, (SentMessage("user", prompt),)))
    assert count == 0, "it isn't shown"
    for text in (kept.user_prompt, kept.history[0].content):
        assert len(text) < SAID_MAX + 100
        assert GITHUB not in text


def test_of_a_very_long_prompt_those_are_counted_that_are_masked_in_what_is_kept() -> None:
    words = "to be. " * (SAID_MAX // 14)
    for prompt in (f"{words} {GITHUB} {words}", f"{AWS} {words} {GITHUB} {words} [masked]"):
        kept, count = masked_sent(Sent("x = 1", "", prompt))
        assert count == kept.user_prompt.count("[masked]") - prompt.count("[masked]")


def test_a_context_in_a_system_prompt_is_kept_whole() -> None:
    context = "def f(): pass\n" * (SAID_MAX // 10)
    sent = Sent(context, f"Use {GITHUB} for:\n{context}Be kind.", "Why?")
    kept, count = masked_sent(sent)
    assert (kept.system_prompt, count) == (f"Use [masked]32+ for:\n{context}Be kind.", 1)
    other = Sent("x = 1", f"{context}{AWS}", "Why?")
    assert masked_sent(other)[0].system_prompt == f"{context}[masked]16+", "other texts are only masked"
