"""An item is named by type, name and, for a tool, its server; both directions read alike."""

from __future__ import annotations

import click
import pytest
from foveal.cli.items import item_arguments, item_label, key_of, shortened


@click.command("name")
@item_arguments
@click.pass_context
def command(context: click.Context, kind: str, name: str, server: str | None) -> None:
    click.echo(item_label(key_of(context, kind, name, server)))


def run(*arguments: str) -> None:
    command.main(list(arguments), standalone_mode=False)


def test_what_names_an_item(capsys: pytest.CaptureFixture[str]) -> None:
    def check(arguments: tuple[str, ...], expected: str) -> None:
        run(*arguments)
        assert capsys.readouterr().out == f"{expected}\n"

    check(("rule", "AGENTS.md"), "rule AGENTS.md")
    check(("tool", "search", "--server", "github"), "tool search of github")
    check(("reference", "--", "-odd"), "reference -odd")


def test_what_names_none() -> None:
    def check(arguments: tuple[str, ...], expected: str) -> None:
        with pytest.raises(click.UsageError) as raised:
            run(*arguments)
        assert expected in raised.value.format_message()

    check(("tool", "search"), "a tool is named with its server: --server NAME")
    check(("rule", "x", "--server", "github"), "--server goes with tools, and this is a rule")
    check(("skill", "x"), "'skill' is not one of 'rule', 'reference', 'tool'")
    check(("rule",), "Missing argument 'NAME'")


def test_long_texts_are_cut_to_a_line() -> None:
    assert shortened("a\n  b", 3) == "a b"
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("", 4) == ""
