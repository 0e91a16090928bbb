"""A prompt asks for nothing if no word of it names anything; one name, path or error is enough to ask."""

from __future__ import annotations

import pytest
from foveal.daemon.search.need import is_small_talk
from foveal.daemon.search.question import take_apart
from hypothesis import given
from hypothesis import strategies as st

SILENT = """
yes
2
ok do it
yes, continue
thanks, that works!
commit this please
run the tests again
now commit everything with a good message
it still fails
explain that again
what do you think?
which model are you?
/clear
/review 12
!git log -5
#remember to use tabs
[Request interrupted by user for tool use]
ja, mach weiter
sí, continúa
oui, vas-y
да, продолжай
请继续
好的，谢谢
はい、お願いします
"""  # noqa: RUF001 - Chinese marks are meant

ASKING = """
the cache
why is the client cache cold?
#123 is still open, the timeout of the pool
add retries
run the tests of the parser
fix `it`
it's in util.py
KeyError again
still "no route to host"
and what about cookies?
now the same for DigestAuth
where are the tests?
how does a commit get here?
/home/ada/x.py is slow
# Cookies are lost
重定向在哪里处理？
Wo werden Cookies gesetzt?
"""  # noqa: RUF001 - Chinese marks are meant


@pytest.mark.parametrize("prompt", SILENT.strip().split("\n"))
def test_small_talk_names_nothing(prompt: str) -> None:
    assert is_small_talk(take_apart(prompt))
    assert is_small_talk(take_apart(prompt.upper() if prompt.isascii() and prompt[0].isalpha() else prompt))


@pytest.mark.parametrize("prompt", [one for one in ASKING.split("\n") if one])
def test_one_name_is_enough_to_ask(prompt: str) -> None:
    assert not is_small_talk(take_apart(prompt))


def test_pasted_text_asks() -> None:
    assert not is_small_talk(take_apart("fix\n```\nfor x in y:\n    pass\n```"))
    assert not is_small_talk(take_apart('Traceback (most recent call last):\n  File "/a.py", line 1\nE: no'))


@given(st.text(max_size=300))
def test_anything_is_read(prompt: str) -> None:
    is_small_talk(take_apart(prompt))
