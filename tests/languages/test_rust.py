"""What looks like a call in the tokens that Rust hands to a macro is found with the path that leads to it."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.rust import called_in_tokens


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a!(b, «f»(1))", "f"),
        ("a!(self.x.«len»())", "self.x.len"),
        ("a!(Foo::«new»())", "Foo::new"),
        ("a!(x().«y»())", ".y"),
        ("a!(«format»!(1))", "format"),
        ("a!(«a» != b)", None),
        ("a!(«a»!=b)", None),
        ("a!(«a», (b))", None),
        ("a!(fn «f»(x: u8) {})", None),
        ("a!($«f»(1))", None),
        ("a!(return «f»(1))", None),
        ("a!(preturn«f»(1))", "preturnf"),
    ],
)
def test_calls(source: str, expected: str | None) -> None:
    start = source.index("«")
    plain = source.replace("«", "").replace("»", "")
    span = called_in_tokens(plain.encode(), (start, source.index("»") - 1))
    assert (plain[slice(*span)] if span is not None else None) == expected
