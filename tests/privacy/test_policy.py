"""A policy hides by names however they are written, and what several take away adds up."""

from __future__ import annotations

import pytest
from foveal.daemon.privacy.policy import NO_POLICY, Policy, combined

SECRET = Policy("x", ("[agents.x]",), deny_paths=("secret/**", "*.pem", "a b/", "**/deep/**", "Ä/**"))


@pytest.mark.parametrize(
    ("path", "denied"),
    [
        ("secret/a.py", True),
        ("SECRET/a.py", True),
        ("secret", True),
        ("secrets/a.py", False),
        ("src/secret/a.py", False),
        ("src/key.PEM", True),
        ("a b/c", True),
        ("a b", True),
        ("src/a b/c", False),
        ("x/deep/y", True),
        ("x/deep", True),
        ("a\u0308/b", True),
        ("src/a.py", False),
        ("", False),
        (".", False),
    ],
)
def test_case_and_form_of_letters_and_the_folder_itself_dont_matter(path: str, denied: bool) -> None:
    assert SECRET.denies(path) is denied


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Move secret/a.py away", True),
        ("see `secret/a.py#f`, or not", True),
        ("/home/p/secret/a.py", True),
        ("/home/other/src/a.py", False),
        ("import secret.vault", True),
        ("a secret, and no path", False),
        ("KEY.PEM.", True),
        ("src/a.py, src/b.py", False),
    ],
)
def test_a_text_that_names_what_is_denied_is_known(text: str, named: bool) -> None:
    assert SECRET.names_denied(text, "/home/p") is named
    assert not NO_POLICY.names_denied(text, "/home/p")


def test_rules_themselves_are_hidden_from_whom_they_hide_something() -> None:
    assert SECRET.hides("foveal.toml")
    assert Policy(deny_items=("tool",)).hides("Foveal.toml")
    assert not NO_POLICY.hides("foveal.toml")


def test_sentences_that_name_what_is_hidden_go_and_others_are_masked() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    said = SECRET.sentences(["secret/a.py is cyclic", f"the token {token} is in b.py"])
    assert said == ("the token [masked]32+ is in b.py",)
    assert Policy(mask_values=False).sentences([token]) == (token,)


def test_what_several_policies_take_away_adds_up() -> None:
    one = Policy("a", ("A",), True, ("x/**",), ("tool",), 100, ("*.pem", ".env"))
    other = Policy("b", ("B",), False, ("y/**", "x/**"), ("rule",), 50, (".env",))
    both = combined([one, other, one])
    assert both == Policy(
        "a and b and a", ("A", "B"), False, ("x/**", "y/**"), ("tool", "rule"), 50, (".env",)
    )
    assert combined([one, one]) == one
    assert combined([]) is NO_POLICY
    assert combined([one, NO_POLICY]).max_tokens == 100


@pytest.mark.parametrize(
    ("one", "other", "sees_all"),
    [
        (NO_POLICY, SECRET, True),
        (SECRET, SECRET, True),
        (SECRET, NO_POLICY, False),
        (SECRET, Policy(deny_paths=("*.pem",)), False),
        (Policy(deny_paths=("*.pem",)), SECRET, True),
        (Policy(deny_items=("tool",)), NO_POLICY, False),
        (Policy(max_tokens=5), NO_POLICY, True),
        (Policy(allow=False), NO_POLICY, False),
        (NO_POLICY, Policy(shown_secrets=(".env",)), False),
        (Policy(shown_secrets=(".env",)), NO_POLICY, True),
        (NO_POLICY, Policy(mask_values=False), False),
        (Policy(mask_values=False), NO_POLICY, True),
    ],
)
def test_who_is_denied_no_more_sees_all(one: Policy, other: Policy, sees_all: bool) -> None:
    assert one.sees_all_of(other) is sees_all


def test_a_range_of_letters_holds_as_it_is_written_too() -> None:
    assert Policy(deny_paths=("[Y-a]x/**",)).denies("Zx/f")
