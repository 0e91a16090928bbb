"""A secret in what a caller wrote is masked wherever it comes up again, and nothing else is."""

from __future__ import annotations

from foveal.daemon.privacy.secret_gate import OPEN, SAID_MAX, gate_of, mask_said

DRAWN = "q7#Vx2m!Lz4t"
SAID = f'my config is: db_password = "{DRAWN}"'
RECORD = {"why": [f"has {DRAWN!r} on line 2", {"text": f"words of {DRAWN.lower()}"}], "line": 2, "at": ("x",)}


def test_a_drawn_secret_is_masked_in_any_field_in_whatever_case() -> None:
    sealed = gate_of([SAID]).of_record(RECORD)
    assert sealed == {
        "why": ["has '[masked]' on line 2", {"text": "words of [masked]"}],
        "line": 2,
        "at": ("x",),
    }


def test_fields_that_are_named_stay_as_they_are() -> None:
    assert gate_of([SAID]).of_record(RECORD, but=("why",)) == RECORD


def test_an_open_gate_masks_nothing() -> None:
    assert OPEN.of_record(RECORD | {"key": f'password = "{DRAWN}"'})["key"] == f'password = "{DRAWN}"'


def test_a_record_is_masked_by_its_own_words_too() -> None:
    assert gate_of(["hello"]).of_record({"gap": SAID}) == {"gap": SAID.replace(DRAWN, "[masked]")}


def test_a_common_word_is_masked_in_a_record_where_it_stands_alone_and_stays_in_code() -> None:
    gate = gate_of(['password = "shop"'])
    assert gate.words == ("shop",)
    record = {"path": "src/shop/auth.py", "why": "has 'shop' on line 1"}
    assert gate.of_record(record) == {"path": "src/shop/auth.py", "why": "has '[masked]' on line 1"}
    assert gate.of_code('role = "shop"') == 'role = "shop"'


def test_a_long_word_is_masked_in_code_as_a_literal() -> None:
    gate = gate_of(['password = "sunshine"'])
    assert gate.of_code('log("sunshine")  # sunshine') == 'log("[masked]")  # sunshine'


def test_a_secret_that_a_person_writes_twice_is_masked_twice() -> None:
    masked = mask_said(f"{SAID}\nand then {DRAWN} is refused")
    assert masked.text == f"{SAID.replace(DRAWN, '[masked]')}\nand then [masked] is refused"
    assert masked.count == 2


def test_secrets_of_a_long_text_are_looked_for_at_its_two_ends() -> None:
    """A pasted log of megabytes must not keep its sender waiting."""
    middle = 'password = "Badger77brook"\n' * (SAID_MAX // 10)
    gate = gate_of([f'token = "Walrus88river"\n{middle}token = "Otter99meadow"'])
    assert {"Walrus88river", "Otter99meadow"} <= set(gate.drawn)
    assert len(gate.drawn) == 3
    masked = mask_said(f"{SAID}\n{middle}").text
    assert "Badger77brook" not in masked, "what is kept is masked whole"
