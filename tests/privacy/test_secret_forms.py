"""Secrets are masked in the forms in which people keep them, and what only looks like one stays."""

from __future__ import annotations

import pytest
from foveal.benchmarks.secrets.forms import Form, read_forms, scored
from foveal.daemon.privacy.secret_values import MASK, mask_secrets, may_hold_secrets
from hypothesis import given
from hypothesis import strategies as st

FORMS = [form for form in read_forms("forms.json") if form.id != "prose 16"]
"""All but a key bare in a text, which has no form outside of a piece."""
PARTS = (
    *(
        "password",
        "DB_PASS",
        "secret",
        "api_key",
        "token",
        "-p",
        "--password",
        "curl -u",
        "Authorization: Basic",
    ),
    *(
        "name:",
        "value:",
        "=",
        ": ",
        "=>",
        "(",
        ")",
        ",",
        '"',
        "'",
        '\\"',
        "{",
        "}",
        "${",
        ":-",
        "<",
        ">",
        "</",
        "\n",
    ),
    *(
        "://",
        "@",
        ":",
        "AKIA" + "Q3ZK7LXV2TBN5WDH",
        "hunter2",
        "Xy9" * 14,
        " ",
        "|",
        "kind: Secret",
        "data:",
        "is",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "cookie:",
        "a=b;",
        "İ",
        "ß",
        "\\",
        "[masked]",
        "`",
        "**",
        "\0",
        "'''",
        '"""',
    ),
)
"""What forms are made of."""


@pytest.mark.parametrize("form", [form for form in FORMS if form.secret], ids=lambda form: form.id)
def test_no_form_of_a_secret_passes(form: Form) -> None:
    assert not form.leaks(mask_secrets(form.text).text)
    assert may_hold_secrets(["a session", form.text, "x = 1"])


@pytest.mark.parametrize("form", [form for form in FORMS if not form.secret], ids=lambda form: form.id)
def test_what_is_no_secret_is_not_masked(form: Form) -> None:
    assert mask_secrets(form.text).text == form.text


@pytest.mark.parametrize(
    ("name", "size", "most"),
    [
        ("held_out", 543, 21),
        ("tuned", 224, 8),
        ("fresh", 397, 15),
        ("fresh_last", 166, 3),
        ("independent", 195, 7),
        ("independent_second", 177, 6),
        ("independent_third", 153, 11),
        ("independent_fourth", 160, 12),
    ],
)
def test_few_forms_pass_that_masking_was_not_made_for(name: str, size: int, most: int) -> None:
    forms = read_forms(f"{name}.json")
    passed, false = scored(forms)
    assert [form.id for form in false] == []
    assert (len(forms), len(passed)) == (size, most)


@given(st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=4)), max_size=30))
def test_any_mix_of_forms_is_masked_once_and_keeps_its_lines(parts: list[str]) -> None:
    text = "".join(parts)
    masked = mask_secrets(text)
    assert masked.text.count("\n") == text.count("\n")
    assert masked.text.count(MASK) == text.count(MASK) + masked.count
    assert may_hold_secrets([text]) or masked.count == 0


def test_a_text_that_names_the_marks_of_a_key_is_no_key() -> None:
    text = (
        "# Starts with `-----BEGIN RSA PRIVATE KEY-----`.\nSee https://example.org/documentation/examples/a\n"
    )
    assert mask_secrets(text).text == text
