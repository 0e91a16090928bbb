"""No signature and no line of documentation tells a secret that the text of their file masks."""

from __future__ import annotations

from foveal.daemon.context.masked_symbols import SIGNATURE_MAX, masked_symbols
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.privacy.secret_values import mask_secrets

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def symbol(line: int, signature: str, doc: str = "", end: int = 0) -> Symbol:
    return Symbol(f"f{line}", "function", line, end or line, signature, doc, 0)


def test_heads_with_secrets_are_those_of_the_masked_text() -> None:
    text = f'def f(a="{TOKEN}"):\n    """Use it."""\n\n\ndef g():\n    """No {TOKEN} here."""\n'
    found = masked_symbols(
        [
            symbol(1, f'def f(a="{TOKEN}")', "Use it.", 2),
            symbol(1, f'def f(a="{TOKEN[:20]}', "Use it.", 2),
            symbol(5, "def g()", f"No {TOKEN} here.", 6),
            symbol(5, "def g()", f"No {TOKEN[:20]}", 6),
        ],
        mask_secrets(text).text,
    )
    assert [one.signature for one in found] == ['def f(a="[masked]32+"):'] * 2 + ["def g()"] * 2
    assert [one.doc for one in found] == ["Use it.", "Use it.", "", ""]


def test_a_head_is_no_longer_than_in_the_index() -> None:
    line = f'x = "{TOKEN}" + {"1 + " * 200}1'
    (found,) = masked_symbols([symbol(1, line[:SIGNATURE_MAX])], mask_secrets(line).text)
    assert len(found.signature) == SIGNATURE_MAX


def test_others_stay_as_they_are() -> None:
    plain = symbol(3, "def g()", "Do it.")
    assert masked_symbols([plain], f'k = "{mask_secrets(TOKEN).text}"\n\ndef g(): "Do it."\n') == (plain,)
    assert masked_symbols([symbol(9, "gone")], "short") == (symbol(9, "gone"),)


def test_a_secret_in_a_body_leaves_the_other_definitions_as_they_are() -> None:
    body = f'def f():\n    """Use it."""\n    return "{TOKEN}"\n\n\ndef g():\n    """Do it."""\n'
    with_secret, without = symbol(1, "def f()", "Use it.", 3), symbol(6, "def g()", "Do it.", 7)
    assert masked_symbols([with_secret, without], mask_secrets(body).text) == (with_secret, without)
    other = symbol(1, "def f()", "Used by what is not in the text.", 3)
    assert masked_symbols([other], mask_secrets(body).text)[0].doc == ""
